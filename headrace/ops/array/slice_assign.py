"""Writing into a slice: of a variable, or of a copy of a tensor."""

from __future__ import annotations

import numpy as np

from headrace.errors import UnimplementedError
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.array import slicing
from headrace.ops.array.failing import shown
from headrace.ops.array.strided_slice import planned
from headrace.shapes import unchanged

StridedSliceAssign = op(f"""
    StridedSliceAssign(ref: Ref(T), begin: Index, end: Index, strides: Index, value: T) -> (output_ref: Ref(T))
{slicing.ATTRS}
    Puts a value into a slice of a reference variable.
""", shape=unchanged)  # fmt: skip

ResourceStridedSliceAssign = op(f"""
    ResourceStridedSliceAssign(ref: resource, begin: Index, end: Index, strides: Index, value: T) -> ()
{slicing.ATTRS}
    Puts a value into a slice of a resource variable.
""")

TensorStridedSliceUpdate = op(f"""
    TensorStridedSliceUpdate(input: T, begin: Index, end: Index, strides: Index, value: T) -> (output: T)
{slicing.ATTRS}
    A copy of a tensor with a slice replaced.
""", shape=unchanged)  # fmt: skip


@StridedSliceAssign.cases
def strided_slice_assign_cases(case):
    @case.program
    def a_row_is_replaced(step):
        v = raw.VariableV2(shape=[2, 3], dtype="float32")
        step(raw.Assign(v, np.zeros((2, 3), np.float32)))
        row = raw.StridedSliceAssign(v, [1], [2], [1], [[1.0, 2.0, 3.0]], shrink_axis_mask=0)
        step(row, gives=[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
        step(
            raw.StridedSliceAssign(v, [0, 0], [2, 3], [1, 2], [[7.0, 8.0]] * 2), gives=[[7, 0, 8], [7, 2, 8]]
        )


@ResourceStridedSliceAssign.cases
def resource_strided_slice_assign_cases(case):
    @case.program
    def an_element_is_replaced(step):
        v = raw.VarHandleOp(shape=[3], dtype="float32")
        step(raw.AssignVariableOp(v, [1.0, 2.0, 3.0]))
        step(raw.ResourceStridedSliceAssign(v, [-1], [0], [1], 9.0, shrink_axis_mask=1))
        step(raw.ReadVariableOp(v, dtype="float32"), gives=[1.0, 2.0, 9.0])


def _new_slice(plan, value):
    """Returns the value as it lies in the sliced tensor."""
    final = tuple(plan.final)
    if 0 in final:
        return np.zeros(plan.processed, value.dtype)  # nothing is replaced, whatever is given
    if value.shape != final:
        raise UnimplementedError(
            None,
            None,
            f"sliced l-value shape {shown(final)} does not match r-value shape {shown(value.shape)}. "
            "Automatic broadcasting not yet implemented.",
        )
    return value.reshape(plan.processed)


def _updated_host(old, begin, end, strides, value, masks):
    plan = planned(old.shape, begin, end, strides, masks)
    new = np.array(old)
    new[slicing.slices(plan.index)] = _new_slice(plan, value)
    return new


def _updated_lower(old, begin, end, strides, value, masks):
    plan = planned(old.shape, begin, end, strides, masks)
    return jnp.asarray(old).at[slicing.slices(plan.index)].set(_new_slice(plan, jnp.asarray(value)))


@StridedSliceAssign.host
def strided_slice_assign_host(ref, begin, end, strides, value, *, ctx, **masks):
    ctx.write(ref, _updated_host(np.asarray(ctx.read(ref)), begin, end, strides, value, masks))
    return ref


@StridedSliceAssign.lower(static="begin end strides")
def strided_slice_assign_lower(ref, begin, end, strides, value, *, ctx, **masks):
    ctx.write(ref, _updated_lower(ctx.read(ref), begin, end, strides, value, masks))
    return ref


@ResourceStridedSliceAssign.shape
def resource_strided_slice_assign_shape(ref, begin, end, strides, value):
    return []


@ResourceStridedSliceAssign.host
def resource_strided_slice_assign_host(ref, begin, end, strides, value, *, ctx, **masks):
    ctx.write(ref, _updated_host(np.asarray(ctx.read(ref)), begin, end, strides, value, masks))
    return ()


@ResourceStridedSliceAssign.lower(static="begin end strides")
def resource_strided_slice_assign_lower(ref, begin, end, strides, value, *, ctx, **masks):
    ctx.write(ref, _updated_lower(ctx.read(ref), begin, end, strides, value, masks))
    return ()


@TensorStridedSliceUpdate.host
def tensor_strided_slice_update_host(input, begin, end, strides, value, **masks):
    return _updated_host(input, begin, end, strides, value, masks)


@TensorStridedSliceUpdate.lower(static="begin end strides")
def tensor_strided_slice_update_lower(input, begin, end, strides, value, **masks):
    return _updated_lower(input, begin, end, strides, value, masks)


@TensorStridedSliceUpdate.cases
def tensor_strided_slice_update_cases(case):
    case([1.0, 2.0, 3.0], [1], [3], [1], [7.0, 8.0], gives=[1.0, 7.0, 8.0])
    case(
        [[1.0, 2.0], [3.0, 4.0]],
        [1],
        [2],
        [1],
        [7.0, 8.0],
        shrink_axis_mask=1,
        gives=[[1.0, 2.0], [7.0, 8.0]],
    )
    case([1.0, 2.0, 3.0], [0], [0], [-2], [7.0, 8.0], begin_mask=1, end_mask=1, gives=[8.0, 2.0, 7.0])
