"""What ops on parts of variables have in common: their checks of indices and shapes, and how they refuse."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from headrace import errors, shapes
from headrace.lazy import jnp

NUMBERS = "{numbertype}"


def invalid(message: str) -> NoReturn:
    """Raises an InvalidArgumentError; the runtime adds the node."""
    raise errors.InvalidArgumentError(None, None, message)


def held(ctx: Any, operand: str = "resource") -> tuple[Any, Any]:
    """Returns what a shape rule knows of a variable behind a handle: its dtype and shape, each maybe None."""
    data = ctx.handle(operand)
    return data[0] if data else (None, None)


def value_of(ctx: Any, variable: Any, name: str = "") -> Any:
    """Returns the value of a variable that is to be changed or read in part.

    Raises:
      NotFoundError: `name` says that it is a resource, and it has no value.
      FailedPreconditionError: It is a reference and has no value.
    """
    if name and not ctx.is_initialized(variable):
        raise errors.NotFoundError(
            None, None, f"Resource localhost/{variable.name}/N10tensorflow3VarE does not exist."
        )
    return ctx.read(variable)


def row_shape(params: Any, indices: Any, updates: Any) -> None:
    """Checks the static shapes of an update of rows: `updates` is a scalar, or a row for each index."""
    if updates is not None and len(updates) == 0:
        return
    wanted = None
    if indices is not None and params is not None:
        wanted = indices + params[1:]
    shapes.merge(updates, wanted)


def _text(shape: Any) -> str:
    return shapes.to_text(tuple(int(d) for d in shape))


def check_rows(params: Any, indices: Any, updates: Any, kind: str = "") -> None:
    """Checks the shapes of an update of rows of a variable, a resource if `kind` says so, while a step runs."""
    if params.ndim < 1:
        invalid(f"params must be at least 1-D, got shape {_text(params.shape)}")
    if updates.ndim and tuple(updates.shape) != tuple(indices.shape) + tuple(params.shape[1:]):
        if kind and indices.size and updates.size % indices.size:
            invalid(
                f"shape of indices ({_text(indices.shape)}) is not compatible with the shape of updates "
                f"({_text(updates.shape)})"
            )
        invalid(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{_text(updates.shape)}, indices.shape {_text(indices.shape)}, params.shape {_text(params.shape)}"
        )


def check_row_numbers(indices: Any, rows: int) -> None:
    """Refuses row numbers outside [0, rows)."""
    bad = (indices < 0) | (indices >= rows)
    if bad.any():
        place = np.unravel_index(int(np.flatnonzero(bad.ravel())[0]), bad.shape) if bad.ndim else ()
        at = f"[{','.join(str(int(i)) for i in place)}]" if bad.ndim else ""
        invalid(f"indices{at} = {int(indices[place])} is not in [0, {rows})")


def rows_in_range(indices: Any, rows: int) -> Any:
    """Returns whether all row numbers are in [0, rows), as a traced bool."""
    return jnp.all((indices >= 0) & (indices < rows))


def coordinates(indices: Any) -> tuple[Any, ...]:
    """Returns the coordinates along each dimension, from a tensor that holds them in its last dimension."""
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


def slice_shape(params: Any, indices: Any, updates: Any) -> None:
    """Checks the static shapes of an update of slices at coordinates."""
    if indices is None or updates is None:
        return
    outer = len(indices) - 1
    try:
        shapes.merge(indices[:-1], updates[:outer])
    except ValueError as e:
        raise ValueError(
            f"The outer {outer} dimensions of indices.shape={shapes.to_text(indices)} must match the outer {outer} "
            f"dimensions of updates.shape={shapes.to_text(updates)}: {e}"
        ) from None
    if params is None or indices[-1] is None or indices[-1] > len(params):
        return
    inner = len(params) - indices[-1]
    try:
        shapes.merge(params[indices[-1] :], updates[outer:])
    except ValueError as e:
        raise ValueError(
            f"The inner {inner} dimensions of input.shape={shapes.to_text(params)} must match the inner "
            f"{len(updates) - outer} dimensions of updates.shape={shapes.to_text(updates)}: {e}"
        ) from None


def check_slices(params: Any, indices: Any, updates: Any) -> None:
    """Checks the shapes of an update of slices while a step runs."""
    if indices.ndim < 1:
        invalid(f"Indices shape must have rank at least one. Found:{_text(indices.shape)}")
    outer, depth = tuple(indices.shape[:-1]), indices.shape[-1]
    if depth == 0 and indices.size == 0 and updates.size:
        invalid(f"Indices and updates specified for empty output.  indices shape: {_text(indices.shape)}")
    if not updates.ndim or updates.shape[0] != indices.shape[0]:
        invalid(
            "The outermost dimension of updates and indices must match. Got indices.shape "
            f"{_text(indices.shape)}, updates.shape {_text(updates.shape)}"
        )
    if depth > params.ndim or tuple(updates.shape) != outer + tuple(params.shape[depth:]):
        invalid(
            "Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got updates.shape: "
            f"{_text(updates.shape)}, indices.shape: {_text(indices.shape)}, params_shape: {_text(params.shape)}, "
            f"slice_dim: {depth}, and batch_dim: {len(outer)}"
        )


def check_coordinates(indices: Any, shape: Any, what: str = "shape") -> None:
    """Refuses coordinates outside a shape."""
    limits = np.array(shape[: indices.shape[-1]], np.int64)
    bad = ((indices < 0) | (indices >= limits)).any(-1)
    if bad.any():
        place = np.unravel_index(int(np.flatnonzero(bad.ravel())[0]), bad.shape) if bad.ndim else ()
        at = f"[{','.join(str(int(i)) for i in place)}]" if bad.ndim else ""
        spot = ", ".join(str(int(i)) for i in indices[place])
        invalid(f"indices{at} = [{spot}] does not index into {what} {_text(shape)}")


def coordinates_in_range(indices: Any, shape: Any) -> Any:
    """Returns whether all coordinates lie in a shape, as a traced bool."""
    limits = np.array(shape[: indices.shape[-1]], indices.dtype)
    return jnp.all((indices >= 0) & (indices < limits))
