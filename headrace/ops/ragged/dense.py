"""RaggedTensorToTensor: the values of a ragged tensor in a dense one."""

from __future__ import annotations

import math

import numpy as np

from headrace import errors, shapes
from headrace.opdef import op
from headrace.opdef.strings import attr_text, invalid

RaggedTensorToTensor = op("""
    RaggedTensorToTensor(shape: Tshape, values: T, default_value: T,
                         row_partition_tensors: num_row_partition_tensors * Tindex) -> (result: T)
      T: type
      Tindex: {int64, int32}
      Tshape: {int64, int32}
      num_row_partition_tensors: int >= 1
      row_partition_types: list(string)

    A dense tensor with the elements in their places, cut off or filled up to a shape.
""")

_KINDS = ("FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS")
_OTHER_KINDS = ("ROW_LENGTHS", "ROW_LIMITS", "ROW_STARTS")


def _kinds(types, tensors, fail):
    """Returns the kinds of the row partitions, or refuses them by `fail`."""
    types = [attr_text(t) for t in types]
    for kind in types:
        if kind not in _KINDS + _OTHER_KINDS:
            fail(f"Unknown string for partition info type: {kind}")
    if len(types) != tensors:
        fail(
            f"Number of row partition tensors ({tensors}) does not equal the number of row partition "
            f"types({len(types)})."
        )
    for kind in types:
        if kind in _OTHER_KINDS:
            fail(f"Unsupported partition type: {kind}")
    if types[0] == "VALUE_ROWIDS":
        fail("VALUE_ROWIDS cannot be first")
    if types[0] == "FIRST_DIM_SIZE" and types[1:2] != ["VALUE_ROWIDS"]:
        fail("FIRST_DIM_SIZE must be followed by VALUE_ROWIDS")
    if "FIRST_DIM_SIZE" in types[1:]:
        fail("FIRST_DIM_SIZE must be the first dimension.")
    return types


def _refuse(message):
    raise ValueError(message)


def _ragged_rank(types):
    return len(types) - (types[0] == "FIRST_DIM_SIZE")


def _written(dims):
    return "".join(f"dim {{\n  size: {-1 if d is None else d}\n}}\n" for d in dims)


def _check_fit(rank, inner, shape, fail):
    """Refuses a result's shape that does not fit the values'."""
    if shape is None or inner is None:
        return
    if rank + len(inner) != len(shape):
        fail(
            f"Value shape ({_written(inner)}), ragged_rank({rank}) and shape({_written([None] * len(shape))}) do not "
            "have a consistent number of dimensions"
        )
    for a, b in zip(inner[1:], shape[rank + 1 :], strict=True):
        if a is not None and b is not None and a != b:
            fail("Value and shape dimension are inconsistent.")


def _check_default(default, element, fail):
    if default is None or element is None:
        return
    while default and default[0] == 1:
        default = default[1:]
    if len(default) > len(element):
        fail(
            f"default_value_shape must have no more dimensions than the value. default_value_shape: "
            f"{_written(default)} default_value_shape rank {len(default)} value_shape: {_written(element)}"
        )
    for i, (a, b) in enumerate(zip(default, element[len(element) - len(default) :], strict=True)):
        if a not in (None, 1) and b is not None and a != b:
            fail(f"default_value_shape and value_shape do not match on dimension {i}")


@RaggedTensorToTensor.shape
def ragged_to_tensor_shape(shape, values, default_value, row_partition_tensors, *, row_partition_types, ctx):
    types = _kinds(row_partition_types, len(row_partition_tensors), _refuse)
    rank = _ragged_rank(types)
    wanted = None if shape == () or shape is None else ctx.as_shape("shape")
    _check_fit(rank, values, wanted, _refuse)
    if values is not None:
        _check_default(default_value, values[1:], _refuse)
        whole = [None] * (rank + 1) + list(values[1:])
        if wanted is not None:
            whole = [a if b is None else b for a, b in zip(whole, wanted, strict=True)]
        wanted = tuple(whole)
    if wanted is not None and None not in wanted and math.prod(wanted) >= 2**63:
        raise ValueError(f"Shape {shapes.to_text(wanted)} is too large (more than 2**63 - 1 entries)")
    return wanted


def _row_of(kind, tensor):
    """Returns the row of each value, -1 where it has none."""
    if kind == "VALUE_ROWIDS":
        return tensor.astype(np.int64)
    if (np.diff(tensor) < 0).any():
        invalid("Ragged splits must be sorted")
    return np.repeat(np.arange(max(len(tensor) - 1, 0)), np.diff(tensor))


