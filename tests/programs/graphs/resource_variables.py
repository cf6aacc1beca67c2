"""Resource variables: reading, assigning, scatter updates and training."""


def build(tf):
    tf.set_random_seed(3)
    with tf.variable_scope("resource", use_resource=True):
        weights = tf.get_variable("weights", [3, 2])
        counter = tf.get_variable(
            "counter", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False
        )
    table = tf.Variable(tf.ones([4, 2]), use_resource=True, name="table")
    x = tf.constant([[1.0, -1.0, 2.0]])
    rows = tf.nn.embedding_lookup(table, [0, 2, 2])
    loss = tf.reduce_sum(tf.square(tf.matmul(x, weights) - 1.0)) + tf.reduce_sum(tf.square(rows))
    train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, name="train")
    with tf.control_dependencies([train]):
        advance = counter.assign_add(1)
    scatter = tf.scatter_update(table, [1], [[5.0, 6.0]])
    with tf.control_dependencies([advance, scatter]):
        read = weights.read_value()
    return {
        "init": tf.global_variables_initializer(),
        "train": tf.group(read),
        "weights": weights,
        "counter": counter,
        "table": table,
        "sparse": table.sparse_read([3, 1]),
        "loss": loss,
        "sum": weights + 1.0,
        "element": weights[1, 0],
        "initialized": tf.is_variable_initialized(table),
    }
