"""Checks in NumPy: they say what the traced ones say, and a program with them is refused and kept on disk as before."""

import pickle

import numpy as np
import pytest

import headrace as tf
from headrace.lazy import jax, jnp
from headrace.runtime.checks import cheap_checks
from headrace.runtime.cluster import Cluster
from headrace.runtime.host_checks import on_host


def _checked(function, *arguments):
    """Compares the checks in NumPy with the traced ones, and returns the former."""
    closed = jax.make_jaxpr(function)(*arguments)
    made = on_host(closed)
    assert made is not None
    made = pickle.loads(pickle.dumps(made))
    found = made.run([np.asarray(a) for a in arguments])
    np.testing.assert_array_equal(found, function(*arguments))
    return made


def _inside(x, n):
    return jnp.all((x >= 0) & (x < n))


@pytest.mark.parametrize("bad", [None, -1, 7])
def test_ranges_of_indices(bad):
    a, b = np.arange(7, dtype=np.int32), np.arange(6, dtype=np.int64).reshape(2, 3)
    if bad is not None:
        b[1, 1] = bad

    def checks(a, b):
        joined = jnp.concatenate([b.reshape(-1), a.astype(np.int64)])
        return jnp.stack([_inside(a, 7), _inside(joined, 7), _inside(joined, 7), _inside(b[:, 1:], 7)])

    made = _checked(checks, a, b)
    assert made.run([a, b]).tolist() == [True, *([bad is None] * 3)]
    assert sum(name == "concatenate" for name, *_ in made.steps) == 1  # what is there twice is computed once


def test_what_jnp_makes_of_more_than_comparisons():
    limits = np.array([3, 5])

    def checks(a):
        rows = jnp.where(a < 0, a + 5, a)
        ok = jnp.all((rows.T < jnp.asarray(limits)) | ~(a.T != 2), axis=1)
        return jnp.concatenate([ok, jnp.any(a == 1)[None], jnp.all(jnp.minimum(a, 2) * 2 - 1 <= 3)[None]])

    for a in (np.array([[0, 1], [4, -1]]), np.array([[2, 2], [2, 2]]), np.array([[-9, 9], [1, 1]])):
        _checked(checks, a)


def test_what_is_no_handful_of_comparisons_is_left_to_xla():
    few, many = np.arange(5), np.arange(1 << 16)
    assert on_host(jax.make_jaxpr(lambda x: _inside(x, 5))(many)) is None
    assert on_host(jax.make_jaxpr(lambda x: jnp.all(x > 0.5))(few.astype(np.float32))) is None
    assert on_host(jax.make_jaxpr(lambda x: jnp.all(jnp.sort(x) == x))(few)) is None
    assert on_host(jax.make_jaxpr(lambda x: jnp.stack([_inside(x, i) for i in range(40)]))(few)) is None
    # Constants that nothing asks for do not matter.
    large = jnp.ones(1 << 17)
    small, _ = cheap_checks(jax.make_jaxpr(lambda x: (large + x[0], _inside(x, 5)))(few))
    assert on_host(small).run([few])


def test_a_step_that_is_refused_changes_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path))
    for _ in range(2):  # made, then found on disk
        with tf.Graph().as_default():
            ids = tf.placeholder(tf.int32, [3])
            v = tf.Variable(tf.zeros([4, 2]))
            w = tf.Variable(tf.zeros([]))
            rows = tf.gather(v, ids)
            step = tf.group(tf.scatter_add(v, ids, rows + 1.0), tf.assign_add(w, 1.0))
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                sess.run(step, {ids: [0, 1, 3]})
                (cluster,) = [
                    s
                    for p in sess._plans.values()
                    for s in p._stages or []
                    if isinstance(s, Cluster)
                    and s.random_ops == []
                    and "ScatterAdd" in {o.type for o in s.ops}
                ]
                (program,) = cluster._programs.values()
                assert program._host_checks is not None and program._checks is None
                assert program.donated
                with pytest.raises(
                    tf.errors.InvalidArgumentError, match=r"indices\[1\] = 4 is not in \[0, 4\)"
                ):
                    sess.run(step, {ids: [0, 4, 3]})
                assert sess.run(v).tolist() == [[1, 1], [1, 1], [0, 0], [1, 1]]
                assert sess.run(w) == 1.0
                sess.run(step, {ids: [0, 1, 3]})
                assert sess.run(v)[0].tolist() == [3, 3]
    assert program.cost.source == "disk"
