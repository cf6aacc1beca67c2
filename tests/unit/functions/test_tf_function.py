"""tf.function: when it traces anew, what it refuses, how it behaves as a method. Messages are TensorFlow 1.15's."""

import functools
import gc
import weakref

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counted(**options):
    calls = []

    @tf.function(**options)
    def f(x, flag=True):
        calls.append(x)
        return x

    return f, calls


def test_it_is_traced_once_for_each_kind_of_arguments():
    f, calls = counted()

    def traces(*args, **kwargs):
        before = len(calls)
        f(*args, **kwargs)
        return len(calls) - before

    assert traces(tf.constant([1.0])) == 1
    assert traces(tf.constant([1.0, 2.0])) == 1
    assert traces(tf.constant([2.0])) == 0
    assert (traces(1), traces(1), traces(2)) == (1, 0, 1)
    assert (traces(np.ones(2)), traces(np.zeros(2))) == (1, 0)
    assert (traces(tf.constant(1), flag=False), traces(tf.constant(1), False)) == (1, 0)
    assert (traces([1, 2]), traces((1, 2)), traces([1, 2])) == (1, 1, 0)
    with tf.Graph().as_default() as other:
        assert traces(tf.constant([1.0])) == 1
        assert [op.type for op in other.get_operations()] == ["Const", "PartitionedCall"]


def test_shapes_relax_at_the_third_kind():
    shapes = []

    @tf.function(experimental_relax_shapes=True)
    def f(x):
        shapes.append(str(x.shape))
        return x

    results = [f(tf.ones([n])) for n in range(1, 6)]
    assert shapes == ["(1,)", "(2,)", "(?,)"]
    assert [t.shape.as_list() for t in results] == [[n] for n in range(1, 6)]


def test_results_have_the_shapes_that_follow_from_the_arguments():
    f = tf.function(lambda x: tf.matmul(x, tf.ones([2, 3])), input_signature=[tf.TensorSpec([None, 2])])
    assert f(tf.ones([5, 2])).shape.as_list() == [5, 3]
    assert f(tf.placeholder(tf.float32, [None, 2])).shape.as_list() == [None, 3]


def test_what_does_not_fit_the_signature_is_refused():
    f = tf.function(
        lambda x, k: x, input_signature=[tf.TensorSpec([None, 2], name="in"), tf.TensorSpec([], tf.int32)]
    )
    one = tf.constant(1)
    for args in ((tf.ones([1, 3]), one), (tf.ones([1, 2], tf.int32), one), ("a", 1)):
        with pytest.raises(ValueError, match="Python inputs incompatible with input_signature"):
            f(*args)
    with pytest.raises(TypeError, match=r"only pass arguments covered by it. Received 3 argument\(s\)"):
        f(tf.ones([1, 2]), 1, 2)
    with pytest.raises(TypeError, match="Function got an unexpected keyword argument zz"):
        f(tf.ones([1, 2]), zz=2)
    with pytest.raises(ValueError, match=r"inputs \(\(TensorSpec\(shape=\(5, 3\)"):
        f.get_concrete_function(tf.TensorSpec([5, 3]), tf.TensorSpec([], tf.int32))
    assert f(tf.ones([1, 2]), k=1).shape.as_list() == [1, 2]
    assert f.get_concrete_function() is f.get_concrete_function(
        tf.TensorSpec([7, 2]), tf.TensorSpec([], tf.int32)
    )


