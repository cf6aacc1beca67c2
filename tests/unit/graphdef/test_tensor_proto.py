"""TensorProtos: the layouts that TensorFlow writes, all the layouts it reads, and malformed ones."""

import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import headrace as tf
from headrace.graphdef.tensor_proto import array_from_proto
from headrace.proto import TensorProto


def text(message):
    return " ".join(str(message).split())


def floats(*values):
    return np.array(values, np.float32).tobytes()


# (arguments, what TensorFlow 1.15 writes beside dtype and shape)
WRITTEN = [
    ((1.0,), {}, {"float_val": [1.0]}),
    (([1.0],), {}, {"float_val": [1.0]}),
    (([1.0, 2.0],), {}, {"tensor_content": floats(1, 2)}),
    (([1.0, 1.0],), {}, {"tensor_content": floats(1, 1)}),
    ((3,), {}, {"int_val": [3]}),
    (([1],), {"shape": [2, 3]}, {"int_val": [1]}),
    ((7,), {"shape": [1]}, {"int_val": [7]}),
    (([1, 2],), {"shape": [2, 3]}, {"int_val": [1, 2]}),
    (([3, 3, 3],), {"shape": [3]}, {"tensor_content": np.array([3, 3, 3], np.int32).tobytes()}),
    (([1, 2],), {"dtype": tf.float16}, {"half_val": [15360, 16384]}),
    ((1,), {"dtype": tf.bfloat16}, {"half_val": [16256]}),
    ((1 + 2j,), {}, {"dcomplex_val": [1.0, 2.0]}),
    (([1 + 2j, 3],), {"dtype": tf.complex64}, {"scomplex_val": [1.0, 2.0, 3.0, 0.0]}),
    ((1,), {"dtype": tf.int64}, {"int64_val": [1]}),
    ((1,), {"dtype": tf.uint32}, {"uint32_val": [1]}),
    ((1,), {"dtype": tf.uint64}, {"uint64_val": [1]}),
    (([True, False],), {}, {"bool_val": [True, False]}),
    (("a",), {"shape": [3]}, {"string_val": [b"a"]}),
    ((np.array(["a", "bc"]),), {}, {"string_val": [b"a", b"bc"]}),
    (("\u00e9",), {}, {"string_val": [b"\xc3\xa9"]}),
    (([],), {}, {}),
    (([],), {"shape": [2]}, {}),
    ((np.zeros((0, 3), np.int32),), {}, {}),
]


@pytest.mark.parametrize(("args", "options", "fields"), WRITTEN)
def test_layout_is_tensorflows(args, options, fields):
    message = tf.make_tensor_proto(*args, **options)
    want = TensorProto(dtype=message.dtype, tensor_shape=message.tensor_shape, **fields)
    assert text(message) == text(want)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (
            {"values": [1, 2, 3], "shape": [2]},
            ValueError,
            "Too many elements provided. Needed at most 2, but received 3",
        ),
        (
            {"values": [1, 2], "shape": [2, 2], "verify_shape": True},
            TypeError,
            r"Expected Tensor's shape: \(2, 2\)",
        ),
        (
            {"values": [1, 2], "shape": [3], "allow_broadcast": True},
            TypeError,
            r"Expected Tensor's shape: \(3,\)",
        ),
        ({"values": 1, "dtype": tf.qint8}, TypeError, "Expected qint8, got 1 of type 'int' instead"),
        ({"values": 0, "dtype": tf.resource}, TypeError, "Incompatible types: <dtype: 'resource'>"),
        ({"values": None}, ValueError, "None values not supported"),
    ],
)
def test_refused_values(options, error, says):
    with pytest.raises(error, match=says):
        tf.make_tensor_proto(**options)


