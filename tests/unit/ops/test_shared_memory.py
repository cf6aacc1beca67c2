"""What is read from a reference variable shares its memory, in branches and loops too: values of TensorFlow 1.15.5.

All reads and writes are ordered, by data or control edges, so that TensorFlow leaves no race.
"""

import pytest

import headrace as tf


def after(operations, make):
    with tf.control_dependencies(operations if isinstance(operations, list) else [operations]):
        return make()


def loop(v, test, value):
    """Counts while `test` holds, and gives the variable a value in each iteration."""
    return tf.while_loop(test, lambda i: after(tf.assign(v, value(i)), lambda: tf.identity(i + 1)), [0])


def doubled(v):
    return loop(v, lambda i: i < 4, lambda i: v * 2.0)


def until_it_is_large(v):
    return loop(v, lambda i: v < 50.0, lambda i: v * 2.0)


def counted(v):
    return loop(v, lambda i: i < 4, lambda i: v + tf.cast(i, tf.float32))


def limit_that_moves(v):
    return loop(v, lambda i: tf.cast(i, tf.float32) < v, lambda i: tf.minimum(v + 1.0, 6.0))


def branch(v):
    return tf.cond(
        tf.placeholder_with_default(True, []), lambda: after(tf.assign(v, 7.0), lambda: v + 0.5), lambda: v
    )


def branch_in_a_loop(v):
    def body(i, total):
        write = tf.cond(i > 1, lambda: tf.assign(v, v * 3.0), lambda: tf.assign_add(v, 1.0))
        total = after(write, lambda: total + v)
        return after(total, lambda: tf.identity(i + 1)), total

    return tf.while_loop(lambda i, total: i < 4, body, [0, 0.0])[1]


def loop_in_a_branch(v):
    return tf.cond(v > 0.0, lambda: after(doubled(v), lambda: v * 1.0), lambda: v)


def nested_loops(v):
    def inner(i, total):
        total = after(after([i, total], lambda: tf.assign(v, v + 1.0)), lambda: tf.maximum(total, -100.0) + v)
        return after(total, lambda: tf.identity(i + 1)), total

    def outer(i, total):
        start = after([i, total], lambda: tf.maximum(total, 0.0))
        total = tf.while_loop(lambda j, a: j < 2, inner, [0, start], parallel_iterations=1)[1]
        return after(total, lambda: tf.identity(i + 1)), total

    return tf.while_loop(lambda i, total: i < 2, outer, [0, 0.0], parallel_iterations=1)[1]


def mapped(v):
    return tf.map_fn(
        lambda x: after(tf.assign_add(v, x), lambda: v * 1.0),
        tf.constant([1.0, 2.0, 3.0]),
        parallel_iterations=1,
    )


def case(v):
    return tf.case(
        [
            (v > 100.0, lambda: after(tf.assign(v, 0.0), lambda: v + 1.0)),
            (v > 5.0, lambda: after(tf.assign(v, v * v), lambda: v + 1.0)),
            (v > 0.0, lambda: after(tf.assign(v, v + 13.0), lambda: v + 1.0)),
        ],
        default=lambda: v - 1.0,
    )


RECORDED = {  # program -> result and variable after each of three steps
    doubled: [(4, 16.0), (4, 256.0), (4, 4096.0)],
    until_it_is_large: [(6, 64.0), (0, 64.0), (0, 64.0)],
    counted: [(4, 7.0), (4, 13.0), (4, 19.0)],
    limit_that_moves: [(6, 6.0), (6, 6.0), (6, 6.0)],
    branch: [(7.5, 7.0), (7.5, 7.0), (7.5, 7.0)],
    branch_in_a_loop: [(41.0, 27.0), (405.0, 261.0), (3681.0, 2367.0)],
    loop_in_a_branch: [(16.0, 16.0), (256.0, 256.0), (4096.0, 4096.0)],
    nested_loops: [(14.0, 5.0), (30.0, 9.0), (46.0, 13.0)],
    mapped: [([2.0, 4.0, 7.0], 7.0), ([8.0, 10.0, 13.0], 13.0), ([14.0, 16.0, 19.0], 19.0)],
    case: [(15.0, 14.0), (197.0, 196.0), (1.0, 0.0)],
}


@pytest.mark.parametrize("program", RECORDED, ids=lambda p: p.__name__)
def test_bodies_see_what_they_write(program, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        result = program(v)
        session.run(v.initializer)
        found = []
        for _ in range(3):
            value = session.run(result)
            found.append((value.tolist(), session.run(v).item()))
    assert found == RECORDED[program]


@pytest.mark.parametrize("program", RECORDED, ids=lambda p: p.__name__)
def test_frames_inside_frames_hand_memory_on(program, tier):
    """The same graphs with Switch, Merge, Enter and Exit."""
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0, name="v")
        tf.identity(program(v), name="result")
        tf.global_variables_initializer()
        written = tf.export(graph, control_flow="v1")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(written, name="")
        session.run("init")
        found = []
        for _ in range(3):
            value = session.run("result:0")
            found.append((value.tolist(), session.run("v:0").item()))
    assert found == RECORDED[program]


def test_gradients_of_branches_that_write_are_tensorflows(tier):
    with tf.Graph().as_default(), tf.Session() as session:
        v, x = tf.Variable(2.0), tf.placeholder_with_default(1.5, [])
        y = tf.cond(x > 0.0, lambda: after(tf.assign(v, v * x), lambda: tf.square(v) * x), lambda: x * v)
        gradients = tf.gradients(y, [x, v])
        session.run(v.initializer)
        found = [session.run([y, v]), session.run([y, v]), session.run(gradients, {x: -1.0})]
    assert [f[0] for f in found] == [13.5, 30.375, 4.5]
    assert found[2] == [4.5, -1.0]


@pytest.mark.parametrize(("which", "after_it"), [(0, [16.0, 3.0]), (1, [6.0, 3.0])])
def test_a_program_on_disk_is_not_used_for_a_loop_over_another_variable(
    which, after_it, tmp_path_factory, monkeypatch
):
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path_factory.getbasetemp()))
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    with tf.Graph().as_default(), tf.Session() as session:
        both = [tf.Variable(1.0), tf.Variable(3.0)]
        result = loop(both[0], lambda i: i < 4, lambda i: both[which] * 2.0)
        session.run(tf.global_variables_initializer())
        session.run(result)
        assert session.run(both) == after_it


@pytest.mark.parametrize(
    ("write", "three"),
    [
        (lambda v: tf.assign(v, v), [[3.0, 4.0], [4.0, 5.0], [5.0, 6.0]]),
        (lambda v: tf.assign_add(v, v), [[6.0, 8.0], [14.0, 18.0], [30.0, 38.0]]),
        (lambda v: tf.assign_sub(v, v), [[0.0, 0.0]] * 3),
        (lambda v: tf.scatter_add(v, [0, 1], v), [[6.0, 8.0], [14.0, 18.0], [30.0, 38.0]]),
    ],
)
def test_a_write_sees_an_earlier_one_in_what_it_writes(write, three, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([2.0, 3.0])
        result = after(after(tf.assign_add(v, [1.0, 1.0]), lambda: write(v)), lambda: v * 1.0)
        session.run(v.initializer)
        assert [session.run(result).tolist() for _ in range(3)] == three
