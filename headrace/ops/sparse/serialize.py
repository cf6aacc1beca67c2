"""Sparse tensors as three serialized tensors each, or as variants."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import as_dtype, string
from headrace.graph.sparse_tensor import SparseTensor, as_sparse
from headrace.opdef import export, op, raw
from headrace.opdef.strings import invalid
from headrace.shapes import to_text, with_rank

SerializeSparse = op("""
    SerializeSparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> (serialized_sparse: out_type)
      T: type
      out_type: {string, variant} = DT_STRING

    A sparse tensor's coordinates, values and shape as three scalars.
""")

SerializeManySparse = op("""
    SerializeManySparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64)
        -> (serialized_sparse: out_type)
      T: type
      out_type: {string, variant} = DT_STRING

    The rows of a sparse tensor as three scalars each.
""")

DeserializeSparse = op("""
    DeserializeSparse(serialized_sparse: Tserialized)
        -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)
      dtype: type
      Tserialized: {string, variant} = DT_STRING

    The sparse tensor of which the elements given by triples are the parts.
""")

DeserializeManySparse = op("""
    DeserializeManySparse(serialized_sparse: string)
        -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)
      dtype: type

    The sparse tensor whose rows are given by triples.
""")


class Held:
    """An array inside a variant.

    Attributes:
      array: The array.
    """

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array


def _ranks(sparse_indices, sparse_values, sparse_shape):
    with_rank(sparse_indices, 2)
    with_rank(sparse_values, 1)
    with_rank(sparse_shape, 1)


@SerializeSparse.shape
def serialize_sparse_shape(sparse_indices, sparse_values, sparse_shape):
    _ranks(sparse_indices, sparse_values, sparse_shape)
    return (3,)


@SerializeManySparse.shape
def serialize_many_sparse_shape(sparse_indices, sparse_values, sparse_shape):
    _ranks(sparse_indices, sparse_values, sparse_shape)
    return (None, 3)


def _triple(shape):
    if shape is None:
        return
    if not shape:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    if shape[-1] not in (3, None):
        raise ValueError(f"Dimension must be 3 but is {shape[-1]}")


@DeserializeSparse.shape
def deserialize_sparse_shape(serialized_sparse):
    _triple(serialized_sparse)
    return [(None, None), (None,), (None,)]


@DeserializeManySparse.shape
def deserialize_many_sparse_shape(serialized_sparse):
    _triple(with_rank(serialized_sparse, 2))
    return [(None, None), (None,), (None,)]


# -- one tensor ----------------------------------------------------------------------------------------------


def _varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _content(array):
    """Returns an array as a serialized TensorProto whose values are bytes: numbers, or lengths and then strings."""
    from headrace import proto

    message = proto.TensorProto()
    message.dtype = as_dtype("string" if array.dtype == object else array.dtype).as_datatype_enum
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add().size = size
    if array.dtype == object:
        flat = array.ravel().tolist()
        message.tensor_content = b"".join([_varint(len(s)) for s in flat] + flat)
    else:
        message.tensor_content = np.ascontiguousarray(array).tobytes()
    return message.SerializeToString(deterministic=True)


def _strings_of(data, count):
    lengths, at = [], 0
    for _ in range(count):
        n = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise ValueError("no length")
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
        lengths.append(n)
    if sum(lengths) != len(data) - at:
        raise ValueError("wrong lengths")
    out = []
    for n in lengths:
        out.append(data[at : at + n])
        at += n
    return out


def _parsed(data):
    from headrace import proto
    from headrace.graphdef.tensor_proto import make_ndarray

    try:
        message = proto.TensorProto.FromString(data)
        if as_dtype(message.dtype).name == "string" and message.tensor_content:
            shape = tuple(d.size for d in message.tensor_shape.dim)
            count = int(np.prod(shape, dtype=np.int64))
            if count < 0 or count > len(message.tensor_content):
                raise ValueError("too many")
            array = np.empty(count, object)
            array[:] = _strings_of(message.tensor_content, count)
            return array.reshape(shape)
        return make_ndarray(message)
    except Exception:
        invalid("Could not parse serialized proto")


def packed(array, out_type):
    """Returns an array in the form of a scalar of strings or variants."""
    return _content(array) if as_dtype(out_type).name == "string" else Held(array)


# -- sparse tensors ------------------------------------------------------------------------------------------


def check_sparse(indices, values, shape):
    """Refuses what is no sparse tensor.

    Raises:
      errors.InvalidArgumentError: A rank is wrong.
    """
    for name, array, rank in (("indices", indices, 2), ("values", values, 1), ("shape", shape, 1)):
        if array.ndim != rank:
            what = "matrix" if rank == 2 else "vector"
            article = "a " + what
            invalid(f"Input {name} should be {article} but received shape {to_text(array.shape)}")


def rows_of(indices, values, shape):
    """Returns the sparse tensor of each row: triples of coordinates, values and shape.

    Raises:
      errors.InvalidArgumentError: It has no rows, or coordinates out of bounds or out of order.
    """
    check_sparse(indices, values, shape)
    if len(shape) < 2:
        invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
    if len(indices) != len(values):
        invalid(
            "indices and values rows (indexing dimension) must match. "
            f"(indices = {len(indices)}, values = {len(values)})"
        )
    if indices.shape[1] != len(shape):
        invalid(f"indices has {indices.shape[1]} columns, but the shape has {len(shape)} dimensions")
    _check_places(indices, shape)
    count = int(shape[0])
    if count < 0 or count > 1 << 31:
        invalid(f"the shape is out of bounds: {to_text(tuple(shape.tolist()))}")
    bounds = np.searchsorted(indices[:, 0], np.arange(count + 1))
    return [
        (np.ascontiguousarray(indices[a:b, 1:]), values[a:b], shape[1:])
        for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def _check_places(indices, shape):
    written = to_text(tuple(shape.tolist()))
    outside = ((indices < 0) | (indices >= shape)).any(axis=1)
    if outside.any():
        i = int(np.argmax(outside))
        place = to_text(tuple(indices[i].tolist()))
        invalid(f"indices[{i}] = {place} is out of bounds: need 0 <= index < {written}")
    listed = [tuple(row) for row in indices.tolist()]
    for i in range(1, len(listed)):
        if listed[i] < listed[i - 1]:
            place = to_text(listed[i])
            invalid(f"indices[{i}] = {place} is out of order. Many sparse ops require sorted indices.")
        if listed[i] == listed[i - 1]:
            invalid(f"indices[{i}] = {to_text(listed[i])} is repeated")


@SerializeSparse.host
def serialize_sparse_host(sparse_indices, sparse_values, sparse_shape, *, out_type):
    check_sparse(sparse_indices, sparse_values, sparse_shape)
    out = np.empty(3, object)
    out[:] = [packed(a, out_type) for a in (sparse_indices, sparse_values, sparse_shape)]
    return out


@SerializeManySparse.host
def serialize_many_sparse_host(sparse_indices, sparse_values, sparse_shape, *, out_type):
    rows = rows_of(sparse_indices, sparse_values, sparse_shape)
    out = np.empty((len(rows), 3), object)
    for i, row in enumerate(rows):
        out[i] = [packed(a, out_type) for a in row]
    return out


def joined(parts, outer, dtype):
    """Returns the sparse tensor that consists of others.

    Args:
      parts: Triples of coordinates, values and shape.
      outer: The dimensions in which they lie.
      dtype: The type that the values must have.

    Raises:
      errors.InvalidArgumentError: They have other types, or different ranks.
    """
    wanted = as_dtype(dtype)
    rank, shape = None, None
    all_indices, all_values = [], []
    for i, (indices, values, dims) in enumerate(parts):
        _check_part(i, indices, values, dims, wanted)
        if rank is None:
            rank, shape = len(dims), dims.astype(np.int64)
        elif len(dims) != rank:
            invalid(
                f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{i}] was: {rank} but rank of "
                f"SparseTensor[{i}] is: {len(dims)}"
            )
        shape = np.maximum(shape, dims)
        place = np.array(np.unravel_index(i, outer), np.int64) if outer else np.zeros(0, np.int64)
        all_indices.append(
            np.concatenate([np.broadcast_to(place, (len(indices), len(place))), indices], axis=1)
        )
        all_values.append(values)
    whole = np.concatenate([np.array(outer, np.int64), shape])
    return np.concatenate(all_indices), np.concatenate(all_values), whole


_SPELT = {"float32": "float", "float64": "double", "float16": "half"}


def _check_part(i, indices, values, dims, wanted):
    if indices.ndim != 2 or indices.dtype != np.int64:
        shape = to_text(indices.shape)
        invalid(f"Expected serialized_sparse[{i}, 0] to represent an index matrix but received shape {shape}")
    if values.ndim != 1:
        shape = to_text(values.shape)
        invalid(f"Expected serialized_sparse[{i}, 1] to represent a values vector but received shape {shape}")
    if dims.ndim != 1 or dims.dtype != np.int64:
        invalid(
            f"Expected serialized_sparse[{i}, 1] to be a shape vector but its shape is {to_text(dims.shape)}"
        )
    found = as_dtype("string" if values.dtype == object else values.dtype)
    if found is not wanted:
        names = [_SPELT.get(t.name, t.name) for t in (wanted, found)]
        invalid(
            f"Requested SparseTensor of type {names[0]} but SparseTensor[{i}].values.dtype() == {names[1]}"
        )
    if len(indices) != len(values):
        invalid(
            f"Expected row counts of SparseTensor[{i}].indices and SparseTensor[{i}].values to match but they do not: "
            f"{len(indices)} vs. {len(values)}"
        )
    if indices.shape[1] != len(dims):
        invalid(
            f"Expected column counts of SparseTensor[{i}].indices to match size of SparseTensor[{i}].shape but they do "
            f"not: {indices.shape[1]} vs. {len(dims)}"
        )


def _array_of(item):
    if isinstance(item, Held):
        return item.array
    if isinstance(item, bytes):
        return _parsed(item)
    return invalid("Could not get a tensor from serialized_sparse")


@DeserializeSparse.host
def deserialize_sparse_host(serialized_sparse, *, dtype):
    if serialized_sparse.ndim < 1 or serialized_sparse.shape[-1] != 3:
        invalid(f"Serialized sparse should have 3 as the last dimension {to_text(serialized_sparse.shape)}")
    outer = serialized_sparse.shape[:-1]
    if 0 in outer:
        invalid(
            "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
            f"{to_text(serialized_sparse.shape)}"
        )
    triples = serialized_sparse.reshape(-1, 3).tolist()
    parts = [tuple(_array_of(item) for item in triple) for triple in triples]
    return joined(parts, outer, dtype)


@DeserializeManySparse.host
def deserialize_many_sparse_host(serialized_sparse, *, dtype):
    return deserialize_sparse_host(serialized_sparse, dtype=dtype)


# -- public functions ----------------------------------------------------------------------------------------


@export("serialize_sparse", "io.serialize_sparse")
def serialize_sparse(sp_input, name=None, out_type=string):
    """Returns a sparse tensor as a vector of three strings or variants.

    Args:
      sp_input: The SparseTensor.
      name: The node's name.
      out_type: string or variant.

    Raises:
      TypeError: `sp_input` is no SparseTensor.
    """
    sp = as_sparse(sp_input)
    return raw.SerializeSparse(sp.indices, sp.values, sp.dense_shape, out_type=out_type, name=name)


@export("serialize_many_sparse", "io.serialize_many_sparse")
def serialize_many_sparse(sp_input, name=None, out_type=string):
    """Returns the rows of a sparse tensor as a matrix of three strings or variants each.

    Args:
      sp_input: The SparseTensor, of rank 2 or more.
      name: The node's name.
      out_type: string or variant.

    Raises:
      TypeError: `sp_input` is no SparseTensor.
    """
    sp = as_sparse(sp_input)
    return raw.SerializeManySparse(sp.indices, sp.values, sp.dense_shape, out_type=out_type, name=name)


def with_parts(found, rank):
    """Returns the SparseTensor of an op's three outputs, of a static rank one more than `rank`."""
    indices, values, shape = found
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


