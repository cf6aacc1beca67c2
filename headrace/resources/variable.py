"""A variable's state: one tensor that steps read and write."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from headrace import errors
from headrace.dtypes import DType
from headrace.shapes import Shape


class VariableState:
    """The value of a variable in a session, None before it is initialized.

    A write puts another array here; only an array that nobody else holds is changed in place (`own`). The value may be
    a NumPy array or a JAX array; compiled steps that write it may reuse a JAX array's memory, and JAX sees to it that
    NumPy views of that memory stay as they were.
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

    def own(self) -> np.ndarray[Any, Any]:
        """Returns the value as an array that may be written to, which changes the variable: a copy if it is shared.

        The caller holds the session's lock, and writes nothing before it knows that it will finish.

        Raises:
          FailedPreconditionError: The variable is not initialized.
        """
        value = self.value
        if value is None:
            raise uninitialized(self.name)
        if (
            type(value) is np.ndarray
            and value.flags.owndata
            and value.flags.writeable
            and sys.getrefcount(value) <= _UNSHARED
        ):
            return value
        value = self.value = np.array(value)
        return value

    def __repr__(self) -> str:
        return f"<state of variable {self.name}>"


class _Probe:
    """Holds a value as a VariableState does."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = np.zeros(1)

    def count(self) -> int:
        value = self.value
        return sys.getrefcount(value)


# How many references `own` sees to an array that nobody else has: views, other steps, JAX, all hold one each.
_UNSHARED = _Probe().count()


def uninitialized(name: str) -> errors.OpError:
    """Returns the error for a read before the first write."""
    return errors.FailedPreconditionError(None, None, f"Attempting to use uninitialized value {name}")  # type: ignore[no-any-return]
