"""Gradients of rows taken in branches and loops are IndexedSlices, with the rows that TensorFlow 1.15 gives.

Optimizers with slots tell the difference: they leave alone the rows that slices don't name.
"""

import numpy as np
import pytest

import headrace as tf

ALL = ([[0.0, 0.0]] * 3, [0, 1, 2])
FEEDS = ((True, [1, 2]), (False, [0]))


def _one_branch(v, w, q, i):
    return tf.cond(q, lambda: tf.gather(v, i), lambda: tf.gather(w, i) * 2.0)


def _twice_in_one_branch(v, w, q, i):
    return tf.cond(q, lambda: tf.gather(v, i) + tf.gather(v, i), lambda: w[:1] * 2.0)


def _each_iteration(v, w, q, i):
    return tf.while_loop(
        lambda t, y: t < tf.size(i), lambda t, y: (t + 1, y * 0.5 + tf.gather(v, i[t])), (0, tf.zeros([2]))
    )[1]


def _many_each_iteration(v, w, q, i):
    def body(t, y):
        return t + 1, y * 0.5 + tf.reduce_sum(tf.gather(v, i), 0)

    return tf.while_loop(lambda t, y: t < 2, body, (0, tf.zeros([2])))[1]


# Program -> for each feed the values and indices of the gradient of `v`.
FACTS = {
    _one_branch: [([[1.0, 1.0]] * 2, [1, 2]), ALL],
    _twice_in_one_branch: [([[1.0, 1.0]] * 4, [1, 2, 1, 2]), ALL],
    _each_iteration: [
        ([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]], [0, 2, 1]),
        ([[0.0, 0.0], [1.0, 1.0]], [0, 0]),
    ],
    _many_each_iteration: [
        ([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.5, 0.5], [0.5, 0.5]], [0, 1, 2, 1, 2]),
        ([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]], [0, 0, 0]),
    ],
}


@pytest.fixture(params=[True, False], ids=["resource", "reference"])
def inputs(request):
    with tf.Graph().as_default():
        v, w = (
            tf.get_variable(
                k, [3, 2], use_resource=request.param, initializer=tf.ones_initializer(), dtype=tf.float32
            )
            for k in "vw"
        )
        yield v, w, tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [None])


@pytest.mark.parametrize("program", FACTS)
def test_rows(program, inputs, tier):
    v, _, q, i = inputs
    (grad,) = tf.gradients(program(*inputs), [v])
    assert isinstance(grad, tf.IndexedSlices)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for (a, b), (values, indices) in zip(FEEDS, FACTS[program], strict=True):
            got = session.run([grad.values, grad.indices, grad.dense_shape], {q: a, i: b})
            assert [each.tolist() for each in got] == [values, indices, [3, 2]]


def test_rows_and_the_whole_are_dense(inputs):
    v, _, q, i = inputs
    y = tf.cond(q, lambda: tf.gather(v, i), lambda: v * 2.0)
    z = tf.while_loop(
        lambda t, y: t < 1, lambda t, y: (t + 1, y + v[1] + tf.gather(v, i[t])), (0, tf.zeros([2]))
    )
    for result, want in (
        (y, [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]),
        (z[1], [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]),
    ):
        (grad,) = tf.gradients(result, [v])
        assert isinstance(grad, tf.Tensor)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(grad, {q: True, i: [1, 2]}).tolist() == want


# Losses of six steps of momentum, recorded from TensorFlow 1.15.5.
TRAINED = {
    "branch": [-0.01776996, 3.1413486, 1.25195, -0.4086737, -0.532187, 4.5353665],
    "loop": [0.27091825, 0.40066928, 0.4230098, -0.142428, -0.5605322, -0.1168396],
}


@pytest.mark.parametrize("where", TRAINED)
def test_momentum_leaves_other_rows_alone(where, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(11)
        tf.get_variable_scope().set_initializer(tf.random_uniform_initializer(-0.4, 0.4, seed=2))
        q, i = tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [None])
        v = tf.get_variable("v", [10, 3])
        if where == "branch":
            w = tf.get_variable("w", [10, 3])
            y = tf.cond(q, lambda: tf.nn.embedding_lookup(v, i), lambda: tf.nn.embedding_lookup(w, i) * 2.0)
        else:

            def body(t, y):
                return t + 1, y * 0.5 + tf.nn.embedding_lookup(v, i[t])

            y = tf.while_loop(lambda t, y: t < tf.size(i), body, (0, tf.zeros([3])))[1]
        loss = tf.reduce_sum(tf.square(y) - y)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = []
        for k in range(6):
            feed = {q: k % 2 == 0, i: np.random.RandomState(k).randint(0, 10, 4)}
            losses.append(session.run([loss, train], feed)[0])
    np.testing.assert_allclose(losses, TRAINED[where], rtol=2e-5, atol=2e-6)
