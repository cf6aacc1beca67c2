"""What the kernels of summaries have in common: messages as values, tags, refusals."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from headrace import errors


def invalid(message: str) -> NoReturn:
    """Raises an InvalidArgumentError; the runtime adds the node."""
    raise errors.InvalidArgumentError(None, None, message)


def shown(shape: Any) -> str:
    """Returns a shape as TensorFlow's kernels write it: `[2,3]`."""
    return "[" + ",".join(str(int(d)) for d in shape) + "]"


def string_value(value: bytes) -> np.ndarray[Any, Any]:
    """Returns bytes as a scalar string tensor."""
    out = np.empty((), object)
    out[()] = value
    return out


def serialized(summary: Any) -> np.ndarray[Any, Any]:
    """Returns a Summary message as a scalar string tensor."""
    return string_value(summary.SerializeToString())


def text(value: Any) -> str:
    """Returns a string element as text. Messages hold UTF-8 only: what is not gets a replacement character."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def scalar_tag(tag: np.ndarray[Any, Any], refusal: str) -> str:
    """Returns a summary's one tag.

    Raises:
      InvalidArgumentError: It is no scalar.
    """
    if np.ndim(tag):
        invalid(refusal)
    return text(np.asarray(tag, object)[()])


def numbered(tag: str, what: str, i: int, most: int) -> str:
    """Returns the tag of one image or sound of several: the number is left out where one at most is wanted."""
    return f"{tag}/{what}" if most == 1 else f"{tag}/{what}/{i}"
