"""Variables that count, and variables that live for one step."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import op, raw
from headrace.ops.state import places
from headrace.resources.variable import VariableState

CountUpTo = op("""
    CountUpTo(ref: Ref(T)) -> (output: T)
      limit: int
      T: {int32, int64}

    Counts a reference variable one up and gives its old value, until it reaches a limit.
""")


@CountUpTo.shape
def count_up_to_shape(ref):
    return shapes.with_rank(ref, 0)


ResourceCountUpTo = op("""
    ResourceCountUpTo(resource: resource) -> (output: T)
      limit: int
      T: {int32, int64}

    Counts a resource variable one up and gives its old value, until it reaches a limit.
""")


@ResourceCountUpTo.shape
def resource_count_up_to_shape(resource, *, T, ctx):
    held, shape = places.held(ctx)
    if held is not None and held is not T:
        raise ValueError(
            f"Trying to read variable with wrong dtype. Expected {held.wire_name} got {T.wire_name}"
        )
    return shapes.with_rank(shape, 0)


def _counting(kind):
    def rule(variable, *, limit, ctx):
        old = places.value_of(ctx, variable, kind)
        ctx.check(old < limit, f"Reached limit of {limit}", errors.OutOfRangeError)
        one = np.ones((), old.dtype)
        ctx.write(variable, old + one if type(old) is not np.ndarray else np.asarray(old + one))
        return old

    return rule


for _op, _kind in ((CountUpTo, ""), (ResourceCountUpTo, "resource")):
    _op.host(_counting(_kind))
    _op.lower(_counting(_kind))


@CountUpTo.cases
def count_up_to_cases(case):
    @case.program
    def counts_to_the_limit(step):
        v = raw.VariableV2(shape=[], dtype="int32")
        step(raw.Assign(v, np.int32(1)))
        count = raw.CountUpTo(v, limit=3)
        step(count, gives=np.int32(1))
        step(count, gives=np.int32(2))
        step(count, fails=errors.OutOfRangeError, match="Reached limit of 3")
        step(v, gives=np.int32(3))


@ResourceCountUpTo.cases
def resource_count_up_to_cases(case):
    @case.program
    def counts_to_the_limit(step):
        v = raw.VarHandleOp(shape=[], dtype="int64")
        step(raw.AssignVariableOp(v, np.int64(2)))
        count = raw.ResourceCountUpTo(v, limit=3, T="int64")
        step(count, gives=np.int64(2))
        step(count, fails=errors.OutOfRangeError, match="Reached limit of 3")


TemporaryVariable = op("""
    TemporaryVariable() -> (ref: Ref(dtype))
      shape: shape
      dtype: type
      var_name: string = ""
      stateful

    Holds a tensor for one step, until DestroyTemporaryVariable gives it up.
""", shape=lambda *, shape: shape)  # fmt: skip


@TemporaryVariable.host
def temporary_variable_host(*, shape, dtype, var_name, ctx):
    state = VariableState(var_name or ctx.op.name, dtype, shape)
    state.value = np.zeros(shape, dtype.storage)
    if dtype.name == "string":
        state.value.fill(b"")
    return state


@TemporaryVariable.cases
def temporary_variable_cases(case):
    @case.program
    def is_new_in_each_step(step):
        v = raw.TemporaryVariable(shape=[2], dtype="int32", var_name="count")
        added = raw.AssignAdd(raw.Assign(v, np.int32([5, 6])), np.int32([1, 1]))
        for _ in range(2):
            step(raw.DestroyTemporaryVariable(added, var_name="count"), gives=np.int32([6, 7]))


DestroyTemporaryVariable = op("""
    DestroyTemporaryVariable(ref: Ref(T)) -> (value: T)
      T: type
      var_name: string

    Gives the value of a temporary variable and forgets the variable.
""", shape=shapes.unchanged)  # fmt: skip


@DestroyTemporaryVariable.host
def destroy_temporary_variable_host(ref, *, var_name, ctx):
    if ref.name != var_name:
        raise errors.NotFoundError(
            None, None, f"Resource {var_name}/N10tensorflow19TemporaryVariableOp6TmpVarE does not exist."
        )
    return ctx.read(ref)


@DestroyTemporaryVariable.cases
def destroy_temporary_variable_cases(case):
    @case.program
    def lives_for_one_step(step):
        v = raw.TemporaryVariable(shape=[2], dtype="float32", var_name="sum")
        written = raw.AssignAdd(raw.Assign(v, [1.0, 2.0]), [1.0, 1.0])
        value = raw.DestroyTemporaryVariable(written, var_name="sum")
        step(value, gives=[2.0, 3.0])
        step(value, gives=[2.0, 3.0])
