"""Small programs with functions (Defun, tf.function, AutoGraph), run once with TensorFlow for the golden file and
again by the tests.

A program takes the modules `tf` and `function` (tensorflow.python.framework.function) and returns what is fetched and
what is fed. All variables are initialized before the one step.
"""

import importlib
import re

import numpy as np

FOUR = np.arange(4, dtype=np.float32) / 2 - 0.75


def defun(tf, function):
    @function.Defun(tf.float32, tf.float32, func_name="Mix")
    def mix(x, y):
        """Mixes."""
        return x * y + tf.sin(y, name="wave"), x - y

    x = tf.placeholder(tf.float32, [4], name="x")
    a, b = mix(x, [1.0, 2.0, 3.0, 4.0], name="called")
    return [a, b, *tf.gradients(a + b, x)], {x: FOUR}


def defun_captures(tf, function):
    x = tf.placeholder(tf.float32, [4], name="x")
    w = tf.get_variable("w", initializer=[1.0, 2.0, 3.0, 4.0])
    k = tf.constant(3.0, name="k")

    @function.Defun(tf.float32, func_name="Captures", noinline=True)
    def captures(y):
        r = tf.get_variable("r", [4], initializer=tf.ones_initializer(), use_resource=True)
        return y * w + k * x + r

    y = captures(2.0 * x)
    return [y, *tf.gradients(y, [x, w])], {x: FOUR}


def defun_gradients(tf, function):
    @function.Defun(tf.float32, tf.float32, func_name="TripleGrad")
    def triple_grad(x, dy):
        return dy * x * 5.0

    @function.Defun(tf.float32, func_name="Triple", grad_func=triple_grad)
    def triple(x):
        return x * 3.0

    @function.Defun(tf.float32, func_name="Squared", python_grad_func=lambda op, dy: [dy * 7.0])
    def square(x):
        return x * x

    x = tf.placeholder(tf.float32, [4], name="x")
    y = triple(x) + square(x)
    return [y, *tf.gradients(y, x)], {x: FOUR}


def defun_overloaded(tf, function):
    @function.Defun(func_name="Twice", shape_func=lambda op: [op.inputs[0].get_shape()])
    def twice(x):
        return x + x

    x = tf.placeholder(tf.float32, [4], name="x")
    return [twice(x), twice(tf.constant([1, 2])), twice(x[:2])], {x: FOUR}


def functional(tf, function):
    functional_ops = importlib.import_module(
        function.__name__.replace("framework.function", "ops.functional_ops")
    )
    cap = tf.constant(10.0, name="cap")

    @function.Defun(tf.float32, func_name="Double")
    def double(x):
        return x * 2.0

    @function.Defun(tf.float32, func_name="Negative")
    def negative(x):
        return -x

    @function.Defun(tf.int32, tf.float32, func_name="Under")
    def under(i, x):
        return i < 5

    @function.Defun(tf.int32, tf.float32, func_name="Step")
    def step(i, x):
        return i + 1, x * cap

    @function.Defun(tf.int32, tf.float32, func_name="Adds")
    def adds(i, x):
        return x + tf.cast(i, tf.float32) + cap

    x = tf.placeholder(tf.float32, [], name="x")
    found = [
        functional_ops.If(x > 0, [x], double, negative)[0],
        functional_ops.While([tf.constant(0), x], under, step, name="loop")[1],
        functional_ops.For(0, 4, 1, [x], adds)[0],
        functional_ops.remote_call(args=[x], Tout=[tf.float32], f=double, target="/cpu:0")[0],
        functional_ops.symbolic_gradient(input=[x, 1.0], Tout=[tf.float32], f=double)[0],
    ]
    return found, {x: np.float32(1.5)}


def plain(tf, function):
    v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0, 4.0], use_resource=True)
    outer = tf.constant([3.0, 4.0, 5.0, 6.0], name="outer")

    @tf.function
    def f(x, y=2.0):
        return x * v + outer * y, {"a": x}

    x = tf.placeholder(tf.float32, [4], name="x")
    z = f(x)
    return [z[0], z[1]["a"], *tf.gradients(z[0], [x, v])], {x: FOUR}


