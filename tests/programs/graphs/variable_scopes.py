"""Variable scopes: reuse, AUTO_REUSE, default initializers, regularizers, partitioners, dtype and collections."""


def dense(tf, x, units):
    kernel = tf.get_variable("kernel", [x.shape[1], units])
    bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
    return tf.matmul(x, kernel) + bias


def build(tf):
    x = tf.constant([[1.0, 2.0, 3.0]])

    def square(weights):
        return 0.01 * tf.nn.l2_loss(weights)

    with tf.variable_scope("model", initializer=tf.constant_initializer(0.5)):
        first = dense(tf, x, 2)
        with tf.variable_scope("deep", regularizer=square):
            second = dense(tf, first, 3)
    with tf.variable_scope("model", reuse=True):
        third = dense(tf, x, 2)
        kernel = tf.get_variable("kernel", [3, 2])
    with tf.variable_scope("auto", reuse=tf.AUTO_REUSE, initializer=tf.ones_initializer()) as scope:
        fourth = dense(tf, x, 2)
    with tf.variable_scope(scope):
        fifth = dense(tf, x, 2)
    with tf.variable_scope(None, default_name="unit", initializer=tf.ones_initializer()):
        sixth = dense(tf, x, 1)
    with tf.variable_scope(None, default_name="unit", initializer=tf.ones_initializer()):
        seventh = dense(tf, x, 1)
    with tf.variable_scope("split", partitioner=tf.fixed_size_partitioner(2)):
        table = tf.get_variable("table", [5, 3], initializer=tf.ones_initializer())
    with tf.variable_scope("wide", dtype=tf.float64):
        wide = tf.get_variable("wide", [2], initializer=tf.constant_initializer(1.25))
    frozen = tf.get_variable("frozen", initializer=tf.constant([1.0, 2.0]), trainable=False)
    local = tf.get_variable(
        "local",
        [2],
        tf.int32,
        initializer=tf.constant_initializer(7),
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
        trainable=False,
    )
    with tf.variable_scope("model/deep", reuse=True):
        found = tf.get_variable("bias", [3])
    plain = tf.Variable([[1, 2], [3, 4]], name="plain")
    plain_again = tf.Variable(3.0, name="plain", trainable=False)
    step = tf.train.get_or_create_global_step()
    return {
        "init": tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()),
        "second": second,
        "third": third + tf.reduce_sum(kernel),
        "fifth": fourth + fifth,
        "seventh": sixth + seventh,
        "table": tf.convert_to_tensor(table),
        "wide": wide,
        "frozen": frozen + 1.0,
        "local": local,
        "found": found,
        "plain": plain + 1,
        "plain_again": plain_again,
        "step": step,
        "regularization": tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)),
        "uninitialized": tf.report_uninitialized_variables(),
    }
