"""How rules of this topic refuse values at run time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from headrace import errors


def invalid(message: str) -> NoReturn:
    """Raises an InvalidArgumentError; the runtime adds the node."""
    raise errors.InvalidArgumentError(None, None, message)


def shown(shape: Iterable[int]) -> str:
    """Returns a shape as TensorFlow's kernels write it: `[2,3]`."""
    return "[" + ",".join(str(int(d)) for d in shape) + "]"
