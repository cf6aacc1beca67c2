"""A variable's state: one tensor that steps read and write."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import errors
from headrace.dtypes import DType
from headrace.shapes import Shape


class VariableState:
    """The value of a variable in a session, None before it is initialized.

    Values are never changed in place by Python code: a write puts another array here. The value may be a NumPy array
    or a JAX array; compiled steps that write it may reuse a JAX array's memory, and JAX sees to it that NumPy views
    of that memory stay as they were.
    """

    __slots__ = ("dtype", "name", "shape", "value")

    def __init__(self, name: str, dtype: DType, shape: Shape):
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.value: Any = None

    @property
    def is_initialized(self) -> bool:
        return self.value is not None

    def read(self) -> np.ndarray[Any, Any]:
        """Returns the value as a NumPy array that must not be written to.

        Raises:
          FailedPreconditionError: The variable is not initialized.
        """
        value = self.value
        if value is None:
            raise uninitialized(self.name)
        return value if type(value) is np.ndarray else np.asarray(value)

    def __repr__(self) -> str:
        return f"<state of variable {self.name}>"


def uninitialized(name: str) -> errors.OpError:
    """Returns the error for a read before the first write."""
    return errors.FailedPreconditionError(None, None, f"Attempting to use uninitialized value {name}")  # type: ignore[no-any-return]
