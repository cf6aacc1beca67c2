"""The ops of accumulators of gradients."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import OPS, op, raw
from headrace.ops.queue.queue_ops import text
from headrace.resources.accumulator import Accumulator, DenseAccumulator, SparseAccumulator
from headrace.resources.queue import invalid


def _made(cls, dtype, shape, container, shared_name, reduction_type, ctx):
    def make():
        return cls(dtype, shape, text(reduction_type))

    shared = text(shared_name)
    if not shared:
        return ctx.node_object(make)
    return ctx.resources.lookup_or_create(text(container) or "localhost", shared, cls, make)


def _dense(*, dtype, shape, container, shared_name, reduction_type, ctx):
    return _made(DenseAccumulator, dtype, shape, container, shared_name, reduction_type, ctx)


def _sparse(*, dtype, shape, container, shared_name, reduction_type, ctx):
    return _made(SparseAccumulator, dtype, shape, container, shared_name, reduction_type, ctx)


_MAKE = """
    {}() -> (handle: {})
      dtype: {{numbertype}}
      shape: shape
      container: string = ""
      shared_name: string = ""
      reduction_type: {{"MEAN", "SUM"}} = "MEAN"
      stateful

    Makes an accumulator of gradients{}.
"""
for _name, _kind, _host, _what in (
    ("ConditionalAccumulator", "Ref(string)", _dense, ""),
    ("ResourceConditionalAccumulator", "resource", _dense, ""),
    ("SparseConditionalAccumulator", "Ref(string)", _sparse, " that are slices"),
):
    _text = _MAKE.format(_name, _kind, _what)
    if _kind == "resource":
        _text = _text.replace("      stateful\n", "")
    op(_text, shape=lambda: (2,), host=_host)


def _state(handle, cls=Accumulator):
    if isinstance(handle, np.ndarray) and handle.size == 1:
        handle = handle.item()
    if not isinstance(handle, cls):
        raise invalid("The handle is not one of such an accumulator")
    return handle


def _check_type(accumulator, dtype):
    if accumulator.dtype != dtype:
        raise invalid(f"The accumulator is of type {accumulator.dtype.name}, not {dtype.name}")


def _number(value, what):
    if np.ndim(value):
        raise invalid(f"{what} must be a scalar, but has shape {shapes.to_text(np.shape(value))}")
    return int(value)


def _apply(handle, local_step, gradient, *, dtype):
    accumulator = _state(handle, DenseAccumulator)
    _check_type(accumulator, dtype)
    accumulator.apply(_number(local_step, "local_step"), gradient)
    return []


def _take(handle, num_required, *, dtype, ctx):
    accumulator = _state(handle, DenseAccumulator)
    _check_type(accumulator, dtype)
    return ctx.wait(accumulator.take(_number(num_required, "num_required")))[0]


def _count(handle):
    return np.int32(_state(handle).count())


def _set_global_step(handle, new_global_step):
    _state(handle).set_global_step(_number(new_global_step, "new_global_step"))
    return []


def _scalar_second(handle, number):
    shapes.with_rank(number, 0)
    return []


def _apply_shape(handle, local_step, gradient):
    shapes.with_rank(local_step, 0)
    return []


def _take_shape(handle, num_required):
    shapes.with_rank(num_required, 0)


_TYPE = "dtype: {numbertype}"
_USES = (
    ("ApplyGradient", ", local_step: int64, gradient: dtype", "", _TYPE, _apply_shape, _apply,
     "Adds a gradient, unless it is of an earlier step."),
    ("TakeGradient", ", num_required: int32", "average: dtype", _TYPE, _take_shape, _take,
     "Takes the mean or sum of the gradients, once there are enough."),
    ("NumAccumulated", "", "num_accumulated: int32", "", lambda handle: (), _count,
     "How many gradients were added."),
    ("SetGlobalStep", ", new_global_step: int64", "", "", _scalar_second, _set_global_step,
     "Says which step it is: gradients of earlier ones are ignored."),
)  # fmt: skip
for _prefix, _kind in (("", "Ref(string)"), ("Resource", "resource")):
    for _name, _operands, _results, _attrs, _shape, _host, _does in _USES:
        _made_op = op(
            f"""
    {_prefix}Accumulator{_name}(handle: {_kind}{_operands}) -> ({_results})
      {_attrs}

    {_does}
