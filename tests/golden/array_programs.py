"""Uses of tf.TensorArray, most of them wrong, that TensorFlow accepts or refuses when a step runs.

`record/array_refusals.py` notes in `array_refusals.json` what each gives, or how it is refused. A program takes the
module `tf` and returns what is fetched. Nothing is known of the values that `_unknown` gives before the step runs.
"""

import numpy as np

ROWS = np.float32([[1, 2], [3, 4], [5, 6]])


def _unknown(tf, value):
    return tf.placeholder_with_default(np.asarray(value), None)


def _array(tf, n=3, **options):
    return tf.TensorArray(tf.float32, n, **options)


def split_sum_short(tf):
    return _array(tf, 2).split(_unknown(tf, ROWS), _unknown(tf, [1, 1])).stack()


def split_sum_long(tf):
    return _array(tf, 2).split(_unknown(tf, ROWS), _unknown(tf, [2, 2])).concat()


def split_n_differs(tf):
    return _array(tf, 2).split(_unknown(tf, ROWS), _unknown(tf, [1, 1, 1])).stack()


def split_n_fewer(tf):
    return _array(tf, 4).split(_unknown(tf, ROWS), _unknown(tf, [1, 1, 1])).size()


def split_n_dynamic(tf):
    return _array(tf, 2, dynamic_size=True).split(_unknown(tf, ROWS), _unknown(tf, [1, 1, 1])).concat()


def split_n_dynamic_fewer(tf):
    return _array(tf, 4, dynamic_size=True).split(_unknown(tf, ROWS), _unknown(tf, [1, 1, 1])).size()


def split_neg(tf):
    return _array(tf, 3).split(_unknown(tf, ROWS), _unknown(tf, [-1, 2, 2])).size()


def split_shape(tf):
    return (
        _array(tf, 2, element_shape=[1, 2], infer_shape=False)
        .split(_unknown(tf, ROWS), _unknown(tf, [2, 1]))
        .concat()
    )


def split_shape2(tf):
    return (
        _array(tf, 2, element_shape=[None, 3], infer_shape=False)
        .split(_unknown(tf, ROWS), _unknown(tf, [2, 1]))
        .concat()
    )


def split_shape3(tf):
    return _array(tf, 2, element_shape=[None, 3]).split(_unknown(tf, ROWS), _unknown(tf, [2, 1])).concat()


def split_static(tf):
    return _array(tf, 2, element_shape=[1, 2]).split(tf.constant(ROWS), [2, 1]).concat()


def split_scalar(tf):
    return _array(tf, 2).split(_unknown(tf, np.float32(1)), _unknown(tf, [1])).concat()


def split_lengths_matrix(tf):
    return _array(tf, 2).split(_unknown(tf, ROWS), _unknown(tf, [[1], [2]])).concat()


def split_zero(tf):
    return _array(tf, 3).split(_unknown(tf, ROWS), _unknown(tf, [0, 1, 2])).concat()


def split_ok(tf):
    return _array(tf, 2).split(_unknown(tf, ROWS), _unknown(tf, [1, 2])).concat()


def write_unstack(tf):
    return _array(tf, 3).write(0, [1.0, 2.0]).unstack(_unknown(tf, ROWS)).stack()


def write_scatter(tf):
    return _array(tf, 3).write(0, [1.0, 2.0]).scatter([0, 1, 2], _unknown(tf, ROWS)).stack()


def write_split(tf):
    return _array(tf, 3).write(0, [[1.0, 2.0]]).split(_unknown(tf, ROWS), [1, 1, 1]).concat()


def unstack_twice(tf):
    return _array(tf, 3).unstack(_unknown(tf, ROWS)).unstack(_unknown(tf, ROWS)).stack()


def unstack_few(tf):
    return _array(tf, 4).unstack(_unknown(tf, ROWS)).stack()


def unstack_many(tf):
    return _array(tf, 2).unstack(_unknown(tf, ROWS)).stack()


def unstack_few_unknown(tf):
    return _array(tf, _unknown(tf, np.int32(4))).unstack(_unknown(tf, ROWS)).stack()