def _places(rows):
    """Returns the place of each value in its row; values of a row stand side by side."""
    n = len(rows)
    first = np.ones(n, bool)
    first[1:] = rows[1:] != rows[:-1]
    starts = np.maximum.accumulate(np.where(first, np.arange(n), 0)) if n else np.zeros(0, np.int64)
    return np.arange(n) - starts


@RaggedTensorToTensor.host
def ragged_to_tensor_host(shape, values, default_value, row_partition_tensors, *, row_partition_types):
    types = _kinds(row_partition_types, len(row_partition_tensors), invalid)
    rank = _ragged_rank(types)
    wanted = None
    if shape.ndim == 0:
        if shape != -1:
            invalid("The only valid scalar shape tensor is the fully unknown shape specified as -1.")
    elif shape.ndim == 1:
        wanted = tuple(None if d == -1 else int(d) for d in shape)
        if any(d is not None and d < 0 for d in wanted):
            invalid(f"Invalid value in tensor used for shape: {min(d for d in wanted if d is not None)}")
    else:
        invalid("shape must be a vector or a scalar")
    if values.ndim == 0:
        invalid("values must be at least a vector")
    _check_fit(rank, values.shape, wanted, invalid)
    _check_default(default_value.shape, values.shape[1:], invalid)

    tensors = list(row_partition_tensors)
    if types[0] == "FIRST_DIM_SIZE":
        if tensors[0].ndim:
            invalid("FIRST_DIM_SIZE must be a scalar")
        count = int(tensors.pop(0))
        types = types[1:]
    else:
        count = len(tensors[0]) - 1
        if count < 0:
            invalid("Dimension -1 must be >= 0")
    if any(t.ndim != 1 for t in tensors):
        invalid("row partitions must be vectors")
    if wanted is not None and None not in wanted:
        shapes.check_count(wanted)
    wanted = [None] * (rank + values.ndim) if wanted is None else list(wanted)
    size = [count if wanted[0] is None else wanted[0]]
    # `at` holds the coordinates of what the partition so far divides; -1 marks what falls outside.
    at = np.arange(count)[:, None]
    at[at >= size[0]] = -1
    for i, (kind, tensor) in enumerate(zip(types, tensors, strict=True)):
        rows = _row_of(kind, tensor)
        if rows.size and (rows.min() < -1 or rows.max() >= len(at)):
            invalid(f"Row ids must be less than the number of rows, {len(at)}, got {int(rows.max())}")
        places = _places(rows)
        width = wanted[i + 1]
        if width is None:
            width = int(places.max()) + 1 if places.size else 0
        size.append(width)
        outer = at[rows]
        outside = (rows < 0) | (outer < 0).any(axis=1) | (places >= width)
        at = np.concatenate([outer, places[:, None]], axis=1)
        at[outside] = -1
    if len(at) != len(values):
        raise errors.InternalError(None, None, "Values and indices must be equal")
    out = np.empty((*size, *values.shape[1:]), values.dtype)
    out[...] = default_value
    inside = (at >= 0).all(axis=1)
    out[tuple(at[inside].T)] = values[inside]
    return out


@RaggedTensorToTensor.cases
def ragged_to_tensor_cases(case):
    splits = (np.array([0, 2, 3]),)
    attrs = dict(row_partition_types=["ROW_SPLITS"])
    case(np.array([-1, -1]), [1.0, 2.0, 3.0], 9.0, splits, gives=[[1.0, 2.0], [3.0, 9.0]], **attrs)
    case(np.array([3, 1]), [1.0, 2.0, 3.0], 9.0, splits, gives=[[1.0], [3.0], [9.0]], **attrs)
    case(
        np.array([-1, 3], np.int32),
        [1.0, 2.0, 3.0],
        9.0,
        (np.array(2), np.array([0, 0, 1])),
        row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
        gives=[[1.0, 2.0, 9.0], [3.0, 9.0, 9.0]],
    )
    case.shapes("[];[3,5];[];[3]", "[?,?,5]", **attrs)
    case.shapes("[3];[3,?];[6];[3]", "[?,4,?]", values={"shape": [-1, 4, -1]}, **attrs)
    case.fails("[];[3];[];[3]", match="cannot be first", row_partition_types=["VALUE_ROWIDS"])
    case.fails((np.array([2, -1]), [1.0, 2.0, 3.0], 9.0, (np.array([0, 2, 5]),)), match="Values and indices must be",
               raises=errors.InternalError, **attrs)  # fmt: skip
    case.fails(
        (np.array([2, -1]), [1.0, 2.0, 3.0], 9.0, (np.array(3), np.array([0, 2, 9]))),
        match="must be less than the number of rows",
        row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
    )
