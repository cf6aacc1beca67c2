"""Plan: how a session runs one set of fetches for one set of feeds.

A plan holds the needed nodes in order. Its first run, and every run whose shapes are new, goes through the
interpreter, node by node; when the same shapes come again, or at once where the plan has many nodes that only XLA can
run, it is cut into host stages and clusters, and the clusters are compiled.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import ending, errors, lazy, native
from headrace.dtypes import resource, variant
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function
from headrace.lazy import has_jax
from headrace.passes.access import late_reads
from headrace.passes.aliases import shared_inputs, sharing
from headrace.passes.arrays import is_flow, work_on_arrays
from headrace.passes.cut import pieces, stages, updates_distinct_rows
from headrace.passes.prune import needed
from headrace.passes.rewrite import Rewriter
from headrace.passes.trim import trim
from headrace.platform import tf_logging
from headrace.resources.variable import VariableState
from headrace.runtime.cluster import CheckFailed, Cluster, NeedStatic, can_lower
from headrace.runtime.context import Deferred, Step
from headrace.runtime.deferring import can_wait, run_around
from headrace.runtime.failure import at_node
from headrace.runtime.frames import NoValue
from headrace.runtime.functions import NeedHost, can_call
from headrace.runtime.kernel import Kernel, is_slow_on_host, needs_program
from headrace.runtime.region_nodes import has_control_flow, held, rewrite
from headrace.runtime.reuse import LEAST_ELEMENTS, reused
from headrace.runtime.state import SessionState
from headrace.runtime.varying import TOO_FEW, WHY, Varying

_HEAVY_PROGRAMS = 24
# So many convolutions and poolings take the interpreter as long as compiling takes.
_HEAVY_NODES = 80
_SHAPES_REMEMBERED = 1000
# XLA takes more than twice as long for a program of twice as many nodes; beyond so many, several are made.
_MOST_NODES = 2500
# Feeds of more shapes than these are likely to be of others in each step.
_FEW_SHAPES = 3
# A cluster that has met so many kinds of inputs without a program makes the plan look at what differs, so many times.
_MANY_KINDS, _MOST_LOOKS = 4, 3
# A plan of fewer nodes than this is not looked up on disk before its first run, which takes no time anyway.
_WORTH_LOOKING_UP = 12
# Making a program in the background pays where it takes longer than this, and the interpreter gets on meanwhile.
_LONG_S = 0.3
_IMPORT_S = 0.5  # what JAX takes to be imported
_FIRST_S, _NODE_S = 0.1, 0.01  # what a program takes to be made, and what each of its nodes adds
# The body of a loop is compiled on its own once it has been interpreted for so long: most bodies never are, because
# the whole loop is compiled in the next step.
_WORTH_COMPILING_S = 0.5
_WORTH_MORE_S = 5.0  # and for so long if a program with the whole loop is being made beside it
# So often rules for XLA may refuse what the interpreter takes (a variable without a value, say, that a branch not taken
# reads) until nobody tries to compile it any more.
_MOST_REFUSALS = 3


# How a cluster that has no program comes by one: now; in a thread, interpreted meanwhile; or only if it is on disk.
_AT_ONCE, _IN_BACKGROUND, _LOOK_UP = "at once", "in the background", "look up"


class _Instruction:
    """A kernel and where its operands and results stand in the table of values."""

    __slots__ = (
        "forgets",
        "holds",
        "inputs",
        "is_fed",
        "kernel",
        "op",
        "outputs",
        "reads",
        "reuses",
        "ufunc",
    )

    def __init__(self, op: Operation, kernel: Kernel, slots: dict[Tensor, int], inputs: tuple[Tensor, ...]):
        self.op = op
        self.kernel = kernel
        self.inputs = [slots[t] for t in inputs]
        self.outputs = [slots[t] for t in op._outputs]
        self.is_fed = False  # whether the step is given some of its results
        self.ufunc: Any = None
        self.reuses: tuple[int, ...] = ()  # operands that nobody needs after this node
        self.forgets: Sequence[int] = ()  # what nobody needs after this node
        # Inputs that are references but are wanted as plain tensors.
        self.reads = [i for i, t in enumerate(inputs) if t._dtype.is_ref and not kernel.takes_reference[i]]
        # Inputs that may be variables. A node that calls functions may wait in them, for a queue say; the nodes of
        # its functions guard their variables themselves.
        self.holds = (
            []
            if kernel.rule.options.get("calls")
            else [i for i, t in enumerate(inputs) if t._dtype.is_ref or t._dtype is resource]
        )


class Plan:
    """The nodes that some fetches and targets need, ready to run.

    Attributes:
      watch: Sees the parts of each step run, if somebody wants to know where time goes; of one plan, or of all.
      made: Where plans are noted as they are made, if somebody wants to know of them.
      as_written: Whether the nodes are to stay those of the graph, however they could be rewritten.
      checks_arrays: Whether the first run of a plan with a `tf.TensorArray` is interpreted where plans are compiled at
        once: how often an element is written and read is checked there.
      rewritten: Pattern -> how often nodes were rewritten by it.

    Args:
      state: The session's state.
      fetches: Tensors whose values a run returns, in order.
      targets: Operations that a run must run.
      feeds: Tensors whose values a run is given, in order.
      tier: `auto`, `interpret` or `compile`.
      stops: Whether steps have a time in which they must be done: no compiled loop may keep them longer.
      function: The function whose body it is, None for a step.
    """

    watch: Any = None
    made: list[Plan] | None = None
    as_written = False
    checks_arrays = True

    def __init__(
        self,
        state: SessionState,
        fetches: list[Tensor],
        targets: list[Operation],
        feeds: list[Tensor],
        tier: str = "auto",
        stops: bool = False,
        function: Function | None = None,
    ):
        self.state = state
        self.stops = stops
        self.fetches = fetches
        self.targets = targets
        self.feeds = feeds
        if Plan.made is not None:
            Plan.made.append(self)
        self.steps = 0  # how many steps have been run
        self.tier = tier
        self.ops = needed(fetches, targets, feeds)
        fed = set(feeds)
        self._fed = fed
        self._late = late_reads(self.ops, fed)
        if function is not None:
            self._late = sharing(self._late, self.ops, shared_inputs(function))
        self._waits: dict[Operation, list[Operation]] = {}
        self._stand_ins: dict[Tensor, Tensor] = {}
        in_regions = has_control_flow(self.ops)
        stay = [*targets, *held(self.ops)] if in_regions else targets
        rewritten: Any = trim(self.ops, fetches, stay, fed, self._late)
        self._stand_ins = rewritten.stand_ins
        wanted = [self._stand_ins.get(t, t) for t in fetches]
        if in_regions:
            rewritten = rewrite(rewritten.ops, wanted, fed, rewritten.late, tier != "interpret")
            self._stand_ins = {**self._stand_ins, **rewritten.stand_ins}
            wanted = [rewritten.stand_ins.get(t, t) for t in wanted]
        self.ops, self._late, self._waits = rewritten.ops, rewritten.late, rewritten.waits
        self._wanted = wanted
        self.rewritten: Counter[str] = Counter()
        rules = None if self.as_written else state.policies.rewrites.rules(len(self.ops))
        if rules is not None:
            most = state.policies.rewrites.most_bytes
            rewriter = Rewriter(self.ops, wanted, targets, fed, self._late, self._waits, most)
            done = rewriter.run(rules)
            self.ops, self._late, self.rewritten = done.ops, done.late, done.counts
        self._slots: dict[Tensor, int] = {}
        for t in feeds:
            self._slots.setdefault(t, len(self._slots))
        for op in self.ops:
            for t in op._outputs:
                self._slots.setdefault(t, len(self._slots))
        # Values that are the same in every run: constants, and the handles of variables.
        self._fixed: list[Any] = [None] * len(self._slots)
        self._rest: list[Operation] = []
        step = Step(state)
        for op in self.ops:
            if op._inputs or op._control_inputs or not self._is_fixed(op):
                self._rest.append(op)
                continue
            if op.type == "Const":
                if op._outputs[0] not in fed:
                    self._fixed[self._slots[op._outputs[0]]] = op.attrs["value"]
                continue
            try:
                values = Kernel(op)(step, [])
            except Exception as e:
                raise at_node(e, op) from e.__cause__
            for t, v in zip(op._outputs, values, strict=True):
                if t not in fed:
                    self._fixed[self._slots[t]] = v
        self._instructions: list[_Instruction] | None = None
        self._stages: list[Any] | None = None
        self._interpreted: dict[Cluster, list[_Instruction]] = {}
        self._static_edges: set[tuple[Operation, Operation]] = set()
        self._forced: dict[Operation, str] = {}  # nodes that could not be part of a cluster, and why
        self._seen: dict[Any, float] = {}  # shapes of feeds -> how many seconds they have been interpreted
        self._step_s = 0.0  # how long the newest interpreted step took
        self._fetch_slots = [self._slots[t] for t in wanted]
        self._reads_fetch = [t._dtype.is_ref for t in fetches]
        self._feed_slots = [self._slots[t] for t in feeds]
        self._shapes: Any = None  # those of the feeds that are being interpreted
        self._varying: Varying | None = None  # what looks at the next steps, if they are to be looked at
        self._looks = 0
        self.only_interpret = ""
        self._unsaid = ""  # a warning that is due
        self._refusals = 0  # steps in which rules for XLA refused what the interpreter took
        self.has_calls = any(can_call(op) for op in self._rest)
        self.has_cluster_ops = any(can_lower(op) for op in self._rest)
        self._waiting = frozenset(op for op in self._rest if can_wait(op))
        # The interpreter compiles a program of its own for each of these; beyond some number it is quicker to
        # compile them all at once, even for a single run.
        programs = sum(needs_program(op) for op in self._rest)
        slow = sum(is_slow_on_host(op) for op in self._rest)
        self._is_heavy = programs > _HEAVY_PROGRAMS or slow > _HEAVY_NODES
        self._is_unchecked = tier == "compile" and self.checks_arrays and work_on_arrays(self._rest)
        self._may_be_kept = state.cache is not None and len(self._rest) >= _WORTH_LOOKING_UP

    def _inputs(self, op: Operation) -> tuple[Tensor, ...]:
        return self._late.get(op, op._inputs)

    @staticmethod
    def _is_fixed(op: Operation) -> bool:
        if op.type == "Const":
            return True
        # Handles of variables: nodes without inputs whose only outputs are references or resources.
        return op.type in ("VariableV2", "Variable", "VarHandleOp")

    # -- running -----------------------------------------------------------------------------------------------
    def run(self, feed_values: list[Any], step: Step | None = None) -> list[Any]:
        """Runs the plan once.

        Args:
          feed_values: A value for each feed, arrays of the right type.
          step: What this run alone has (deadline, cancellation); made if None.

        Returns:
          A NumPy array for each fetch, which belongs to the caller.

        Raises:
          OpError: A node failed; the message names it.
        """
        ending.enter()
        try:
            return self._run(feed_values, step or Step(self.state))
        finally:
            ending.leave()

    def _run(self, feed_values: list[Any], step: Step) -> list[Any]:
        step.feeds = feed_values
        step.tier = self.tier
        step.defers = self._waiting
        self.steps += 1
        try:
            how = self._how(step, feed_values, self.state.policies.compile_after)
            if self._varying is not None and self.watch is None:
                values = self._look(self._varying, step, feed_values)
            elif how:
                values = self._run_stages(step, feed_values, how)
            else:
                values = self._interpret_timed(step, feed_values)
        except (errors.DeadlineExceededError, errors.CancelledError):
            raise
        except Exception:
            # Only the interpreter looks at all that may be wrong, so it goes on until a step has ended well.
            self._seen.pop(self._shapes, None)
            raise
        finally:
            for function in step.at_end:
                function()
        if self._unsaid:
            self._say()
        out: list[Any] = []
        for slot, is_ref, t in zip(self._fetch_slots, self._reads_fetch, self.fetches, strict=True):
            v = values[slot]
            if is_ref and isinstance(v, VariableState):
                try:
                    with self.state.lock:
                        v = v.read()
                except errors.OpError as e:
                    raise at_node(e, t._op) from None
            elif type(v) is NoValue:
                raise errors.InvalidArgumentError(None, None, f"Retval[{len(out)}] does not have value")
            out.append(v)
        out = [_to_caller(v, t) for v, t in zip(out, self.fetches, strict=True)]
        if step.deadline is not None and time.monotonic() > step.deadline:  # a compiled part took longer
            raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
        return out

    def unchanged(self) -> Plan:
        """Returns a plan whose nodes are all those of the graph, this one if it has not been rewritten."""
        return (
            _AsWritten(self.state, self.fetches, self.targets, self.feeds, self.tier, self.stops)
            if self.rewritten
            else self
        )

    @property
    def is_compiled(self) -> bool:
        """Whether the plan has been cut into clusters."""
        return self._stages is not None

    def call(self, step: Step, arguments: list[Any]) -> list[Any]:
        """Runs the plan as a function's body within a step; arguments and results may be on any device."""
        if len(self._waiting) > 1:
            before, step.defers = step.defers, self._waiting
            try:
                return self._call(step, arguments)
            finally:
                step.defers = before
        return self._call(step, arguments)

    def _call(self, step: Step, arguments: list[Any]) -> list[Any]:
        how = self._how(step, arguments, _WORTH_MORE_S if step.awaits_program else _WORTH_COMPILING_S)
        if how and how != _LOOK_UP:
            values = self._run_stages(step, arguments, _AT_ONCE)
        else:
            values = self._interpret_timed(step, arguments)
        if self._unsaid:
            self._say()
        out = []
        for slot, t in zip(self._fetch_slots, self.fetches, strict=True):
            v = values[slot]
            if t._dtype.is_ref and isinstance(v, VariableState):
                with self.state.lock:
                    v = v.read()
            out.append(v)
        return out

    def _how(self, step: Step, feed_values: list[Any], worth_s: float) -> str:
        """Says how clusters without a program come by one, "" if the whole step is to be interpreted.

        A plan is worth compiling once interpreting feeds of these shapes took longer than `worth_s` seconds.
        """
        self._shapes = None
        if self.tier == "interpret" or self.only_interpret or not self.has_cluster_ops:
            return ""
        if lazy.lost_threads:
            return ""
        if self._is_unchecked:
            self._is_unchecked = False
            return ""
        if self.tier == "compile" or self._is_heavy:
            return _AT_ONCE
        shapes = tuple([getattr(v, "shape", None) for v in feed_values])
        seen = self._seen.get(shapes)
        if seen is not None and seen >= worth_s:
            return self._where()
        if seen is None:
            if len(self._seen) > _SHAPES_REMEMBERED:
                self._seen.clear()
            self._seen[shapes] = 0.0
            if self._may_be_kept:
                self._shapes = shapes
                return _LOOK_UP
        self._shapes = shapes
        return ""

    def _where(self) -> str:
        """Says whether programs are made at once, or in the background while the interpreter goes on."""
        background = self.state.policies.background
        if background == "off" or self.state.closing.is_set:
            return _AT_ONCE
        if background == "on":
            return _IN_BACKGROUND
        takes = _FIRST_S + _NODE_S * len(self._rest) + (0.0 if has_jax() else _IMPORT_S)
        return _IN_BACKGROUND if takes > _LONG_S and self._step_s < takes / 4 else _AT_ONCE

    def _interpret_timed(self, step: Step, feed_values: list[Any]) -> list[Any]:
        start = time.monotonic()
        values = self._interpret(step, feed_values)
        self._note(time.monotonic() - start)
        return values

    def _note(self, seconds: float) -> None:
        """Notes how long interpreting a step, or a stage of it, took."""
        self._step_s = seconds
        if self._shapes is not None:
            self._seen[self._shapes] = self._seen.get(self._shapes, 0.0) + seconds

    def _interpret(self, step: Step, feed_values: list[Any], shapes: Any = None) -> list[Any]:
        instructions: Sequence[Any] | None = self._instructions
        if instructions is None:
            instructions = self._instructions = self._prepare(self._rest, self._last_uses([self._rest]))
        if shapes is not None and self._varying is not None:
            instructions = self._varying.instructions(shapes, instructions)
        values = list(self._fixed)
        for slot, v in zip(self._feed_slots, feed_values, strict=True):
            values[slot] = v
        with np.errstate(all="ignore"):
            self._execute(instructions, values, step)
        return values

    def _look(self, varying: Varying, step: Step, feed_values: list[Any]) -> list[Any]:
        """Runs a step whose values are looked at; when enough have been, what meets new shapes goes to the host."""
        values = self._interpret(step, feed_values, tuple([getattr(v, "shape", None) for v in feed_values]))
        if varying.is_over and self._varying is varying:
            self._varying = None
            found = varying.nodes(self._rest)
            if not found:
                if varying.has_seen_any:
                    self._looks = _MOST_LOOKS
                return values  # where all shapes were the same by chance, it is looked again
            for op in found:
                self._forced.setdefault(op, WHY)
            for op in varying.too_few(self._parts()):
                self._forced.setdefault(op, TOO_FEW)
            self._stages = None
        return values

    def _prepare(
        self, ops: list[Operation], last_uses: dict[Operation, list[int]] | None = None
    ) -> list[_Instruction]:
        out = []
        for op in ops:
            try:
                ins = _Instruction(op, Kernel(op), self._slots, self._inputs(op))
            except errors.OpError as e:
                raise at_node(e, op) from None
            if self._fed:
                ins.is_fed = not self._fed.isdisjoint(op._outputs)
            if last_uses is not None:
                ins.forgets = last_uses.get(op, ())
                if ins.forgets and _may_be_large(op) and not ins.is_fed and not ins.holds:
                    ins.reuses = tuple([i for i, slot in enumerate(ins.inputs) if slot in ins.forgets])
                    ins.ufunc = ins.kernel.ufunc if ins.reuses else None
            out.append(ins)
        return out

    def _last_uses(self, parts: list[list[Operation]]) -> dict[Operation, list[int]]:
        """Returns which values nobody needs after which node, for nodes that run in this order.

        A value that is forgotten gives its memory back; and a variable whose old value nobody holds any more is
        changed in place where only some of its rows change.
        """
        if self._waiting:  # these may run in another order
            return {}
        kept = {
            *self._fetch_slots,
            *self._feed_slots,
            *(i for i, v in enumerate(self._fixed) if v is not None),
        }
        found: dict[Operation, list[int]] = {}
        for part in reversed(parts):
            for op in reversed(part):
                for t in (*self._inputs(op), *op._outputs):
                    slot = self._slots[t]
                    if slot not in kept:
                        kept.add(slot)
                        found.setdefault(op, []).append(slot)
        return found

    def _execute(
        self, instructions: Sequence[_Instruction], values: list[Any], step: Step, later: Any = None
    ) -> bool:
        """Runs instructions; those of `later()`, too, if some that wait may need them: then it returns True."""
        if self.watch is not None:
            instructions = self.watch.instructions(instructions)
        try:
            self._run_in_order(instructions, values, step)
        except Deferred as deferred:
            first = next(i for i, ins in enumerate(instructions) if ins.op is deferred.op)
            left = instructions[first:]
            return run_around(
                self._run_in_order, self._store, deferred, left, values, step, self._waits, later
            )
        return False

    def _store(self, ins: _Instruction, results: Any, values: list[Any]) -> None:
        for slot, t, v in zip(ins.outputs, ins.op._outputs, results, strict=True):
            if t not in self._fed:
                values[slot] = v

    def _run_in_order(self, instructions: Sequence[_Instruction], values: list[Any], step: Step) -> None:
        for ins in instructions:
            operands = [values[i] for i in ins.inputs]
            if ins.ufunc is not None:
                results = v = None
                values[ins.outputs[0]] = v = reused(ins.ufunc, operands, ins.reuses)
                if v is not None:
                    for slot in ins.forgets:
                        values[slot] = None
                    operands = v = None  # type: ignore[assignment]
                    continue
            try:
                if ins.holds and any(type(operands[i]) is VariableState for i in ins.holds):
                    # A compiled step of another thread would take the memory away from under a read, and its
                    # write could get lost between this node's read and write.
                    with step.state.lock:
                        results = self._with_variables(ins, step, operands)
                else:
                    results = ins.kernel(step, operands)
            except Deferred:
                raise
            except Exception as e:
                raise at_node(e, ins.op, operands) from e.__cause__
            if ins.is_fed:
                self._store(ins, results, values)
            else:
                for slot, v in zip(ins.outputs, results, strict=True):
                    values[slot] = v
            if ins.forgets:
                for slot in ins.forgets:
                    values[slot] = None
                results = operands = v = None  # type: ignore[assignment]
            if step.deadline is not None and time.monotonic() > step.deadline:
                raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")

    @staticmethod
    def _with_variables(ins: _Instruction, step: Step, operands: list[Any]) -> Any:
        for i in ins.reads:
            if isinstance(operands[i], VariableState):
                operands[i] = operands[i].read()
        return ins.kernel(step, operands)

    # -- stages ------------------------------------------------------------------------------------------------
    def _parts(self) -> list[list[Operation]]:
        """Returns the nodes of each stage; even ones are clusters."""
        # A list that a caller hands in is one that host rules made, or one that grows from call to call: whatever
        # meets it is best a list of the host's, too.
        lists = any(t._dtype.name == "variant" for t in self._fed)
        rows_on_host = self.tier == "auto" and native.library() is not None

        def on_host(op: Operation) -> bool:
            if op in self._forced or not can_lower(op) or self._fed.intersection(op._outputs):
                return True
            if rows_on_host and updates_distinct_rows(op, self._late):
                return True
            return lists and any(t._dtype.name == "variant" for t in (*op._inputs, *op._outputs))

        parts = stages(self._rest, self._fed, on_host, self._static_edges, self._late, self._waits)
        return pieces(parts, _MOST_NODES)

    def _cut(self) -> list[Any]:
        """Returns the stages: lists of instructions for the host, and clusters."""
        fixed = {op for op in self.ops} - set(self._rest)
        parts = self._parts()
        wanted = set(self._wanted)
        home = {op: i for i, part in enumerate(parts) for op in part}
        used_outside: dict[int, set[Tensor]] = {}
        for op in self._rest:
            for t in self._inputs(op):
                maker = t._op
                if t not in self._fed and maker not in fixed and home[maker] != home[op]:
                    used_outside.setdefault(home[maker], set()).add(t)
        out: list[Any] = []
        last_uses = self._last_uses(parts)
        for i, part in enumerate(parts):
            if not part:
                continue
            if i % 2:
                out.append(self._prepare(part, last_uses))
                continue
            inside = set(part)
            inputs = list(
                dict.fromkeys(
                    t for op in part for t in self._inputs(op) if t in self._fed or t._op not in inside
                )
            )
            asked = used_outside.get(i, set())
            outputs = [t for op in part for t in op._outputs if t in wanted or t in asked]
            cluster = Cluster(part, inputs, outputs, self._fed, self._late)
            cluster.stops = self.stops
            cluster.last_uses = last_uses
            cluster.forgets = [slot for op in part for slot in last_uses.get(op, ())]
            cluster.label = f"cluster_{sum(type(stage) is Cluster for stage in out)}"
            cluster.purpose = ", ".join(
                [t.name for t in self.fetches[:2]] or [op.name for op in self.targets[:2]]
            )
            out.append(cluster)
        return out

    def _run_stages(self, step: Step, feed_values: list[Any], how: str) -> list[Any]:
        if self._stages is None:
            self._stages = self._cut()
            self._interpreted = {}
        stages = self._stages
        values = list(self._fixed)
        for slot, v in zip(self._feed_slots, feed_values, strict=True):
            values[slot] = v
        slots = self._slots
        for i, stage in enumerate(stages):
            if type(stage) is not Cluster:
                with np.errstate(all="ignore"):
                    done = self._execute(stage, values, step, self._later(stages, i + 1))
                if done:
                    break
                continue
            inputs = {t: values[slots[t]] for t in stage.inputs}
            key = stage.signature(inputs)
            results: dict[Tensor, Any] | None = None
            refused: errors.OpError | None = None
            try:
                if self._is_ready(stage, step, inputs, key, how):
                    results = (
                        stage.run(step, inputs, key)
                        if self.watch is None
                        else self.watch.run(stage, step, inputs)
                    )
            except NeedStatic as need:
                self._cut_before(need)
            except NeedHost as need:
                self._forced[need.op] = str(need).partition(": ")[2]
                self._stages = None
            except CheckFailed:
                pass
            except errors.OpError as e:
                if e.op is not None:
                    raise
                refused = e  # a lower rule refused its operands while it was traced
            except (
                Exception
            ) as e:  # whatever a lower rule stumbled over, the interpreter has rules of its own
                self._give_up(stage, e)
            else:
                inputs = {}  # holds no value longer than the table does
                if results is None:
                    start = time.monotonic()
                    with np.errstate(all="ignore"):
                        self._execute(self._instructions_of(stage), values, step)
                    self._note(time.monotonic() - start)
                    stage.interpreted(key, self._step_s)
                else:
                    for t, v in results.items():
                        values[slots[t]] = v
                    v = results = None
                    for slot in stage.forgets:
                        values[slot] = None
                continue
            if self._stages is None and i == 0:
                return self._run_stages(step, feed_values, how)  # nothing has happened yet
            # Nothing of this stage has happened. The interpreter does the rest of the step; where a value is at
            # fault, it finds the node and words the error.
            with np.errstate(all="ignore"):
                self._execute(self._from_stage(stages, i), values, step)
            if refused is not None:  # what the interpreter did not
                self._refusals += 1
                if self._refusals >= _MOST_REFUSALS:
                    self._give_up(stage, refused)
            break
        return values

    def _give_up(self, stage: Cluster, error: Exception) -> None:
        """Has the plan interpreted from now on, since one of its clusters can't be compiled."""
        self.only_interpret = f"{type(error).__name__}: {error}"
        first = str(error).partition("\n")[0]
        self._unsaid = (
            f"The step for {stage.purpose} is interpreted from now on, which may be slow: compiling "
            f"{len(stage.ops)} of its nodes failed with {type(error).__name__}: {first}"
        )

    def _say(self) -> None:
        """Warns that compiling failed, once a step has ended well: what is wrong with a step's data is said there."""
        message, self._unsaid = self._unsaid, ""
        if message:
            tf_logging.warning(message)

    def _is_ready(self, stage: Cluster, step: Step, inputs: dict[Tensor, Any], key: Any, how: str) -> bool:
        """Whether a cluster is run compiled in this step."""
        if how == _LOOK_UP:
            found = stage.find(step, inputs, key)
            if found:
                self._seen[self._shapes] = math.inf  # it has been worth it before
            return found
        if self._step_s:
            # The least: a program that is made beside them makes steps slower.
            stage.step_s = min(stage.step_s or math.inf, self._step_s)
        if self.tier == "auto" and not self._is_heavy:
            if not stage.worth_compiling(key, len(self._seen) > _FEW_SHAPES):
                kinds = len(stage._spent)
                if kinds >= _MANY_KINDS and len(self._seen) <= _FEW_SHAPES and self._looks < _MOST_LOOKS:
                    self._looks += 1
                    self._varying = Varying(self._late)
                return False
            if how == _IN_BACKGROUND:
                is_there = stage.comes(step, inputs, key)
                step.awaits_program = not is_there
                return is_there
        return True

    def _instructions_of(self, stage: Cluster) -> list[_Instruction]:
        """Returns a cluster's nodes as instructions for the interpreter."""
        instructions = self._interpreted.get(stage)
        if instructions is None:
            instructions = self._interpreted[stage] = self._prepare(stage.ops, stage.last_uses)
        return instructions

    def _later(self, stages: list[Any], first: int) -> Any:
        """Returns what gives the instructions from a stage on, if what an earlier one waits for may be among them."""
        if len(self._waiting) < 2 or not any(
            ins.op in self._waiting for stage in stages[first:] if type(stage) is not Cluster for ins in stage
        ):
            return None
        return lambda: self._from_stage(stages, first)

    def _from_stage(self, stages: list[Any], first: int) -> list[_Instruction]:
        """Returns the instructions of all stages from one on, in the order of the plan."""
        left: set[Operation] = set()
        for stage in stages[first:]:
            left.update(stage.ops if type(stage) is Cluster else [ins.op for ins in stage])
        return self._prepare([op for op in self._rest if op in left])

    def _cut_before(self, need: NeedStatic) -> None:
        """Has the operand that must be known computed in an earlier stage."""
        edge = (need.tensor._op, need.consumer)
        if edge in self._static_edges:
            why = f"the value of {need.tensor.name} has to be known, and can't be before"
            if need.consumer in self._forced:
                self.only_interpret = why  # cutting there again would change nothing
                return
            self._forced[need.consumer] = why
        self._static_edges.add(edge)
        self._stages = None


class _AsWritten(Plan):
    as_written = True


def _may_be_large(op: Operation) -> bool:
    """Whether a node's first result may be one that it pays to make in the memory of an operand."""
    dims = op._outputs[0]._dims if op._outputs else ()
    return dims is None or math.prod([LEAST_ELEMENTS if d is None else d for d in dims]) >= LEAST_ELEMENTS


def _to_caller(value: Any, tensor: Tensor) -> Any:
    """Returns a fetched value as TensorFlow gives it: an array of the caller's own, a scalar, or bytes."""
    if isinstance(value, VariableState):
        raise TypeError(f"Tensor {tensor.name} holds a resource; it can't be fetched.")
    if tensor._dtype is variant:
        if not is_flow(tensor):
            raise errors.InternalError(None, None, "Tensorflow type 21 not convertible to numpy dtype.")
        return np.float32(0)  # TensorFlow's flows are numbers that say nothing
    if type(value) is np.ndarray:
        if value.ndim == 0:
            return value[()]
        try:
            return value.copy()
        except MemoryError as e:
            raise errors.ResourceExhaustedError(None, tensor.op, str(e)) from None
    if hasattr(type(value), "addressable_shards"):
        array = np.array(value)
        return array[()] if array.ndim == 0 else array
    return value
