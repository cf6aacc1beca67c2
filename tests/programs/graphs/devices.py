"""Device scopes, nested and merged, device functions and colocation; no session here has these devices."""


def build(tf):
    with tf.device("/cpu:0"):
        a = tf.constant(1.0, name="a")
        with tf.device("/job:worker"):
            b = tf.constant(2.0, name="b")
            with tf.device(None):
                c = tf.constant(3.0, name="c")
            with tf.device("/device:GPU:1"):
                d = tf.constant(4.0, name="d")
        v = tf.Variable(5.0, name="v")
    with tf.colocate_with(a):
        e = tf.add(a, 1.0, name="e")
        with tf.colocate_with(c):
            f = tf.add(a, 1.0, name="f")
        with tf.colocate_with(c, ignore_existing=True):
            g = tf.add(a, 1.0, name="g")
    with tf.colocate_with(v):
        h = tf.constant(1.0, name="h")

    def by_type(op):
        return "/cpu:0" if op.type == "Mul" else "/job:ps/task:1"

    with tf.device(by_type):
        i = tf.multiply(a, c, name="i")
        j = tf.negative(a, name="j")
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        k = tf.Variable(6.0, name="k")
        m = tf.Variable(7.0, name="m")
        n = tf.add(a, c, name="n")
    with tf.device("/job:localhost/replica:0/task:0/device:CPU:0"):
        o = tf.identity(a, name="o")
    del b, d, e, f, g, h, i, j, k, m, n, o, v
    return {}
