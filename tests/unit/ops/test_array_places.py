"""Elements of a tf.TensorArray written or read twice at places that only a step tells are refused in every step."""

import numpy as np
import pytest

import headrace as tf

ROWS = np.arange(8.0, dtype=np.float32).reshape(4, 2)
WRITTEN = "because it has already been written to"
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


@pytest.mark.parametrize("clears", [True, False])
def test_places_that_the_graph_tells_cost_nothing(clears, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    made = []
    monkeypatch.setattr("headrace.ops.array.tensor_list.needs_flags", lambda op: made.append(needs_flags(op)))
    from headrace.ops.array.array_places import needs_flags

    with tf.Graph().as_default(), tf.Session() as session:
        n = _number()
        a = _loop(n, lambda i, a: a.write(n - 1 - i, _row(i)), _array(clear_after_read=clears))
        b = _array().write(0, [1.0, 1.0]).write(1, [2.0, 2.0])
        found = session.run([a.read(0), b.read(1)], {n: 2})
    assert [v.tolist() for v in found] == [[2.0, 2.0], [2.0, 2.0]]
    assert made and not any(made)
