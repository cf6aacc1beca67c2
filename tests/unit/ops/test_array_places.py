"""Elements of a tf.TensorArray written or read twice at places that only a step tells are refused in every step."""

import numpy as np
import pytest

import headrace as tf
from headrace.ops.array import array_places, array_uses

ROWS = np.arange(8.0, dtype=np.float32).reshape(4, 2)
WRITTEN = "because it has already been written to"
UNWRITTEN = "Could not read from TensorArray index"
READ = "twice because it was cleared after a previous read"


def _number():
    return tf.placeholder(tf.int32, [])


def _numbers():
    return tf.placeholder(tf.int32, [2])


def _array(**options):
    return tf.TensorArray(tf.float32, 4, element_shape=[2], **options)


def _loop(n, body, start):
    return tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, body(i, v)), (0, start))[1]


def _row(i):
    return tf.fill([2], tf.cast(i + 1, tf.float32))


def written_twice():
    p, q = _number(), _number()
    return _array().write(p, [1.0, 1.0]).write(q, [2.0, 2.0]).stack(), {p: 1, q: 3}, {p: 2, q: 2}, WRITTEN


def written_in_a_loop():
    v = _numbers()
    y = _loop(2, lambda i, a: a.write(tf.gather(v, i), _row(i)), _array()).stack()
    return y, {v: [3, 1]}, {v: [1, 1]}, WRITTEN


def written_at_one_place_in_a_loop():
    n = _number()
    return _loop(n, lambda i, a: a.write(0, _row(i)), _array()).stack(), {n: 1}, {n: 2}, WRITTEN


def written_in_two_loops():
    n = _number()

    def rows(i, a):
        return _loop(2, lambda j, b: b.write(i * n + j, _row(j)), a)

    return _loop(2, rows, _array()).stack(), {n: 2}, {n: 1}, WRITTEN


def written_in_a_branch():
    p, q = tf.placeholder(tf.bool, []), _number()
    a = _array().write(0, [5.0, 5.0])
    y = tf.cond(p, lambda: a.write(q, [1.0, 1.0]).stack(), lambda: a.stack())
    return y, {p: True, q: 1}, {p: True, q: 0}, WRITTEN


def scattered():
    v = _numbers()
    return _array().scatter(v, ROWS[:2]).stack(), {v: [3, 1]}, {v: [1, 1]}, WRITTEN


def read_twice():
    p, q = _number(), _number()
    a = _array().unstack(ROWS)
    return a.read(p) + a.read(q), {p: 1, q: 3}, {p: 2, q: 2}, READ


def gathered():
    v = _numbers()
    return _array().unstack(ROWS).gather(v), {v: [3, 1]}, {v: [1, 1]}, READ


def gathered_and_read():
    v, q = _numbers(), _number()
    a = _array().unstack(ROWS)
    return a.gather(v) + a.read(q), {v: [3, 1], q: 0}, {v: [3, 1], q: 1}, READ


def read_at_one_place_in_a_loop():
    n = _number()
    a = _array().unstack(ROWS)
    return _loop(n, lambda i, s: s + a.read(0), tf.zeros([2])), {n: 1}, {n: 2}, READ


def read_in_a_loop():
    v = _numbers()
    a = _array().unstack(ROWS)
    y = _loop(2, lambda i, s: s + a.read(tf.gather(v, i)), tf.zeros([2]))
    return y, {v: [3, 1]}, {v: [1, 1]}, READ


def read_in_a_branch_of_a_loop():
    v, a = _numbers(), _array().unstack(ROWS)
    y = _loop(2, lambda i, s: s + tf.cond(v[i] > 0, lambda: a.read(1), lambda: a.read(0)), tf.zeros([2]))
    return y, {v: [1, 0]}, {v: [1, 1]}, READ


def read_in_nested_loops():
    n, a = _number(), _array().unstack(ROWS)

    def rows(_, s):
        return _loop(2, lambda j, s: s + a.read(j), s)

    return _loop(n, rows, tf.zeros([2])), {n: 1}, {n: 2}, READ


def read_in_two_loops_one_after_the_other():
    n, a = _number(), _array().unstack(ROWS)
    first = _loop(n, lambda i, s: s + a.read(i), tf.zeros([2]))
    second = _loop(4, lambda i, s: s + a.read(i), first)
    return second, {n: 0}, {n: 1}, READ