@pytest.mark.parametrize(
    ("signature", "given", "message"),
    [
        (["?"], [1.0, 2.0], None),
        (["?"], (1, 2), None),
        (["?"], [], None),
        ([{"a": "?", "b": ""}], {"a": [1.0, 2.0], "b": 1.0}, None),
        ([["", ""]], [1.0, 2.0], None),
        ([["", ""]], (1.0, 2.0), "TypeError: The two structures don't have the same sequence type"),
        ([["", ""]], 1.0, "TypeError: If shallow structure is a sequence, input must also be a sequence"),
        ([["", ""]], [1.0], "ValueError: Structure of Python function inputs does not match input_signature"),
        (
            [{"a": ""}],
            {"b": 1.0},
            "ValueError: Structure of Python function inputs does not match input_signature",
        ),
        ([["", ""]], [[1.0], 2.0], "ValueError: Python inputs incompatible with input_signature"),
        (["?"], [[1.0]], "ValueError: Python inputs incompatible with input_signature"),
        (["?"], ["a"], "ValueError: Python inputs incompatible with input_signature"),
        (
            ["?"],
            None,
            "ValueError: When input_signature is provided, all inputs to the Python function must be",
        ),
        (["?"], {"a": 1.0}, "TypeError: Failed to convert object of type <class 'dict'> to Tensor"),
    ],
)
def test_a_list_is_one_tensor_where_the_signature_has_one(signature, given, message):
    specs = tf.nest.map_structure(lambda dims: tf.TensorSpec([None] * len(dims)), signature)
    f = tf.function(lambda x: tf.add_n([tf.reduce_sum(t) for t in tf.nest.flatten(x)]), input_signature=specs)
    if message is None:
        assert f(given).shape.as_list() == []
        return
    kind, _, message = message.partition(": ")
    with pytest.raises({"TypeError": TypeError, "ValueError": ValueError}[kind], match=message):
        f(given)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tf.function(3), TypeError, "unsupported callable"),
        (
            lambda: tf.function(lambda x: x, input_signature=tf.TensorSpec([])),
            TypeError,
            "must be either a tuple or a list",
        ),
        (lambda: tf.function(lambda x: x, input_signature=[3]), TypeError, r"Invalid input_signature \[3\]"),
        (lambda: tf.function(lambda x: object())(1), TypeError, "must return zero or more Tensors"),
        (lambda: tf.function(lambda: tf.no_op())(), TypeError, "must return zero or more Tensors"),
        (lambda: tf.function(lambda x: x)(), TypeError, "missing 1 required positional argument: 'x'"),
        (lambda: tf.function(lambda x: x)(1, 2), TypeError, "takes 1 positional argument but 2 were given"),
        (lambda: tf.function(lambda x: x)(y=2), TypeError, "got an unexpected keyword argument 'y'"),
        (lambda: tf.function(lambda x: x)({1, 2}), AttributeError, "'set' object has no attribute 'shape'"),
    ],
)
def test_misuse_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_concrete_functions_take_tensors_by_place_or_name():
    f = tf.function(lambda x, y, k=2: {"o": x * k + y})
    g = f.get_concrete_function(tf.TensorSpec([None]), y=tf.TensorSpec(None, name="why"))
    x, y = tf.constant([1.0]), tf.constant(2.0)
    assert list(g(x, y)) == list(g(x, why=y)) == list(g(x=x, why=y)) == ["o"]
    with pytest.raises(
        TypeError, match=r"Expected argument names \['x', 'why'\] but got values for \['x', 'y'\]. Missing"
    ):
        g(x, y=y)
    with pytest.raises(
        ValueError, match="All inputs to `ConcreteFunction`s must be Tensors; .* the 0-th input"
    ):
        g(1.0, y)
    with pytest.raises(TypeError, match="was expected to be a float tensor but is a int32 tensor"):
        g(tf.constant([1]), y)
    assert g.structured_input_signature[0][:2] == (
        tf.TensorSpec([None], name="x"),
        tf.TensorSpec(None, name="why"),
    )
    assert g.output_dtypes == {"o": tf.float32} and g.captured_inputs == []
    assert g.name.startswith(b"__inference_")


def test_variables_are_made_in_the_first_call_only():
    @tf.function
    def makes(x):
        return tf.Variable(1.0) + x

    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        makes(tf.constant(1.0))
    kept = []

    @tf.function
    def depends(x):
        if not kept:
            kept.append(tf.Variable(x))
        return kept[0]

    with pytest.raises(Exception, match="depends transitively on placeholder"):
        depends(tf.constant(1.0))