def unstack_many_unknown(tf):
    return _array(tf, _unknown(tf, np.int32(2))).unstack(_unknown(tf, ROWS)).stack()


def unstack_dyn_few(tf):
    return _array(tf, 4, dynamic_size=True).unstack(_unknown(tf, ROWS)).size()


def unstack_dyn_few_stack(tf):
    return _array(tf, 4, dynamic_size=True).unstack(_unknown(tf, ROWS)).stack()


def unstack_dyn_many(tf):
    return _array(tf, 0, dynamic_size=True).unstack(_unknown(tf, ROWS)).stack()


def unstack_scalar(tf):
    return _array(tf, 1).unstack(_unknown(tf, np.float32(1))).stack()


def unstack_shape(tf):
    return _array(tf, 3, element_shape=[3]).unstack(_unknown(tf, ROWS)).stack()


def unstack_shape_static(tf):
    return _array(tf, 3, element_shape=[3]).unstack(tf.constant(ROWS)).stack()


def scatter_repeat(tf):
    return _array(tf, 3).scatter([0, 0, 1], _unknown(tf, ROWS)).size()


def scatter_beyond(tf):
    return _array(tf, 3).scatter([0, 1, 3], _unknown(tf, ROWS)).size()


def scatter_neg(tf):
    return _array(tf, 3).scatter([0, -1, 2], _unknown(tf, ROWS)).size()


def scatter_len(tf):
    return _array(tf, 3).scatter([0, 1], _unknown(tf, ROWS)).size()


def scatter_len2(tf):
    return _array(tf, 4).scatter([0, 1, 2, 3], _unknown(tf, ROWS)).size()


def scatter_dyn(tf):
    return _array(tf, 2, dynamic_size=True).scatter([0, 1, 3], _unknown(tf, ROWS)).gather([0, 1, 3])


def scatter_dyn_size(tf):
    return _array(tf, 2, dynamic_size=True).scatter([0, 1, 3], _unknown(tf, ROWS)).size()


def scatter_matrix(tf):
    return _array(tf, 3).scatter(_unknown(tf, np.int32([[0], [1], [2]])), _unknown(tf, ROWS)).size()


def concat_unequal(tf):
    a = (
        _array(tf, 2, infer_shape=False)
        .write(0, _unknown(tf, np.ones((2, 2), "f")))
        .write(1, _unknown(tf, np.ones((1, 3), "f")))
    )
    return a.concat()


def concat_lengths(tf):
    a = (
        _array(tf, 2, infer_shape=False)
        .write(0, _unknown(tf, np.ones((2, 2), "f")))
        .write(1, _unknown(tf, np.ones((1, 2), "f")))
    )
    return a.concat()


def concat_scalars(tf):
    return _array(tf, 2).write(0, 1.0).write(1, 2.0).concat()


def concat_scalars_unk(tf):
    return _array(tf, 2).write(0, _unknown(tf, np.float32(1))).write(1, _unknown(tf, np.float32(2))).concat()


def concat_unwritten(tf):
    return _array(tf, 2).write(0, [1.0]).concat()


def concat_empty(tf):
    return _array(tf, 0).concat()


def concat_empty_shape(tf):
    return _array(tf, 0, element_shape=[None, 2]).concat()


def concat_empty_shape2(tf):
    return _array(tf, 0, element_shape=[3, 2]).concat()


def concat_twice(tf):
    a = _array(tf, 2).split(_unknown(tf, ROWS), _unknown(tf, [1, 2]))
    return [a.concat(), a.concat()]


def stack_twice(tf):
    a = _array(tf, 3).unstack(_unknown(tf, ROWS))
    return [a.stack(), a.stack()]


def stack_unequal(tf):
    return (
        _array(tf, 2, infer_shape=False)
        .write(0, _unknown(tf, np.ones((2,), "f")))
        .write(1, _unknown(tf, np.ones((1,), "f")))
        .stack()
    )


def stack_unwritten(tf):
    return _array(tf, 3).write(0, [1.0]).stack()


def stack_unwritten_noshape(tf):
    return _array(tf, 3, infer_shape=False).write(0, [1.0]).stack()


def stack_unwritten_all(tf):
    return _array(tf, 3, element_shape=[2]).stack()