""",
            shape=_shape,
        )
        _made_op.host(_host, waits=_name == "TakeGradient")


SparseAccumulatorApplyGradient = op("""
    SparseAccumulatorApplyGradient(handle: Ref(string), local_step: int64, gradient_indices: int64,
        gradient_values: dtype, gradient_shape: int64) -> ()
      dtype: {numbertype}
      has_known_shape: bool

    Adds a gradient that is slices, unless it is of an earlier step.
""")  # fmt: skip


@SparseAccumulatorApplyGradient.shape
def sparse_accumulator_apply_gradient_shape(
    handle, local_step, gradient_indices, gradient_values, gradient_shape
):
    shapes.with_rank(local_step, 0)
    return []


@SparseAccumulatorApplyGradient.host
def sparse_accumulator_apply_gradient_host(
    handle, local_step, gradient_indices, gradient_values, gradient_shape, *, dtype, has_known_shape
):
    accumulator = _state(handle, SparseAccumulator)
    _check_type(accumulator, dtype)
    dims = gradient_shape if has_known_shape else None
    accumulator.apply(_number(local_step, "local_step"), (gradient_indices, gradient_values, dims))
    return []


SparseAccumulatorTakeGradient = op("""
    SparseAccumulatorTakeGradient(handle: Ref(string), num_required: int32)
        -> (indices: int64, values: dtype, shape: int64)
      dtype: {numbertype}

    Takes the mean or sum of the gradients, once there are enough.
""")  # fmt: skip


@SparseAccumulatorTakeGradient.shape
def sparse_accumulator_take_gradient_shape(handle, num_required):
    return [None, None, None]


@SparseAccumulatorTakeGradient.host(waits=True)
def sparse_accumulator_take_gradient_host(handle, num_required, *, dtype, ctx):
    accumulator = _state(handle, SparseAccumulator)
    _check_type(accumulator, dtype)
    return ctx.wait(accumulator.take(_number(num_required, "num_required")))


def _cases(prefix):
    def use(name, *operands, **attrs):
        return getattr(raw, f"{prefix}Accumulator{name}")(*operands, **attrs)

    def cases(case):
        @case.program
        def the_mean_of_what_is_new_enough(step):
            made = getattr(raw, f"{prefix}ConditionalAccumulator")(dtype="float32", shape=(2,))
            for local_step, values in ((0, [1, 2]), (1, [3, 4])):
                step(use("ApplyGradient", made, np.int64(local_step), np.float32(values)))
            step(use("NumAccumulated", made), gives=np.int32(2))
            step(use("TakeGradient", made, 2, dtype="float32"), gives=np.float32([2, 3]))
            step(use("SetGlobalStep", made, np.int64(3)))
            step(use("ApplyGradient", made, np.int64(2), np.float32([1, 2])))
            step(use("NumAccumulated", made), gives=np.int32(0))
            none = use("TakeGradient", made, 0, dtype="float32")
            step(none, fails=errors.InvalidArgumentError, match="num_required must be positive, but was 0")

    return cases


def _sparse_cases(case):
    @case.program
    def slices_are_averaged_index_by_index(step):
        made = raw.SparseConditionalAccumulator(dtype="float32", shape=(None, 1))
        for indices, values in (([0, 2], [[1], [3]]), ([2], [[5]])):
            step(
                raw.SparseAccumulatorApplyGradient(
                    made,
                    np.int64(0),
                    np.int64(indices),
                    np.float32(values),
                    np.int64([]),
                    has_known_shape=False,
                )
            )
        taken = raw.SparseAccumulatorTakeGradient(made, 2, dtype="float32")
        step(taken.values, gives=np.float32([[1], [4]]))


for _prefix in ("", "Resource"):
    OPS[f"{_prefix}ConditionalAccumulator"].cases(_cases(_prefix))
    for _row in _USES:
        OPS[f"{_prefix}Accumulator{_row[0]}"].cases(_cases(_prefix))
for _name in (
    "SparseConditionalAccumulator",
    "SparseAccumulatorApplyGradient",
    "SparseAccumulatorTakeGradient",
):
    OPS[_name].cases(_sparse_cases)
