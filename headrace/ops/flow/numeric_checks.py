"""Checks of floats: that they are close, of one type, and finite all over the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.export import NAMES
from headrace.graph import control_dependencies, get_default_graph
from headrace.graph import name_scope as scope_of
from headrace.opdef import convert_to_tensor, export, raw


@export("assert_near", "debugging.assert_near")
def assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None):
    """Returns an operation that fails unless |x - y| < atol + rtol |y| for all elements.

    Args:
      x: A tensor of floats.
      y: A tensor of the same type.
      rtol: The relative tolerance, by default ten times the type's precision.
      atol: The absolute tolerance, by default the same.
      data: Tensors to show in the message.
      summarize: How many elements of each to show, 3 by default.
      message: What the message begins with.
      name: The scope's name.
    """
    message = message or ""
    with scope_of(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype=x.dtype, name="y")
        precision = float(np.finfo(x.dtype.as_numpy_dtype).eps)
        rtol = convert_to_tensor(10 * precision if rtol is None else rtol, dtype=x.dtype, name="rtol")
        atol = convert_to_tensor(10 * precision if atol is None else atol, dtype=x.dtype, name="atol")
        if data is None:
            data = [
                message,
                f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        allowed = atol + rtol * raw.Abs(y)
        held = NAMES["reduce_all"](raw.Less(raw.Abs(x - y), allowed))
        return NAMES["Assert"](held, data, summarize=summarize)


@export("assert_same_float_dtype", "debugging.assert_same_float_dtype")
def assert_same_float_dtype(tensors=None, dtype=None):
    """Checks that tensors have one floating type, and returns it.

    Args:
      tensors: The tensors; None among them counts for nothing.
      dtype: The type that they should have, or None.

    Returns:
      The type; float32 if there is nothing to tell it from.

    Raises:
      ValueError: They differ, or the type is not floating.
    """
    if dtype is not None:
        dtype = as_dtype(dtype)
    first: Any = None
    for tensor in tensors or ():
        if tensor is None:
            continue
        found = tensor.dtype.base_dtype
        if dtype is None:
            dtype, first = found, tensor
        elif found is not dtype:
            of = f" as {getattr(first, 'name', first)}" if first is not None else ""
            named = getattr(tensor, "name", tensor)
            raise ValueError(f"{named}, type={found}, must be of the same type ({dtype}){of}.")
    if dtype is None:
        return dtypes.float32
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype


@export("add_check_numerics_ops")
def add_check_numerics_ops():
    """Returns an operation that fails if any float that the graph computes so far is infinite or NaN."""
    checks: list[Any] = []
    for operation in get_default_graph().get_operations():
        for output in operation.outputs:
            if output.dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
                message = f"{operation.name}:{output.value_index}"
                with control_dependencies(checks):
                    checks = [NAMES["check_numerics"](output, message=message)]
    return NAMES["group"](*checks)
