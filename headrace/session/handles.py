"""TensorHandle: what fetching a session handle gives."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from headrace import errors
from headrace.dtypes import DType, as_dtype, string
from headrace.resources.session_store import SessionStore

HANDLE_OPS = frozenset(("GetSessionHandle", "GetSessionHandleV2"))
"""Ops whose fetched output is a handle."""


class TensorHandle:
    """A tensor that a session keeps; it may be fed in place of a value.

    The tensor is freed when the object goes out of use, unless `get_raw_handle` was called.

    Args:
      handle: What the op gave: bytes, or a kept tensor.
      dtype: The tensor's type.
      session: The session.
    """

    def __init__(self, handle: Any, dtype: DType, session: Any):
        name = getattr(handle, "name", None)
        self._handle: str = name if name is not None else np.asarray(handle).item().decode()
        self._dtype = dtype
        self._session = weakref.ref(session)
        self._alive = True

    def __del__(self) -> None:
        session = self._session()
        if self._alive and session is not None:
            _store(session).release(self._handle)

    def __str__(self) -> str:
        return self._handle

    @property
    def handle(self) -> str:
        """The handle's text."""
        return self._handle

    def get_raw_handle(self) -> str:
        """Returns the handle's text; from now on the caller sees to it that the tensor is deleted."""
        self._alive = False
        return self._handle

    def _checked_session(self) -> Any:
        session = self._session()
        if not self._alive or session is None:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")
        return session

    def eval(self) -> Any:
        """Returns the tensor's value.

        Raises:
          TypeError: It was deleted.
        """
        return np.array(_stored(self._checked_session(), self._handle))

    def delete(self) -> None:
        """Deletes the tensor.

        Raises:
          TypeError: It was deleted before.
        """
        session = self._checked_session()
        self._alive = False
        _store(session).delete(self._handle)

    def fed_to(self, dtype: DType) -> Any:
        """Returns the value to feed to a tensor of a type.

        Raises:
          TypeError: The kept tensor was deleted.
          InvalidArgumentError: It is of another type.
        """
        value = self.eval()
        found = string if value.dtype == object else as_dtype(value.dtype)
        if found is not dtype:
            raise errors.InvalidArgumentError(
                None, None, f"Expects arg[0] to be {dtype.wire_name} but {found.wire_name} is provided"
            )
        return value


def _store(session: Any) -> SessionStore:
    return session._state.resources.lookup_or_create("", "session_store", SessionStore, SessionStore)  # type: ignore[no-any-return]


def _stored(session: Any, handle: str) -> Any:
    value = _store(session).get(handle)
    if value is None:
        raise errors.InvalidArgumentError(
            None, None, f"The tensor with handle '{handle}' is not in the session store."
        )
    return value
