"""Missing values, frames and iterations: what the golden programs do not reach."""

import signal
import threading
import time

import numpy as np
import pytest

import headrace as tf
from headrace import errors
from headrace.opdef import raw


@pytest.fixture(params=["interpret", "auto", "compile"])
def session(request):
    with tf.Graph().as_default(), tf.Session() as session:
        session._tier = request.param
        yield session


def loop(limit=3, step=1, name="loop"):
    """Builds a loop that counts to a limit; returns Merge, Switch, the sum and the Exit."""
    start = raw.Enter(0, frame_name=name)
    count, _ = raw.Merge([start, start])
    go_on = raw.LoopCond(raw.Less(count, raw.Enter(limit, frame_name=name, is_constant=True)))
    off, on = raw.Switch(count, go_on)
    more = raw.AddV2(on, raw.Enter(step, frame_name=name, is_constant=True))
    count.op._update_input(1, raw.NextIteration(more))
    return count, on, more, raw.Exit(off)


# -- values that are missing -----------------------------------------------------------------------------------


def test_fetch_of_a_dead_value(session):
    off, on = raw.Switch(1.0, False)
    with pytest.raises(errors.InvalidArgumentError, match=r"^Retval\[2\] does not have value"):
        session.run([off, tf.constant(1), raw.Neg(on)])
    assert session.run(raw.Neg(off)) == -1.0


def test_targets_may_be_dead(session):
    _, on = raw.Switch(1.0, False)
    assert session.run([on.op, raw.Neg(on).op]) == [None, None]


