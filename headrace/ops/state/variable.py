"""Variables: reference variables (VariableV2, Assign) and resource variables (VarHandleOp, ReadVariableOp).

Both kinds are a `VariableState` while a graph runs. A reference's value is read when a node takes it where no
reference is asked for; a resource's by ReadVariableOp.
"""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import op, raw
from headrace.resources.variable import VariableState


def _make_state(ctx, container, shared_name, dtype, shape):
    name = shared_name or ctx.op.name
    return ctx.resources.lookup_or_create(
        container, name, VariableState, lambda: VariableState(name, dtype, shape)
    )


def _shape_attr(*, shape):
    return shape


_VARIABLE = """
      shape: shape
      dtype: type
      container: string = ""
      shared_name: string = ""
      stateful
"""

VariableV2 = op(f"""
    VariableV2() -> (ref: Ref(dtype)){_VARIABLE}
    Holds a tensor that later steps find again; its output is a reference to it.
""", shape=_shape_attr)  # fmt: skip

Variable = op(f"""
    Variable() -> (ref: Ref(dtype)){_VARIABLE}
    Holds a tensor that later steps find again; the first version of VariableV2.
""")


@Variable.shape
def variable_shape(*, shape):
    # In this version a scalar shape means that the shape is not known.
    return shape or None


def variable_host(*, container, shared_name, dtype, shape, ctx):
    return _make_state(ctx, container, shared_name, dtype, shape)


VariableV2.host(variable_host)
Variable.host(variable_host)

VarHandleOp = op("""
    VarHandleOp() -> (resource: resource)
      container: string = ""
      shared_name: string = ""
      dtype: type
      shape: shape

    Gives a handle to a variable, made the first time.
""")  # fmt: skip


@VarHandleOp.shape
def var_handle_shape(*, dtype, shape, ctx):
    ctx.set_handle([(dtype, shape)])
    return ()


VarHandleOp.host(variable_host)


@VariableV2.cases
def variable_cases(case):
    @case.program
    def assigned_and_read_again(step):
        v = raw.VariableV2(shape=[2], dtype="float32")
        step(
            v, fails=errors.FailedPreconditionError, match="Attempting to use uninitialized value VariableV2"
        )
        step(raw.Assign(v, [1.0, 2.0]), gives=[1.0, 2.0])
        step(raw.AssignAdd(v, [1.0, 1.0]), gives=[2.0, 3.0])
        step(v, gives=[2.0, 3.0])


@VarHandleOp.cases
def var_handle_cases(case):
    @case.program
    def assigned_and_read_again(step):
        v = raw.VarHandleOp(shape=[2], dtype="float32")
        read = raw.ReadVariableOp(v, dtype="float32")
        step(raw.VarIsInitializedOp(v), gives=False)
        step(read, fails=errors.FailedPreconditionError, match="Error while reading resource variable")
        step(raw.AssignVariableOp(v, [1.0, 2.0]))
        step(raw.AssignSubVariableOp(v, [1.0, 1.0]))
        step(read, gives=[0.0, 1.0])
        step(raw.VarIsInitializedOp(v), gives=True)


@Variable.cases
def first_variable_cases(case):
    @case.program
    def a_scalar_shape_is_unknown(step):
        v = raw.Variable(shape=[], dtype="float32")
        step(raw.Assign(v, [1.0, 2.0], validate_shape=False), gives=[1.0, 2.0])
        step(raw.IsVariableInitialized(v), gives=True)


# -- reading -------------------------------------------------------------------------------------------------

IsVariableInitialized = op("""
    IsVariableInitialized(ref: Ref(dtype)) -> (is_initialized: bool)
      dtype: type
      allows_uninitialized_input

    Tells whether a reference variable has a value.
""", shape=shapes.scalar, reads="ref")  # fmt: skip


@IsVariableInitialized.host
def is_variable_initialized_host(ref, *, ctx):
    return ctx.is_initialized(ref)


VarIsInitializedOp = op("""
    VarIsInitializedOp(resource: resource) -> (is_initialized: bool)

    Tells whether a resource variable has a value.
""", shape=shapes.scalar, grad=None, reads="resource")  # fmt: skip


