"""A training step of a recurrent net is one compiled cluster: loop, gradient and update."""

import sys

import numpy as np
import pytest

import headrace as tf
from tests.golden import canonical

sys.path.insert(0, str(canonical.GOLDEN.parent / "unit" / "runtime"))
from test_compiled_loops import assert_one_cluster, both

Cell = tf.nn.rnn_cell
pytestmark = pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")


def inputs(batch, time, seed=0):
    return np.random.RandomState(seed).randn(batch, time, 3).astype("f")


def training(cell, lengths=False, batch=2, time=4, bidirectional=False):
    def build():
        x = tf.placeholder(tf.float32, [batch, time, 3])
        n = tf.placeholder(tf.int32, [batch]) if lengths else None
        if bidirectional:
            pair, last = tf.nn.bidirectional_dynamic_rnn(cell(), cell(), x, n, dtype=tf.float32)
            outputs = tf.concat(pair, 2)
        else:
            outputs, last = tf.nn.dynamic_rnn(cell(), x, n, dtype=tf.float32)
        loss = tf.reduce_mean(outputs**2) + tf.add_n([tf.reduce_sum(s) for s in tf.nest.flatten(last)])
        train = tf.train.AdamOptimizer(0.05).minimize(loss)
        with tf.control_dependencies([train]):
            after = tf.identity(loss)
        return [x, n] if lengths else [x], [after, outputs]

    return build


def test_static_shapes():
    values, session = both(training(lambda: Cell.BasicLSTMCell(4)), [[inputs(2, 4)]] * 3)
    assert_one_cluster(session)
    losses = [value[0] for value in values]
    assert losses[2] < losses[1] < losses[0]


def test_lengths():
    feeds = [[inputs(2, 4), n] for n in ([4, 2], [0, 3], [0, 0])]
    _, session = both(training(lambda: Cell.BasicLSTMCell(4), lengths=True), feeds)
    assert_one_cluster(session)


def test_unknown_time():
    feeds = [[inputs(2, n)] for n in (4, 4, 6)]
    _, session = both(training(lambda: Cell.LSTMCell(4), time=None), feeds)
    assert_one_cluster(session)


def test_unknown_batch_and_time_with_lengths():
    feeds = [[inputs(2, 4), [4, 2]], [inputs(2, 4), [0, 0]], [inputs(3, 5), [0, 5, 2]]]
    _, session = both(training(lambda: Cell.GRUCell(4), lengths=True, batch=None, time=None), feeds)
    assert_one_cluster(session)


def test_dropout_draws_what_the_interpreter_draws():
    def cell():
        return Cell.DropoutWrapper(Cell.LSTMCell(4), 0.5, 0.5, 0.5, seed=3)

    _, session = both(training(cell), [[inputs(2, 4)]] * 3)
    assert_one_cluster(session)


def test_both_directions():
    feeds = [[inputs(2, 4), [3, 1]], [inputs(2, 4), [4, 4]]]
    _, session = both(training(lambda: Cell.LSTMCell(4), True, time=None, bidirectional=True), feeds)
    assert_one_cluster(session)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_lengths_of_another_batch_are_refused(tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None, 3])
        n = tf.placeholder(tf.int32, [None])
        last = tf.nn.dynamic_rnn(Cell.GRUCell(4), x, n, dtype=tf.float32)[1]
        session.run(tf.global_variables_initializer())
        session.run(last, {x: inputs(2, 4), n: [1, 2]})
        message = r"Expected shape for Tensor rnn/sequence_length:0 is \] \[2\] \[ but saw shape: \] \[3\]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(last, {x: inputs(2, 4), n: [1, 2, 3]})
