"""Pack and Unpack: tensors of one shape put along a new dimension, and taken apart along one."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, dim_value, export, op, raw

Pack = op("""
    Pack(values: N * T) -> (output: T)
      N: int >= 1
      T: type
      axis: int = 0

    The tensors side by side along a new dimension `axis`.
""")


def merge_inputs(values):
    """Returns the shape that all of a list of inputs have.

    Raises:
      ValueError: Two of them differ.
    """
    merged = None
    for i in range(len(values) - 1, -1, -1):
        try:
            merged = shapes.merge(values[i], merged)
        except ValueError as e:
            raise ValueError(f"{e}\n\tFrom merging shape {i} with other shapes.") from None
    return merged


@Pack.shape
def pack_shape(values, *, N, axis):
    merged = merge_inputs(values)
    if merged is None:
        return None
    rank = len(merged) + 1
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid axis: {axis}; must be in [{-rank},{rank})")
    axis %= rank
    return (*merged[:axis], N, *merged[axis:])


def _pack(values, axis, xp):
    first = values[0].shape
    for i, v in enumerate(values):
        if v.shape != first:
            raise errors.InvalidArgumentError(
                None, None, f"Shapes of all inputs must match: values[0].shape = {_shown(first)} != "
                f"values[{i}].shape = {_shown(v.shape)}"
            )  # fmt: skip
    rank = len(first) + 1
    if not -rank <= axis < rank:
        raise errors.InvalidArgumentError(None, None, f"axis = {axis} not in [{-rank}, {rank})")
    return xp.stack(values, axis)


def _shown(shape):
    return "[" + ",".join(map(str, shape)) + "]"


@Pack.host
def pack_host(values, *, axis):
    if not hasattr(values[0], "shape"):  # variants
        values = [np.array(v, object) for v in values]
    return _pack(values, axis, np)


@Pack.lower
def pack_lower(values, *, axis):
    return _pack(values, axis, jnp)


@Pack.grad
def pack_grad(op, dy):
    return raw.Unpack(dy, num=op.attrs["N"], axis=op.attrs["axis"], name="unstack")


@Pack.as_shape
def pack_as_shape(op):
    if op.outputs[0]._dims is None or len(op.outputs[0]._dims) != 1 or not op.attrs["T"].is_integer:
        return None
    dims = [dim_value(t) for t in op.inputs]
    return tuple(None if d is None or d < 0 else d for d in dims)


@Pack.cases
def pack_cases(case):
    case(([1.0, 2.0], [3.0, 4.0]), gives=[[1.0, 2.0], [3.0, 4.0]])
    case(([1.0, 2.0], [3.0, 4.0]), axis=-1, gives=[[1.0, 3.0], [2.0, 4.0]])
    case((5.0,), gives=[5.0])
    case.shapes("[2,?];[2,3]", "[2,2,3]")
    case.shapes("?;?", "?")
    case.fails("[2];[3]", match="Dimension 0 in both shapes must be equal, but are 2 and 3")
    case.fails("[2];[2]", match="Invalid axis: 2", axis=2)


Unpack = op("""
    Unpack(value: T) -> (output: num * T)
      num: int >= 0
      T: type
      axis: int = 0

    The slices of a tensor along one dimension.
""")


@Unpack.shape
def unpack_shape(value, *, num, axis):
    if value is None:
        return [None] * num
    rank = len(value)
    if not -rank <= axis < rank:
        raise ValueError(f"Shape must be at least rank {axis + 1 if axis >= 0 else -axis} but is rank {rank}")
    axis %= rank
    if value[axis] not in (None, num):
        raise ValueError(f"Dimension must be {num} but is {value[axis]}")
    return [value[:axis] + value[axis + 1 :]] * num


def _unpack(value, num, axis, xp):
    rank = len(value.shape)
    if not -rank <= axis < rank:
        raise errors.InvalidArgumentError(None, None, f"axis = {axis} not in [{-rank}, {rank})")
    if value.shape[axis] != num:
        raise errors.InvalidArgumentError(
            None, None, f"Input shape axis {axis % rank} must equal {num}, got shape {_shown(value.shape)}"
        )
    value = xp.moveaxis(value, axis, 0)
    return tuple(value[i] for i in range(num))


@Unpack.host
def unpack_host(value, *, num, axis):
    return tuple(np.asarray(v) if v.shape else v for v in map(np.asarray, _unpack_object(value, num, axis)))


def _unpack_object(value, num, axis):
    if value.dtype != object:
        return _unpack(value, num, axis, np)
    # An element of an object array would lose its array around it.
    moved = _unpack(value[..., None], num, axis if axis >= 0 else axis - 1, np)
    return [m.reshape(m.shape[:-1]) for m in moved]


@Unpack.lower
def unpack_lower(value, *, num, axis):
    return _unpack(value, num, axis, jnp)


@Unpack.grad
def unpack_grad(op, *dys):
    return raw.Pack(list(dys), axis=op.attrs["axis"], name="stack")


@Unpack.cases
def unpack_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], num=2, gives=([1.0, 2.0], [3.0, 4.0]))
    case([[1.0, 2.0], [3.0, 4.0]], num=2, axis=-1, gives=([1.0, 3.0], [2.0, 4.0]))
    case.shapes("[?,3]", "[?];[?];[?]", num=3, axis=1)
    case.shapes("?", "?;?", num=2)
    case.fails("[2,3]", match="Dimension must be 3 but is 2", num=3)


@export("stack")
def stack(values, axis=0, name="stack"):
    """Returns tensors of one shape put side by side along a new dimension.

    Args:
      values: The tensors, or what converts to them.
      axis: Where the new dimension goes; a negative one counts from the end of the result's.
      name: The node's name.

    Raises:
      ValueError: `axis` is out of range, or the shapes differ.
    """
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # tensors among lists, or of several types: Pack converts them one by one or says what is wrong
    dims = convert_to_tensor(values[0], name=name)._dims
    if dims is not None:
        rank = len(dims) + 1
        if not -rank <= axis < rank:
            raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
    return raw.Pack(values, axis=axis, name=name)


@export("unstack")
def unstack(value, num=None, axis=0, name="unstack"):
    """Returns the slices of a tensor along one dimension.

    Args:
      value: The tensor.
      num: How many slices there are; by default what the static shape says.
      axis: The dimension.
      name: The node's name.

    Raises:
      ValueError: `num` is not given and not known, or `axis` is out of range.
    """
    if num is None:
        value = convert_to_tensor(value)
        dims = value._dims
        if dims is not None:
            rank = len(dims)
            if not -rank <= axis < rank:
                raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
            num = dims[axis]
    if num is None:
        raise ValueError(f"Cannot infer num from shape {value.shape}")
    result = raw.Unpack(value, num=num, axis=axis, name=name)
    return result if isinstance(result, list) else []
