"""Examples, the messages that hold training data, parsed into tensors."""

from __future__ import annotations

import math

import numpy as np

from headrace import shapes
from headrace.dtypes import as_dtype
from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.sparse_tensor import SparseTensor
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.strings import attr_bytes, flat, invalid, strings
from headrace.ops.parsing.features import Wanted

ParseExample = op("""
    ParseExample(serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: Ndense * string,
                 dense_defaults: Tdense)
        -> (sparse_indices: Nsparse * int64, sparse_values: sparse_types, sparse_shapes: Nsparse * int64,
            dense_values: Tdense)
      Nsparse: int >= 0
      Ndense: int >= 0
      sparse_types: list({float, int64, string}) >= 0
      Tdense: list({float, int64, string}) >= 0
      dense_shapes: list(shape) >= 0

    The features of a batch of serialized Examples.
""")

ParseSingleExample = op("""
    ParseSingleExample(serialized: string, dense_defaults: Tdense)
        -> (sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64,
            dense_values: Tdense)
      num_sparse: int >= 0
      sparse_keys: list(string) >= 0
      dense_keys: list(string) >= 0
      sparse_types: list({float, int64, string}) >= 0
      Tdense: list({float, int64, string}) >= 0
      dense_shapes: list(shape) >= 0

    The features of one serialized Example.
""")


def _dims(shape):
    """Returns a shape attr as a tuple."""
    return shape if shape is None or isinstance(shape, tuple) else tuple(shape.as_list())


@ParseExample.shape
def parse_example_shape(serialized, names, sparse_keys, dense_keys, dense_defaults, *, Nsparse, dense_shapes):
    (batch,) = shapes.with_rank(serialized, 1)
    shapes.with_rank(names, 1)
    dense = [shapes.concatenate((batch,), _dims(s)) for s in dense_shapes]
    return [(None, 2)] * Nsparse + [(None,)] * Nsparse + [(2,)] * Nsparse + dense


@ParseSingleExample.shape
def parse_single_example_shape(serialized, dense_defaults, *, num_sparse, sparse_keys, dense_shapes):
    shapes.with_rank(serialized, 0)
    if num_sparse != len(sparse_keys):
        raise ValueError(f"num_sparse ({num_sparse}) must match the size of sparse_keys ({len(sparse_keys)})")
    return (
        [(None, 1)] * num_sparse
        + [(None,)] * num_sparse
        + [(1,)] * num_sparse
        + [_dims(s) for s in dense_shapes]
    )


_KINDS = {"float_list": "float32", "int64_list": "int64", "bytes_list": "string"}
_SPELT = {"float32": "float", "int64": "int64", "string": "string"}


def _message(s):
    from headrace import proto

    try:
        return proto.Example.FromString(s).features.feature
    except Exception:
        shown = s.decode("utf-8", "replace")
        invalid(f"Could not parse example input, value: '{shown}'")


def _values(features, key):
    """Returns a feature's type and values; (None, None) where the Example lacks it or it is empty."""
    if key not in features:
        return None, None
    kind = features[key].WhichOneof("kind")
    if kind is None:
        return None, None
    return _KINDS[kind], getattr(features[key], kind).value


def _array(values, dtype):
    if dtype.name == "string":
        return strings([bytes(v) for v in values], (len(values),))
    return np.array(values, dtype.storage)


def _filled(default, dims, dtype):
    if default.size == 1:
        out = np.empty(dims, dtype.storage)
        out[...] = default.reshape(())[()]
        return out
    return default.reshape(dims)


