"""Learning rates that decay, over numbers, tensors and variables; moving averages of tensors."""


def build(tf):
    step = tf.train.create_global_step()
    half = tf.constant(0.5, tf.float64)
    rates = {
        "exponential": tf.train.exponential_decay(0.1, step, 2.5, 0.5, name="rate"),
        "stairs": tf.train.exponential_decay(0.1, step, 3, 0.5, staircase=True),
        "number": tf.train.exponential_decay(0.1, 7, 2, 0.5),
        "double": tf.train.exponential_decay(half, step, tf.constant(2), 0.5),
        "natural": tf.train.natural_exp_decay(0.1, step, 3, 0.5, staircase=True, name="natural"),
        "inverse": tf.train.inverse_time_decay(0.1, step, 3, 0.5, staircase=True),
        "polynomial": tf.train.polynomial_decay(0.1, step, tf.constant(10.0), power=0.5),
        "cosine": tf.train.cosine_decay(0.1, step, 10, alpha=0.1),
        "linear": tf.train.linear_cosine_decay(0.1, step, 10, num_periods=2.0, alpha=0.1, beta=0.2),
    }
    with tf.name_scope("noisy"):
        tf.set_random_seed(11)
        rates["noisy"] = tf.train.noisy_linear_cosine_decay(0.1, step, 10)
    value = tf.cast(step, tf.float32) * [1.0, 2.0]
    average = tf.train.ExponentialMovingAverage(0.9)
    unbiased = tf.train.ExponentialMovingAverage(0.9, num_updates=step, zero_debias=True, name="Unbiased")
    update = average.apply([value])
    with tf.variable_scope("inner"):
        update_unbiased = unbiased.apply([value])
    with tf.control_dependencies([update, update_unbiased]):
        train = tf.assign_add(step, 1).op
    return dict(
        rates,
        init=tf.global_variables_initializer(),
        train=train,
        average=average.average(value),
        unbiased=unbiased.average(value),
    )
