"""Clipping by value, norm, average norm and global norm, of dense and sparse gradients, then applied."""


def build(tf):
    w = tf.Variable([[1.0, -2.0], [3.0, 4.0]], name="w")
    table = tf.Variable(tf.ones([3, 2]), name="table")
    rows = tf.gather(table, [2, 0])
    loss = tf.reduce_sum(tf.pow(w, 2)) + tf.reduce_sum(rows * 3.0)
    gradients = tf.gradients(loss, [w, table])
    clipped, norm = tf.clip_by_global_norm(gradients, 5.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.apply_gradients(zip(clipped, [w, table]))
    limited = tf.clip_by_value(w, -1.5, 2.5)
    return {
        "init": tf.global_variables_initializer(),
        "train": train,
        "norm": norm,
        "clipped": clipped[0],
        "clipped_rows": clipped[1].values,
        "by_value": limited,
        "by_norm": tf.clip_by_norm(w, 2.0),
        "by_norm_axis": tf.clip_by_norm(w, 2.0, axes=[1]),
        "by_average": tf.clip_by_average_norm(w, 0.5),
        "global_norm": tf.global_norm([w, None, table]),
        "gradient_value": tf.gradients(limited, w)[0],
        "gradient_norm": tf.gradients(tf.clip_by_norm(w, 2.0), w)[0],
        "w": w,
        "table": table,
    }
