"""Public functions of other topics by name: `public.shape(x)` builds what `tf.shape(x)` builds.

Wrappers are made of other wrappers, some of which fold what is static (`tf.shape`, `tf.rank`). They are looked up
when called, so no topic imports another.
"""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES


class _Public:
    """Every public function of one namespace as an attribute."""

    def __init__(self, prefix: str = ""):
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        try:
            return NAMES[self._prefix + name]
        except KeyError:
            raise AttributeError(f"headrace has no tf.{self._prefix}{name}") from None


public = _Public()
public_math = _Public("math.")
public_nn = _Public("nn.")


def renamed(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    """Returns the value of an argument that has a deprecated second name.

    Raises:
      ValueError: Both are given.
    """
    if old is None:
        return new
    if new is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old


def only_named(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    """Checks that a function which takes only named arguments was called so, and with both.

    Raises:
      ValueError: A positional argument was given, or one is missing.
    """
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
