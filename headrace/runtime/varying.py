"""Values whose shapes differ between steps that are fed the same shapes: distinct ids, what a mask leaves over.

A program is compiled for shapes, so a cluster that such a value meets is interpreted in nearly every step. Once that
shows, a few steps are interpreted as a whole and looked at; the nodes that meet such values run on the host from then
on, and what is left of the clusters keeps its shapes and is compiled.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.graph import Operation, Tensor
from headrace.runtime.trace import can_lower

WHY = "shapes that it meets differ between steps that are fed the same shapes"
TOO_FEW = "what is left around it is not worth a program"

_STEPS = 3  # that are looked at
_NUMBERS = 8  # integers; a tensor of so few may say how large another one is
# A program of nodes that take less takes longer to be called than the interpreter takes to run them.
_WORTH_A_PROGRAM_S = 400e-6
_NODE_S = 2e-6  # what the interpreter adds to each node's own time
# Nodes that take longer may be worth a program for each shape after all.
_WORTH_PROGRAMS_S = 20e-3


class Varying:
    """Looks at steps of a plan.

    Args:
      late: What `headrace.passes.access.late_reads` says of the plan's nodes.
    """

    def __init__(self, late: dict[Operation, tuple[Tensor, ...]]):
        self._late = late
        self._seen: dict[Any, int] = {}  # shapes of feeds -> steps
        self._first: dict[Any, Any] = {}  # shapes of feeds, node -> what its outputs were like at first
        self._differs: dict[Operation, list[bool]] = {}  # whether an output's shape differed
        self._numbers_differ: dict[Operation, list[bool]] = {}
        self._seconds: dict[Operation, float] = {}

    def instructions(self, shapes: Any, instructions: Sequence[Any]) -> list[Any]:
        """Returns instructions that are looked at while they run, in a step that is fed these shapes."""
        self._seen[shapes] = self._seen.get(shapes, 0) + 1
        watched = []
        for ins in instructions:
            copied = copy.copy(ins)
            copied.kernel = _Watched(self, ins.kernel, ins.op, shapes)
            watched.append(copied)
        return watched

    @property
    def is_over(self) -> bool:
        """Whether enough steps have been looked at."""
        return max(self._seen.values(), default=0) >= _STEPS

    @property
    def has_seen_any(self) -> bool:
        """Whether any shape differed."""
        return any(any(flags) for flags in self._differs.values())

    def note(self, shapes: Any, op: Operation, outputs: Sequence[Any], seconds: float) -> None:
        """Notes what a node gave in a step that is fed these shapes, and how long it took."""
        self._seconds[op] = min(self._seconds.get(op, math.inf), seconds)
        now = [_looks(v) for v in outputs]
        first = self._first.setdefault((shapes, op), now)
        if first is now:
            return
        for table, which in ((self._differs, 0), (self._numbers_differ, 1)):
            flags = table.setdefault(op, [False] * len(now))
            for i, (a, b) in enumerate(zip(first, now, strict=True)):
                flags[i] = flags[i] or a[which] != b[which]

    def nodes(self, ops: Iterable[Operation]) -> set[Operation]:
        """Returns which of a plan's nodes, given in order, meet values whose shapes differ."""
        found: set[Operation] = set()
        varying: set[Tensor] = set()
        for op in ops:
            meets = not varying.isdisjoint(self._late.get(op, op._inputs))
            gives = self._differs.get(op, ())
            # A number is a size only if it follows from a shape that differs; labels differ, too.
            numbers = self._numbers_differ.get(op, ()) if meets else ()
            varying.update(t for t, flag in zip(op._outputs, gives, strict=False) if flag)
            varying.update(t for t, flag in zip(op._outputs, numbers, strict=False) if flag)
            if meets or any(gives):
                found.add(op)
        takes = sum(self._seconds.get(op, 0.0) for op in found if can_lower(op))
        return found if takes < _WORTH_PROGRAMS_S else set()

    def too_few(self, parts: Sequence[Sequence[Operation]]) -> list[Operation]:
        """Returns the nodes of those clusters, the even parts, that are not worth programs of their own."""
        out: list[Operation] = []
        for part in parts[::2]:
            if sum(_NODE_S + self._seconds.get(op, 0.0) for op in part) < _WORTH_A_PROGRAM_S:
                out += part
        return out


def _looks(value: Any) -> tuple[Any, Any]:
    """Returns a value's shape, and its numbers if it has few."""
    shape = getattr(value, "shape", None)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("i", "u") and value.size <= _NUMBERS:
        return shape, value.tobytes()
    return shape, None


class _Watched:
    """A kernel whose results are looked at."""

    __slots__ = ("_kernel", "_op", "_shapes", "_varying")

    def __init__(self, varying: Varying, kernel: Any, op: Operation, shapes: Any):
        self._varying, self._kernel, self._op, self._shapes = varying, kernel, op, shapes

    def __call__(self, step: Any, operands: list[Any]) -> Any:
        start = time.perf_counter()
        outputs = self._kernel(step, operands)
        self._varying.note(self._shapes, self._op, outputs, time.perf_counter() - start)
        return outputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)