ARRAYS = [
    np.array([[1, -2], [3, 4]], dtype)
    for dtype in (
        np.float16,
        np.float32,
        np.float64,
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.complex64,
        np.complex128,
    )
] + [
    np.array([0, 255], np.uint8),
    np.array([0, 65535], np.uint16),
    np.array([0, 2**32 - 1], np.uint32),
    np.array([0, 2**64 - 1], np.uint64),
    np.array([True, False, True]),
    np.array([1.5, -0.0, np.inf], ml_dtypes.bfloat16),
    np.array([np.nan, -np.inf, -0.0], np.float32),
    np.array([[b"", b"\xff\x00"], [b"a", b"b"]], object),
    np.array(3, np.int64),
    np.zeros((2, 0, 3)),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}-{a.shape}")
def test_values_return(array):
    got = tf.make_ndarray(tf.make_tensor_proto(array))
    assert (got.dtype, got.shape) == (array.dtype, array.shape)
    assert got.tolist() == array.tolist() if array.dtype == object else got.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({"dtype": 1, "float_val": [1, 2]}, [1, 2, 2, 2]),  # the last value fills what is missing
        ({"dtype": 3}, [0, 0, 0, 0]),  # no value at all stands for zeros
        ({"dtype": 11, "int_val": [-1]}, [-1, -1, -1, -1]),
        ({"dtype": 4, "int_val": [1, 2, 3, 300]}, [1, 2, 3, 44]),
        ({"dtype": 7, "string_val": [b"a"]}, [b"a"] * 4),
        ({"dtype": 7}, [b""] * 4),
        ({"dtype": 7, "tensor_content": b"\x01\x00\x02\x00abc"}, [b"a", b"", b"bc", b""]),
        ({"dtype": 19, "half_val": [15360]}, [1, 1, 1, 1]),
        ({"dtype": 8, "scomplex_val": [1, 2]}, [1 + 2j] * 4),
    ],
)
def test_layouts_that_tensorflow_reads(fields, want):
    message = TensorProto(**fields)
    message.tensor_shape.dim.add(size=4)
    assert array_from_proto(message).tolist() == want


@pytest.mark.parametrize(
    ("fields", "dims"),
    [
        ({"dtype": 1, "tensor_content": b"abc"}, [1]),
        ({"dtype": 1, "tensor_content": b"\0" * 8}, [1]),
        ({"dtype": 1, "float_val": [1, 2, 3]}, [2]),
        ({"dtype": 8, "scomplex_val": [1, 2, 3]}, [2]),
        ({"dtype": 1, "float_val": [1, 2]}, [2**40]),
        ({"dtype": 1, "float_val": [1]}, [2**40, 2**40]),
        ({"dtype": 1, "float_val": [1]}, [-1]),
        ({"dtype": 1, "float_val": [1]}, [-7]),
        ({"dtype": 1, "float_val": [1]}, [1] * 100),
        ({"dtype": 99, "float_val": [1]}, [1]),
        ({"dtype": 101, "float_val": [1]}, [1]),
        ({"dtype": 0}, [1]),
        ({"dtype": 7, "tensor_content": b"\x05abc"}, [1]),
        ({"dtype": 7, "tensor_content": b"\xff" * 12}, [2]),
        ({"dtype": 7, "tensor_content": b"\x00"}, [2**40]),
    ],
)
def test_malformed(fields, dims):
    message = TensorProto(**fields)
    for d in dims:
        message.tensor_shape.dim.add(size=d)
    with pytest.raises(ValueError, match=r"Cannot parse tensor|less than -1"):
        array_from_proto(message)


def test_a_repeated_value_is_held_once():
    message = TensorProto(dtype=1, float_val=[3.0])
    message.tensor_shape.dim.add(size=2**40)
    tracemalloc.start()
    array = array_from_proto(message)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (array.shape, array[12345]) == ((2**40,), 3.0)
    assert peak < 100_000
    node = tf.NodeDef(name="c", op="Const")
    node.attr["dtype"].type = 1
    node.attr["value"].tensor.CopyFrom(message)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf.GraphDef(node=[node]), name="")
    assert graph.as_graph_def().node[0] == node


def test_static_values():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [], name="x")
        assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
        assert tf.get_static_value(x) is None
        assert tf.get_static_value(tf.stack([1, x, 3])) is None
        assert tf.get_static_value(tf.stack([1, x, 3]), partial=True).tolist() == [1, None, 3]
