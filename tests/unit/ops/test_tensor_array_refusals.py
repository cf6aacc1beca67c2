"""What TensorLists and TensorArrays refuse: TensorFlow's messages, written down from what TensorFlow 1.15 says."""

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
SCALAR = np.zeros([0], np.int32)


def unknown(value):
    """Returns a tensor of which nothing is known before it runs."""
    return tf.placeholder_with_default(np.asarray(value), None)


def rows(shape=-1):
    return raw.TensorListFromTensor(unknown(np.float32(ROWS)), unknown(np.int32(shape)))


def reserved(shape=-1):
    return raw.TensorListReserve(unknown(np.int32(shape)), 3, element_dtype="float32")


def stack(given, shape=-1, n=-1):
    return raw.TensorListStack(given, unknown(np.int32(shape)), element_dtype="float32", num_elements=n)


def pushed(*values):
    given = raw.EmptyTensorList(-1, -1, element_dtype="float32")
    for v in values:
        given = raw.TensorListPushBack(given, unknown(np.float32(v)))
    return given


def gathered(given, indices, shape=-1):
    return raw.TensorListGather(given, np.int32(indices), unknown(np.int32(shape)), element_dtype="float32")


def scattered(indices, shape=-1, **more):
    return raw.TensorListLength(
        raw.TensorListScatter(unknown(np.float32(ROWS)), np.int32(indices), unknown(np.int32(shape)), **more)
    )


def split(lengths, shape=-1):
    return raw.TensorListLength(
        raw.TensorListSplit(unknown(np.float32(ROWS)), unknown(np.int32(shape)), unknown(np.int64(lengths)))
    )


def concat(given, shape=-1, leading=()):
    return raw.TensorListConcatV2(
        given, unknown(np.int32(shape)), unknown(np.int64(leading)), element_dtype="float32"
    )[0]