def _dense(features, key, dtype, dims, default, where, wrong_size):
    """Returns one Example's values of a dense feature; sequences are a list of elements."""
    is_sequence = bool(dims) and dims[0] is None
    kind, values = _values(features, key)
    if kind is None:
        if is_sequence:
            return np.empty((0, *dims[1:]), dtype.storage)
        if default.size == 0:
            invalid(
                f"{where[0]}Feature: {key} (data type: {_SPELT[dtype.name]}) is required but could not be found."
            )
        return _filled(default, dims, dtype)
    if kind != dtype.name:
        invalid(
            f"{where[1]}.  Data types don't match. Data type: {_SPELT[kind]} but expected type: {_SPELT[dtype.name]}"
        )
    array = _array(values, dtype)
    inner = math.prod(dims[1:] if is_sequence else dims)
    if (is_sequence and (inner == 0 or array.size % inner)) or (not is_sequence and array.size != inner):
        invalid(wrong_size(array.size))
    return array.reshape((-1, *dims[1:]) if is_sequence else dims)


def _sparse(features, key, dtype, error):
    kind, values = _values(features, key)
    if kind is None:
        return _array([], dtype)
    if kind != dtype.name:
        invalid(error(kind))
    return _array(values, dtype)


def _check_scalars(name, keys):
    for i, key in enumerate(keys):
        if key.size != 1:
            invalid(f"Expected {name}[{i}] to be a scalar, got shape: {shapes.to_text(key.shape)}")


def _check_defaults(defaults, dense_shapes):
    """A default has its feature's shape; one for rows of any length has one element; an empty one is none."""
    for i, (default, shape) in enumerate(zip(defaults, dense_shapes, strict=True)):
        dims = _dims(shape)
        if dims and dims[0] is None:
            if default.size != 1:
                invalid(
                    f"dense_shape[{i}] is a variable length shape: {shapes.to_text(dims)}, therefore "
                    f"def_value[{i}] must contain a single element (the padding element).  But its shape is: "
                    f"{shapes.to_text(default.shape)}"
                )
        elif default.size and not shapes.compatible(dims, default.shape):
            invalid(
                f"def_value[{i}].shape() == {shapes.to_text(default.shape)} is not compatible with "
                f"dense_shapes_[{i}] == {shapes.to_text(dims)}"
            )


@ParseExample.host
def parse_example_host(
    serialized,
    names,
    sparse_keys,
    dense_keys,
    dense_defaults,
    *,
    sparse_types,
    Tdense,
    dense_shapes,
):
    for name, part in (("serialized", serialized), ("names", names)):
        if part.ndim != 1:
            invalid(f"Expected {name} to be a vector, got shape: {shapes.to_text(part.shape)}")
    if len(names) not in (0, len(serialized)):
        invalid(f"Expected len(names) == len(serialized), but got: {len(names)} vs. {len(serialized)}")
    _check_scalars("sparse_keys", sparse_keys)
    _check_scalars("dense_keys", dense_keys)
    _check_defaults(dense_defaults, dense_shapes)
    messages = [_message(s) for s in flat(serialized)]
    labels = [s.decode("utf-8", "replace") for s in flat(names)] or ["<unknown>"] * len(messages)
    n = len(messages)
    sparse = [[], [], []]
    for key, dtype in zip(sparse_keys, sparse_types, strict=True):
        name, dtype = key.item().decode(), as_dtype(dtype)
        rows = []
        for i, features in enumerate(messages):

            def wrong(kind, i=i, name=name, dtype=dtype):
                return (
                    f"Name: {labels[i]}, Key: {name}, Index: {i}.  Data types don't match. Data type: {_SPELT[kind]} "
                    f"but expected type: {_SPELT[dtype.name]}"
                )

            rows.append(_sparse(features, name, dtype, wrong))
        places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        sparse[0].append(np.array(places, np.int64).reshape(-1, 2))
        sparse[1].append(np.concatenate(rows) if rows else _array([], dtype))
        sparse[2].append(np.array([n, max(map(len, rows), default=0)], np.int64))
    dense = []
    for key, dtype, shape, default in zip(dense_keys, Tdense, dense_shapes, dense_defaults, strict=True):
        name, dtype, dims = key.item().decode(), as_dtype(dtype), _dims(shape)
        rows = []
        for i, features in enumerate(messages):
            where = (f"Name: {labels[i]}, ", f"Name: {labels[i]}, Key: {name}, Index: {i}")

            def wrong_size(size, where=where, dtype=dtype, dims=dims):
                shown = "[" + ",".join("?" if d is None else str(d) for d in dims) + "]"
                return (
                    f"{where[1]}.  Number of {_SPELT[dtype.name]} values != expected.  Values size: {size} but output "
                    f"shape: {shown}"
                )

            rows.append(_dense(features, name, dtype, dims, default, where, wrong_size))
        dense.append(_stacked(rows, dims, dtype, default))
    return (*sparse[0], *sparse[1], *sparse[2], *dense)