def read_in_a_branch_and_after_it():
    p, a = tf.placeholder(tf.bool, []), _array().unstack(ROWS)
    x = tf.cond(p, lambda: a.read(0), lambda: tf.zeros([2]))
    with tf.control_dependencies([x]):
        y = x + a.read(tf.cast(tf.reduce_sum(x) * 0, tf.int32))
    return y, {p: False}, {p: True}, READ


def stacked_after_it_was_read():
    p, a = tf.placeholder(tf.bool, []), _array().unstack(ROWS)
    x = tf.cond(p, lambda: a.read(0), lambda: tf.zeros([2]))
    with tf.control_dependencies([x]):
        y = a.identity().stack()
    return y, {p: False}, {p: True}, READ


def concatenated_after_it_was_read():
    n, a = _number(), _array().unstack(ROWS)
    x = _loop(n, lambda i, s: s + a.read(i), tf.zeros([2]))
    with tf.control_dependencies([x]):
        y = a.identity().concat()
    return y, {n: 0}, {n: 2}, READ


def gathered_in_a_loop():
    n, a = _number(), _array().unstack(ROWS)
    y = _loop(n, lambda i, s: s + tf.reduce_sum(a.gather([0, 1]), 0), tf.zeros([2]))
    return y, {n: 1}, {n: 2}, READ


def written_after_a_first_element():
    n = _number()
    a = _array().write(0, [1.0, 1.0])
    a = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, _row(i))), (n, a))[1]
    return a.stack(), {n: 1}, {n: 0}, WRITTEN


def written_in_two_branches_of_a_loop():
    v = _numbers()

    def body(i, a):
        return tf.cond(v[i] > 0, lambda: a.write(1, _row(i)), lambda: a.write(0, _row(i)))

    return _loop(2, body, _array()).stack(), {v: [0, 1]}, {v: [1, 1]}, WRITTEN


def written_after_it_was_unstacked():
    p = tf.placeholder(tf.bool, [])
    a = _array().unstack(ROWS)
    y = tf.cond(p, lambda: a.write(1, [1.0, 1.0]).stack(), lambda: a.stack())
    return y, {p: False}, {p: True}, WRITTEN


def scattered_in_a_loop():
    n = _number()
    y = _loop(n, lambda i, a: a.scatter([0, 1], ROWS[:2]), _array()).stack()
    return y, {n: 1}, {n: 2}, WRITTEN


def split_and_written():
    p = tf.placeholder(tf.bool, [])
    a = _array().split(ROWS.reshape(-1), [2, 2, 2, 2])
    y = tf.cond(p, lambda: a.write(1, [1.0, 1.0]).stack(), lambda: a.stack())
    return y, {p: False}, {p: True}, WRITTEN


def written_after_it_was_read():
    n = _number()
    a = _array(clear_after_read=False).write(0, [1.0, 1.0])
    x = a.read(n)
    with tf.control_dependencies([x]):
        a = a.identity().write(1, x)
    return a.stack(), {n: 0}, {n: 1}, "because it has already been read"


def _partly_written(**options):
    n = _number()
    return n, _loop(n, lambda i, a: a.write(i, _row(i)), tf.TensorArray(tf.float32, 4, **options))


def read_unwritten():
    q = _number()
    n, a = _partly_written(infer_shape=False)
    return a.read(q), {n: 2, q: 1}, {n: 2, q: 3}, UNWRITTEN


def read_where_nothing_was_written():
    n, a = _partly_written()
    return _loop(2, lambda i, s: s + a.read(i), tf.zeros([2])), {n: 4}, {n: 0}, UNWRITTEN


def gathered_unwritten():
    n, a = _partly_written(infer_shape=False)
    return a.gather([0, 2]), {n: 4}, {n: 2}, UNWRITTEN


def stacked_unwritten():
    n, a = _partly_written(infer_shape=False)
    return a.stack(), {n: 4}, {n: 2}, UNWRITTEN


