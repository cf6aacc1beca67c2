"""The registry of ops, and `raw`: each op by its TensorFlow name."""

from __future__ import annotations

import difflib
from typing import Any

from headrace.export import LateDict
from headrace.graph import hooks

OPS = LateDict()

# Gradients that programs register under names of their own (RegisterGradient), for gradient_override_map.
GRADIENTS: dict[str, Any] = {}


def lookup(name: str) -> Any:
    """Returns the op of this name.

    Raises:
      ValueError: No such op is known.
    """
    found = OPS.find(name)
    if found is None:
        near = difflib.get_close_matches(name, OPS, 1)
        hint = f" The nearest that exists is {near[0]}." if near else ""
        raise ValueError(f"Op type not registered '{name}'.{hint}")
    return found


hooks.lookup_kind = lookup


class Raw:
    """All ops as attributes: `raw.MatMul(a, b)` adds one MatMul node."""

    def __getattr__(self, name: str) -> Any:
        try:
            found = OPS[name]
        except KeyError:
            near = difflib.get_close_matches(name, OPS, 1)
            hint = f"; the nearest that exists is {near[0]}" if near else ""
            raise AttributeError(f"headrace has no op {name}{hint}") from None
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return sorted(OPS)


raw: Any = Raw()
