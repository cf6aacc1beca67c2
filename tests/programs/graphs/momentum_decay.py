"""Momentum with an exponentially decaying learning rate, compute_gradients and apply_gradients apart."""


def build(tf):
    x = tf.constant([[0.5, -1.0], [1.5, 2.0], [0.0, 1.0]])
    target = tf.constant([[1.0], [2.0], [0.5]])
    w = tf.Variable([[0.3], [-0.2]], name="w")
    b = tf.Variable([0.1], name="b")
    loss = tf.reduce_mean(tf.squared_difference(tf.matmul(x, w) + b, target), name="loss")
    step = tf.train.create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
    smooth = tf.train.exponential_decay(0.1, step, 2, 0.5)
    polynomial = tf.train.polynomial_decay(0.1, step, 10, 0.01, power=2.0)
    natural = tf.train.natural_exp_decay(0.1, step, 3, 0.5)
    inverse = tf.train.inverse_time_decay(0.1, step, 3, 0.5)
    cosine = tf.train.cosine_decay(0.1, step, 10)
    optimizer = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)
    pairs = optimizer.compute_gradients(loss, var_list=[w, b])
    train = optimizer.apply_gradients(pairs, global_step=step, name="apply")
    return {
        "init": tf.global_variables_initializer(),
        "train": train,
        "loss": loss,
        "w": w,
        "b": b,
        "momentum": optimizer.get_slot(w, "momentum"),
        "rates": tf.stack([rate, smooth, polynomial, natural, inverse, cosine]),
    }