@VarIsInitializedOp.host
def var_is_initialized_host(resource, *, ctx):
    return ctx.is_initialized(resource)


ReadVariableOp = op("""
    ReadVariableOp(resource: resource) -> (value: dtype)
      dtype: type

    Reads a variable.
""", reads="resource")  # fmt: skip


def _held(ctx, operand="resource"):
    data = ctx.handle(operand)
    return data[0] if data else (None, None)


@ReadVariableOp.shape
def read_variable_shape(resource, *, dtype, ctx):
    held, shape = _held(ctx)
    if held is not None and held is not dtype:
        raise ValueError(
            f"Trying to read variable with wrong dtype. Expected {held.wire_name} got {dtype.wire_name}"
        )
    return shape


@ReadVariableOp.host
@ReadVariableOp.lower
def read_variable(resource, *, ctx):
    if not ctx.is_initialized(resource):
        raise errors.FailedPreconditionError(
            None,
            None,
            f"Error while reading resource variable {resource.name} from Container: localhost. This could mean that "
            f"the variable was uninitialized. Not found: Resource localhost/{resource.name}/N10tensorflow3VarE does "
            "not exist.",
        )
    return ctx.read(resource)


@ReadVariableOp.grad
def read_variable_grad(op, dy):
    return dy


VariableShape = op("""
    VariableShape(input: resource) -> (output: out_type)
      out_type: {int32, int64} = int32

    Gives the shape of a variable.
""", grad=None, reads="input")  # fmt: skip


@VariableShape.shape
def variable_shape_shape(input, *, ctx):
    _, shape = _held(ctx, "input")
    return (None if shape is None else len(shape),)


@VariableShape.as_shape
def variable_shape_as_shape(op):
    data = op.inputs[0]._handle_data
    return data[0][1] if data else None


@VariableShape.cases
def variable_shape_cases(case):
    @case.program
    def known_and_set(step):
        v = raw.VarHandleOp(shape=[2, 3], dtype="float32")
        step(raw.AssignVariableOp(v, np.zeros((2, 3), np.float32)))
        step(raw.VariableShape(v), gives=np.array([2, 3], np.int32))
        step(raw.VariableShape(v, out_type="int64"), gives=np.array([2, 3], np.int64))


@VariableShape.host
@VariableShape.lower
def variable_shape_value(input, *, out_type, ctx):
    return np.array(ctx.read(input).shape, out_type.storage)


DestroyResourceOp = op("""
    DestroyResourceOp(resource: resource) -> ()
      ignore_lookup_error: bool = true

    Forgets a resource.
""")  # fmt: skip


@DestroyResourceOp.host
def destroy_resource_host(resource, *, ignore_lookup_error, ctx):
    there = ctx.resources.delete(resource)
    if isinstance(resource, VariableState):
        there = there or resource.is_initialized
        ctx.forget(resource)
    if not there and not ignore_lookup_error:
        raise errors.NotFoundError(None, None, f"Resource localhost/{resource} does not exist.")
    return ()


@DestroyResourceOp.cases
def destroy_resource_cases(case):
    @case.program
    def forgotten(step):
        v = raw.VarHandleOp(shape=[], dtype="float32")
        step(raw.AssignVariableOp(v, 1.0))
        step(raw.DestroyResourceOp(v))
        step(raw.VarIsInitializedOp(v), gives=False)


@IsVariableInitialized.cases
def is_variable_initialized_cases(case):
    @case.program
    def before_and_after(step):
        v = raw.VariableV2(shape=[], dtype="float32")
        step(raw.IsVariableInitialized(v), gives=False)
        step(raw.Assign(v, 1.0))
        step(raw.IsVariableInitialized(v), gives=True)


# -- writing -------------------------------------------------------------------------------------------------

Assign = op("""
    Assign(ref: Ref(T), value: T) -> (output_ref: Ref(T))
      T: type
      validate_shape: bool = true
      use_locking: bool = true
      allows_uninitialized_input

    Puts a value into a reference variable.
""", grad=None)  # fmt: skip