def stack_empty(tf):
    return _array(tf, 0).stack()


def stack_empty_shape(tf):
    return _array(tf, 0, element_shape=[2]).stack()


def read_unwritten(tf):
    return _array(tf, 3).write(0, [1.0, 2.0]).read(1)


def read_unwritten_noshape(tf):
    return _array(tf, 3, infer_shape=False).write(0, [1.0, 2.0]).read(1)


def read_unwritten_all(tf):
    return _array(tf, 3).read(1)


def read_unwritten_shape(tf):
    return _array(tf, 3, element_shape=[2]).read(1)


def read_unwritten_partial(tf):
    return _array(tf, 3, element_shape=[None]).read(1)


def read_beyond(tf):
    return _array(tf, 3).read(3)


def read_beyond_dyn(tf):
    return _array(tf, 3, dynamic_size=True).read(3)


def read_neg(tf):
    return _array(tf, 3).write(0, 1.0).read(-1)


def read_twice(tf):
    a = _array(tf, 3).unstack(_unknown(tf, ROWS))
    x = a.read(1)
    with tf.control_dependencies([x]):
        return a.read(1)


def read_twice_noclear(tf):
    a = _array(tf, 3, clear_after_read=False).unstack(_unknown(tf, ROWS))
    return [a.read(1), a.read(1)]


def read_then_stack(tf):
    a = _array(tf, 3).unstack(_unknown(tf, ROWS))
    x = a.read(1)
    with tf.control_dependencies([x]):
        return a.stack()


def gather_then_read(tf):
    a = _array(tf, 3).unstack(_unknown(tf, ROWS))
    x = a.gather([1])
    with tf.control_dependencies([x]):
        return a.read(1)


def gather_repeat(tf):
    return _array(tf, 3).unstack(_unknown(tf, ROWS)).gather([1, 1])


def gather_repeat_noclear(tf):
    return _array(tf, 3, clear_after_read=False).unstack(_unknown(tf, ROWS)).gather([1, 1])


def gather_beyond(tf):
    return _array(tf, 3).unstack(_unknown(tf, ROWS)).gather([1, 3])


def gather_beyond_dyn(tf):
    return _array(tf, 3, dynamic_size=True).unstack(_unknown(tf, ROWS)).gather([1, 3])


def gather_neg(tf):
    return _array(tf, 3).unstack(_unknown(tf, ROWS)).gather([-1])


def gather_unwritten(tf):
    return _array(tf, 3).write(0, [1.0]).gather([0, 1])


def gather_nothing(tf):
    return _array(tf, 3).write(0, [1.0]).gather(_unknown(tf, np.zeros([0], np.int32)))


def gather_nothing_noshape(tf):
    return _array(tf, 3, infer_shape=False).write(0, [1.0]).gather(_unknown(tf, np.zeros([0], np.int32)))


def gather_matrix(tf):
    return _array(tf, 3).unstack(_unknown(tf, ROWS)).gather(_unknown(tf, np.int32([[0]])))


def close_read(tf):
    a = _array(tf, 3).unstack(_unknown(tf, ROWS))
    c = a.close()
    with tf.control_dependencies([c]):
        return a.read(1)


def close_write(tf):
    a = _array(tf, 3)
    c = a.close()
    with tf.control_dependencies([c]):
        return a.write(0, 1.0).size()


def close_size(tf):
    a = _array(tf, 3)
    c = a.close()
    with tf.control_dependencies([c]):
        return a.size()


def close_alone(tf):
    return _array(tf, 3).close()


def write_twice(tf):
    return _array(tf, 3).write(0, 1.0).write(0, 2.0).size()


def write_beyond(tf):
    return _array(tf, 3).write(3, 1.0).size()


def write_neg(tf):
    return _array(tf, 3).write(-1, 1.0).size()


def write_neg_dyn(tf):
    return _array(tf, 3, dynamic_size=True).write(-1, 1.0).size()


def write_dyn(tf):
    return _array(tf, 0, dynamic_size=True).write(4, 1.0).size()


def write_dyn_stack(tf):
    return _array(tf, 0, dynamic_size=True).write(2, 1.0).stack()


