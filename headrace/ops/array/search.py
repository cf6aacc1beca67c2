"""LowerBound, UpperBound and UnravelIndex: places in sorted rows and in tensors."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, shapes
from headrace.lazy import jnp, lax
from headrace.opdef import export, op, raw
from headrace.opdef.nodes import shape_of
from headrace.ops.array.failing import invalid, shown

_ATTRS = """
      T: type
      out_type: {int32, int64} = int32
"""

LowerBound = op(f"""
    LowerBound(sorted_inputs: T, values: T) -> (output: out_type){_ATTRS}
    For each value the first place in its sorted row that holds nothing less.
""")

UpperBound = op(f"""
    UpperBound(sorted_inputs: T, values: T) -> (output: out_type){_ATTRS}
    For each value the first place in its sorted row that holds something greater.
""")


@LowerBound.shape
@UpperBound.shape
def bound_shape(sorted_inputs, values):
    shapes.with_rank(sorted_inputs, 2)
    return shapes.with_rank(values, 2)


def _host(side):
    def rule(sorted_inputs, values, *, out_type):
        _check(sorted_inputs, values)
        rows = [np.searchsorted(s, v, side) for s, v in zip(sorted_inputs, values, strict=True)]
        found = np.array(rows, out_type.storage).reshape(values.shape)
        return np.where(_is_nan(values), out_type.storage.type(0), found) if side == "left" else found

    return rule


def _lower(side):
    def rule(sorted_inputs, values, *, out_type):
        _check(sorted_inputs, values)
        rows, values = jnp.asarray(sorted_inputs), jnp.asarray(values)
        count = rows.shape[1]

        def halve(_, bounds):
            low, high = bounds
            middle = (low + high) // 2
            here = jnp.take_along_axis(rows, jnp.minimum(middle, count - 1), 1)
            beyond = here < values if side == "left" else ~(values < here)
            open_ = low < high
            return jnp.where(open_ & beyond, middle + 1, low), jnp.where(open_ & ~beyond, middle, high)

        low, high = jnp.zeros(values.shape, np.int64), jnp.full(values.shape, count, np.int64)
        # Rows that are not in order get what these steps give, as they do in TensorFlow.
        found = lax.fori_loop(0, count.bit_length(), halve, (low, high))[0] if count else low
        return found.astype(out_type.storage)

    return rule


def _is_nan(values):
    return values != values  # nothing is less than NaN, so its place is the first


def _check(sorted_inputs, values):
    if sorted_inputs.shape[0] != values.shape[0]:
        invalid("Leading dim_size of both tensors must match.")


LowerBound.host(_host("left"))
UpperBound.host(_host("right"))
LowerBound.lower(_lower("left"))
UpperBound.lower(_lower("right"))


@LowerBound.cases
def lower_bound_cases(case):
    rows = [[1.0, 3.0, 3.0, 5.0], [1.0, 2.0, 3.0, 4.0]]
    case(rows, [[3.0, 0.0], [9.0, 4.0]], gives=np.array([[1, 0], [4, 3]], np.int32))
    case.shapes("[2,5];[2,?]", "[2,?]")


@UpperBound.cases
def upper_bound_cases(case):
    rows = [[1.0, 3.0, 3.0, 5.0], [1.0, 2.0, 3.0, 4.0]]
    case(rows, [[3.0, 0.0], [9.0, 4.0]], out_type="int64", gives=np.array([[3, 0], [4, 4]]))


UnravelIndex = op("""
    UnravelIndex(indices: Tidx, dims: Tidx) -> (output: Tidx)
      Tidx: {int32, int64} = int32

    The coordinates, one row a dimension, of row-major places in a tensor of shape `dims`.
""")


@UnravelIndex.shape
def unravel_index_shape(indices, dims):
    shapes.with_rank(dims, 1)
    n = None if dims is None else dims[0]
    if indices is None:
        return None
    if indices == ():
        return (n,)
    if len(indices) == 1:
        return (n, indices[0])
    return (n, shapes.num_elements(indices)) if len(indices) > 1 else None


def _unravel(indices, dims, xp):
    if dims.ndim != 1:
        invalid(f'The indices can only be 1-D, got "{shown(dims.shape)}"')
    if indices.ndim > 1:
        invalid(f'The indices can only be scalar or vector, got "{shown(indices.shape)}"')
    out = []
    for d in reversed([dims[i] for i in range(dims.shape[0])]):
        # As C++ divides: what is left over has the sign of the place.
        rest = xp.fmod(indices, d)
        out.append(rest)
        indices = (indices - rest) // d
    return xp.stack(out[::-1]) if out else xp.zeros((0, *indices.shape), indices.dtype)


@UnravelIndex.host
def unravel_index_host(indices, dims):
    if (dims == 0).any():
        invalid("Input dims cannot contain a dim of zero")
    return np.asarray(_unravel(indices, dims, np)).astype(indices.dtype)


@UnravelIndex.lower
def unravel_index_lower(indices, dims, *, ctx):
    ctx.check((dims != 0).all(), "Input dims cannot contain a dim of zero")
    return _unravel(jnp.asarray(indices), jnp.asarray(dims), jnp)


@UnravelIndex.cases
def unravel_index_cases(case):
    case([5, 3], [2, 3], gives=np.array([[1, 1], [2, 0]], np.int32))
    case(np.int64(5), np.array([2, 3]), gives=np.array([1, 2]))
    case.shapes("[?];[2]", "[2,?]")


@export("searchsorted")
def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None):
    """Returns where values would have to be inserted into sorted sequences to keep them sorted.

    Args:
      sorted_sequence: The sequences, in the last dimension.
      values: The values, in the last dimension.
      side: "left" for the first such place, "right" for the last.
      out_type: The result's type, int32 or int64.
      name: The node's name.

    Raises:
      ValueError: `side` is neither.
    """
    length = shape_of(sorted_sequence)[-1]
    count = shape_of(values)[-1]
    rows = raw.Reshape(sorted_sequence, [-1, length])
    flat = raw.Reshape(values, [-1, count])
    if side == "right":
        found = raw.UpperBound(rows, flat, out_type=out_type, name=name)
    elif side == "left":
        found = raw.LowerBound(rows, flat, out_type=out_type, name=name)
    else:
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    return raw.Reshape(found, shape_of(values))


@export("unravel_index")
def unravel_index(indices, dims, name=None):
    """Returns the coordinates of row-major places in a tensor.

    Args:
      indices: The places, a scalar or a vector.
      dims: The tensor's shape.
      name: The node's name.
    """
    return raw.UnravelIndex(indices, dims, name=name)