@Assign.shape
def assign_shape(ref, value, *, validate_shape):
    return shapes.merge(ref, value) if validate_shape else value


@Assign.host
@Assign.lower
def assign(ref, value, *, validate_shape, ctx):
    # A variable that was once given another shape keeps to that.
    held = ctx.read(ref).shape if validate_shape and ctx.is_initialized(ref) else ref.shape
    if validate_shape and not shapes.compatible(held, value.shape):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Assign requires shapes of both tensors to match. lhs shape= {shapes.to_text(held)} rhs shape= "
            f"{shapes.to_text(value.shape)}",
        )
    ctx.write(ref, value)
    return ref


def _updated(ctx, ref, value, combine, is_resource):
    old = ctx.read(ref)
    if old.shape != value.shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Cannot update variable with shape {shapes.to_text(old.shape)} using a Tensor with shape "
            f"{shapes.to_text(value.shape)}, shapes must be equal."
            if is_resource
            else "Parameters and update must be the same size",
        )
    ctx.write(ref, combine(old, value))
    return ref


def _ref_update(name, verb, combine):
    declared = op(f"""
    {name}(ref: Ref(T), value: T) -> (output_ref: Ref(T))
      T: {{numbertype}}
      use_locking: bool = false

    {verb} a reference variable.
    """, shape=shapes.merge, grad=None)  # fmt: skip
    rule = lambda ref, value, *, ctx: _updated(ctx, ref, value, combine, False)  # noqa: E731
    declared.host(rule)
    declared.lower(rule)

    @declared.cases
    def cases(case):
        @case.program
        def twice(step):
            v = raw.VariableV2(shape=[2], dtype="float32")
            step(raw.Assign(v, [1.0, 2.0]))
            first = combine(np.float32([1, 2]), np.float32([3, 4]))
            step(declared(v, [3.0, 4.0]), gives=first)
            step(declared(v, [3.0, 4.0]), gives=combine(first, np.float32([3, 4])))

    return declared


AssignAdd = _ref_update("AssignAdd", "Adds to", lambda old, value: old + value)
AssignSub = _ref_update("AssignSub", "Subtracts from", lambda old, value: old - value)

AssignVariableOp = op("""
    AssignVariableOp(resource: resource, value: dtype) -> ()
      dtype: type

    Puts a value into a resource variable.
""")  # fmt: skip


def _assign_shape(resource, value, *, dtype, ctx):
    held, shape = _held(ctx)
    if held is not None and held is not dtype:
        raise ValueError(
            f"Trying to assign variable with wrong dtype. Expected {held.wire_name} got {dtype.wire_name}"
        )
    shapes.merge(shape, value)
    return []


AssignVariableOp.shape(_assign_shape)


@AssignVariableOp.host
@AssignVariableOp.lower
def assign_variable(resource, value, *, dtype, ctx):
    if resource.dtype is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Trying to assign variable with wrong dtype. Expected {resource.dtype.wire_name} got {dtype.wire_name}",
        )
    ctx.write(resource, value)
    return ()


def _resource_update(name, verb, combine):
    declared = op(f"""
    {name}(resource: resource, value: dtype) -> ()
      dtype: type

    {verb} a resource variable.
    """, shape=_assign_shape)  # fmt: skip

    def rule(resource, value, *, ctx):
        _updated(ctx, resource, value, combine, True)
        return ()

    declared.host(rule)
    declared.lower(rule)

    @declared.cases
    def cases(case):
        @case.program
        def once(step):
            v = raw.VarHandleOp(shape=[2], dtype="float32")
            step(raw.AssignVariableOp(v, [1.0, 2.0]))
            step(declared(v, [3.0, 4.0]))
            step(
                raw.ReadVariableOp(v, dtype="float32"), gives=combine(np.float32([1, 2]), np.float32([3, 4]))
            )

    return declared


AssignAddVariableOp = _resource_update("AssignAddVariableOp", "Adds to", lambda old, value: old + value)
AssignSubVariableOp = _resource_update(
    "AssignSubVariableOp", "Subtracts from", lambda old, value: old - value
)
