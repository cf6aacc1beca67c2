"""Crosses of features: every combination of the values in a row, as text or as a number."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.dtypes import as_dtype
from headrace.formats.fingerprint import fingerprint64
from headrace.graph import Tensor
from headrace.graph.sparse_tensor import SparseTensor, is_sparse
from headrace.opdef import export, op, raw
from headrace.opdef.strings import invalid
from headrace.shapes import to_text

SparseCross = op("""
    SparseCross(indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types)
        -> (output_indices: int64, output_values: out_type, output_shape: int64)
      N: int >= 0
      hashed_output: bool
      num_buckets: int >= 0
      hash_key: int
      sparse_types: list({int64, string}) >= 0
      dense_types: list({int64, string}) >= 0
      out_type: {int64, string}
      internal_type: {int64, string}

    The combinations of the features in each row, those of sparse tensors first.
""")

_DEFAULT_KEY = 0xDECAFCAFFE
_MASK = 2**64 - 1
_MULTIPLIER = 0xC6A4A7935BD1E995


@SparseCross.shape
def sparse_cross_shape(indices, values, shapes, dense_inputs):
    return [(None, 2), (None,), (2,)]


def _mixed(a, b):
    """Returns the fingerprint of two fingerprints one after the other."""

    def shifted(x):
        return x ^ (x >> 47)

    result = a ^ _MULTIPLIER
    result ^= shifted(b * _MULTIPLIER & _MASK) * _MULTIPLIER & _MASK
    result = result * _MULTIPLIER & _MASK
    result = shifted(result) * _MULTIPLIER & _MASK
    return shifted(result)


def _columns(indices, values, shapes, dense_inputs):
    """Returns the number of rows, and for each column the features of each row."""
    sizes = set()
    for i, (places, features, shape) in enumerate(zip(indices, values, shapes, strict=True)):
        if places.ndim != 2 or (len(places) and places.shape[1] != 2):
            invalid(
                f"Input indices should be a matrix but received shape {to_text(places.shape)} at position {i}"
            )
        if features.ndim != 1:
            invalid(
                f"Input values should be a vector but received shape {to_text(features.shape)} at position {i}"
            )
        if len(features) != len(places):
            invalid(f"Expected size of values to be {len(places)} got {len(features)} at position {i}")
        if shape.ndim != 1:
            invalid(
                f"Input shapes should be a vector but received shape {to_text(shape.shape)} at position {i}"
            )
        if len(shape) != 2:
            invalid(f"shape should imply a 2D tensor, but got {to_text(shape.shape)} at position {i}")
        sizes.add(int(shape[0]))
    for i, features in enumerate(dense_inputs):
        if features.ndim != 2:
            invalid(
                f"Dense inputs should be a matrix but received shape {to_text(features.shape)} at position {i}"
            )
        sizes.add(len(features))
    if len(sizes) > 1:
        invalid(f"Expected batch sizes to be the same, got {sorted(sizes)}")
    rows = sizes.pop() if sizes else 0
    if not 0 <= rows < 1 << 31:
        invalid(f"the batch size is out of bounds: {rows}")
    columns = []
    for places, features in zip(indices, values, strict=True):
        column = [[] for _ in range(rows)]
        for row, feature in zip(places[:, 0].tolist(), features.tolist(), strict=True):
            if 0 <= row < rows:
                column[row].append(feature)
        columns.append(column)
    columns += [features.tolist() for features in dense_inputs]
    return rows, columns


def _number(feature):
    return fingerprint64(feature) if isinstance(feature, bytes) else feature & _MASK


def _text(feature):
    return feature if isinstance(feature, bytes) else str(feature).encode()


@SparseCross.host
def sparse_cross_host(
    indices, values, shapes, dense_inputs, *, num_buckets, hash_key, out_type, internal_type
):
    rows, columns = _columns(indices, values, shapes, dense_inputs)
    as_text = as_dtype(out_type).name == "string"
    convert = _text if as_text else _number
    places, found, longest = [], [], 0
    for row in range(rows):
        features = [[convert(f) for f in column[row]] for column in columns]
        count = 0
        for chosen in itertools.product(*features):
            places.append((row, count))
            count += 1
            if as_text:
                found.append(b"_X_".join(chosen))
            else:
                number = hash_key & _MASK
                for feature in chosen:
                    number = _mixed(number, feature)
                found.append(number % (num_buckets or 2**63 - 1))
        longest = max(longest, count)
    out = np.empty(len(found), object if as_text else np.int64)
    out[:] = found
    return np.array(places, np.int64).reshape(-1, 2), out, np.array([rows, longest], np.int64)


@SparseCross.cases
def sparse_cross_cases(case):
    places, shape = np.array([[0, 0], [0, 1], [1, 0]]), np.array([2, 2])
    words = np.array([b"a", b"b", b"c"], object)
    attrs = dict(hashed_output=False, num_buckets=0, hash_key=_DEFAULT_KEY, internal_type="string")
    case(
        (places,),
        (words,),
        (shape,),
        (np.array([[5], [-6]]),),
        out_type="string",
        gives=(places, np.array([b"a_X_5", b"b_X_5", b"c_X_-6"], object), shape),
        **attrs,
    )
    case(
        (places,),
        (np.array([1, -2, 3]),),
        (shape,),
        (np.array([[b"x"], [b"y"]], object),),
        hashed_output=True,
        num_buckets=1000,
        hash_key=_DEFAULT_KEY,
        internal_type="int64",
        out_type="int64",
        gives=(places, np.array([859, 929, 395]), shape),
    )
    case.fails(
        ((places,), (words[:2],), (shape,), ()),
        match="Expected size of values to be 3",
        out_type="string",
        **attrs,
    )
    case.fails(
        ((places,), (words,), (shape,), (np.array([[1]]),)),
        match="Expected batch sizes to be the same",
        out_type="string",
        **attrs,
    )


def _crossed(inputs, hashed_output, num_buckets, hash_key, name):
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(is_sparse(i) or isinstance(i, Tensor) for i in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [i for i in inputs if isinstance(i, SparseTensor)]
    dense = [i for i in inputs if not isinstance(i, SparseTensor)]
    indices = [s.indices for s in sparse]
    values = [s.values for s in sparse]
    shapes = [s.dense_shape for s in sparse]
    out_type = "int64" if hashed_output else "string"
    internal_type = "string"
    for i, each in enumerate(values):
        if as_dtype(each.dtype).name != "string":
            values[i] = _as_int64(each)
            internal_type = "int64"
    for i, each in enumerate(dense):
        if as_dtype(each.dtype).name != "string":
            dense[i] = _as_int64(each)
            internal_type = "int64"
    found = raw.SparseCross(
        indices,
        values,
        shapes,
        dense,
        hashed_output=hashed_output,
        num_buckets=num_buckets,
        hash_key=hash_key or _DEFAULT_KEY,
        out_type=out_type,
        internal_type=internal_type,
        name=name,
    )
    return SparseTensor(*found)


def _as_int64(tensor):
    return tensor if tensor.dtype.name == "int64" else raw.Cast(tensor, DstT="int64", name="Cast")


@export("sparse.cross")
def sparse_cross(inputs, name=None):
    """Returns all combinations of the features in each row, as text joined by `_X_`.

    Args:
      inputs: A list of SparseTensors and Tensors of integers or strings, each with a row for each example.
      name: The node's name.

    Raises:
      TypeError: `inputs` is no list of such.
    """
    return _crossed(inputs, False, 0, None, name)


@export("sparse.cross_hashed")
def sparse_cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """Returns fingerprints of all combinations of the features in each row.

    Args:
      inputs: A list of SparseTensors and Tensors of integers or strings, each with a row for each example.
      num_buckets: If not zero, what the numbers are less than.
      hash_key: What the fingerprint starts with.
      name: The node's name.

    Raises:
      TypeError: `inputs` is no list of such.
    """
    return _crossed(inputs, True, num_buckets, hash_key, name)
