"""A while loop that counts to a hundred thousand and adds up a number."""

GROUP = "recurrent"
STEPS = 5
TINY = {"count": 10}


def build(tf, count=100_000):
    limit = tf.placeholder(tf.int32, [])
    found = tf.while_loop(lambda i, a: i < limit, lambda i, a: (i + 1, a + 0.5), (0, 0.0))
    return list(found)[::-1], lambda i: {limit: count}