PROGRAMS = [v for k, v in list(globals().items()) if callable(v) and not k.startswith("_") and k[0].islower()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_later_steps_refuse_it_too(program, tier, monkeypatch):
    monkeypatch.setattr("headrace.runtime.plan.Plan.checks_arrays", True)
    monkeypatch.setenv("HEADRACE_BACKGROUND", "off")
    with tf.Graph().as_default(), tf.Session() as session:
        y, good, bad, message = program()
        want = session.run(y, good).tolist()
        assert [session.run(y, good).tolist() for _ in range(2)] == [want] * 2
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(y, bad)
        assert session.run(y, good).tolist() == want


def _counted_down(**options):
    n = _number()
    return _loop(n, lambda i, a: a.write(n - 1 - i, _row(i)), _array(**options)).stack(), {n: 4}


def _constants(**options):
    b = _array(**options).write(0, [1.0, 1.0]).write(1, [2.0, 2.0])
    return b.read(1) + b.read(0), {}


def _first_and_others(**options):
    a = _array(**options).write(0, [1.0, 1.0])
    a = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, _row(i))), (1, a))[1]
    return a.stack(), {}


def _one_of_two_branches(**options):
    v = _numbers()

    def body(i, a):
        return tf.cond(v[i] > 0, lambda: a.write(i, _row(i)), lambda: a.write(i, [5.0, 5.0]))

    return _loop(2, body, _array(**options)).stack(), {v: [0, 1]}


def _written_and_read_again(**options):
    def body(i, a):
        return a.write(i, a.read(i - 1) + 1.0)

    a = _array(clear_after_read=False).write(0, [1.0, 1.0])
    return tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, body(i, a)), (1, a))[1].stack(), {}


def _mapped(**options):
    return tf.map_fn(lambda x: x * 2, tf.constant(ROWS)), {}


def _scanned(**options):
    return tf.scan(lambda a, x: a + x, tf.constant(ROWS)), {}


def _recurrent(**options):
    x = tf.placeholder(tf.float32, [2, 3, 4])
    y, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), x, sequence_length=[2, 3], dtype=tf.float32)
    w = tf.trainable_variables()
    return tf.gradients(y, w)[0], {x: np.ones([2, 3, 4])}


TOLD = [
    v
    for k, v in list(globals().items())
    if k
    in """_counted_down _constants _first_and_others
    _one_of_two_branches _written_and_read_again _mapped _scanned _recurrent""".split()
]


@pytest.mark.parametrize("clears", [True, False])
@pytest.mark.parametrize("program", TOLD, ids=lambda f: f.__name__[1:])
def test_places_that_the_graph_tells_cost_nothing(program, clears, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    monkeypatch.setattr("headrace.runtime.plan.Plan.checks_arrays", True)
    found = []
    monkeypatch.setattr(
        array_places, "needs_flags", lambda op: found.append(array_uses.needs_flags(op)) or found[-1]
    )
    with tf.Graph().as_default(), tf.Session() as session:
        y, feed = program(clear_after_read=clears)
        session.run(tf.global_variables_initializer())
        first, second = (session.run(y, feed) for _ in range(2))
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)
    assert found and not any(found)


def test_an_array_that_the_host_shares_with_a_compiled_loop_has_one_log(monkeypatch):
    monkeypatch.setattr("headrace.runtime.plan.Plan.checks_arrays", True)
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    with tf.Graph().as_default(), tf.Session() as session:
        v, p = _numbers(), _number()
        a = _array().unstack(ROWS)
        x = _loop(2, lambda i, s: s + a.read(tf.gather(v, i)), tf.zeros([2]))
        place = tf.py_func(lambda p, x: p, [p, x], tf.int32)
        place.set_shape([])
        y = x + a.read(place)
        for _ in range(3):
            assert session.run(y, {v: [0, 1], p: 2}).tolist() == [6.0, 9.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=READ):
            session.run(y, {v: [0, 1], p: 1})


def test_stacking_an_array_to_which_nothing_was_written_gives_zeros_of_the_shape_that_is_known(tier):
    with tf.Graph().as_default(), tf.Session() as session:
        n, a = _partly_written()
        y = a.stack()
        for _ in range(3):
            assert session.run(y, {n: 1}).tolist() == [[1.0, 1.0]] + [[0.0, 0.0]] * 3
        assert session.run(y, {n: 0}).tolist() == [[0.0, 0.0]] * 4
