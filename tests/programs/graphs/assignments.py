"""Ref variables: assign in every form, dependent updates, moving averages of tensors, and sessions' reads."""


def build(tf):
    a = tf.Variable([1.0, 2.0], name="a")
    b = tf.Variable(a.initial_value * 2.0, name="b")
    c = tf.Variable(0, name="c", dtype=tf.int32, trainable=False)
    text = tf.Variable("start", name="text")
    unshaped = tf.Variable([1.0], validate_shape=False, name="unshaped")
    add = a.assign_add([1.0, 1.0])
    with tf.control_dependencies([add]):
        sub = b.assign_sub(a.read_value())
        count = tf.assign(c, c + 1, use_locking=False)
    resize = tf.assign(unshaped, tf.concat([unshaped, [2.0]], 0), validate_shape=False)
    rename = tf.assign(text, "end")
    return {
        "init": tf.global_variables_initializer(),
        "train": tf.group(sub, count, resize, rename),
        "a": a,
        "b": b.value() + 0.0,
        "c": c,
        "text": text,
        "unshaped": unshaped,
        "initialized": tf.is_variable_initialized(a),
        "trainable": tf.constant([v.name for v in tf.trainable_variables()]),
    }
