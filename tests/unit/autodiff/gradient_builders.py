"""Small graphs with gradients, built the same way under TensorFlow (to record) and under headrace (to compare).

Each function takes the module `tf` and a graph that is the default, and may raise: the error is recorded, too.
"""


def placeholder(tf, name, shape=(2,), dtype=None):
    return tf.placeholder(dtype or tf.float32, shape, name=name)


def variable(tf, name, shape, resource=False):
    return tf.get_variable(name, shape, initializer=tf.zeros_initializer(), use_resource=resource)


def of_itself(tf, graph):
    x = placeholder(tf, "x")
    tf.gradients(x, x)


def fan_out(tf, graph):
    x = placeholder(tf, "x")
    y = x * x
    tf.gradients([tf.identity(y) + y, y], [x, y])


def interior_tensors(tf, graph):
    x, y = placeholder(tf, "x"), placeholder(tf, "y")
    a = x * y
    c = tf.tanh(a + y)
    tf.gradients([c * a, c], [x, y, a])


def given_gradients(tf, graph):
    x = placeholder(tf, "x")
    y = tf.identity(x)
    tf.gradients(y, [x], grad_ys=[2.0 * tf.ones([2])])
    tf.gradients([y, x], [x], grad_ys=[None, tf.constant([1.0, 2.0])])
    tf.gradients(
        y, x, grad_ys=tf.IndexedSlices(tf.constant([1.0, 1.0]), tf.constant([0, 1]), tf.constant([2]))
    )


def unconnected(tf, graph):
    x, y = placeholder(tf, "x"), placeholder(tf, "y")
    v = variable(tf, "v", [5], resource=True)
    tf.gradients(y, x)
    tf.gradients(y, [x, v], unconnected_gradients="zero")


def one_output_of_two(tf, graph):
    x = placeholder(tf, "x", (4,))
    first, _ = tf.split(x, 2)
    tf.gradients(first, x)


def stopped(tf, graph):
    x = placeholder(tf, "x")
    y = tf.exp(x)
    z = tf.sin(y) + tf.stop_gradient(x) * x
    tf.gradients(z, [x, y], stop_gradients=[y])


def unknown_shape(tf, graph):
    x = placeholder(tf, "x", None)
    tf.gradients(x * x, x, name="named")


def twice(tf, graph):
    x = placeholder(tf, "x", None)
    first = tf.gradients(tf.tanh(x) * x, x)[0]
    tf.gradients(first, x)


def colocated(tf, graph):
    x = placeholder(tf, "x")
    tf.gradients(tf.tanh(x) + x, x, colocate_gradients_with_ops=True)


def gated(tf, graph):
    x, z = placeholder(tf, "x"), placeholder(tf, "z")
    tf.gradients(tf.tanh(x) * z, [x, z], gate_gradients=True)


def gated_and_colocated_on_devices(tf, graph):
    v = variable(tf, "v", [5, 2])
    a = tf.gather(v, [0, 1]) * 2.0
    with tf.device("/cpu:1"):
        z = placeholder(tf, "z")
        y = tf.matmul(a, tf.reshape(z, [2, 1]))
    tf.gradients(y, [v, z], gate_gradients=True, colocate_gradients_with_ops=True)


def sums_by_device(tf, graph):
    x = placeholder(tf, "x")
    with tf.device("/cpu:0"):
        a = tf.exp(x)
    with tf.device("/cpu:1"):
        b, c = tf.exp(x), tf.exp(x)
    with tf.device("/cpu:2"):
        tf.gradients([a, b, c], x, colocate_gradients_with_ops=True)
        tf.gradients([a, b, c], x)


def aggregation_methods(tf, graph):
    for method in (0, 1, 2, 9):
        x = placeholder(tf, "x")
        tf.gradients(tf.exp(x) + tf.sin(x) + tf.identity(x), x, aggregation_method=method)


def slices_joined(tf, graph):
    v = variable(tf, "v", [5, 2])
    a, b = tf.gather(v, [0, 1]), tf.gather(v, tf.constant([2, 3], tf.int64))
    tf.gradients([a, b], v)


def slices_and_dense(tf, graph):
    v = variable(tf, "v", [5, 2])
    y = tf.gather(v, [0]) + tf.gather(v, [0]) + tf.reduce_sum(v)
    tf.gradients(y, v, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)