def test_all_inputs_of_a_merge_dead(session):
    _, on = raw.Switch(1.0, False)
    merged, which = raw.Merge([on, raw.Neg(on)])
    with pytest.raises(errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
        session.run(which)
    assert session.run(merged.op) is None


def test_dead_nodes_have_no_effects(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    pred = raw.Placeholder(dtype="bool", shape=[])
    _, on = raw.Switch(5.0, pred)
    write = raw.Assign(v._ref(), on)
    session.run(write.op, {pred: False})
    assert session.run(v) == 1.0
    session.run(write.op, {pred: True})
    assert session.run(v) == 5.0


def test_a_dead_node_that_others_wait_for(session):
    _, on = raw.Switch(1.0, False)
    with tf.control_dependencies([raw.Neg(on)]):
        waits = tf.constant(2.0)
        trigger = raw.ControlTrigger()
    with tf.control_dependencies([trigger]):
        runs = tf.constant(3.0)
    assert session.run(runs) == 3.0
    with pytest.raises(errors.InvalidArgumentError, match="does not have value"):
        session.run(waits)


def test_merge_does_not_mind_a_dead_control_input(session):
    off, on = raw.Switch(1.0, False)
    dead = raw.Neg(on)
    first = raw.Neg(off)
    with tf.control_dependencies([dead]):
        merged, which = raw.Merge([on, first])
    assert session.run([merged, which]) == [-1.0, 1]


def test_a_fed_value_is_there(session):
    _, on = raw.Switch(1.0, False)
    y = raw.Neg(on)
    merged, which = raw.Merge([y, raw.Exp(on)])
    assert session.run([merged, which], {y: 4.0}) == [4.0, 0]
    assert session.run(raw.Neg(y), {on: 2.0}) == 2.0


def test_a_predicate_that_is_no_scalar(session):
    pred = raw.Placeholder(dtype="bool")
    off, _ = raw.Switch(1.0, pred)
    with pytest.raises(errors.InvalidArgumentError, match=r"scalar, but it has shape \[2\]"):
        session.run(off, {pred: [True, False]})


# -- frames ----------------------------------------------------------------------------------------------------


def test_a_loop_without_a_condition_passes_on(session):
    assert session.run(raw.Exit(raw.Enter(1.0, frame_name="f"))) == 1.0
    assert session.run(raw.Exit(raw.NextIteration(raw.Enter(1.0, frame_name="f", is_constant=False)))) == 1.0


def test_two_loops_of_one_frame_name(session):
    # TensorFlow refuses these, though two imports of one graph are enough to make them.
    assert session.run([loop(3)[3], loop(5, step=2)[3]]) == [3, 6]


def test_fetches_from_inside_a_loop(session):
    count, _, more, out = loop(1)
    assert session.run([more, out]) == [1, 1]
    with pytest.raises(errors.InternalError, match=r"Retval\[1\] has already been set"):
        session.run([out, count])


def test_a_loop_on_a_branch_that_is_not_taken(session):
    pred = raw.Placeholder(dtype="bool", shape=[])
    off, on = raw.Switch(0, pred)
    start = raw.Enter(on, frame_name="f")
    count, _ = raw.Merge([start, start])
    go_on = raw.LoopCond(raw.Less(count, raw.Enter(3, frame_name="f", is_constant=True)))
    left, stays = raw.Switch(count, go_on)
    count.op._update_input(
        1, raw.NextIteration(raw.AddV2(stays, raw.Enter(1, frame_name="f", is_constant=True)))
    )
    merged, which = raw.Merge([raw.Neg(off), raw.Exit(left)])
    assert session.run([merged, which], {pred: True}) == [3, 1]
    assert session.run([merged, which], {pred: False}) == [0, 0]


def test_a_value_that_only_the_first_iteration_has(session):
    start = raw.Enter(0, frame_name="f")
    count, _ = raw.Merge([start, start])
    once = raw.Enter(10, frame_name="f")
    go_on = raw.LoopCond(raw.Less(count, raw.Enter(3, frame_name="f", is_constant=True)))
    off, on = raw.Switch(count, go_on)
    one = raw.Enter(1, frame_name="f", is_constant=True)
    count.op._update_input(1, raw.NextIteration(raw.AddV2(on, one)))
    first = raw.AddV2(on, once)
    assert session.run([raw.Exit(off), first]) == [3, 10]


# -- graphs put together wrongly -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build, match",
    [
        (lambda: raw.Exit(1.0, name="lost"), "node lost.*no Enter"),
        (lambda: raw.NextIteration(1.0, name="lost"), "node lost.*no Enter"),
        (
            lambda: raw.Enter(1.0, frame_name="", name="lost"),
            "The Enter node .*node lost.* must have a frame name",
        ),
        (
            lambda: raw.AddV2(raw.Enter(1.0, frame_name="f"), 2.0, name="mixed"),
            "node mixed.* has inputs from different frames",
        ),
        (
            lambda: raw.AddV2(raw.Enter(1.0, frame_name="f"), raw.Enter(1.0, frame_name="g"), name="mixed"),
            "node mixed.* has inputs from different frames.*'g'.*'f'",
        ),
        (
            lambda: raw.Switch(raw.Enter(1.0, frame_name="f"), True, name="mixed")[0],
            "node mixed.* has inputs from different frames",
        ),
    ],
)
def test_frames_put_together_wrongly(session, build, match):
    with pytest.raises(errors.InvalidArgumentError, match=match):
        session.run(build())


def test_a_next_iteration_of_another_frame(session):
    count, _, _, out = loop(3)
    other, _, _, other_out = loop(3, name="other")
    count.op._update_input(1, other.op.inputs[1])
    with pytest.raises(errors.InvalidArgumentError, match="node Merge.* has inputs from different frames"):
        session.run([out, other_out])


def test_a_feed_inside_a_loop_is_in_no_frame(session):
    _, _, more, out = loop(3)
    with pytest.raises(errors.InvalidArgumentError, match="different frames"):
        session.run(out, {more.op.inputs[1].name: 2})


def test_a_cycle_that_no_next_iteration_closes(session):
    count, _, more, out = loop(3)
    count.op._update_input(1, more)
    with pytest.raises(errors.InvalidArgumentError, match="cycle"):
        session.run(out)


def test_a_merge_of_nothing_but_the_next_iteration(session):
    count, _, _, out = loop(3)
    count.op._update_input(0, count.op.inputs[1])
    with pytest.raises(errors.InvalidArgumentError, match="node"):
        session.run(out)


def test_a_merge_without_inputs():
    graph_def = tf.GraphDef()
    node = graph_def.node.add(name="m", op="Merge")
    node.attr["T"].type = 1
    node.attr["N"].i = 0
    with tf.Graph().as_default(), pytest.raises(ValueError, match="m"):
        tf.import_graph_def(graph_def)


# -- loops without an end --------------------------------------------------------------------------------------


def test_time_is_up(session):
    out = loop(3, step=0)[3]
    start = time.monotonic()
    with pytest.raises(errors.DeadlineExceededError):
        session.run(out, options=tf.RunOptions(timeout_in_ms=200))
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("session", ["interpret", "auto"], indirect=True)
def test_closing_the_session_ends_an_endless_loop(session):
    out = loop(3, step=0)[3]
    timer = threading.Timer(0.3, session.close)
    timer.start()
    start = time.monotonic()
    with pytest.raises(errors.CancelledError):
        session.run(out, options=tf.RunOptions(timeout_in_ms=20_000))
    timer.join()
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("session", ["interpret", "auto"], indirect=True)
def test_an_interrupt_ends_an_endless_loop(session):
    # Compiled at once it would be left out: XLA takes it that a loop without effects comes to an end.
    out = loop(3, step=0)[3]
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            session.run(out)
    finally:
        timer.cancel()


# -- state -----------------------------------------------------------------------------------------------------


def test_an_error_inside_names_the_node(session):
    x = raw.Placeholder(dtype="int32", shape=[])
    off, on = raw.Switch(x, True)
    y = raw.FloorDiv(on, 0, name="inside")
    with pytest.raises(errors.InvalidArgumentError, match="node inside"):
        session.run(raw.Merge([off, y])[0], {x: 1})


def test_reads_and_writes_around_a_region_keep_their_order(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    pred = raw.Placeholder(dtype="bool", shape=[])
    before = tf.identity(v.read_value())
    with tf.control_dependencies([before]):
        off, on = raw.RefSwitch(v._ref(), pred)
        written = raw.Merge([raw.Identity(off), raw.AssignAdd(on, 1.0)])[0]
    with tf.control_dependencies([written]):
        after = v.read_value() * 1.0
    assert session.run([before, written, after], {pred: True}) == [1.0, 2.0, 2.0]
    assert session.run([before, written, after], {pred: False}) == [2.0, 2.0, 2.0]
    assert np.asarray(session.run(v)) == 2.0
