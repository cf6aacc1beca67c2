"""Defun: arguments, names, captures and refusals. Messages are TensorFlow 1.15's."""

import pytest

import headrace as tf
from headrace.python.framework import function

F = tf.float32


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def call(*types, f, args=(1.0,), **options):
    return function.Defun(*types, **options)(f)(*args)


REFUSED = [
    (
        lambda: call(F, f=lambda x: x, args=(), func_name="A"),
        ValueError,
        "Expected number of arguments: 1, received: 0",
    ),
    (lambda: call(F, f=lambda x: x, args=(1.0, 2.0), func_name="A"), ValueError, "arguments: 1, received: 2"),
    (
        lambda: call(F, f=lambda x: x, args=(1,), func_name="A"),
        ValueError,
        "Input 'x_0' passed int32 expected float while building NodeDef 'A' using "
        r"Op<name=A; signature=x_0:float -> x:float>",
    ),
    (lambda: call(F, f=3), ValueError, "function 3 must be callable"),
    (
        lambda: call(F, f=lambda x, y: x),
        ValueError,
        "fewer arguments than the number of specified input types",
    ),
    (
        lambda: call(F, F, f=lambda x: x),
        ValueError,
        "fewer arguments than the number of specified input types",
    ),
    (
        lambda: call(F, f=lambda x, y=1: x),
        ValueError,
        "argument defaults or keywords arguments are not supported",
    ),
    (lambda: call(F, f=lambda x: [x, None], func_name="A"), ValueError, "Function A can not return None."),
    (
        lambda: call(F, f=lambda x: {"a": x}, func_name="A"),
        TypeError,
        "List of Tensors when single Tensor expected",
    ),
    (
        lambda: call(F, f=lambda x: x, func_name="A", out_names=["a", "b"]),
        tf.errors.InvalidArgumentError,
        "output names size = 2 outputs size = 1",
    ),
    (
        lambda: call(F, f=lambda x: x, func_name="MatMul"),
        tf.errors.InvalidArgumentError,
        "Cannot add function 'MatMul' because an op with the same name already exists",
    ),
    (
        lambda: [call(F, f=f, func_name="A") for f in (lambda x: x, lambda x: x + 1.0)],
        tf.errors.InvalidArgumentError,
        "a different function with the same name already exists",
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_are_tensorflows(number):
    make, error, message = REFUSED[number]
    with pytest.raises(error, match=message):
        make()


def test_unknown_marks_are_refused():
    f = function.Defun(F, func_name="A")(lambda x: x)
    with pytest.raises(ValueError, match="Unknown keyword arguments"):
        f(1.0, foo=1)
    node = f(1.0, noinline=True, compiled=True, name="here").op
    assert (node.name, node.type) == ("here", "A")
    assert node.get_attr("_noinline") is True and node.get_attr("_XlaScope") == b"function_A"


def test_results_come_alone_in_a_tuple_or_as_the_operation():
    assert isinstance(call(F, f=lambda x: x, func_name="A"), tf.Tensor)
    assert isinstance(call(F, f=lambda x: (x, x * 2.0), func_name="B"), tuple)
    assert isinstance(call(F, f=lambda x: None, func_name="C"), tf.Operation)


def test_what_is_captured_is_known_inside_and_outside():
    outer = tf.constant(5.0)
    seen = []

    @function.Defun(F, func_name="A")
    def f(x):
        seen.append((list(function.get_extra_inputs()), list(function.get_extra_args())))
        y = x * outer
        w = tf.get_variable("w", initializer=2.0)
        seen.append((list(function.get_extra_inputs()), function.get_extra_args()[0].graph))
        assert function.get_extra_vars() == [w]
        return y * w

    f(1.0)
    assert seen[0] == ([], []) and seen[1][0] == [outer] and seen[1][1] is not outer.graph
    assert [t.name for t in f.captured_inputs] == [outer.name, "w/read:0"]
    assert [v.name for v in tf.global_variables()] == ["w:0"]
    assert function.get_extra_inputs() == []


def test_capture_by_value_copies_nodes():
    k = tf.constant(2.0, name="k") * 3.0
    f = function.Defun(F, func_name="A", capture_by_value=True)(lambda y: k * y)
    y = f(1.0)
    assert len(y.op.inputs) == 1 and f.captured_inputs == []
    with tf.Session() as session:
        assert session.run(y) == 6.0
    x = tf.placeholder(F, name="x")
    with pytest.raises(
        ValueError, match=r"Cannot capture a placeholder \(name:x, type:Placeholder\) by value"
    ):
        function.Defun(F, capture_by_value=True)(lambda y: x * y)(1.0)


def test_a_function_without_a_name_is_named_after_its_body():
    def twice(x):
        return x * 2.0

    names = {function.Defun(F)(twice).name for _ in range(2)}
    assert len(names) == 1 and names.pop().startswith("twice_")


def test_effects_happen_though_nothing_takes_the_results(capfd):
    node = call(F, f=lambda x: [tf.Print(x, [x], "seen "), None][1:0], func_name="A")
    with tf.Session() as session:
        session.run(node)
    assert "seen [1]" in capfd.readouterr().err


def test_second_derivatives_are_refused():
    x = tf.placeholder(F, [2])
    f = function.Defun(F, func_name="Cube")(lambda x: x * x * x)
    (first,) = tf.gradients(f(x), x)
    assert first.op.type == "SymbolicGradient"
    with pytest.raises(
        LookupError, match=r"No gradient defined for operation .* \(op type: SymbolicGradient\)"
    ):
        tf.gradients(first, x)


def test_experimental_marks_are_kept():
    f = function.Defun(F, func_name="Marked", experimental_text="a", experimental_count=3)(lambda x: x * 2.0)
    f(tf.constant([1.0]))
    (definition,) = tf.get_default_graph().as_graph_def().library.function
    assert definition.attr["experimental_text"].s == b"a"
    assert definition.attr["experimental_count"].i == 3
    with pytest.raises(ValueError, match="Unknown keyword arguments"):
        function.Defun(F, func_name="Odd", stateful_ops=[])(lambda x: x)(tf.constant([1.0]))
    with pytest.raises(ValueError, match="Unsupported attribute type for experimental_list"):
        function.Defun(F, func_name="Listed", experimental_list=[1])(lambda x: x)(tf.constant([1.0]))
