"""Grouping of operations: no_op, group, tuple and with_dependencies."""

from __future__ import annotations

from headrace.graph import (
    IndexedSlices,
    Operation,
    Tensor,
    colocate_with,
    control_dependencies,
    get_default_graph,
)
from headrace.graph import name_scope as scope_of
from headrace.graph.structure import flatten
from headrace.opdef import convert_to_tensor, export, raw


@export("no_op")
def no_op(name=None):
    """Returns an operation that does nothing; it is good for what waits for it.

    Args:
      name: The node's name.
    """
    return raw.NoOp(name=name)


def with_dependencies(dependencies, output, name=None):
    """Returns `output` as it is after `dependencies` have run.

    Args:
      dependencies: Operations and tensors.
      output: A Tensor or IndexedSlices.
      name: The scope's name.
    """
    with scope_of(name, "control_dependency", [*dependencies, output]) as scope:
        with colocate_with(output), control_dependencies(list(dependencies)):
            if isinstance(output, IndexedSlices):
                values = raw.Identity(output.values, name=scope)
                return IndexedSlices(values, output.indices, output.dense_shape)
            return raw.Identity(output, name=scope)


def _no_op_after(deps, device, name):
    """Adds a NoOp on a device that waits for others."""
    with control_dependencies(deps):
        if device is None:
            return no_op(name)
        with get_default_graph().device(device):
            return no_op(name)


@export("group")
def group(*inputs, **kwargs):
    """Returns an operation that has run once all `inputs` have.

    Args:
      *inputs: Operations, tensors, or nested lists of those.
      **kwargs: `name`, the node's name.

    Raises:
      TypeError: An input is something else, or there is another keyword.
      ValueError: An input comes from another graph.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    with scope_of(name, "group_deps", flatten(list(inputs))) as scope:
        if not inputs:
            return no_op(scope)
        by_device = {}
        for each in flatten(list(inputs), composites=True):
            if not hasattr(each, "device"):
                raise TypeError(f"'{inputs}' should be zero or more (nested) Tensors, but there is {each!r}")
            by_device.setdefault(each.device, []).append(each)
        if len(by_device) == 1:
            ((device, deps),) = by_device.items()
            return _no_op_after(deps, device or None, scope)
        # One NoOp on each device, so that not every input's end is sent to the place of the whole.
        deps = []
        for device in sorted(by_device, key=lambda d: d or ""):
            deps.append(_no_op_after(by_device[device], device or None, None))
        return _no_op_after(deps, None, scope)


@export("tuple")
def tuple_(tensors, name=None, control_inputs=None):
    """Returns tensors with the values of others, each available only when all are.

    Args:
      tensors: Tensors, IndexedSlices, operations, or None (which stay as they are).
      name: The scope's name.
      control_inputs: Further operations to wait for.

    Raises:
      TypeError: A control input is no operation or tensor.
      ValueError: There is no tensor among `tensors`.
    """
    with scope_of(name, "tuple", tensors):
        tensors = [
            t if t is None or isinstance(t, Operation) or hasattr(t, "op") else convert_to_tensor(t)
            for t in tensors
        ]
        gating = [t if isinstance(t, Operation) else t.op for t in tensors if t is not None]
        for each in control_inputs or ():
            if isinstance(each, Tensor):
                each = each.op
            elif not isinstance(each, Operation):
                raise TypeError(f"Control input must be Operation or Tensor: {each}")
            gating.append(each)
        # The order of the control inputs, and with it the GraphDef, does not depend on the order of the arguments.
        gating = sorted(set(gating), key=lambda operation: operation._id)
        if not gating:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*gating)
        out = []
        for t in tensors:
            if t is None:
                out.append(None)
            elif isinstance(t, Operation):
                with control_dependencies([gate]):
                    out.append(no_op())
            else:
                out.append(with_dependencies([gate], t))
        return out


@export("verify_tensor_all_finite", "debugging.assert_all_finite")
def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
    """Returns a tensor with the value of another; a step in which it holds a NaN or an infinity fails.

    Args:
      t: The tensor.
      msg: What the error's message begins with.
      name: The scope's name.
      x: The new name of `t`.
      message: The new name of `msg`.

    Raises:
      ValueError: An argument is given by both names.
    """
    for new, old, names in ((x, t, ("x", "t")), (message, msg, ("message", "msg"))):
        if new is not None and old is not None:
            raise ValueError(f"Cannot specify both '{names[1]}' and '{names[0]}'")
    x = t if x is None else x
    message = msg if message is None else message
    with scope_of(name, "VerifyFinite", [x]):
        x = convert_to_tensor(x, name="x")
        with colocate_with(x):
            checked = raw.CheckNumerics(x, message=message if message else "")
            return with_dependencies([checked], x)
