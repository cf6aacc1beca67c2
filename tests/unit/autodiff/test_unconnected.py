"""Which gradients through branches and loops there are none of; recorded from TensorFlow 1.15."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def two():
    return tf.constant(2.0), tf.constant(3.0)


def three_rounds(work, *start):
    loop = tf.while_loop(lambda i, *_: i < 3, lambda i, *rest: (i + 1, *work(*rest)), [0, *start])
    return loop[1:]


def limit(c, d):
    return tf.while_loop(lambda s: s < c, lambda s: s * d, [1.0])


def beside(c, d):
    return three_rounds(lambda s, t: (s * d, t * c), tf.constant(1.0), c)[0]


def through(c, d):
    return three_rounds(lambda s, t: (s * d + t, t * c), tf.constant(1.0), c)[0]


def stopped_in_loop(c, d):
    return three_rounds(lambda s, t: (s * d + tf.stop_gradient(t), t * c), tf.constant(1.0), c)[0]


def chosen(first, second):
    return tf.cond(tf.placeholder(tf.bool, []), first, second)


LOOPS = {
    limit: [True, False],
    beside: [True, False],
    through: [False, False],
    stopped_in_loop: [False, False],
}
BRANCHES = {
    "stopped": (lambda c, d: chosen(lambda: tf.stop_gradient(c) * d, lambda: d), [True, False]),
    "in_one": (lambda c, d: chosen(lambda: c * d, lambda: d), [False, False]),
    "beside": (lambda c, d: chosen(lambda: [c, d], lambda: [c, d])[0], [False, True]),
    "stopped_beside": (
        lambda c, d: chosen(lambda: [tf.stop_gradient(c) * d, c], lambda: [d, d])[0],
        [True, False],
    ),
}


@pytest.mark.parametrize("build", LOOPS)
def test_what_does_not_lead_to_a_result_of_a_loop_has_no_gradient(build):
    c, d = two()
    assert [g is None for g in tf.gradients(build(c, d), [c, d])] == LOOPS[build]


@pytest.mark.parametrize("name", BRANCHES)
def test_what_no_branch_has_a_gradient_for_has_none(name):
    build, expected = BRANCHES[name]
    c, d = two()
    assert [g is None for g in tf.gradients(build(c, d), [c, d])] == expected


@pytest.mark.usefixtures("functional_control_flow")
@pytest.mark.parametrize("build", [*LOOPS, *[build for build, _ in BRANCHES.values()]])
def test_functional_control_flow_has_zeros(build):
    c, d = two()
    assert None not in tf.gradients(build(c, d), [c, d])


def test_a_variable_that_a_loop_changes_only_has_no_gradient(tier):
    v = tf.get_variable("v", [3], initializer=tf.ones_initializer())

    def body(i, s):
        with tf.control_dependencies([tf.assign_add(v, s)]):
            return i + 1, s * 2.0

    assert tf.gradients(tf.while_loop(lambda i, s: i < 3, body, [0, tf.ones([3])])[1], v) == [None]
    (gradient,) = tf.gradients(tf.while_loop(lambda i, s: i < 3, body, [0, v])[1], v)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(s.run(gradient), [8, 8, 8])
