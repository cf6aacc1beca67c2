"""Functions that change variables of either kind: `tf.assign`, `tf.scatter_add` and kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.opdef import convert_to_tensor, raw


@export("assign")
def assign(
    ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: str | None = None
) -> Any:
    """Puts a value into a variable.

    Args:
      ref: The variable.
      value: The new value.
      validate_shape: Whether the value must have the variable's shape (reference variables).
      use_locking: Whether other writers wait (reference variables).
      name: The node's name.

    Returns:
      What holds the new value: a reference, or the variable as it is after the write.
    """
    if ref.dtype.is_ref:
        return raw.Assign(ref, value, use_locking=use_locking, name=name, validate_shape=validate_shape)
    return ref.assign(value, name=name)


@export("assign_add")
def assign_add(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Adds to a variable; see `assign`."""
    if ref.dtype.is_ref:
        return raw.AssignAdd(ref, value, use_locking=use_locking, name=name)
    return ref.assign_add(value)


@export("assign_sub")
def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Subtracts from a variable; see `assign`."""
    if ref.dtype.is_ref:
        return raw.AssignSub(ref, value, use_locking=use_locking, name=name)
    return ref.assign_sub(value)


@export("count_up_to")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """Counts a variable one up and gives its old value.

    Args:
      ref: An integer variable.
      limit: At this value the node fails with OutOfRangeError.
      name: The node's name.
    """
    if ref.dtype.is_ref:
        return raw.CountUpTo(ref, limit=limit, name=name)
    return raw.ResourceCountUpTo(ref.handle, limit=limit, T=ref.dtype, name=name)


def _scatter(public: str, op: str, what: str, use_locking: bool = False) -> Callable[..., Any]:
    default = use_locking

    def function(
        ref: Any, indices: Any, updates: Any, use_locking: bool = default, name: str | None = None
    ) -> Any:
        if ref.dtype.is_ref:
            return getattr(raw, op)(ref, indices, updates, use_locking=use_locking, name=name)
        rows = convert_to_tensor(updates, ref.dtype)
        return ref._after(getattr(raw, "Resource" + op)(ref.handle, indices, rows, name=name))

    function.__name__ = public
    function.__doc__ = f"""{what}

    Args:
      ref: The variable.
      indices: An integer tensor of row numbers; a row may be named more than once.
      updates: A row for each index.
      use_locking: Whether other writers wait.
      name: The node's name.

    Returns:
      What holds the new value: a reference, or the variable as it is after the write.
    """
    return export(public)(function)


scatter_update = _scatter("scatter_update", "ScatterUpdate", "Puts rows into a variable.", True)
scatter_add = _scatter("scatter_add", "ScatterAdd", "Adds rows to those of a variable.")
scatter_sub = _scatter("scatter_sub", "ScatterSub", "Subtracts rows from those of a variable.")
scatter_mul = _scatter("scatter_mul", "ScatterMul", "Multiplies rows of a variable by others.")
scatter_div = _scatter("scatter_div", "ScatterDiv", "Divides rows of a variable by others.")
scatter_min = _scatter("scatter_min", "ScatterMin", "Keeps the lesser of a variable's rows and others.")
scatter_max = _scatter("scatter_max", "ScatterMax", "Keeps the greater of a variable's rows and others.")


def _scatter_nd(public: str, op: str, what: str, use_locking: bool = False) -> Callable[..., Any]:
    default = use_locking

    def function(
        ref: Any, indices: Any, updates: Any, use_locking: bool = default, name: str | None = None
    ) -> Any:
        if ref.dtype.is_ref:
            return getattr(raw, op)(ref, indices, updates, use_locking=use_locking, name=name)
        slices = convert_to_tensor(updates, ref.dtype)
        return ref._after(getattr(raw, "Resource" + op)(ref.handle, indices, slices, name=name))

    function.__name__ = public
    function.__doc__ = f"""{what}

    Args:
      ref: The variable.
      indices: An integer tensor whose last dimension holds coordinates of elements or slices.
      updates: An element or slice for each.
      use_locking: Whether other writers wait.
      name: The node's name.

    Returns:
      What holds the new value: a reference, or the variable as it is after the write.
    """
    return export(public)(function)


scatter_nd_update = _scatter_nd("scatter_nd_update", "ScatterNdUpdate", "Puts slices into a variable.", True)
scatter_nd_add = _scatter_nd("scatter_nd_add", "ScatterNdAdd", "Adds slices to those of a variable.")
scatter_nd_sub = _scatter_nd("scatter_nd_sub", "ScatterNdSub", "Subtracts slices from those of a variable.")


@export("batch_scatter_update")
def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Puts rows into a variable, batch by batch.

    Args:
      ref: The variable; its first dimensions are those of the batch.
      indices: Row numbers inside each batch.
      updates: A row for each index.
      use_locking: Whether other writers wait.
      name: The nodes' name scope.
    """
    from headrace.graph import name_scope

    with name_scope(name):
        where = convert_to_tensor(indices, name="indices")
        shape = NAMES["shape"](where)
        batch_dims = where.get_shape().ndims - 1
        index = raw.ExpandDims(where, -1)
        parts = [index]
        if batch_dims:
            parts = [*_batch_coordinates(where, shape, batch_dims, index), index]
        places = NAMES["concat"](parts, axis=-1)
        return scatter_nd_update(ref, places, updates, use_locking, name)


def _batch_coordinates(indices: Any, shape: Any, batch_dims: int, like: Any) -> list[Any]:
    """Returns, for each batch dimension, a tensor of the coordinates in it."""
    one = dtypes.as_dtype(indices.dtype)
    found = []
    ones = NAMES["ones_like"](like)
    for dim in range(batch_dims):
        steps = NAMES["range"](NAMES["cast"](shape[dim], one))
        target = [1] * dim + [-1] + [1] * (batch_dims - dim + 1)
        found.append(raw.Mul(raw.Reshape(steps, target), ones, name="mul"))
    return found
