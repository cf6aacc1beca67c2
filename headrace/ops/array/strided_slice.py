"""StridedSlice and its gradient, and indexing of tensors with []."""

from __future__ import annotations

import functools

import numpy as np

from headrace import dtypes, errors, shapes
from headrace.graph import Tensor, name_scope
from headrace.lazy import jnp, lax
from headrace.opdef import constant_as_shape, constant_node, constant_value, export, export_value, op, raw
from headrace.opdef.nodes import ones_like, shape_of
from headrace.ops.array import slicing
from headrace.ops.array.failing import invalid, shown
from headrace.ops.array.pack import stack

export_value("newaxis", None)

StridedSlice = op(f"""
    StridedSlice(input: T, begin: Index, end: Index, strides: Index) -> (output: T){slicing.ATTRS}
    The part of a tensor that a range along each dimension picks.
""")


def _check_spec(begin, end, strides):
    """Returns the number of ranges, or None if it is not known."""
    merged = None
    for s in (begin, end, strides):
        if s is not None and len(s) != 1:
            raise ValueError(f"Shape must be rank 1 but is rank {len(s)}")
        merged = shapes.merge(merged, s)
    return None if merged is None else merged[0]


@StridedSlice.shape
def strided_slice_shape(input, begin, end, strides, *, ctx, **masks):
    _check_spec(begin, end, strides)
    step = ctx.constant("strides")
    if step is None or input is None:
        return None
    asked = dict(ctx.asked)
    first, last = ctx.constant("begin"), ctx.constant("end")
    try:
        return tuple(slicing.plan(input, first, last, step, **masks).final)
    except ValueError as e:
        if "slice index" not in str(e):
            ctx.asked = asked
        raise


def planned(shape, begin, end, strides, masks):
    """Returns the plan of a slice whose operands are known.

    Raises:
      errors.InvalidArgumentError: It does not fit the shape.
    """
    for each in (begin, end, strides):
        if np.ndim(each) != 1 or len(each) != len(begin):
            raise errors.InvalidArgumentError(
                None, None, "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
                f"{_shown(np.shape(begin))}, {_shown(np.shape(end))}, and {_shown(np.shape(strides))} instead."
            )  # fmt: skip
    try:
        return slicing.plan(shape, begin, end, strides, **masks)
    except ValueError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None


def _shown(shape):
    return "[" + ",".join(map(str, shape)) + "]"


@functools.lru_cache(4096)
def _cut(shape, begin, end, strides, masks):
    """Returns the index that takes a slice, and its shape: the same ones are asked for in every step."""
    plan = planned(shape, np.array(begin), np.array(end), np.array(strides), dict(masks))
    return slicing.slices(plan.index), plan.final


@StridedSlice.host
def strided_slice_host(input, begin, end, strides, **masks):
    if begin.ndim == end.ndim == strides.ndim == 1:
        spec = tuple(begin.tolist()), tuple(end.tolist()), tuple(strides.tolist())
        index, final = _cut(input.shape, *spec, tuple(masks.items()))
    else:
        plan = planned(input.shape, begin, end, strides, masks)
        index, final = slicing.slices(plan.index), plan.final
    return input[index].reshape(final)


_PLACE, _RANGE = "place", "range"


def _layout(op):
    """Returns what each range of a slice takes: where it begins and ends, or that it is a place or range not known."""
    strides = constant_value(op.inputs[3])
    if strides is None or strides.ndim != 1 or (strides != 1).any():
        return None
    masks = _masks(op)
    out = []
    for i in range(len(strides)):
        if _is_whole(masks, i):
            out.append((0, 0))
            continue
        if masks["shrink_axis_mask"] >> i & 1:
            out.append(_PLACE)
            continue
        known = [
            0 if masks[f"{name}_mask"] >> i & 1 else _element(t, i)
            for name, t in zip(("begin", "end"), op.inputs[1:3], strict=True)
        ]
        out.append(_RANGE if None in known else tuple(known))
    return out


def _is_whole(masks, i):
    """Whether a range is the ellipsis or a new dimension."""
    return bool((masks["ellipsis_mask"] | masks["new_axis_mask"]) >> i & 1)


def _element(vector, i):
    """Returns an element of a vector, None if it isn't known."""
    value = constant_value(vector)
    if value is None and vector.op.type == "Pack" and i < len(vector.op.inputs):
        value = constant_value(vector.op.inputs[i])
        return None if value is None or value.ndim else int(value)
    return None if value is None or value.ndim != 1 or i >= len(value) else int(value[i])


