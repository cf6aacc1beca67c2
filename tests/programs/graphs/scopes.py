"""Name scopes: nesting, uniquing, leaving with a slash, names given and names taken."""


def build(tf):
    one = tf.constant(1.0)
    two = tf.constant(2.0)
    with tf.name_scope("outer") as outer:
        inner_sum = one + two
        with tf.name_scope("inner"):
            product = tf.multiply(one, two, name="product")
            again = tf.multiply(one, two, name="product")
        with tf.name_scope("inner"):
            third = tf.multiply(one, two, name="product")
    with tf.name_scope("outer"):
        other = tf.add(one, two)
    with tf.name_scope(outer):
        back = tf.identity(inner_sum, name="back")
        with tf.name_scope(None):
            root = tf.identity(two, name="root")
    with tf.name_scope("Outer"):
        case = tf.identity(one, name="case")
    fixed = tf.identity(one, name="fixed/")
    with tf.name_scope(None, "default_name", [one, two]):
        scoped = tf.subtract(one, two)
    with tf.name_scope("given", "default_name"):
        given = tf.subtract(one, two)
    reserved = tf.get_default_graph().unique_name("reserved")
    taken = tf.identity(one, name=reserved)
    placeholder = tf.placeholder(tf.float32, [None, 3])
    optional = tf.placeholder_with_default(tf.zeros([2]), [None], name="optional")
    return {
        "product": product + again + third,
        "other": other,
        "back": back,
        "root": root,
        "case": case,
        "fixed": fixed,
        "scoped": scoped + given,
        "taken": taken,
        "rows": tf.shape(placeholder)[0],
        "optional": optional,
    }


def feeds():
    return {"Placeholder:0": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}
