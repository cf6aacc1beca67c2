"""Loops with programs of their own, for any number of iterations; sums of products that wait for a loop's end."""

import numpy as np
import pytest

import headrace as tf
from headrace.graph.func_graph import function_named
from headrace.runtime import functions, summed_products
from headrace.runtime.loop_program import LoopProgram


@pytest.fixture(autouse=True)
def tier(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "auto")
    with tf.Graph().as_default():
        yield


def _network(batch=3, trainable_input=False):
    """Returns the loss of a small recurrent net over [batch, time, 4], its gradients, and its placeholder."""
    x = tf.placeholder(tf.float32, [batch, None, 4])
    seen = x
    if trainable_input:
        scale = tf.get_variable("scale", [4], initializer=tf.constant_initializer([1.0, 0.5, 2.0, 1.5]))
        seen = x * scale
    w = tf.get_variable("w", [9, 5], initializer=tf.random_normal_initializer(stddev=0.3, seed=1))
    steps = tf.shape(x)[1]
    rows = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(seen, [1, 0, 2]))
    written = tf.TensorArray(tf.float32, steps)

    def body(t, h, out):
        h = tf.tanh(tf.matmul(tf.concat([rows.read(t), h], 1), w))
        return t + 1, h, out.write(t, h)

    zero = tf.zeros([tf.shape(x)[0], 5])
    zero.set_shape([batch, 5])
    _, h, out = tf.while_loop(lambda t, *_: t < steps, body, (0, zero, written))
    loss = tf.reduce_sum(tf.square(h)) + tf.reduce_mean(tf.square(out.stack()))
    return loss, tf.gradients(loss, tf.trainable_variables()), x


def _value(length, batch=3):
    return np.random.RandomState(length).randn(batch, length, 4).astype(np.float32)


def _loop_programs(sess):
    return [p for p in sess._state._objects.values() if isinstance(p, LoopProgram)]


@pytest.mark.parametrize("trainable_input", [False, True])
def test_lengths_share_programs(monkeypatch, trainable_input):
    loss, gradients, x = _network(trainable_input=trainable_input)
    lengths = [5, 9, 14, 3, 11, 8, 1, 0, 7, 2, 12, 13, 6]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        monkeypatch.setenv("HEADRACE_TIER", "interpret")
        with tf.Session() as plain:
            plain.run(tf.global_variables_initializer())
            expected = [plain.run([loss, *gradients], {x: _value(n)}) for n in lengths]
        # Every loop is worth a program from its second iteration on.
        monkeypatch.setattr(functions, "_WORTH_COMPILING_S", 0.0)
        for n, wanted in zip(lengths, expected, strict=True):
            found = sess.run([loss, *gradients], {x: _value(n)})
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
        programs = _loop_programs(sess)
        assert len(programs) == 2
        assert all(p._failures == 0 for p in programs)
        # For each loop: none of its lists has been made yet, or some have; no more than two kinds of room.
        assert all(1 <= len(p._programs) <= 4 for p in programs)


def test_a_loop_and_that_of_its_gradient_take_the_same_room(monkeypatch):
    loss, gradients, x = _network()
    lengths = [20, 37, 31, 47, 33, 5, 16, 17, 1, 0]
    used = []
    of_used = summed_products._of_used
    monkeypatch.setattr(summed_products, "_of_used", lambda *a: used.append(a[1].shape[0]) or of_used(*a))
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Session() as plain:
        plain.run(tf.global_variables_initializer())
        expected = [plain.run([loss, *gradients], {x: _value(n)}) for n in lengths]
    monkeypatch.setenv("HEADRACE_TIER", "auto")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        monkeypatch.setattr(functions, "_WORTH_COMPILING_S", 1e9)
        sess.run([loss, *gradients], {x: _value(47)})
        monkeypatch.setattr(functions, "_WORTH_COMPILING_S", 0.0)
        for n, wanted in zip(lengths, expected, strict=True):
            found = sess.run([loss, *gradients], {x: _value(n)})
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
        # What was seen before there were programs fits them.
        assert len(sess._state.rooms) == 1 and min(sess._state.rooms) >= 47
        assert all(
            p._failures == 0 and {k[0] for k in p._programs} == sess._state.rooms
            for p in _loop_programs(sess)
        )
    # The products of as many iterations as there were are added up, not of all that there is room for.
    assert used and set(used) == sess._state.rooms


