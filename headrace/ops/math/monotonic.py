"""Whether the elements of a tensor rise."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.export import NAMES, export
from headrace.graph.default import name_scope
from headrace.opdef import constant_node, convert_to_tensor, raw
from headrace.opdef.nodes import shape_of, size_of


def _differences(x: Any) -> Any:
    """Returns each element less the one before, row by row; nothing for less than two elements."""
    x = raw.Reshape(x, [-1])
    is_short = raw.Less(size_of(x), 2)
    without_last = shape_of(x) - 1

    def differences() -> Any:
        cut = NAMES["strided_slice"]
        return cut(x, [1], [1] + without_last) - cut(x, [0], without_last)

    return NAMES["cond"](is_short, lambda: constant_node(np.zeros(0), x.dtype), differences)


def _rising(public: str, compare: str, what: str) -> None:
    def check(x: Any, name: str | None = None) -> Any:
        with name_scope(name, public, [x]):
            differences = _differences(convert_to_tensor(x, name="x"))
            zero = convert_to_tensor(0, differences.dtype)
            return NAMES["reduce_all"](getattr(raw, compare)(zero, differences))

    check.__name__ = check.__qualname__ = public
    check.__doc__ = f"""Returns whether each element is {what} the one before, row by row.

    Args:
      x: A tensor of numbers.
      name: The scope of the nodes.
    """
    export("math." + public, "debugging." + public, public)(check)


_rising("is_non_decreasing", "LessEqual", "at least")
_rising("is_strictly_increasing", "Less", "greater than")
