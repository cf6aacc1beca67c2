"""What tf.gradients promises beyond the graphs it builds: results, registration, mistakes."""

import time

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import GRADIENTS


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture
def names():
    """Takes back the gradients that a test registers."""
    before = set(GRADIENTS)
    yield
    for name in set(GRADIENTS) - before:
        del GRADIENTS[name]


def test_no_path_gives_none():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    assert tf.gradients(y, [x, y])[0] is None


def test_empty_lists():
    x = tf.placeholder(tf.float32, [])
    assert tf.gradients(x, []) == []
    assert tf.gradients([], x) == [None]


def test_slices_stay_slices():
    v = tf.get_variable("v", [5, 2])
    grad = tf.gradients(tf.gather(v, [1, 1]), v)[0]
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.dense_shape is not None


def test_values_of_gradients():
    x = tf.placeholder(tf.float64, [3])
    y = tf.reduce_sum(tf.tanh(x) * x)
    grad, value = tf.gradients(y, x)[0], np.array([0.5, -1.0, 2.0])
    got = tf.Session().run(grad, {x: value})
    # The formula is exact; float64 leaves a few units in the last place.
    np.testing.assert_allclose(got, np.tanh(value) + value * (1 - np.tanh(value) ** 2), rtol=1e-14)


def test_an_op_without_a_gradient():
    x = tf.placeholder(tf.float32, [3])
    y, _ = tf.unique(x)
    with pytest.raises(LookupError, match=r"No gradient defined for operation 'Unique' \(op type: Unique\)"):
        tf.gradients(y, x)


def test_registering_twice(names):
    tf.RegisterGradient("AutodiffTestTwice")(lambda op, dy: dy)
    with pytest.raises(KeyError, match="Registering two gradient with name 'AutodiffTestTwice'!"):
        tf.RegisterGradient("AutodiffTestTwice")(lambda op, dy: dy)
    with pytest.raises(KeyError, match="Registering two gradient with name 'Identity'!"):
        tf.NotDifferentiable("Identity")


def test_names_of_gradients_are_strings():
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(3)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.NoGradient(3)


def test_not_differentiable_by_registration(graph, names):
    tf.NotDifferentiable("AutodiffTestOpaque")
    x = tf.placeholder(tf.float32, [])
    with graph.gradient_override_map({"Identity": "AutodiffTestOpaque"}):
        y = tf.identity(x)
    assert tf.gradients(y, x) == [None]


def test_custom_gradient_keeps_structure_and_name():
    @tf.custom_gradient
    def parts(x):
        """Takes x apart."""
        return {"a": x, "b": [x + 1.0]}, lambda da, db: da + db

    out = parts(tf.constant(1.0))
    assert sorted(out) == ["a", "b"] and isinstance(out["b"], list)
    assert (parts.__name__, parts.__doc__) == ("parts", "Takes x apart.")


def test_custom_gradient_takes_no_keywords():
    f = tf.custom_gradient(lambda x, k=1: (x, lambda dy: dy))
    with pytest.raises(ValueError, match="keywords arguments only when eager execution is enabled"):
        f(1.0, k=2)


def test_variable_gradients_must_be_complete():
    v = tf.get_variable("v", [2], use_resource=True)

    @tf.custom_gradient
    def f(x):
        return x * v, lambda dy, variables=None: (dy, [])

    x = tf.placeholder(tf.float32, [2])
    with pytest.raises(
        ValueError, match="Must return gradient for each variable from @custom_gradient grad_fn"
    ):
        tf.gradients(f(x), [x, v])


def test_recompute_grad_computes_again(graph):
    f = tf.recompute_grad(lambda x: tf.tanh(x * 2.0))
    x = tf.placeholder(tf.float64, [2])
    grad = tf.gradients(f(x), x)[0]
    assert sum(op.type == "Tanh" for op in graph.get_operations()) == 2
    value = np.array([0.3, -0.1])
    got = tf.Session().run(grad, {x: value})
    np.testing.assert_allclose(got, 2 * (1 - np.tanh(2 * value) ** 2), rtol=1e-14)  # float64, see above


def test_long_chains_need_no_recursion_and_little_time():
    x = tf.placeholder(tf.float32, [2])
    y = x
    for _ in range(3000):
        y = tf.tanh(y) + x
    start = time.process_time()
    assert tf.gradients(y, x)[0] is not None
    # It takes 0.2 s on the slowest machine seen; the quadratic mistake this guards against took minutes.
    assert time.process_time() - start < 10
