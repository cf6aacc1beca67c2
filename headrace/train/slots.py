"""Slots: variables that belong to another variable, named after it and placed with it."""

from __future__ import annotations

from typing import Any

from headrace.graph import colocate_with
from headrace.opdef import nodes
from headrace.variables.base import Variable
from headrace.variables.initializers.basic import Zeros
from headrace.variables.resource import ResourceVariable
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope


def is_resource(variable: Any) -> bool:
    """Whether a variable is reached through a handle."""
    return isinstance(variable, ResourceVariable)


def _made(primary: Any, initializer: Any, shape: Any, dtype: Any, validate_shape: bool) -> Any:
    current = get_variable_scope()
    partitioner = current.partitioner
    # A slot of one part of a partitioned variable is not cut again.
    current.set_partitioner(None)
    slot = get_variable(
        "",
        initializer=initializer,
        trainable=False,
        use_resource=is_resource(primary),
        shape=shape,
        dtype=dtype,
        validate_shape=validate_shape,
    )
    current.set_partitioner(partitioner)
    part = getattr(primary, "_save_slice_info", None)
    if isinstance(primary, Variable) and part is not None:
        own_name = slot.op.name[len(primary.op.name) + 1 :]
        slot._set_save_slice_info(
            Variable.SaveSliceInfo(
                f"{part.full_name}/{own_name}",
                list(part.full_shape),
                list(part.var_offset),
                list(part.var_shape),
            )
        )
    return slot


def _create(
    primary: Any, name: str, colocate: bool, initializer: Any, shape: Any, dtype: Any, validate_shape: bool
) -> Any:
    with variable_scope(None, f"{primary.op.name}/{name}"):
        if not colocate:
            return _made(primary, initializer, shape, dtype, validate_shape)
        with colocate_with(primary.op):
            return _made(primary, initializer, shape, dtype, validate_shape)


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """Makes a slot that starts with a value.

    Args:
      primary: The variable or tensor that the slot belongs to.
      val: The initial value.
      name: What comes after the primary's name.
      colocate_with_primary: Whether the slot is placed with it.
    """
    known = val.get_shape().is_fully_defined()
    return _create(primary, name, colocate_with_primary, val, None, None, known)


def create_slot_with_initializer(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, colocate_with_primary: bool = True
) -> Any:
    """Makes a slot that an initializer fills.

    Args:
      primary: The variable or tensor that the slot belongs to.
      initializer: A function of shape and type.
      shape: The slot's shape.
      dtype: The slot's type.
      name: What comes after the primary's name.
      colocate_with_primary: Whether the slot is placed with it.
    """
    known = shape.is_fully_defined()
    return _create(primary, name, colocate_with_primary, initializer, shape, dtype, known)


def create_zeros_slot(primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True) -> Any:
    """Makes a slot of the primary's shape that starts with zeros.

    Args:
      primary: The variable or tensor that the slot belongs to.
      name: What comes after the primary's name.
      dtype: The slot's type, by default the primary's.
      colocate_with_primary: Whether the slot is placed with it.
    """
    dtype = primary.dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(primary, Zeros(dtype), shape, dtype, name, colocate_with_primary)
    start = primary.initialized_value() if isinstance(primary, Variable) else primary
    zeros = nodes.zeros(nodes.shape_of(start), dtype)
    return create_slot(primary, zeros, name, colocate_with_primary)