def variables_of_both_kinds(tf, graph):
    v, w = variable(tf, "v", [5], resource=True), variable(tf, "w", [5])
    tf.gradients(v * w, [v, w, v.handle])


def name_scopes(tf, graph):
    x = placeholder(tf, "x")
    with tf.name_scope("s"):
        y = tf.tanh(x)
        tf.gradients(y, x)
        tf.gradients(y, x, name="foo")


def inside_control_dependencies(tf, graph):
    x = placeholder(tf, "x")
    y = tf.tanh(x)
    with tf.control_dependencies([y]):
        tf.gradients(y, x)


def integers_carry_nothing(tf, graph):
    x = placeholder(tf, "x", dtype=tf.int32)
    tf.gradients(tf.cast(x, tf.float32), x)
    tf.gradients(tf.identity(x), x)


def half_types(tf, graph):
    for dtype in (tf.float16, tf.bfloat16):
        x = placeholder(tf, "x", dtype=dtype)
        tf.gradients(tf.identity(x), x)


def numbers(tf, graph):
    x = placeholder(tf, "x")
    tf.gradients(3.0, x)
    tf.gradients(x, 3.0)


def custom(tf, graph):
    @tf.custom_gradient
    def tripled(x, z):
        return (x * z, x + z), lambda dy, dz: (dy * z, dz * 3.0)

    x = placeholder(tf, "x")
    a, b = tripled(x, [1.0, 2.0])
    tf.gradients([a, b], x)


def custom_with_variables(tf, graph):
    outer = variable(tf, "outer", [2], resource=True)

    @tf.custom_gradient
    def f(x):
        v = variable(tf, "v", [2], resource=True)

        def grad(dy, variables=None):
            return dy * v, [dy * x for _ in variables]

        return v * x, grad

    x = placeholder(tf, "x")
    tf.gradients(f(x), [x, outer])


def custom_without_variables_argument(tf, graph):
    @tf.custom_gradient
    def f(x):
        return variable(tf, "v", [2], resource=True) * x, lambda dy: dy

    f(placeholder(tf, "x"))


def custom_with_reference_variable(tf, graph):
    @tf.custom_gradient
    def f(x):
        return variable(tf, "v", [2]) * x, lambda dy, variables=None: (dy, [dy])

    f(placeholder(tf, "x"))


def overridden(tf, graph, gradient="HeadraceTestTimesFive"):
    x = placeholder(tf, "x")
    with graph.gradient_override_map({"Identity": gradient}):
        y = tf.identity(x)
    tf.gradients(y, x)


def wrong_number(tf, graph):
    overridden(tf, graph, "HeadraceTestTwo")


def wrong_shape(tf, graph):
    overridden(tf, graph, "HeadraceTestThreeOnes")


def never_registered(tf, graph):
    overridden(tf, graph, "HeadraceTestNobody")


def too_many_given(tf, graph):
    x = placeholder(tf, "x")
    tf.gradients(x, x, grad_ys=[1, 2])


def complex_without_given(tf, graph):
    x = placeholder(tf, "x", dtype=tf.complex64)
    tf.gradients(x, x)


def complex_given_for_real(tf, graph):
    x = placeholder(tf, "x")
    tf.gradients(x, x, grad_ys=[tf.constant([1j, 1j], tf.complex64)])


def real_given_for_complex(tf, graph):
    x = placeholder(tf, "x", dtype=tf.complex64)
    tf.gradients(x, x, grad_ys=[tf.constant([1.0, 1.0])])


def given_for_string(tf, graph):
    x = placeholder(tf, "x", dtype=tf.string)
    tf.gradients(x, x, grad_ys=[tf.constant(["a", "b"])])


def bad_unconnected(tf, graph):
    x = placeholder(tf, "x")
    tf.gradients(x, x, unconnected_gradients="sometimes")


BUILDERS = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and name not in ("placeholder", "variable")
}


def register(tf):
    """Registers the gradients that `overridden` asks for, once in a process."""
    tf.RegisterGradient("HeadraceTestTimesFive")(lambda op, dy: dy * 5.0)
    tf.RegisterGradient("HeadraceTestTwo")(lambda op, dy: [dy, dy])
    tf.RegisterGradient("HeadraceTestThreeOnes")(lambda op, dy: tf.ones([3]))