@export("deserialize_many_sparse", "io.deserialize_many_sparse")
def deserialize_many_sparse(serialized_sparse, dtype, rank=None, name=None):
    """Returns the sparse tensor whose rows were serialized.

    Args:
      serialized_sparse: A matrix of three strings for each row.
      dtype: The type of its values.
      rank: Its rank, if that is known.
      name: The node's name.
    """
    return with_parts(raw.DeserializeManySparse(serialized_sparse, dtype=dtype, name=name), rank)


# -- cases ---------------------------------------------------------------------------------------------------

_SPARSE = (np.array([[0, 1], [2, 0]]), np.float32([1.0, 2.0]), np.array([3, 4]))


@SerializeSparse.cases
def serialize_sparse_cases(case):
    expected = np.empty(3, object)
    expected[:] = [_content(a) for a in _SPARSE]
    case(*_SPARSE, gives=expected)
    case.shapes("[?,2];[?];[2]", "[3]")
    case.fails("[2];[?];[2]", match="must be rank 2")


@SerializeManySparse.cases
def serialize_many_sparse_cases(case):
    @case.program
    def there_and_back(step):
        for out_type in ("string", "variant"):
            many = raw.SerializeManySparse(*_SPARSE, out_type=out_type)
            step(list(raw.DeserializeSparse(many, dtype="float32")), gives=_SPARSE)

    case.shapes("[?,2];[?];[2]", "[?,3]")
    case.fails((np.array([[5, 0]]), [1.0], np.array([3, 4])), match="is out of bounds")
    case.fails((np.array([[1, 0], [0, 0]]), [1.0, 2.0], np.array([3, 4])), match="is out of order")


@DeserializeSparse.cases
def deserialize_sparse_cases(case):
    triple = np.empty(3, object)
    triple[:] = [_content(a) for a in _SPARSE]

    @case.program
    def one(step):
        step(list(raw.DeserializeSparse(triple, dtype="float32")), gives=_SPARSE)

    case.shapes("[2,3]", "[?,?];[?];[?]", dtype="float32")
    case.fails("[4]", match="must be 3 but is 4", dtype="float32")
    case.fails((triple,), match="Requested SparseTensor of type int32", dtype="int32")
    case.fails((np.array([b"a", b"b", b"c"], object),), match="Could not parse", dtype="int32")


@DeserializeManySparse.cases
def deserialize_many_sparse_cases(case):
    @case.program
    def rows(step):
        many = raw.SerializeManySparse(*_SPARSE)
        step(list(raw.DeserializeManySparse(many, dtype="float32")), gives=_SPARSE)

    case.shapes("[?,3]", "[?,?];[?];[?]", dtype="float32")
    case.fails("[3]", match="must be rank 2", dtype="float32")
