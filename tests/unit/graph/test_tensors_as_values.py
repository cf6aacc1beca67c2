"""Where Python asks a tensor of a graph for its value or its rows, it is refused in TensorFlow's words."""

import pytest

import headrace as tf

OFF = "AutoGraph is disabled in this function. Try decorating it directly with @tf.function."
GRAPH = "is not allowed in Graph execution. Use Eager execution or decorate this function with @tf.function."


def _truth(t):
    if t:
        return 1
    return 2


def _rows(t):
    for row in t:
        return row


def _left_early(t):
    for row in t:
        if row > 1:
            break


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def _vector():
    return tf.constant([1.0, 2.0])


@pytest.mark.parametrize(
    "use",
    [bool, _truth, lambda t: not t, lambda t: t and t, lambda t: 1 if t else 2],
    ids=["bool", "if", "not", "and", "else"],
)
def test_a_tensor_is_neither_true_nor_false(use):
    with pytest.raises(TypeError) as raised:
        use(tf.placeholder(tf.bool, []))
    assert type(raised.value).__name__ == "OperatorNotAllowedInGraphError"
    assert str(raised.value) == f"using a `tf.Tensor` as a Python `bool` {GRAPH}"


@pytest.mark.parametrize("use", [_rows, _left_early, list, tuple, lambda t: [*t], sum])
def test_a_tensor_is_not_iterated_over(use):
    with pytest.raises(TypeError) as raised:
        use(_vector())
    assert type(raised.value).__name__ == "OperatorNotAllowedInGraphError"
    assert str(raised.value) == f"iterating over `tf.Tensor` {GRAPH}"


@pytest.mark.parametrize(
    "body, what",
    [
        (_truth, "using a `tf.Tensor` as a Python `bool`"),
        (_rows, "iterating over `tf.Tensor`"),
        (_left_early, "iterating over `tf.Tensor`"),
    ],
    ids=["if", "for", "break"],
)
def test_a_function_without_autograph_says_so(body, what):
    with pytest.raises(TypeError) as raised:
        tf.function(body, autograph=False)(_vector())
    assert type(raised.value).__name__ == "OperatorNotAllowedInGraphError"
    assert str(raised.value) == f"{what} is not allowed: {OFF}"


def test_a_tensor_is_no_number():
    one = tf.constant(1)
    with pytest.raises(TypeError, match=r"^int\(\) argument must be a string.* not 'Tensor'$"):
        int(one)
    with pytest.raises(TypeError, match=r"^float\(\) argument must be a string.* not 'Tensor'$"):
        float(one)
    with pytest.raises(TypeError, match="^list indices must be integers or slices, not Tensor$"):
        [1, 2][one]
    with pytest.raises(TypeError, match="^'Tensor' object cannot be interpreted as an integer$"):
        range(one)
    with pytest.raises(TypeError, match=r"^int\(\) argument must be a string.* not 'Tensor'$"):
        tf.Dimension(one)