def test_each_object_has_its_own_variables_and_is_not_kept_alive():
    class Model:
        v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable(2.0)
            return self.v.assign_add(x)

    one, other = Model(), Model()
    y = [one(tf.constant(1.0)), other(tf.constant(10.0))]
    assert one.v is not other.v and len(tf.global_variables()) == 2
    assert one.__call__ is one.__call__
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y) == [3.0, 12.0] and session.run(y) == [4.0, 22.0]
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_partial_functions_and_callable_objects():
    class Adds:
        def __call__(self, x, y=1.0):
            return x + y

    f = tf.function(functools.partial(lambda a, x: a * x, 3.0))
    g = tf.function(Adds())
    with tf.Session() as session:
        assert session.run([f(tf.constant(2.0)), g(tf.constant(2.0)), g(tf.constant(2.0), y=5.0)]) == [
            6,
            3,
            7,
        ]


def test_a_tensor_of_a_function_cannot_be_fetched_outside():
    kept = []

    @tf.function
    def f(x):
        kept.append(x + 1.0)
        return x

    f(tf.constant(1.0))
    with tf.Session() as session, pytest.raises(ValueError, match="is not an element of this graph"):
        session.run(kept[0])
    with pytest.raises(
        ValueError, match="cannot be accessed here: it is defined in another function or code block"
    ):
        tf.function(lambda: kept[0] * 2.0)()


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_training_through_a_function(tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer(), use_resource=True)
    b = tf.Variable([0.0])

    @tf.function
    def model(x):
        return tf.matmul(x, w) + b

    x = np.random.RandomState(0).rand(20, 3).astype(np.float32)
    loss = tf.reduce_mean(tf.square(model(tf.constant(x)) - (x @ [[1.0], [2.0], [-1.0]] + 0.5)))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step])[0] for _ in range(200)]
    assert losses[-1] < 1e-3 * losses[0]


def test_control_dependencies_outside_hold_for_the_whole_call():
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    write = v.assign(5.0, read_value=False)

    @tf.function
    def f():
        with tf.control_dependencies([write]):
            return v.read_value()

    y = f()
    assert write in y.op.control_inputs
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y) == 5.0


def test_functions_of_functions_and_their_names():
    @tf.function
    def f(x):
        """Squares."""
        return x * x

    assert (f.__name__, f.__doc__, f.python_function.__name__) == ("f", "Squares.", "f")
    g = tf.function(f)
    assert g(tf.constant(2.0)).op.type == "PartitionedCall"
    with pytest.raises(ValueError, match="cannot be decorated after they have been traced"):
        g._decorate(lambda h: h)


def test_wrapped_functions_make_variables_once_and_can_be_cut():
    def f(x, add):
        v = tf.Variable(5.0, name="v")
        with tf.control_dependencies([v.assign_add(x) if add else v.assign_sub(x)]):
            return v.read_value()

    wrapped = tf.wrap_function(f, [tf.TensorSpec((), tf.float32), True])
    y = [wrapped(tf.constant(1.0)), wrapped(2.0)]
    assert [v.name for v in tf.global_variables()] == ["v:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y[0]) == 6.0 and session.run(y[1]) == 8.0
    with pytest.raises(NotImplementedError, match="Keyword arguments not supported"):
        wrapped(x=1.0)
    with pytest.raises(
        ValueError, match="Arguments and signature arguments do not match. got: 1, expected: 2"
    ):
        wrapped()
    with tf.Graph().as_default() as inner:
        a = tf.placeholder(tf.float32, [2], name="a")
        tf.add(tf.multiply(a, 2.0, name="b"), 1.0, name="c")
    message = inner.as_graph_def()
    imported = tf.wrap_function(lambda: tf.import_graph_def(message, name="im"), [])
    whole, part = imported.prune("im/a:0", "im/c:0"), imported.prune("im/b:0", {"k": "im/c:0"})
    with tf.Session() as session:
        assert session.run(whole(tf.constant([1.0, 2.0]))).tolist() == [3.0, 5.0]
        assert session.run(part(tf.constant([1.0, 2.0])))["k"].tolist() == [2.0, 3.0]


def test_endless_recursion_is_refused_while_tracing():
    @tf.function(autograph=False)
    def endless(x):
        return tf.cond(x > 3.0, lambda: x, lambda: endless(x + 1.0))

    with pytest.raises(ValueError, match="Function 'endless' calls itself"):
        endless(tf.constant(1.0))

    @tf.function(autograph=False)
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    with tf.Session() as session:
        assert session.run(power(tf.constant(2.0), 5)) == 32.0
