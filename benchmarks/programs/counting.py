"""A while loop that counts to a hundred thousand and adds up a number."""

STEPS = 5


def build(tf):
    limit = tf.placeholder(tf.int32, [])
    found = tf.while_loop(lambda i, a: i < limit, lambda i, a: (i + 1, a + 0.5), (0, 0.0))
    return list(found), lambda i: {limit: 100_000}