def _has_known_shape(op):
    """Whether it is known how much a slice takes, if not from where."""
    layout = _layout(op)
    return layout is not None and _RANGE not in layout


def _has_strides_of_one(op):
    return _layout(op) is not None


def _moving(ctx, dims, begin, taken=None):
    """Returns the plan of a slice at places that only the step tells, and where it begins along each dimension.

    Args:
      ctx: The rule's.
      dims: The shape of what is sliced.
      begin: Where each range begins.
      taken: The slice's shape, from which the lengths of ranges follow that aren't known otherwise.
    """
    layout, masks = _layout(ctx.op), _masks(ctx.op)
    real = sum(not _is_whole(masks, i) for i in range(len(layout)))
    spec, axis = [], 0  # of the result
    for i, what in enumerate(layout):
        spec.append((0, 1) if what is _PLACE else (0, taken[axis]) if what is _RANGE else what)
        if masks["ellipsis_mask"] >> i & 1:
            axis += len(dims) - real
        elif what is not _PLACE:
            axis += 1
    first, last = np.array(spec, np.int64).reshape(-1, 2).T
    plan = planned(dims, first, last, np.ones_like(first), masks)
    starts = []
    for axis, (size, entry, place) in enumerate(zip(dims, plan.entries, plan.index, strict=True)):
        at = place[0]
        if entry is not None and layout[entry] in (_PLACE, _RANGE):
            at = jnp.asarray(begin[entry])
            at = jnp.where(at < 0, at + size, at)
            if layout[entry] is _PLACE:
                ctx.check((at >= 0) & (at < size), f"slice index of dimension {axis} out of bounds")
            elif masks["begin_mask"] >> entry & 1:
                at = 0
            else:
                at = jnp.clip(at, 0, size)
        starts.append(jnp.asarray(at, np.int64))
    return plan, starts


@StridedSlice.lower(static="begin end strides", moves=_has_known_shape)
def strided_slice_lower(input, begin, end, strides, *, ctx, **masks):
    if type(begin) is not np.ndarray or type(end) is not np.ndarray:
        plan, starts = _moving(ctx, input.shape, begin)
        return jnp.reshape(lax.dynamic_slice(input, starts, plan.processed), plan.final)
    plan = planned(input.shape, begin, end, strides, masks)
    return jnp.reshape(input[slicing.slices(plan.index)], plan.final)


@StridedSlice.grad
def strided_slice_grad(op, dy):
    x, begin, end, strides = op.inputs
    shape = shape_of(x, out_type=begin.dtype)
    return raw.StridedSliceGrad(shape, begin, end, strides, dy, **_masks(op)), None, None, None


def _masks(op):
    return op.attrs_but("T", "Index")


@StridedSlice.as_shape
def strided_slice_as_shape(op):
    # A vector of which a part is taken by one range; nothing finer, as in TensorFlow.
    x = op.inputs[0]
    if not x.dtype.is_integer or op.outputs[0]._dims is None or len(op.outputs[0]._dims) != 1:
        return None
    if op.attrs["ellipsis_mask"] or op.attrs["new_axis_mask"] or op.attrs["shrink_axis_mask"]:
        return None
    if x._dims is None or len(x._dims) != 1:
        return None
    spec = [constant_value(t) for t in op.inputs[1:]]
    if any(v is None or v.shape != (1,) for v in spec):
        return None
    try:
        dims = constant_as_shape(x)
        if dims is None:
            return None
        plan = slicing.plan((len(dims),), *spec, **_masks(op))
    except ValueError:
        return None
    return dims[slicing.slices(plan.index)[0]]