def _stacked(rows, dims, dtype, default):
    if not (dims and dims[0] is None):
        return np.stack(rows) if rows else np.empty((0, *dims), dtype.storage)
    longest = max((len(row) for row in rows), default=0)
    out = _filled(default, (len(rows), longest, *dims[1:]), dtype)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


@ParseSingleExample.host
def parse_single_example_host(
    serialized, dense_defaults, *, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes
):
    if serialized.ndim:
        invalid(f"Expected serialized to be a scalar, got shape: {shapes.to_text(serialized.shape)}")
    _check_defaults(dense_defaults, dense_shapes)
    features = _message(serialized.item())
    sparse = [[], [], []]
    for key, dtype in zip(sparse_keys, sparse_types, strict=True):
        name, dtype = attr_bytes(key).decode(), as_dtype(dtype)

        def wrong(kind, name=name, dtype=dtype):
            return (
                f"Key: {name}.  Data types don't match. Expected type: {_SPELT[dtype.name]}, "
                f"Actual type: {_SPELT[kind]}"
            )

        values = _sparse(features, name, dtype, wrong)
        sparse[0].append(np.arange(len(values), dtype=np.int64)[:, None])
        sparse[1].append(values)
        sparse[2].append(np.array([len(values)], np.int64))
    dense = []
    for key, dtype, shape, default in zip(dense_keys, Tdense, dense_shapes, dense_defaults, strict=True):
        name, dtype, dims = attr_bytes(key).decode(), as_dtype(dtype), _dims(shape)

        def wrong_size(size, name=name):
            return f"Key: {name}.  Can't parse serialized Example."

        dense.append(_dense(features, name, dtype, dims, default, ("", f"Key: {name}"), wrong_size))
    return (*sparse[0], *sparse[1], *sparse[2], *dense)


def _example(**features):
    from headrace import proto

    message = proto.Example()
    for key, values in features.items():
        kind = {float: "float_list", int: "int64_list", bytes: "bytes_list"}[type(values[0])]
        getattr(message.features.feature[key], kind).value.extend(values)
    return message.SerializeToString()


@ParseExample.cases
def parse_example_cases(case):
    a, b = _example(x=[1.0, 2.0], v=[1, 2, 3]), _example(x=[4.0, 5.0], v=[9])
    none = np.zeros(0, np.float32)
    batch, names = np.array([a, b], object), np.array([], object)
    case(batch, names, ("v",), ("x",), (none,), sparse_types=["int64"], dense_shapes=[(2,)],
         gives=(np.array([[0, 0], [0, 1], [0, 2], [1, 0]]), np.array([1, 2, 3, 9]), np.array([2, 3]),
                [[1.0, 2.0], [4.0, 5.0]]))  # fmt: skip
    case.fails((batch, names, (), ("x",), (none,)), sparse_types=[], dense_shapes=[(3,)],
               match="Number of float values != expected.  Values size: 2 but output shape: .3.")  # fmt: skip
    case.fails((batch, names, (), ("y",), (none,)), sparse_types=[], dense_shapes=[(1,)],
               match="Feature: y .data type: float. is required but could not be found")  # fmt: skip