MERGE = r"PartialTensorShape: Incompatible shapes during merge: "
RUNS = {
    "stack another shape": (lambda: stack(rows(), [3]), MERGE + r"\[3\] vs. \[2\]"),
    "stack another number": (
        lambda: stack(rows(), n=4),
        "expected a list with 4 elements but got a list with 3",
    ),
    "stack ragged": (lambda: stack(pushed([1], [1, 2])), MERGE + r"\[1\] vs. \[2\]"),
    "stack nothing": (
        lambda: stack(pushed()),
        "elements of an empty list with non-fully-defined element_shape",
    ),
    "gather beyond": (lambda: gathered(rows(), [2, 3]), "Index 3 out o range; list only has 3 elements"),
    "gather unset": (lambda: gathered(reserved(), [0]), "Tried to gather uninitialized tensors from a list"),
    "gather nothing": (lambda: gathered(rows(), []), "Tried to gather 0-elements from a list"),
    "scatter rows": (
        lambda: scattered([0, 1]),
        "Invalid number of rows in input tensor. Expected: 2 Actual: 3",
    ),
    "scatter shape": (
        lambda: scattered([0, 1, 2], [3]),
        r"list with shape \[3\] from a tensor with shape \[2\]",
    ),
    "split too far": (lambda: split([2, 2]), r"Attempting to slice \[2, 4\] from tensor with length 3"),
    "split too little": (lambda: split([2]), "Unused values in tensor. Length of tensor: 3 Values used: 2"),
    "split shape": (
        lambda: split([2, 1], [-1, 3]),
        r"shape \[3,2\] is not compatible with element_shape \[\?,3\]",
    ),
    "split matrix": (lambda: split([[2], [1]]), r"Expected lengths to be a vector, received shape: \[2,1\]"),
    "concat scalars": (lambda: concat(pushed(1, 2)), "Concat saw a scalar shape at index 0"),
    "concat unset": (
        lambda: concat(reserved([-1, 2])),
        "uninitialized tensor at index 0 but leading_dims has only 0",
    ),
    "concat nothing": (lambda: concat(pushed()), "All except the first dimension must be fully defined"),
    "concat rows": (lambda: concat(pushed([[1.0]]), [2, 1]), "at index: 0 Expected: 2 Actual: 1"),
    "a scalar's rows": (
        lambda: raw.TensorListLength(raw.TensorListFromTensor(unknown(np.float32(1)), -1)),
        "Tensor must be at least a vector, but saw shape: ",
    ),
    "a wrong -1": (
        lambda: raw.TensorListLength(raw.EmptyTensorList(unknown(np.int32(3)), -1, element_dtype="float32")),
        "The only valid scalar shape tensor is the fully unknown shape specified as -1",
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_of_a_run(name):
    build, message = RUNS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        fetch = build()
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(fetch)


def _array(**options):
    return tf.TensorArray(tf.float32, 3, **options)


BUILDS = {
    "another shape": (
        lambda: _array().write(0, [1.0, 2.0]).write(1, [1.0]),
        ValueError,
        r"Inconsistent shapes: saw \(1,\) but expected \(2,\)",
    ),
    "not the given shape": (
        lambda: _array(element_shape=[None, 2], infer_shape=False).write(0, [[1.0, 2.0, 3.0]]),
        ValueError,
        r"Inconsistent shapes: saw \(1, 3\) but expected \(\?, 2\)",
    ),
    "no size": (
        lambda: tf.TensorArray(tf.float32),
        ValueError,
        "Size must be provided if flow is not provided",
    ),
    "size and flow": (
        lambda: _array(flow=_array().flow),
        ValueError,
        "Cannot provide both a flow and size at the same time",
    ),
    "index of int64": (
        lambda: _array().read(tf.constant(0, tf.int64)),
        TypeError,
        "Input 'index' of 'TensorListGetItem' Op has type int64 that does not match expected type of int32",
    ),
    "no tensor": (lambda: tf.convert_to_tensor(_array()), TypeError, "Failed to convert object of type"),
    "no gradient array": (lambda: _array().grad("g"), NotImplementedError, "use tf.gradients"),
    "a list's other type": (
        lambda: raw.TensorListStack(_array().flow, -1, element_dtype="int32"),
        ValueError,
        "List has type float but expected type int32 for 'TensorListStack'",
    ),
    "map what has no rows": (
        lambda: tf.map_fn(lambda v: v, tf.constant(1.0)),
        ValueError,
        "elems must be a 1\\+ dimensional Tensor, not a scalar",
    ),
    "map scalars": (lambda: tf.map_fn(lambda v: v, [1, 2]), ValueError, "elements in elems must be 1\\+ dim"),
    "map what is sparse": (
        lambda: tf.map_fn(lambda v: v, tf.SparseTensor([[0]], [1.0], [1])),
        TypeError,
        "To perform a map on the values of a sparse tensor",
    ),
    "map nothing": (lambda: tf.map_fn(3, [1]), TypeError, "fn must be callable"),
    "map to a pair": (
        lambda: tf.map_fn(lambda v: (v, v), tf.zeros([2])),
        ValueError,
        "don't have the same nested structure",
    ),
    "scan to a pair": (
        lambda: tf.scan(lambda a, v: (a, v), tf.zeros([2])),
        ValueError,
        "don't have the same nested structure",
    ),
    "scan growing": (
        lambda: tf.scan(lambda a, v: tf.concat([a, [v]], 0), tf.zeros([2]), initializer=tf.zeros([1])),
        ValueError,
        "Inconsistent shapes: saw",
    ),
}


@pytest.mark.parametrize("name", BUILDS)
def test_of_building(name):
    build, kind, message = BUILDS[name]
    with tf.Graph().as_default(), pytest.raises(kind, match=message):
        build()


def test_an_array_with_frames_is_written_once_in_a_step_and_anew_in_the_next():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        handle, flow = raw.TensorArrayV3(2, dtype="float32")
        flow = raw.TensorArrayWriteV3(handle, 1, x, flow)
        y = raw.TensorArrayReadV3(handle, 1, flow, dtype="float32")
        (dx,) = tf.gradients(y * 3, x)
        for value in (1.0, 2.0):
            assert session.run([y, dx], {x: value}) == [value, 3]
        (named,) = [tf.placeholder(tf.float32, [])]
        flow = raw.TensorArrayWriteV3(handle, 0, named, flow)
        with pytest.raises(ValueError, match="name to start with gradients"):
            tf.gradients(raw.TensorArrayReadV3(handle, 0, flow, dtype="float32"), named, name="mine")


@pytest.mark.parametrize("in_loop", [False, True])
def test_an_element_is_written_once(in_loop):
    """Also in later steps, which would be compiled had the first one gone well."""
    tf.reset_default_graph()
    array = tf.TensorArray(tf.float32, 3)
    if in_loop:
        _, array = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(0, 1.0)), (0, array))
    else:
        array = array.write(0, 1.0).write(0, 2.0)
    y = array.read(0)
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"index 0 because it has already been written"
            ) as e:
                session.run(y)
            assert "Write" in e.value.op.name


