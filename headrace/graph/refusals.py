"""Errors about tensors used where they can't be."""

from __future__ import annotations

from headrace.export import export_value


class OperatorNotAllowedInGraphError(TypeError):
    """A tensor without a value was used as if it had one: as a Python bool, or in a loop."""


class InaccessibleTensorError(ValueError):
    """A tensor of a function's body was used outside of it."""


for _error in (OperatorNotAllowedInGraphError, InaccessibleTensorError):
    export_value(f"python.framework.errors_impl.{_error.__name__}", _error)
    export_value(f"python.framework.errors.{_error.__name__}", _error)