def reference_variable(tf, function):
    w = tf.get_variable("w", initializer=[1.0, 2.0, 3.0, 4.0])
    f = tf.function(lambda x: tf.exp(x) * w)
    x = tf.placeholder(tf.float32, [4], name="x")
    y = f(x)
    return [y, *tf.gradients(y, [x, w])], {x: FOUR}


def second_order(tf, function):
    @tf.function
    def cube(x):
        return x * x * x

    x = tf.placeholder(tf.float32, [], name="x")
    y = cube(x)
    first = tf.gradients(y, x)[0]
    return [y, first, *tf.gradients(first, x)], {x: np.float32(2.0)}


def nested(tf, function):
    c = tf.constant(3.0, name="c")

    @tf.function
    def inner(x):
        return tf.sin(x) * c

    @tf.function
    def outer(x):
        return inner(x) + 1.0

    x = tf.placeholder(tf.float32, [], name="x")
    y = outer(x)
    return [y, *tf.gradients(y, [x, c])], {x: np.float32(2.0)}


def slices(tf, function):
    v = tf.get_variable("v", [5, 2], use_resource=True, initializer=tf.ones_initializer())
    w = tf.get_variable("w", initializer=[[1.0, 2.0]] * 3)

    @tf.function
    def look_up(i):
        return tf.nn.embedding_lookup(v, i) + tf.gather(w, i)

    y = look_up(tf.constant([0, 1, 0]))
    dv, dw = tf.gradients(y * y, [v, w])
    return [y, dv.values, dv.indices, dv.dense_shape, dw.values, dw.indices], {}


def in_order(tf, function):
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    w = tf.get_variable("w", initializer=1.0, use_resource=True)

    @tf.function
    def f(x):
        v.assign_add(x)
        w.assign(v)
        tf.Assert(x > 0, [x])
        v.assign_sub(0.25)
        return v + w, w.assign_add(v), None, 3

    z = f(tf.constant(0.5))
    return [z[0], z[1], z[3]], {}


def random_numbers(tf, function):
    tf.set_random_seed(5)

    @tf.function
    def f(x):
        return x + tf.random.uniform([4]), tf.random.normal([4], seed=3)

    x = tf.placeholder(tf.float32, [4], name="x")
    return list(f(x)), {x: FOUR}


def makes_variables(tf, function):
    tf.set_random_seed(7)

    class Model:
        v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                with tf.name_scope("scope"):
                    self.v = tf.Variable(tf.random.normal([4], name="start"), name="a")
                    self.w = tf.Variable(lambda: tf.ones([4]) * 2.0, name="b", trainable=False)
                self.u = tf.Variable([3.0, 4.0, 5.0, 6.0], name="c")
            return x * self.v + self.w + self.u

    x = tf.placeholder(tf.float32, [4], name="x")
    model, other = Model(), Model()
    y = model(x) + other(x) + model(2.0 * x)
    return [y, *tf.gradients(y, [model.v, other.u])], {x: FOUR}


