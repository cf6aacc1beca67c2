"""Variables that are made in branches and in the bodies of loops: their kinds, their names, what they start with."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(params=["interpret", "compile"])
def tier(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", request.param)


@pytest.fixture(params=[False, True])
def functional(request):
    (tf.enable_control_flow_v2 if request.param else tf.disable_control_flow_v2)()
    yield request.param
    tf.disable_control_flow_v2()


def _true():
    return tf.placeholder_with_default(True, [])


def _names():
    return [v.op.name for v in tf.global_variables()]


def test_they_are_resource_variables_in_functions_alone(functional, tier):
    with tf.Graph().as_default(), tf.Session() as session:

        def body(i, x):
            return i + 1, x + tf.get_variable("v", [], initializer=tf.ones_initializer())

        y = tf.while_loop(lambda i, x: i < 3, body, [0, 0.0])
        (v,) = tf.global_variables()
        assert v.op.type == ("VarHandleOp" if functional else "VariableV2")
        assert not tf.get_variable_scope().use_resource
        session.run(v.initializer)
        assert session.run(y[1]) == 3.0
        assert type(y) is (list if functional else tuple)


def test_what_the_program_says_of_their_kind_counts(functional):
    with tf.Graph().as_default():
        tf.cond(_true(), lambda: tf.get_variable("w", [], use_resource=False) + 1.0, lambda: 1.0)
        assert [v.op.type for v in tf.global_variables()] == ["VariableV2"]


def test_names_start_with_the_scopes_around_where_tensorflow_makes_no_function(functional, tier):
    with tf.Graph().as_default(), tf.Session() as session:

        def body(i):
            v = tf.Variable(1, name="v")
            with tf.name_scope("z"):
                tf.Variable(1, name="v")
            with tf.variable_scope("k"):
                tf.get_variable("r", [])
            with tf.name_scope(None):
                tf.Variable(1, name="top")
            return i + v

        with tf.variable_scope("vs"):
            y = tf.cond(_true(), lambda: tf.while_loop(lambda i: i < 2, body, [0]), lambda: 5)
        around = "" if functional else "vs/cond/while/"
        assert _names() == [f"{around}v", f"{around}z/v", "vs/k/r", "top"]
        session.run(tf.global_variables_initializer())
        assert session.run(y) == 2


def test_a_tensor_of_the_body_is_no_initial_value(functional):
    message = (
        "wrapped in an init_scope or callable"
        if functional
        else "Initializer for variable cond/w/ is from inside a control-flow construct"
    )
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.cond(_true(), lambda: tf.Variable(tf.ones([2]), name="w") + 1.0, lambda: tf.ones([2]))


def test_a_tensor_from_outside_is(functional):
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.constant([1.0, 2.0])
        y = tf.cond(_true(), lambda: tf.get_variable("q", initializer=start) + 1.0, lambda: start)
        session.run(tf.global_variables_initializer())
        assert session.run(y).tolist() == [2.0, 3.0]


def test_nodes_of_a_branch_are_placed_with_variables_around_it(functional, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", [], use_resource=False)
        w = tf.global_variables()[0]

        def branch():
            with tf.colocate_with(w):
                x = tf.constant(3.0)
            assert x.op.colocation_groups() == [b"loc:@w"]
            return x

        assert session.run(tf.cond(_true(), branch, lambda: 1.0)) == 3.0


def test_a_layer_of_batch_normalization_is_built_in_a_branch(functional, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
        y = tf.cond(_true(), lambda: tf.layers.batch_normalization(x, training=True), lambda: x)
        assert [v.op.name for v in tf.global_variables()] == [
            f"batch_normalization/{name}" for name in ("gamma", "beta", "moving_mean", "moving_variance")
        ]
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(y), [[-0.9995, -0.999875], [0.9995, 0.999875]], rtol=1e-5)


def test_the_flow_of_an_array_is_a_number_unless_it_is_a_list(functional, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        array = tf.TensorArray(tf.float32, 3)
        _, array = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(i, 2.0)), [0, array])
        if functional:
            with pytest.raises(
                tf.errors.InternalError, match="Tensorflow type 21 not convertible to numpy dtype"
            ):
                session.run(array.flow)
        else:
            stacked, flow = session.run([array.stack(), array.flow])
            assert type(flow) is np.float32 and stacked.tolist() == [2.0] * 3


def test_loops_in_two_branches_have_names_of_their_own():
    def loop():
        def body(i, s):
            return i + 1, s + tf.Variable(lambda: tf.ones([]), name="v")

        return tf.while_loop(lambda i, s: i < 3, body, [0, 1.0])[1]

    def scoped():
        with tf.name_scope("a"):
            return loop()

    with tf.Graph().as_default():
        pred = _true()
        tf.cond(pred, lambda: loop() + loop(), loop)
        tf.cond(pred, scoped, scoped)
        tf.cond(pred, lambda: tf.cond(pred, loop, loop), lambda: tf.cond(pred, loop, loop))
        assert _names() == [
            *("cond/while/v", "cond/while_1/v", "cond/while_2/v"),
            *("cond_1/a/while/v", "cond_1/a_1/while/v"),
            *("cond_2/cond/while/v", "cond_2/cond/while_1/v"),
            *("cond_2/cond_1/while/v", "cond_2/cond_1/while_1/v"),
        ]