def write_shape(tf):
    return _array(tf, 3, element_shape=[2], infer_shape=False).write(0, _unknown(tf, np.float32([1]))).size()


def write_shape2(tf):
    return _array(tf, 3).write(0, [1.0, 2.0]).write(1, _unknown(tf, np.float32([1]))).size()


def write_shape3(tf):
    return (
        _array(tf, 3, infer_shape=False)
        .write(0, _unknown(tf, np.float32([1, 2])))
        .write(1, _unknown(tf, np.float32([1])))
        .size()
    )


def write_after_read(tf):
    a = _array(tf, 3).unstack(_unknown(tf, ROWS))
    x = a.read(1)
    with tf.control_dependencies([x]):
        return a.write(1, x).size()


def write_after_read_noclear(tf):
    a = _array(tf, 3, clear_after_read=False).unstack(_unknown(tf, ROWS))
    x = a.read(1)
    with tf.control_dependencies([x]):
        return a.write(1, x).size()


def write_index_vector(tf):
    return _array(tf, 3).write(_unknown(tf, np.int32([0])), 1.0).size()


def read_index_vector(tf):
    return _array(tf, 3).write(0, 1.0).read(_unknown(tf, np.int32([0])))


def neg_size(tf):
    return _array(tf, _unknown(tf, np.int32(-1))).size()


def size_vector(tf):
    return _array(tf, _unknown(tf, np.int32([2]))).size()


def loop_double_write(tf):
    _, a = tf.while_loop(
        lambda i, a: i < _unknown(tf, np.int32(3)),
        lambda i, a: (i + 1, a.write(0, tf.cast(i, tf.float32))),
        (0, _array(tf, 3)),
    )
    return a.size()


def loop_double_read(tf):
    a = _array(tf, 3).unstack(_unknown(tf, ROWS))
    _, s = tf.while_loop(
        lambda i, s: i < _unknown(tf, np.int32(3)), lambda i, s: (i + 1, s + a.read(0)), (0, tf.zeros([2]))
    )
    return s


def loop_read_unwritten(tf):
    a = _array(tf, 3).write(0, [1.0, 2.0])
    _, s = tf.while_loop(
        lambda i, s: i < _unknown(tf, np.int32(3)), lambda i, s: (i + 1, s + a.read(i)), (0, tf.zeros([2]))
    )
    return s


def loop_write_beyond(tf):
    _, a = tf.while_loop(
        lambda i, a: i < _unknown(tf, np.int32(4)),
        lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32))),
        (0, _array(tf, 3)),
    )
    return a.size()


def loop_read_beyond(tf):
    a = _array(tf, 3).unstack(_unknown(tf, ROWS))
    _, s = tf.while_loop(
        lambda i, s: i < _unknown(tf, np.int32(4)), lambda i, s: (i + 1, s + a.read(i)), (0, tf.zeros([2]))
    )
    return s


def grad_double_read(tf):
    x = _unknown(tf, ROWS)
    a = _array(tf, 3, clear_after_read=False).unstack(x)
    y = a.read(0) + a.read(0) * 2.0
    return tf.gradients(y, x)


def grad_write_read(tf):
    x = _unknown(tf, np.float32([1, 2]))
    a = _array(tf, 2).write(0, x).write(1, x * 2)
    return tf.gradients(a.stack(), x)


def grad_unstack_part(tf):
    x = _unknown(tf, ROWS)
    a = _array(tf, 3).unstack(x)
    return tf.gradients(a.read(1), x)


PROGRAMS = {k: v for k, v in list(globals().items()) if callable(v) and not k.startswith("_")}


def outcome(tf, program, session=None):
    """Returns what a program gives or how it is refused: the class, the first line of the message, the node's name."""
    try:
        fetches = program(tf)
        with session() if session else tf.Session() as s:
            value = s.run(fetches)
    except (tf.errors.OpError, ValueError, TypeError) as e:
        node = getattr(e, "op", None)
        return [type(e).__name__, str(e).split("\n")[0], node.name if node is not None else None]
    if isinstance(value, list):
        return {"values": [np.asarray(v).tolist() for v in value]}
    return {"values": None if value is None else np.asarray(value).tolist()}
