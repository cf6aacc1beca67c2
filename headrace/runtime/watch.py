"""Watching steps run: which node ran on the host when, which cluster, and what was compiled meanwhile."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.graph import Operation, Tensor
from headrace.lazy import jax
from headrace.runtime.cluster import Cluster
from headrace.runtime.context import Step

_LISTS_REMEMBERED = 1000

# What makes a program, in the order in which it happens.
MAKING = ("jax", "load", "trace", "lower", "compile")


class Row(NamedTuple):
    """One thing that took time.

    Attributes:
      kind: "host" for a node; "cluster"; or one of `MAKING` for what made a cluster's program.
      what: The node, or the cluster.
      start: By `time.time()`.
      end: Likewise.
      own_s: Seconds without what it called: a loop's without those of its body.
      outputs: What a node gave, or a cluster, by tensor.
      is_aside: Whether it happened in the compiling thread, beside the steps.
    """

    kind: str
    what: Any
    start: float
    end: float
    own_s: float
    outputs: dict[Tensor, Any]
    is_aside: bool = False


class Watch:
    """Notes what the plans that it is given to (`Plan.watch`) do.

    Args:
      keeps_outputs: Whether rows have the outputs, which keeps them alive.
    """

    def __init__(self, keeps_outputs: bool = True):
        self.rows: list[Row] = []
        self._keeps = keeps_outputs
        self._here = threading.local()
        self._timed: dict[int, tuple[Any, list[Any]]] = {}

    def instructions(self, instructions: Sequence[Any]) -> list[Any]:
        """Returns instructions that are timed as they run."""
        found = self._timed.get(id(instructions))
        if found is None or found[0] is not instructions:
            timed = []
            for ins in instructions:
                copied = copy.copy(ins)
                copied.kernel = _Timed(self, ins.kernel, ins.op)
                copied.ufunc = None  # what is watched goes through the kernel
                timed.append(copied)
            if len(self._timed) > _LISTS_REMEMBERED:
                self._timed.clear()
            found = self._timed[id(instructions)] = instructions, timed
        return found[1]

    def run(self, cluster: Cluster, step: Step, inputs: dict[Tensor, Any]) -> dict[Tensor, Any]:
        """Runs a cluster."""
        known = dict(cluster._programs)
        inner = self._enter()
        start = time.time()
        try:
            results = cluster.run(step, inputs)
            jax.block_until_ready([v for v in results.values() if hasattr(v, "block_until_ready")])
        except BaseException:
            self._leave("trace", cluster, start, time.time(), inner, {})
            raise
        end = time.time()
        for key, program in cluster._programs.items():
            if key not in known:
                start = self._making(cluster, program, start, False)
            elif not program.watched:
                self._making(cluster, program, program.cost.began, program.cost.began < start)
            program.watched = True
        self._leave("cluster", cluster, start, end, inner, results)
        return results

    def _making(self, cluster: Cluster, program: Any, start: float, is_aside: bool) -> float:
        cost = program.cost
        for kind in MAKING:
            seconds = getattr(cost, kind)
            if seconds:
                self.rows.append(Row(kind, cluster, start, start + seconds, seconds, {}, is_aside))
                start += seconds
        return start

    def _enter(self) -> list[float]:
        """Starts a row; what it calls adds its seconds to the list."""
        stack = self._here.__dict__.setdefault("stack", [])
        stack.append([0.0])
        return stack[-1]  # type: ignore[no-any-return]

    def _leave(
        self, kind: str, what: Any, start: float, end: float, inner: list[float], outputs: dict[Tensor, Any]
    ) -> None:
        stack = self._here.stack
        stack.pop()
        if stack:
            stack[-1][0] += end - start
        kept = outputs if self._keeps else {}
        self.rows.append(Row(kind, what, start, end, max(0.0, end - start - inner[0]), kept))


class _Timed:
    """A kernel that tells a watch how long it took."""

    __slots__ = ("_kernel", "_op", "_watch")

    def __init__(self, watch: Watch, kernel: Any, op: Operation):
        self._watch, self._kernel, self._op = watch, kernel, op

    def __call__(self, step: Step, operands: list[Any]) -> Any:
        watch = self._watch
        inner = watch._enter()
        start = time.time()
        out: Any = ()
        try:
            out = self._kernel(step, operands)
            for v in out:
                if hasattr(v, "block_until_ready"):
                    v.block_until_ready()
        finally:
            watch._leave("host", self._op, start, time.time(), inner, dict(zip(self._op._outputs, out)))
        return out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)
