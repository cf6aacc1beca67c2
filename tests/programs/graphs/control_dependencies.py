"""Control edges: nested, cleared, on tensors, operations and variables; group, tuple, and no_op."""


def build(tf):
    counter = tf.Variable(0.0, name="counter")
    other = tf.Variable(10.0, name="other")
    third = tf.Variable(5.0, name="third")  # of its own: nothing orders a read of it and the write below
    increment = tf.assign_add(counter, 1.0, name="increment")
    with tf.control_dependencies([increment]):
        outer = tf.identity(other, name="outer")
        with tf.control_dependencies([other.op, outer]):
            inner = tf.constant(3.0, name="inner")
            product = tf.multiply(outer, inner, name="product")
            with tf.control_dependencies(None):
                free = tf.constant(4.0, name="free")
        sibling = tf.add(outer, 1.0, name="sibling")
    group = tf.group(increment, product, name="both")
    empty = tf.group(name="empty")
    with tf.device("/cpu:0"):
        placed = tf.assign_sub(third, 1.0, name="placed")
    mixed = tf.group(increment, placed, name="mixed")
    first, second = tf.tuple([product, free], name="pair", control_inputs=[placed])
    with tf.control_dependencies([increment.op]):
        late = tf.no_op(name="late")
    dependent = tf.identity(free, name="dependent")
    with tf.control_dependencies([group, empty, late]):
        last = tf.no_op("last")
    return {
        "init": tf.global_variables_initializer(),
        "train": tf.group(last, mixed, name="train"),
        "first": first,
        "second": second,
        "sibling": sibling,
        "dependent": dependent,
        "counter": counter,
    }