def makes_variables_by_scope(tf, function):
    @tf.function
    def f(x):
        with tf.variable_scope("vs", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        return x * tf.reduce_sum(w)

    x = tf.placeholder(tf.float32, [4], name="x")
    return [f(x)], {x: FOUR}


def signature(tf, function):
    @tf.function(
        input_signature=[tf.TensorSpec([None, 2], tf.float32, name="in"), tf.TensorSpec([], tf.int32)]
    )
    def f(x, k):
        return tf.reduce_sum(x, 1) * 2.0, k + 1

    x = tf.placeholder(tf.float32, [3, 2], name="x")
    a = f(x, tf.constant(1))
    b = f(np.ones([1, 2], np.float32), 5)
    c = f.get_concrete_function()(x, tf.constant(2))
    return [*a, *b, *c], {x: np.ones([3, 2])}


def structures(tf, function):
    @tf.function
    def f(x, pair, *args, **named):
        return x, pair, args, named

    one = tf.constant(1.0)
    r = f(
        one, [tf.constant(2), 3], np.ones(2, np.float32), k={"b": tf.constant(4), "a": tf.constant(5)}, z=None
    )
    sparse = tf.function(lambda s: s)(tf.SparseTensor([[0, 1]], [1.0], [2, 2]))
    return [r[0], *r[1], r[2][0], r[3]["k"]["a"], r[3]["k"]["b"], sparse.values, sparse.dense_shape], {}


def concrete(tf, function):
    @tf.function
    def f(x, y, k=2):
        return {"o": x * k + y}

    g = f.get_concrete_function(
        tf.TensorSpec([None], tf.float32), y=tf.TensorSpec(None, tf.float32, name="why")
    )
    x = tf.placeholder(tf.float32, [4], name="x")
    return [g(x, why=tf.constant(2.0))["o"], g(x=x, why=tf.constant(3.0))["o"]], {x: FOUR}


def scopes(tf, function):
    f = tf.function(lambda x: x + 1.0)
    with tf.name_scope("outer"), tf.device("/cpu:0"), tf.control_dependencies([tf.no_op("first")]):
        y = f(tf.constant(1.0))
    with tf.get_default_graph().colocate_with(y.op):
        z = f(tf.constant(2.0))
    return [y, z], {}


def branch(tf, function):
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def f(x):
        if x > 0:
            v.assign_add(x)
            y = x * 2.0
        else:
            y = x
        return y

    x = tf.placeholder(tf.float32, [], name="x")
    y = f(x)
    return [y], {x: np.float32(3.0)}


def loops(tf, function):
    @tf.function
    def f(x, n):
        for i in tf.range(n):
            x = x + tf.cast(i, tf.float32)
        while tf.reduce_sum(x) < 100.0:
            x = x * 2.0
        return x

    x = tf.placeholder(tf.float32, [4], name="x")
    return [f(x, tf.constant(4))], {x: FOUR}


def loop_over_rows(tf, function):
    @tf.function
    def f(x):
        total = tf.zeros([2])
        for row in x:
            total += row * row
        return total

    x = tf.placeholder(tf.float32, [3, 2], name="x")
    y = f(x)
    return [y], {x: np.arange(6).reshape(3, 2)}


def logic(tf, function):
    @tf.function
    def f(x, y):
        z = x if x > 0 and y > 0 else -y
        return abs(z), len(tf.stack([z, z])), float(x), int(y)

    x = tf.placeholder(tf.int32, [], name="x")
    y = tf.placeholder(tf.float32, [], name="y")
    return list(f(tf.cast(x, tf.float32), y)), {x: 3, y: -4.5}


def step_loop(tf, function):
    @tf.function
    def f(n, d):
        s = 0
        for i in tf.range(1, n, d):
            s += i
        return s

    n = tf.placeholder(tf.int32, [], name="n")
    return [f(n, tf.constant(2))], {n: 8}


def assertion(tf, function):
    feature = tf.autograph.experimental.Feature

    @tf.function(experimental_autograph_options=feature.ASSERT_STATEMENTS)
    def f(x):
        assert x > 0, "too small"
        return x

    x = tf.placeholder(tf.float32, [], name="x")
    return [f(x)], {x: np.float32(1.0)}


def prints(tf, function):
    x = tf.placeholder(tf.float32, [4], name="x")
    deps = [
        tf.print("a", x, summarize=2),
        tf.print([x, {"k": x, "b": 1}], (3, "s"), sep="-", end="!", name="named"),
        tf.print("{}", x),
        tf.print(tf.constant("text")),
    ]
    with tf.control_dependencies(deps):
        return [tf.identity(x)], {x: FOUR}


def python_functions(tf, function):
    x = tf.placeholder(tf.float32, [4], name="x")
    a = tf.py_function(lambda t: tf.reduce_sum(t * t) + t.numpy()[0], [x], tf.float32)
    b = tf.numpy_function(lambda t: t * 2, [x], tf.float32)
    return [a, b, *tf.gradients(a, x)], {x: FOUR}


def own_gradient(tf, function):
    with tf.variable_scope("a", use_resource=True):

        @tf.custom_gradient
        def f(x):
            w = tf.get_variable("w", initializer=2.0)

            def grad(dy, variables=None):
                return dy * 10.0, [tf.reduce_sum(dy) * 100.0 for _ in variables]

            return x * w, grad

        x = tf.placeholder(tf.float32, [4], name="x")
        y = f(x)
        straight = tf.grad_pass_through(tf.round)(x)
    return [y, *tf.gradients(y, [x, *tf.trainable_variables()]), *tf.gradients(straight * 2.0, x)], {x: FOUR}


def own_gradient_in_function(tf, function):
    @tf.custom_gradient
    def f(x):
        return tf.sin(x), lambda dy: dy * 7.0

    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.function(lambda t: f(t) * 2.0)(x)
    return [y, *tf.gradients(y, x)], {x: FOUR}


PROGRAMS = {
    f.__name__: f
    for f in (
        defun, defun_captures, defun_gradients, defun_overloaded, functional, plain, reference_variable, second_order,
        nested, slices, in_order, random_numbers, makes_variables, makes_variables_by_scope, signature, structures,
        concrete, scopes, branch, loops, loop_over_rows, logic, step_loop, assertion, prints, python_functions,
        own_gradient, own_gradient_in_function,
    )
}  # fmt: skip


def build(tf, function, program):
    """Returns the graph of a program, what it fetches and what it feeds."""
    with tf.Graph().as_default() as graph:
        fetches, feed = program(tf, function)
    return graph, fetches, feed


def values(tf, graph, fetches, feed):
    """Returns what the fetches of a program are, as lists."""
    with graph.as_default():
        ready = tf.global_variables_initializer()
    with tf.Session(graph=graph) as session:
        session.run(ready)
        return [np.asarray(v).tolist() for v in session.run(fetches, feed)]


def _anonymous(text, names):
    """Takes out the numbers that count what the process did before."""
    for name in names:
        text = text.replace(name, re.sub(r"\d+", "#", name))
    text = re.sub(r"PartitionedCall-\d+", "PartitionedCall-#", text)
    return re.sub(r"pyfunc_\d+", "pyfunc_#", text)


def facts(graph, canonical):
    """Returns a graph's nodes and its functions, one line of text a node."""
    definition = graph.as_graph_def()
    names = sorted((f.signature.name for f in definition.library.function), key=len, reverse=True)
    numbered = [n for n in names if re.search(r"_\d+$", n)]

    def line(node, outputs=None):
        copied = type(node)()
        copied.CopyFrom(node)
        if "config_proto" in copied.attr:
            del copied.attr["config_proto"]  # it says what machine TensorFlow ran on
        return _anonymous(canonical.dumps(canonical.node(copied, outputs)).strip(), numbered)

    nodes = []
    for node in definition.node:
        outputs = graph.get_operation_by_name(node.name).outputs
        nodes.append(line(node, [canonical._static_shape(t) for t in outputs]))
    functions = {}
    for f in definition.library.function:
        s = f.signature
        head = {
            "in": [
                [a.name, canonical.type_name(a.type), _attrs(f.arg_attr[i].attr, canonical)]
                for i, a in enumerate(s.input_arg)
            ],
            "out": [[a.name, canonical.type_name(a.type), f.ret[a.name]] for a in s.output_arg],
            "stateful": s.is_stateful,
            "controls": sorted(f.control_ret.items()),
            "attr": _attrs(f.attr, canonical),
            "doc": s.description,
        }
        body = [_anonymous(canonical.dumps(head).strip(), numbered), *[line(n) for n in f.node_def]]
        functions.setdefault(_anonymous(s.name, numbered), []).append(body)
    gradients = sorted([g.function_name, g.gradient_func] for g in definition.library.gradient)
    return {"nodes": nodes, "functions": {k: sorted(v) for k, v in functions.items()}, "gradients": gradients}


def _attrs(attr, canonical):
    return {key: canonical.attr_value(attr[key]) for key in sorted(attr)}
