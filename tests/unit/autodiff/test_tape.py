"""tf.GradientTape; the expected values were computed with TensorFlow 1.15, or by hand where it refuses."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    tf.reset_default_graph()


def _run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def _x(value=(1.0, 2.0)):
    return tf.constant(np.asarray(value, np.float32))


def test_along_recorded_nodes_only():
    x = _x()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * 3
    later = y * 5
    assert tape.gradient(later, x) is None
    got = _run([tape.gradient(z, x), tape.gradient(z, y), tape.gradient(y, y), tape.gradient(later, later)])
    np.testing.assert_allclose(got, [[6, 12], [3, 3], [1, 1], [1, 1]])


def test_only_what_is_watched():
    x, w = _x(), _x([3, 4])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * w
        u = w * w
    assert tape.gradient(y, w) is None
    assert tape.gradient(u, w) is None
    zero = tape.gradient(y, w, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    np.testing.assert_allclose(_run([tape.gradient(y, x), zero]), [[3, 4], [0, 0]])


@pytest.mark.parametrize("use_resource", [True, False])
def test_trainable_variables_are_watched_once_they_are_read(use_resource):
    a = tf.get_variable("a", initializer=2.0, use_resource=use_resource)
    b = tf.get_variable("b", initializer=3.0, use_resource=True, trainable=False)
    tf.get_variable("c", initializer=3.0, use_resource=True)
    with tf.GradientTape(persistent=True) as tape:
        y = a * a * b
    if use_resource:
        assert tape.watched_variables() == (a,)
        assert tape.gradient(y, b) is None
        assert _run(tape.gradient(y, a)) == 12
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = a * b
    assert tape.gradient(y, a) is None
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        y = a * b
    assert _run(tape.gradient(y, b)) == 2


def test_stopping_and_forgetting():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * y
        w, v = z * x, y * x
        assert tape.gradient(z, x) is None
        assert _run([tape.gradient(w, x), tape.gradient(v, x)]) == [16, 12]
        tape.reset()
        tape.watch(x)
        u = y * x
    assert tape.gradient(y, x) is None
    assert _run(tape.gradient(u, x)) == 4
    with pytest.raises(ValueError, match="Tape is not recording"):
        tape.reset()


def test_misuse_is_refused():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(ValueError, match="already recording"), tape:
            pass
        with pytest.raises(ValueError, match="Passed in object of type <class 'float'>, not tf.Tensor"):
            tape.watch(1.0)
    tape.gradient(y, x)
    for method in (tape.gradient, tape.jacobian, tape.batch_jacobian):
        with pytest.raises(RuntimeError, match="can only be called once on non-persistent tapes"):
            method(y, x)
    with pytest.raises(ValueError, match="first dimension"), tf.GradientTape() as tape:
        tape.batch_jacobian(tf.ones([2, 3]), tf.ones([3, 2]))


def test_integers_have_none():
    x, n = tf.constant(1.5), tf.constant(3)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, n])
        y, m = tf.cast(x, tf.int32), n * n
    assert tape.gradient(y, x) is None
    assert tape.gradient(m, n) is None


def test_structures_and_given_gradients():
    x, w = tf.constant(3.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        targets = [x * w, x + w]
    got = tape.gradient(targets, {"a": x, "b": [w]}, output_gradients=[tf.constant(10.0), tf.constant(1.0)])
    assert _run([got["a"], got["b"][0]]) == [21, 31]


def test_second_derivatives():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        first = inner.gradient(y, x)
    assert _run([first, outer.gradient(first, x)]) == [27, 18]


@pytest.mark.parametrize("pfor", [True, False])
def test_jacobians(pfor):
    x, other = _x([2, 3]), _x([1])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, other])
        y = tf.stack([x[0] * x[1], x[0], x[1] ** 2])
    assert tape.jacobian(y, other) is None
    zeros = tape.jacobian(y, other, unconnected_gradients="zero")
    got, zeros = _run([tape.jacobian(y, x, experimental_use_pfor=pfor), zeros])
    np.testing.assert_allclose(got, [[3, 2], [1, 0], [0, 6]])
    np.testing.assert_array_equal(zeros, np.zeros([3, 1]))


def test_jacobians_of_batches():
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.stack([x[:, 0] * x[:, 1], x[:, 0], x[:, 1] ** 2], 1)
    got = _run(tape.batch_jacobian(y, x), {x: [[0, 1], [2, 3]]})
    np.testing.assert_allclose(got, [[[1, 0], [1, 0], [0, 2]], [[3, 2], [1, 0], [0, 6]]])


def test_slices_stay_slices():
    v = tf.get_variable("v", initializer=np.ones([3, 2], np.float32), use_resource=True)
    with tf.GradientTape() as tape:
        y = tf.gather(v, [0, 0])
    g = tape.gradient(y, v)
    assert isinstance(g, tf.IndexedSlices)
    np.testing.assert_array_equal(_run(tf.convert_to_tensor(g)), [[2, 2], [0, 0], [0, 0]])


def test_within_loops_and_functions_and_through_them():
    x = tf.constant(1.5)
    v = tf.get_variable("v", initializer=2.0, use_resource=True)

    def body(i, y):
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = y * y
        return i + 1, tape.gradient(z, y)

    _, within = tf.while_loop(lambda i, y: i < 3, body, (0, x))

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            y = x * v * v
        return tape.gradient(y, v)

    square = tf.function(lambda x: x * v * v)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        _, power = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))
        branch = tf.cond(v > 1.0, lambda: v * v * x, lambda: v)
        called = square(x)
    assert tape.watched_variables() == (v,)
    got = [
        within,
        inside(x),
        tape.gradient(power, x),
        tape.gradient(branch, v),
        *tape.gradient(called, [v, x]),
    ]
    np.testing.assert_allclose(_run(got), [12, 6, 13.5, 6, 6, 4])
