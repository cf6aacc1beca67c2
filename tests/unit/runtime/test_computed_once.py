"""Tests of the values in long chains that are computed once."""

import numpy as np
import pytest

import headrace as tf
from headrace.lazy import jax, jnp
from headrace.runtime.computed_once import _Step, computed_once
from headrace.runtime.policies import with_policies


def recurrence(stages, shape=(20, 100), axes=None):
    """Returns a state that goes on from stage to stage and is taken at each by a product, and its arguments."""

    def net(w, state, gates):
        outs = []
        for gate in gates:
            state = state * gate * (1 - gate * gate) + outs[-1] * gate if outs else state * gate
            if axes is not None:
                state = jnp.sum(state[None], axes, keepdims=not axes).reshape(shape)
            outs.append(jnp.concatenate([state * gate, state * 2.0], 1) @ w)
        return outs

    rng = np.random.RandomState(0)
    gates = [rng.rand(*shape).astype(np.float32) for _ in range(stages)]
    w = (rng.rand(2 * shape[1], shape[1]) / shape[1]).astype(np.float32)
    return net, (w, rng.rand(*shape).astype(np.float32), gates)


def traced(function, arguments):
    leaves, form = jax.tree.flatten(arguments)
    return jax.make_jaxpr(lambda *v: function(*jax.tree.unflatten(form, v)))(*leaves), leaves


def size_when_compiled(function, leaves):
    text = jax.jit(function).lower(*leaves).compile().as_text()
    return text.count(" multiply(")


@pytest.mark.parametrize("axes", [None, (), (0,)])
def test_the_compiled_step_grows_with_its_stages_and_not_with_their_square(axes):
    sizes = {}
    for stages in (8, 16):
        closed, leaves = traced(*recurrence(stages, axes=axes))
        sizes[stages] = size_when_compiled(computed_once(closed), leaves)
    assert sizes[16] < 2.6 * sizes[8]


def test_results_are_the_same():
    closed, leaves = traced(*recurrence(9))
    assert _Step(closed).groups
    expected = jax.jit(jax.extend.core.jaxpr_as_fun(closed))(*leaves)
    for got, want in zip(jax.jit(computed_once(closed))(*leaves), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5)


def test_what_is_kept_is_one_loop():
    def net(values, slopes):
        total, outs = values[0], []
        for v, slope in zip(values, slopes, strict=True):
            total = total + jnp.where(v > 0, slope, v)
            outs.append(jnp.tanh(total))
        return outs

    shape = (32, 100)
    closed, leaves = traced(net, ([np.ones(shape, np.float32)] * 12, [np.ones(shape, np.float32)] * 12))
    assert _Step(closed).groups
    text = jax.jit(computed_once(closed)).lower(*leaves).compile().as_text()
    called = [line for line in text.splitlines() if " call(" in line]
    assert len(called) == len(_Step(closed).groups)


def test_what_a_copied_value_is_made_of_stays_there_for_the_original_and_the_copies():
    def net(row, values, scale):
        total, outs = values[0], []
        # `spread` is cheaply made of what is small, by way of a value that nobody else takes.
        spread = (row * scale + 1.0) * jnp.ones_like(values[0])
        for v in values[1:]:
            total = total * spread + v
            outs.append(jnp.tanh(total) + spread)
        return outs

    shape = (32, 256)
    rng = np.random.RandomState(0)
    values = [rng.rand(*shape).astype(np.float32) for _ in range(12)]
    closed, leaves = traced(net, (rng.rand(1, 256).astype(np.float32), values, np.float32(0.5)))
    step = _Step(closed)
    assert any(step.groups[a][0] in step.groups[b] for a in step.groups for b in step.groups if a != b)
    expected = jax.jit(jax.extend.core.jaxpr_as_fun(closed))(*leaves)
    for got, want in zip(jax.jit(computed_once(closed))(*leaves), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5)


def test_a_chain_that_nobody_else_takes_is_left_to_xla():
    def chain(values):
        total = values[0]
        for v in values[1:]:
            total = total * 0.5 + v
        return total

    closed, _ = traced(chain, ([np.ones((32, 32), np.float32)] * 20,))
    assert not _Step(closed).groups


@pytest.mark.parametrize("shape", [(2, 3), (1, 1)])
def test_small_values_are_left_to_xla(shape):
    closed, _ = traced(*recurrence(9, shape))
    assert not _Step(closed).groups


def test_a_long_chain_is_looked_at_in_no_time():
    def chain(values):
        total, outs = values[0], []
        for i in range(3000):
            total = total + values[i % 50]
            outs.append(jnp.sin(total))
        return outs

    closed, _ = traced(chain, ([np.ones((16, 16), np.float32) for _ in range(50)],))
    assert 100 < len(_Step(closed).groups) < 1500


def test_constants_and_arguments_that_are_results():
    table = np.arange(400, dtype=np.float32).reshape(20, 20)

    def function(values):
        total, outs = jnp.asarray(table), []
        for v in values:
            total = total * 0.5 + v
            outs.append(jnp.tanh(total))
        return [*outs, total, values[0], 3.0]

    values = [np.full((20, 20), i, np.float32) for i in range(12)]
    closed, leaves = traced(function, (values,))
    assert _Step(closed).groups
    expected = function(values)
    for got, want in zip(computed_once(closed)(*leaves), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_session_takes_an_unrolled_net_through_it():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [16, 12, 20])
        cell = tf.nn.rnn_cell.BasicLSTMCell(32)
        outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(tf.stack(outputs) - 0.1))
        train = tf.train.AdamOptimizer(0.01).minimize(loss)
        tf.set_random_seed(1)
        feed = {x: np.random.RandomState(1).rand(16, 12, 20).astype(np.float32)}
        losses = {}
        for policy in ("interpret", "compile"):
            config = with_policies(tf.ConfigProto(), tier=policy)
            with tf.Session(config=config) as sess:
                sess.run(tf.global_variables_initializer())
                for v in tf.trainable_variables():
                    value = np.random.RandomState(len(v.name)).randn(*v.shape.as_list()) * 0.1
                    sess.run(tf.assign(v, np.float32(value)))
                losses[policy] = [sess.run([loss, train], feed)[0] for _ in range(4)]
        np.testing.assert_allclose(losses["compile"], losses["interpret"], rtol=1e-5)
