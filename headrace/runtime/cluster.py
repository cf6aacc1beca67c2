"""Clusters: the nodes of one stage, compiled as one XLA program for each kind of input."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from headrace.graph import Operation, Tensor
from headrace.lazy import has_jax
from headrace.passes.access import Late
from headrace.resources.stacked_list import StackedList
from headrace.resources.variable import VariableState
from headrace.runtime import background
from headrace.runtime.context import Step
from headrace.runtime.fingerprint import Describer, Indescribable
from headrace.runtime.functions import NeedHost, NeedStatic
from headrace.runtime.program import CheckFailed, Program
from headrace.runtime.trace import can_lower, random_ops

__all__ = ["CheckFailed", "Cluster", "NeedStatic", "can_lower"]

_SHAPES_REMEMBERED = 1000
_COMPILING_S = 1.0  # what compiling a cluster takes, as long as none has been
_IMPORT_S = 0.5  # what JAX takes to be imported, and a program to be loaded

# What these give hangs on shapes alone.
_OF_SHAPES = frozenset("BroadcastGradientArgs ConcatOffset Rank Shape ShapeN Size".split())


class Cluster:
    """One stage's nodes, and the programs compiled for them so far.

    Args:
      ops: The nodes, in order.
      inputs: The tensors made outside that they take.
      outputs: The tensors that are asked for outside.
      fed: The tensors that the caller gives a value in each step; among them may be a constant's.
      late: What `headrace.passes.access.late_reads` says of the nodes.
    """

    def __init__(
        self,
        ops: list[Operation],
        inputs: list[Tensor],
        outputs: list[Tensor],
        fed: Set[Tensor] = frozenset(),
        late: Late | None = None,
    ):
        self.label = "cluster"  # what profiles call it
        self.purpose = ops[0].name  # whose results it is for
        self.last_uses: dict[Operation, list[int]] = {}  # places of values that are not needed after a node
        self.forgets: list[int] = []  # those of all its nodes
        self.ops = ops
        self.inputs = inputs
        self.fed = fed
        self.late = late or {}
        self.outputs = outputs
        self.static: set[Tensor] = set()  # inputs whose value the program is specialised on
        self.random_ops = random_ops(ops)
        self._slots = {op: i for i, op in enumerate(self.random_ops)}
        self._programs: dict[Any, Program] = {}
        self._spent: dict[Any, float] = {}  # inputs without a program -> seconds they have been interpreted
        self._compiling_s = _COMPILING_S  # how long it took to get the newest program
        self._by_name = {t: i for i, t in enumerate(inputs)}
        # A constant that is not fed is the same in all steps.
        self._changing = [t for t in inputs if t in fed or t._op.type != "Const"]
        self._variants = [t for t in inputs if t._dtype.name == "variant"]
        self.always_static = False
        self.stops = False  # whether its loops must end when a step's time is up
        self.step_s: float | None = None  # how long a step took that interpreted it, if one did
        self.jobs: dict[Any, background.Job] = {}  # programs that are being made in the background
        self._fingerprint: str | None = None

    def fingerprint(self) -> str:
        """Returns what the cluster's nodes have in common with those of another process, '' if that can't be said."""
        if self._fingerprint is None:
            try:
                self._fingerprint = Describer().cluster(self)
            except Indescribable:
                self._fingerprint = ""
        return self._fingerprint

    def _refuse_host_lists(self, inputs: dict[Tensor, Any]) -> None:
        for t in self._variants:
            if type(inputs[t]) is not StackedList:
                for op in self.ops:
                    if t in self.late.get(op, op._inputs):
                        raise NeedHost(op, f"{t.name} comes from the host")

    def signature(self, inputs: dict[Tensor, Any]) -> Any:
        """Returns the key under which a program for these inputs is kept."""
        key: list[Any] = []
        static = self.static
        for t in self._changing:
            v = inputs[t]
            if type(v) is VariableState:
                key.append((id(v), v.value is not None and (v.value.shape)))
            elif type(v) is np.ndarray and t not in static:
                key.append(v.shape)
            elif type(v) is StackedList:
                size = v.size if v.has_known_size else None
                form = v.rows is not None and (v.rows.shape, str(v.rows.dtype), v.blank is None)
                key.append((form, size, v.element_shape, v.is_set is None, v.is_fixed, v.most))
            elif t in static:
                a = np.asarray(v)
                key.append((a.shape, a.tobytes()))
            else:
                key.append(getattr(v, "shape", None))
        key.append(len(static))
        return tuple(key)

    def facts(self) -> dict[Any, Any]:
        """Returns what a trace is told beforehand."""
        return {"stops": True} if self.stops else {}

    def worth_compiling(self, key: Any, varied: bool = False) -> bool:
        """Says whether inputs of a signature have a program or have cost enough to get one.

        The first program comes at once, unless it is known that shapes vary. Other shapes may be others at each step
        (how many different rows a batch names, how long a sentence is), so theirs comes once interpreting them has
        taken as long as compiling did, or may be expected to.
        """
        if key in self._programs or key in self.jobs or not (self._programs or self.jobs or varied):
            return True
        return self._spent.get(key, 0.0) >= self._compiling_s

    def interpreted(self, key: Any, seconds: float) -> None:
        """Notes that inputs of a signature were interpreted, and how long that took."""
        if len(self._spent) > _SHAPES_REMEMBERED:
            self._spent.clear()
        self._spent[key] = self._spent.get(key, 0.0) + seconds

    def run(self, step: Step, inputs: dict[Tensor, Any], key: Any = None) -> dict[Tensor, Any]:
        """Runs the cluster, compiled first if these shapes are new.

        Args:
          step: The step.
          inputs: A value for each input.
          key: The inputs' signature, if it is known.

        Returns:
          Output tensor -> value: a JAX array, a NumPy array for what was known, or a variable's state.

        Raises:
          NeedStatic: An operand inside has to be computed first; the plan must be cut there.
          NeedHost: A node can't be part of a cluster; a list that a host rule made is among the inputs.
          CheckFailed: A check in the compiled step failed; variables are as before.
        """
        while True:
            # What programs are specialised on may have become more since the key was made.
            if key is None or key[-1] != len(self.static):
                key = self.signature(inputs)
            program = self._programs.get(key)
            try:
                if self._variants:
                    self._refuse_host_lists(inputs)
                if program is None and key in self.jobs:
                    # What is wanted at once now is on its way.
                    job = self.jobs[key]
                    if not job.is_lost:
                        job.work()
                        job.wait()
                    if self.comes(step, inputs, key):
                        program = self._programs.get(key)
                    else:
                        continue
                if program is None:
                    start = time.monotonic()
                    # Steps of other threads must not write what the trace looks at.
                    with step.state.lock:
                        program = Program(self, step, inputs)
                        obtain(program, step.state.cache)
                    values = program.run(step, inputs)
                    self._programs[key] = program
                    self._compiling_s = max(time.monotonic() - start, program.cost.made)
                    return values
                return program.run(step, inputs)
            except NeedStatic as need:
                if self._becomes_static(need):
                    key = None
                    continue
                raise

    def _becomes_static(self, need: NeedStatic) -> bool:
        """Has programs specialised on an input from now on, if it is one that must be known."""
        if need.tensor in self._by_name and need.tensor not in self.static:
            self.static.add(need.tensor)
            kind = need.tensor._op.type
            if kind in _OF_SHAPES:
                # Where one is needed the others are; each alone would have everything traced up to it.
                self.static.update(t for t in self.inputs if t._op.type == kind and t not in self.fed)
            return True
        return False

    def find(self, step: Step, inputs: dict[Tensor, Any], key: Any) -> bool:
        """Says whether there is a program for these inputs, on disk if not here.

        Raises:
          NeedStatic, NeedHost: Tracing is known to end so.
        """
        if key in self._programs:
            return True
        store = step.state.cache
        if store is None or self._variants or not self.fingerprint():
            return False
        start = time.monotonic()
        with step.state.lock:
            program = Program(self, step, inputs)
        on_disk = program.key()
        if not has_jax():
            facts = store.facts(on_disk)
            if facts is None or (facts.get("step") or _IMPORT_S) < _IMPORT_S:
                return False  # interpreting it once takes less than importing JAX
        try:
            if not program.load(store, on_disk):
                return False
        except NeedStatic as need:
            if not self._becomes_static(need):
                raise
            return self.find(step, inputs, self.signature(inputs))
        self._programs[key] = program
        self._compiling_s = max(time.monotonic() - start, program.cost.made)
        return True

    def comes(self, step: Step, inputs: dict[Tensor, Any], key: Any) -> bool:
        """Has a program made in the background; returns whether it is there.

        Raises:
          NeedStatic, NeedHost: What making it ended with, and whatever else it failed with.
        """
        if key in self._programs:
            return True
        job = self.jobs.get(key)
        if job is None or job.is_lost:
            if self._variants:
                self._refuse_host_lists(inputs)
            with step.state.lock:
                program = Program(self, step, inputs)
            self.jobs[key] = background.submit(program, step.state, obtain)
            return False
        if not job.done:
            return False
        del self.jobs[key]
        if job.error is None:
            self._programs[key] = job.program
            self._compiling_s = max(job.seconds, job.program.cost.made)
            return True
        if isinstance(job.error, NeedStatic):
            if self._becomes_static(job.error):
                return self.comes(step, inputs, self.signature(inputs))
            raise job.error
        if isinstance(job.error, background.Stopped):
            return False
        if isinstance(job.error, Exception):
            raise job.error
        return True  # an interrupt, say: it is made again in the foreground


def obtain(program: Program, store: Any, stop: Callable[[], None] | None = None) -> None:
    """Loads a program from disk or builds it."""
    key = program.key() if store is not None else ""
    if not key or not program.load(store, key):
        program.build(store, key, stop)


def one_op(op: Operation) -> Callable[[Step, list[Any]], Any]:
    """Returns a function that runs one node (whose lower rule takes a ctx) as a cluster of its own."""
    compiled: dict[Any, Any] = {}

    def run(step: Step, operands: list[Any]) -> Any:
        key = id(step.state)
        cluster = compiled.get(key)
        if cluster is None:
            ins = list(dict.fromkeys(op._inputs))
            # Whether a constant among them is fed is not known here; it counts as fed.
            cluster = compiled[key] = Cluster([op], ins, list(op._outputs), frozenset(ins))
            cluster.always_static = True
        inputs: dict[Tensor, Any] = {}
        for t, v in zip(op._inputs, operands, strict=True):
            inputs[t] = v
        values = cluster.run(step, inputs)
        out = [values[t] for t in op._outputs]
        single = len(out) == 1 and not op.kind.plan.signature.outputs[0].is_list
        return out[0] if single else out

    return run