@ParseSingleExample.cases
def parse_single_example_cases(case):
    a = np.array(_example(x=[1.0, 2.0], v=[1, 2, 3]), object)
    none = np.zeros(0, np.float32)
    one = dict(sparse_keys=["v"], sparse_types=["int64"], num_sparse=1, dense_keys=["x"])
    case(
        a,
        (none,),
        dense_shapes=[(2,)],
        gives=(np.array([[0], [1], [2]]), np.array([1, 2, 3]), np.array([3]), [1.0, 2.0]),
        **one,
    )
    case.fails((a, (none,)), dense_shapes=[(3,)], match="Key: x.  Can't parse serialized Example.", **one)


def _collected(wanted, sparse_parts, dense_values):
    result = {}
    for key, *parts in zip(wanted.sparse_keys(), *sparse_parts, strict=True):
        result[key] = SparseTensor(*parts)
    result.update(zip(wanted.dense_keys(), dense_values, strict=True))
    return result


@export("parse_example", "io.parse_example")
def parse_example(serialized, features, name=None, example_names=None):
    """Returns the features of a batch of serialized Examples.

    Args:
      serialized: A vector of strings, each a serialized Example.
      features: Names of features and a FixedLenFeature, VarLenFeature, SparseFeature or FixedLenSequenceFeature each.
      name: The scope's name.
      example_names: Names for the Examples, which messages of errors show.

    Returns:
      A dictionary of tensors and SparseTensors by the features' names.

    Raises:
      ValueError: A feature is described in no way that can be used.
    """
    wanted = Wanted(features)
    with name_scope(name, "ParseExample", [serialized, example_names]):
        defaults = wanted.defaults()
        names = np.array([], object) if example_names is None else example_names
        found = raw.ParseExample(
            serialized,
            names,
            wanted.sparse_keys(),
            wanted.dense_keys(),
            defaults,
            sparse_types=wanted.sparse_types(),
            Tdense=wanted.dense_types(),
            dense_shapes=wanted.shapes(),
            name="ParseExample",
        )
        result = _collected(wanted, found[:3], found[3])
    return _composed(wanted, result, features)


@export("parse_single_example", "io.parse_single_example")
def parse_single_example(serialized, features, name=None, example_names=None):
    """Returns the features of one serialized Example.

    Args:
      serialized: A scalar string.
      features: Names of features and a FixedLenFeature, VarLenFeature, SparseFeature or FixedLenSequenceFeature each.
      name: The scope's name.
      example_names: Given, the Example is parsed as a batch of one, and messages of errors show its name.

    Returns:
      A dictionary of tensors and SparseTensors by the features' names.

    Raises:
      ValueError: A feature is described in no way that can be used.
    """
    if not features:
        raise ValueError("Missing features.")
    wanted = Wanted(features)
    scope = "ParseSingleExample" if name is None else name
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        serialized = convert_to_tensor(serialized, name="serialized")
        found = raw.ParseSingleExample(
            serialized,
            wanted.defaults(),
            num_sparse=len(wanted.sparse),
            sparse_keys=wanted.sparse_keys(),
            sparse_types=wanted.sparse_types(),
            Tdense=wanted.dense_types(),
            dense_keys=wanted.dense_keys(),
            dense_shapes=wanted.shapes(),
            name=scope.rpartition("/")[2],
        )
        result = _collected(wanted, found[:3], found[3])
    return _composed(wanted, result, features)


def _composed(wanted, result, features):
    """Puts the SparseFeatures together, and leaves out what only they needed."""
    if not wanted.composed:
        return result
    for name, feature in wanted.composed.items():
        keys = feature.index_key if isinstance(feature.index_key, (list, tuple)) else [feature.index_key]
        sizes = feature.size if isinstance(feature.size, (list, tuple)) else [feature.size]
        result[name] = NAMES["sparse_merge"](
            [result[key] for key in keys],
            result[feature.value_key],
            list(sizes),
            already_sorted=feature.already_sorted,
        )
    return {key: value for key, value in result.items() if key in features}