@StridedSlice.cases
def strided_slice_cases(case):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    case(x, [0], [1], [1], gives=x[0:1])
    case(x, [0, 1], [1, 0], [1, 1], end_mask=2, shrink_axis_mask=1, gives=x[0, 1:])
    case(x, [0], [0], [-1], begin_mask=1, end_mask=1, gives=x[::-1])
    case(
        x,
        [0, 0, -1],
        [0, 0, 0],
        [1, 1, 1],
        ellipsis_mask=2,
        new_axis_mask=1,
        shrink_axis_mask=4,
        gives=x[None, :, -1],
    )
    case(x, [0, 5], [2, 9], [1, 1], gives=np.zeros([2, 0], np.float32))
    case.shapes("[?,3];[2];[2];[2]", "[?,2]", values={"begin": [1, 1], "end": [-1, 3], "strides": [1, 1]})
    case.shapes("[2,3];[1];[1];[1]", "[?,3]", values={"strides": [1]})
    case.shapes("[2,3];[1];[1];[1]", "[3]", values={"strides": [1]}, shrink_axis_mask=1)
    case.shapes("[2,3];[1];[1];[1]", "?")
    one = {"begin": [5], "end": [6], "strides": [1]}
    case.fails(
        "[2,3];[1];[1];[1]",
        match="slice index 5 of dimension 0 out of bounds",
        values=one,
        shrink_axis_mask=1,
    )
    zero = {"begin": [0], "end": [2], "strides": [0]}
    case.fails("[2,3];[1];[1];[1]", match=r"strides\[0\] must be non-zero", values=zero)
    case.fails((x, [5], [6], [1]), match="slice index 5 of dimension 0 out of bounds", shrink_axis_mask=1)


StridedSliceGrad = op(f"""
    StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> (output: T){slicing.ATTRS}
    Zeros of shape `shape` with `dy` where StridedSlice reads: its gradient.
""")


@StridedSliceGrad.shape
def strided_slice_grad_shape(shape, begin, end, strides, dy, *, ctx):
    return ctx.as_shape("shape")


def _check_dy(dy, plan):
    """Refuses a gradient that is not of the slice's shape."""
    if tuple(dy.shape) != tuple(plan.final):
        invalid(f"shape of dy was {shown(dy.shape)} instead of {shown(plan.final)}")


@StridedSliceGrad.host
def strided_slice_grad_host(shape, begin, end, strides, dy, **masks):
    plan = planned(tuple(int(d) for d in shape), begin, end, strides, masks)
    _check_dy(dy, plan)
    out = np.zeros(tuple(int(d) for d in shape), dy.dtype)
    out[slicing.slices(plan.index)] = dy.reshape(plan.processed)
    return out


@StridedSliceGrad.lower(static="shape begin end strides", moves=_has_strides_of_one)
def strided_slice_grad_lower(shape, begin, end, strides, dy, *, ctx, **masks):
    dims = tuple(int(d) for d in shape)
    if type(begin) is not np.ndarray or type(end) is not np.ndarray:
        plan, starts = _moving(ctx, dims, begin, dy.shape)
        _check_dy(dy, plan)
        zeros = jnp.zeros(dims, dy.dtype)
        return lax.dynamic_update_slice(zeros, jnp.reshape(dy, plan.processed), starts)
    plan = planned(dims, begin, end, strides, masks)
    _check_dy(dy, plan)
    dy = jnp.reshape(dy, plan.processed)
    padding = []
    reversed_axes = []
    for axis, ((first, _, stride), count, size) in enumerate(
        zip(plan.index, plan.processed, dims, strict=True)
    ):
        if count == 0:
            return jnp.zeros(dims, dy.dtype)
        if stride < 0:
            reversed_axes.append(axis)
            first += (count - 1) * stride
        step = abs(stride)
        padding.append((first, size - first - (count - 1) * step - 1, step - 1))
    if reversed_axes:
        dy = lax.rev(dy, reversed_axes)
    return lax.pad(dy, jnp.zeros((), dy.dtype), padding)


@StridedSliceGrad.grad
def strided_slice_grad_grad(op, dy):
    begin, end, strides = op.inputs[1:4]
    return None, None, None, None, raw.StridedSlice(dy, begin, end, strides, **_masks(op))