def test_lists_that_a_loop_only_shortens_are_not_copied(monkeypatch):
    loss, gradients, x = _network()
    monkeypatch.setattr(functions, "_WORTH_COMPILING_S", 0.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for n in (9, 7, 8):
            sess.run([loss, *gradients], {x: _value(n)})
        (program,) = [
            q for p in _loop_programs(sess) if "grad" in p.op.name for q in list(p._programs.values())[-1:]
        ]
        passed = [k for _, at in program._forms.values() for k in at]
        assert len([k for k in passed if k is not None]) >= 3


def test_products_that_are_only_added_up_wait_for_the_end(monkeypatch):
    loss, gradients, x = _network(batch=None)
    (loop,) = [
        op for op in tf.get_default_graph().get_operations() if "While" in op.type and "_grad" in op.name
    ]
    cond, body = (function_named(loop.graph, loop.attrs[k].name) for k in ("cond", "body"))
    (found,) = summed_products.find(body, cond)
    assert len(found.factors) == 1
    kept = summed_products.without(body, [found])
    assert kept.outputs[found.position] is kept.inputs[found.position]
    results = {}
    for tier in ("interpret", "compile"):
        monkeypatch.setenv("HEADRACE_TIER", tier)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for n in (1, 2, 17):
                results[tier, n] = sess.run([loss, *gradients], {x: _value(n, 4)})
    for n in (1, 2, 17):
        for a, b in zip(results["interpret", n], results["compile", n], strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_a_sum_that_the_loop_looks_at_is_added_up_as_it_goes(monkeypatch):
    a = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))

    def body(i, total, seen):
        total = total + tf.matmul(a, a * tf.cast(i, tf.float32), transpose_a=True)
        return i + 1, total, seen + tf.reduce_sum(total)

    start = (0, tf.zeros([3, 3]), 0.0)
    _, total, seen = tf.while_loop(lambda i, *_: i < 4, body, start)
    _, by_condition = tf.while_loop(
        lambda i, s: (i < 9) & (tf.reduce_sum(s) < 100.0),
        lambda i, s: (i + 1, s + tf.matmul(a, a, transpose_a=True)),
        (0, tf.zeros([3, 3])),
    )
    values = {}
    for tier in ("interpret", "compile"):
        monkeypatch.setenv("HEADRACE_TIER", tier)
        with tf.Session() as sess:
            values[tier] = sess.run([total, seen, by_condition])
    for one, other in zip(values["interpret"], values["compile"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_an_element_that_is_written_twice_takes_the_gradient_of_the_last_write(monkeypatch):
    w = tf.constant([1.0, 2.0, 3.0])
    raw = tf.raw_ops

    def body(i, handle):
        return i + 1, raw.TensorListSetItem(
            input_handle=handle, index=i % 2, item=w * tf.cast(i + 1, tf.float32)
        )

    handle = raw.TensorListReserve(element_shape=[3], num_elements=2, element_dtype=tf.float32)
    _, handle = tf.while_loop(lambda i, _: i < 5, body, (0, handle))
    rows = raw.TensorListStack(
        input_handle=handle, element_shape=[3], element_dtype=tf.float32, num_elements=2
    )
    (dw,) = tf.gradients(rows, w, [tf.constant([[1.0, 1.0, 1.0], [10.0, 10.0, 10.0]])])
    for tier in ("interpret", "compile"):
        monkeypatch.setenv("HEADRACE_TIER", tier)
        with tf.Session() as sess:
            # Element 0 was written last with factor 5, element 1 with factor 4.
            np.testing.assert_array_equal(sess.run(dw), [45.0, 45.0, 45.0])


def test_a_long_loop_hears_a_deadline():
    i = tf.while_loop(
        lambda i: i < tf.constant(1 << 60, tf.int64), lambda i: i + 1, [tf.constant(0, tf.int64)]
    )
    with tf.Session() as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(i, options=tf.RunOptions(timeout_in_ms=700))


def test_an_unrolled_weight_gets_its_gradient_from_one_product(monkeypatch):
    w = tf.get_variable("w", [6, 6], initializer=tf.random_normal_initializer(seed=1))
    x = tf.placeholder(tf.float32, [2, 6])
    h = x
    for _ in range(4):
        h = tf.tanh(tf.matmul(h, w))
    (dw,) = tf.gradients(tf.reduce_sum(h), w)
    products = [t.op for t in dw.op.inputs]
    sums, left_out = summed_products.in_nodes(tf.get_default_graph().get_operations(), [dw])
    assert left_out == set(products)
    assert list(sums) == [dw.op]
    # A product that is asked for is computed.
    assert summed_products.in_nodes(tf.get_default_graph().get_operations(), [products[0].outputs[0]]) == (
        {},
        set(),
    )
    value = np.random.RandomState(0).randn(2, 6).astype(np.float32)
    results = []
    for tier in ("interpret", "compile"):
        monkeypatch.setenv("HEADRACE_TIER", tier)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            results.append(sess.run([dw, products[1].outputs[0]], {x: value}))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_dynamic_rnn_over_many_lengths_makes_few_programs(monkeypatch):
    monkeypatch.setattr(functions, "_WORTH_COMPILING_S", 0.0)
    x = tf.placeholder(tf.float32, [None, None, 3])
    lengths = tf.placeholder(tf.int32, [None])
    cell = tf.nn.rnn_cell.LSTMCell(4, initializer=tf.random_normal_initializer(seed=1))
    _, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    loss = tf.reduce_sum(tf.square(state.h))
    fetches = [loss, *tf.gradients(loss, tf.trainable_variables())]
    steps = [4, 9, 30, 1, 17, 25, 12, 40, 2, 21]

    def feed(n):
        value = np.random.RandomState(n).randn(2, n, 3).astype(np.float32)
        return {x: value, lengths: [n, n // 2]}

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = [sess.run(fetches, feed(n)) for n in steps]
        programs = _loop_programs(sess)
    assert len(programs) == 2
    assert all(p._failures == 0 for p in programs)
    assert all(1 <= len(p._programs) <= 3 for p in programs)
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for n, a in zip(steps, found, strict=True):
            for one, other in zip(a, sess.run(fetches, feed(n)), strict=True):
                np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_elements_that_a_compiled_loop_left_unwritten_have_the_shape_of_the_others(monkeypatch):
    x, lengths = tf.placeholder(tf.float32, [None, None, 6]), tf.placeholder(tf.int32, [None])
    cell = tf.nn.rnn_cell.LSTMCell(4)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    feeds = [{x: np.ones((3, t, 6)), lengths: [t - 2, 2, 1]} for t in (5, 6, 5, 7)]
    monkeypatch.setattr(functions, "_WORTH_COMPILING_S", 0.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for feed in feeds:
            found = sess.run(outputs, feed)
            assert found.shape == (3, feed[x].shape[1], 4)
            for row, n in zip(found, feed[lengths], strict=True):
                assert np.all(row[:n] != 0) and np.all(row[n:] == 0)
        assert any(p._programs for p in _loop_programs(sess))


def test_a_list_that_becomes_full_in_a_loop_is_refused(monkeypatch):
    monkeypatch.setattr(functions, "_WORTH_COMPILING_S", 0.0)
    raw = tf.raw_ops
    n = tf.placeholder(tf.int32, [])
    handle = raw.EmptyTensorList(element_shape=[2], max_num_elements=5, element_dtype=tf.float32)
    _, handle = tf.while_loop(
        lambda i, _: i < n,
        lambda i, h: (i + 1, raw.TensorListPushBack(input_handle=h, tensor=tf.ones([2]))),
        (0, handle),
    )
    length = raw.TensorListLength(input_handle=handle)
    with tf.Session() as sess:
        for k in (3, 5, 4, 5):
            assert sess.run(length, {n: k}) == k
        with pytest.raises(tf.errors.InvalidArgumentError, match="Tried to push item into a full list"):
            sess.run(length, {n: 6})