@pytest.mark.parametrize("in_loop", [False, True])
def test_an_element_is_read_once(in_loop):
    tf.reset_default_graph()
    array = tf.TensorArray(tf.float32, 3).unstack([1.0, 2.0, 3.0])
    if in_loop:
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + array.read(0)), (0, 0.0))
    else:
        y = array.read(0), array.read(0)
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"read index 0 twice because it was cleared"
            ) as e:
                session.run(y)
            assert "Read" in e.value.op.name


def test_elements_that_are_not_cleared_are_read_again():
    tf.reset_default_graph()
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack([1.0, 2.0, 3.0])
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + array.read(1)), (0, array.read(1)))
    with tf.Session() as session:
        assert [session.run(y)[1] for _ in range(3)] == [8.0] * 3


def test_functional_control_flow_writes_and_reads_any_number_of_times():
    tf.reset_default_graph()
    tf.enable_control_flow_v2()
    try:
        array = tf.TensorArray(tf.float32, 2).write(0, 1.0).write(0, 2.0)
        y = [array.read(0), array.read(0)]
    finally:
        tf.disable_control_flow_v2()
    with tf.Session() as session:
        assert session.run(y) == [2.0, 2.0]


@pytest.mark.parametrize("in_loop", [False, True])
def test_the_gradient_of_an_element_gathered_twice_adds_up(in_loop):
    tf.reset_default_graph()
    x, i = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(x)
    y = tf.reduce_sum(array.gather(i) * [[1.0], [2.0], [4.0]])
    if in_loop:
        y = tf.while_loop(
            lambda n, s: n < 1,
            lambda n, s: (n + 1, s + tf.reduce_sum(array.gather(i) * [[1.0], [2.0], [4.0]])),
            (0, 0.0),
        )[1]
    (gradient,) = tf.gradients(y, x)
    rows = {x: [[1.0, 2.0], [3.0, 4.0]]}
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(gradient, {**rows, i: [0, 1, 0]}).tolist() == [[5, 5], [2, 2]]
            assert session.run(gradient, {**rows, i: [1, 1, 1]}).tolist() == [[0, 0], [7, 7]]


_ROWS = {
    "unstack": lambda array, rows: array.unstack(rows),
    "scatter": lambda array, rows: array.scatter([0, 1, 2], rows),
}


@pytest.mark.parametrize("how", _ROWS)
@pytest.mark.parametrize("known", [True, False])
def test_arrays_that_do_not_grow_take_no_more_rows_than_their_size(how, known):
    tf.reset_default_graph()
    rows = tf.placeholder(tf.float32, [3] if known else [None])
    y = _ROWS[how](tf.TensorArray(tf.float32, 2), rows).stack()
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"Max scatter index must be < array size \(2 vs. 2\)"
            ):
                session.run(y, {rows: [1, 2, 3]})


@pytest.mark.parametrize("how", _ROWS)
def test_arrays_that_grow_take_more_rows(how):
    tf.reset_default_graph()
    y = _ROWS[how](tf.TensorArray(tf.float32, 2, dynamic_size=True), tf.constant([1.0, 2.0, 3.0])).stack()
    with tf.Session() as session:
        assert session.run(y).tolist() == [1.0, 2.0, 3.0]


def test_an_element_of_another_shape_is_not_appended_to_a_list(tier):
    from headrace.opdef import raw

    with tf.Graph().as_default(), tf.Session() as session:
        given = raw.EmptyTensorList([2], -1, element_dtype="float32")
        longer = raw.TensorListPushBack(given, tf.placeholder_with_default([1.0], None))
        for _ in range(2):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"Op element shape: \[1\] list shape: \[2\]"
            ):
                session.run(raw.TensorListLength(longer))