@StridedSliceGrad.cases
def strided_slice_grad_cases(case):
    case([4], [1], [3], [1], [5.0, 6.0], gives=[0.0, 5.0, 6.0, 0.0])
    case([2, 3], [0, 0], [0, 0], [1, -2], [[1.0, 2.0], [3.0, 4.0]], begin_mask=3, end_mask=3,
         gives=[[2.0, 0.0, 1.0], [4.0, 0.0, 3.0]])  # fmt: skip
    case([2, 3], [1], [2], [1], [1.0, 2.0, 3.0], shrink_axis_mask=1, gives=[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    case.shapes("[2];[1];[1];[1];[3]", "[2,3]", values={"shape": [2, 3]})


# -- tensor[...] ----------------------------------------------------------------------------------------------

_WRONG_INDEX = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
    "valid indices, got {!r}"
)


def _check_index(index):
    dtype = getattr(index, "dtype", None)
    if (
        isinstance(index, (int, np.integer))
        or hasattr(index, "_index_value")
        or type(index).__name__ == "Dimension"
    ):
        return
    dims = getattr(index, "_dims", None) if isinstance(index, Tensor) else None
    if dtype is not None and hasattr(index, "shape") and np.ndim(getattr(index, "value", 0)) == 0:
        known = dims if isinstance(index, Tensor) else tuple(getattr(index, "shape", ()) or ())
        name = getattr(dtype, "name", str(dtype)).removesuffix("_ref")
        if name in ("int16", "int32", "int64") and not known:
            return
    raise TypeError(_WRONG_INDEX.format(index))


def _is_undefined_dimension(value):
    return type(value).__name__ == "Dimension" and value.value is None


def slice_with(tensor, spec, var=None):
    """Returns `tensor[spec]`: the part that integers, slices, ellipses, new axes, tensors or a mask pick.

    Args:
      tensor: The tensor.
      spec: What stands between the brackets.
      var: The variable that the tensor is read from, if any.

    Raises:
      TypeError: An index is of another kind.
      ValueError: There is a second ellipsis, or an index out of range.
    """
    if isinstance(spec, bool) or _is_mask(spec):
        from headrace.ops.array.where import boolean_mask  # which slices shapes itself

        return boolean_mask(tensor, spec)
    if not isinstance(spec, (list, tuple)):
        spec = [spec]
    begin, end, strides = [], [], []
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    for i, s in enumerate(spec):
        bit = 1 << i
        if isinstance(s, slice):
            if s.start is not None and not _is_undefined_dimension(s.start):
                _check_index(s.start)
                begin.append(s.start)
            else:
                begin.append(0)
                masks["begin_mask"] |= bit
            if s.stop is not None and not _is_undefined_dimension(s.stop):
                _check_index(s.stop)
                end.append(s.stop)
            else:
                end.append(0)
                masks["end_mask"] |= bit
            if s.step is not None and not _is_undefined_dimension(s.step):
                _check_index(s.step)
                strides.append(s.step)
            else:
                strides.append(1)
        elif s is Ellipsis or s is None:
            begin.append(0)
            end.append(0)
            strides.append(1)
            masks["ellipsis_mask" if s is Ellipsis else "new_axis_mask"] |= bit
        else:
            _check_index(s)
            begin.append(s)
            end.append(s + 1)
            strides.append(1)
            masks["shrink_axis_mask"] |= bit
    with name_scope(None, "strided_slice", [tensor, *begin, *end, *strides]) as name:
        if begin:
            packed = [stack(begin), stack(end), stack(strides)]
            if any(p.dtype is dtypes.int64 for p in packed):
                packed = [p if p.dtype is dtypes.int64 else raw.Cast(p, DstT=dtypes.int64) for p in packed]
        else:
            packed = [constant_node([], dtypes.int32)] * 3
        return strided_slice(tensor, *packed, **masks, var=var, name=name)


def _is_mask(spec):
    if isinstance(spec, Tensor):
        return spec.dtype.base_dtype is dtypes.bool
    return isinstance(spec, np.ndarray) and spec.dtype == np.bool_


Tensor._override_operator("__getitem__", slice_with)


@export("strided_slice")
def strided_slice(
    input_,
    begin,
    end,
    strides=None,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
    var=None,
    name=None,
):
    """Returns the part of a tensor that ranges pick; `tensor[...]` is easier to read.

    Args:
      input_: The tensor.
      begin: Where each range begins.
      end: Where each range ends.
      strides: The ranges' strides, by default 1.
      begin_mask: Bits of the ranges that begin at the first place, whatever `begin` says.
      end_mask: Bits of the ranges that run to the last place, whatever `end` says.
      ellipsis_mask: The bit of an ellipsis.
      new_axis_mask: Bits of new dimensions of size 1.
      shrink_axis_mask: Bits of dimensions that vanish since one place is picked.
      var: The variable that `input_` is read from; the result can then be assigned to.
      name: The node's name.
    """
    if strides is None:
        strides = ones_like(begin)
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    result = raw.StridedSlice(input_, begin, end, strides, name=name, **masks)
    parent_name = name

    def assign(value, name=None):
        """Writes into the slice's place of the variable that it was taken from."""
        if var is None:
            raise ValueError("Sliced assignment is only supported for variables")
        return var._strided_slice_assign(
            begin=begin, end=end, strides=strides, value=value, name=parent_name + "_assign" if name is None else name,
            **masks,
        )  # fmt: skip

    if var is not None:
        result.assign = assign
    return result
