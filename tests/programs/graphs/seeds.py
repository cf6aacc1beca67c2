"""Graph seeds and op seeds in all four mixes, and the ops that draw."""


def build(tf):
    unseeded = tf.random_uniform([2], seed=11, name="op_seed_only")
    tf.set_random_seed(87654321)
    x = tf.constant([[1.0, 2.0, 3.0, 4.0]] * 4)
    fetches = {
        "op_seed_only": unseeded,
        "graph_seed": tf.random_uniform([3]),
        "both": tf.random_uniform([3], seed=7),
        "again": tf.random_uniform([3]),
        "integers": tf.random_uniform([4], 0, 100, tf.int32),
        "long": tf.random_uniform([4], maxval=1 << 40, dtype=tf.int64),
        "double": tf.random_uniform([2], -1.0, 1.0, tf.float64),
        "normal": tf.random_normal([5], 1.0, 2.0),
        "normal_seeded": tf.random_normal([2, 2], seed=99),
        "truncated": tf.truncated_normal([5]),
        "shuffled": tf.random_shuffle(tf.range(6)),
        "dropped": tf.nn.dropout(x, 0.5),
        "dropped_rate": tf.nn.dropout(x, rate=0.25, seed=3, noise_shape=[4, 1]),
        "multinomial": tf.multinomial(tf.log(x), 3),
        "categorical": tf.random.categorical(tf.log(x), 2, dtype=tf.int32),
        "cropped": tf.random_crop(x, [2, 3]),
        "stateless": tf.random.stateless_uniform([3], [1, 2]),
        "stateless_normal": tf.random.stateless_normal([3], [3, 4]),
    }
    tf.set_random_seed(0)
    fetches["zero_seed"] = tf.random_uniform([2], seed=0)
    fetches["zero_graph"] = tf.random_uniform([2])
    return fetches
