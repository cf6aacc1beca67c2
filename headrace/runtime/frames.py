"""Runs a region of TensorFlow 1's control flow as its definition says: with missing values, frames and iterations.

A value that a branch not taken would have made is DEAD; a node that takes one does not run, and what it would have made
is DEAD too, until a Merge finds an input that is there. A loop's items run once an iteration, in order; what
NextIteration nodes take is there in the iteration after, and a loop ends when there is none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import dtypes, errors
from headrace.graph import Operation, Tensor
from headrace.passes.loops import ENTERS, EXITS, MERGES, NEXTS, SWITCHES, Item, Loop, Structure
from headrace.passes.regions import Region
from headrace.resources.variable import VariableState
from headrace.runtime.context import Step
from headrace.runtime.failure import at_node
from headrace.runtime.interrupts import Interrupts
from headrace.runtime.kernel import Kernel


class NoValue:
    """Stands for a value that is not there."""

    __slots__ = ("why",)

    def __init__(self, why: str):
        self.why = why

    def __repr__(self) -> str:
        return f"<{self.why}>"


DEAD = NoValue("dead: on a branch that was not taken")
ABSENT = NoValue("absent: not in this iteration")
_FEW = 8  # iterations after which it is seen to that an interrupt is not lost
_DONE = True  # in the place of a node that others wait for, once it has run


class FrameProgram:
    """A region ready to run.

    Attributes:
      inputs: The tensors from outside that it takes, in order.
      has_aliases: Whether references come to nodes that do not ask for them.

    Args:
      region: Its nodes.
      structure: The step's loops.
      outputs: The tensors that are asked for outside.
      labels: Of those, the ones inside loops -> the number of the fetch, for messages.
    """

    def __init__(
        self, region: Region, structure: Structure, outputs: Sequence[Tensor], labels: dict[Tensor, int]
    ):
        self._structure = structure
        self._inside = set(region.nodes())
        self.has_aliases = any(hands_memory_on(op, structure) for op in self._inside)
        self._awaited = {c for op in self._inside for c in op._control_inputs if c in self._inside}
        self.inputs: list[Tensor] = list(
            dict.fromkeys(
                t
                for op in region.nodes()
                for t in structure.inputs(op)
                if t in structure.fed or t._op not in self._inside
            )
        )
        self._taps = {
            t: labels.get(t, 0) for t in outputs if structure.output_frame(t._op).parent is not None
        }
        self._root = _Scope(self, None, region.items)
        self._outputs = [(t, None if t in self._taps else self._root.slot(t)) for t in outputs]

    def run(self, step: Step, operands: Sequence[Any]) -> list[Any]:
        """Runs the region and returns the values of its outputs, DEAD for those that are not there."""
        table = [ABSENT] * self._root.size
        slots = self._root.slots
        for t, v in zip(self.inputs, operands, strict=True):
            table[slots[t]] = v
        tapped: dict[Tensor, Any] = {}
        with np.errstate(all="ignore"):
            self._root.run(table, _Run(step, tapped))
        values: list[Any] = [
            tapped.get(t, DEAD) if slot is None else table[slot] for t, slot in self._outputs
        ]
        for i, (t, _) in enumerate(self._outputs):
            if type(values[i]) is VariableState and not _is_handle(t):
                with step.state.lock:
                    values[i] = values[i].read()
        return values


class _Run:
    """What one run of a region has."""

    __slots__ = ("step", "tapped")

    def __init__(self, step: Step, tapped: dict[Tensor, Any]):
        self.step = step
        self.tapped = tapped


class _Node:
    """A node, and where in its scope's table its operands and results stand.

    Attributes:
      inputs: The places of its operands.
      controls: The places of the nodes that it waits for.
      outputs: The places of its results; None for those that are fed.
      place: Where it says that it has run, None if no node waits for it.
    """

    __slots__ = ("controls", "dereferences", "holds", "inputs", "kernel", "op", "outputs", "place", "reads")

    def __init__(self, op: Operation, inputs: list[int], controls: list[int], hands_on: bool = False):
        self.op = op
        self.inputs = inputs
        # Nodes that only pass values on read a reference, but for those that hand a variable's memory on.
        self.dereferences = (
            op.type[:3] != "Ref" and not hands_on and op._outputs[:1] != [] and not _is_handle(op._outputs[0])
        )
        self.controls = controls
        self.outputs: list[int | None] = []
        self.place: int | None = None
        self.kernel: Kernel | None = None
        self.reads: list[int] = []
        self.holds = False

    def prepare(self, tensors: Sequence[Tensor], has_aliases: bool) -> None:
        try:
            kernel = self.kernel = Kernel(self.op)
        except errors.OpError as e:
            raise at_node(e, self.op) from None
        # A reference is read where the rule does not want the reference itself.
        self.reads = [
            i
            for i, t in enumerate(tensors)
            if t._dtype is not dtypes.resource and not kernel.takes_reference[i]
        ]
        self.holds = not kernel.rule.options.get("calls") and (
            has_aliases or any(t._dtype.is_ref or t._dtype is dtypes.resource for t in tensors)
        )

    def missing(self, table: list[Any]) -> NoValue | None:
        """Returns ABSENT or DEAD if something that the node needs is, None if all is there."""
        found = None
        for i in self.inputs:
            v = table[i]
            if type(v) is NoValue:
                if v is ABSENT:
                    return v
                found = v
        for i in self.controls:
            v = table[i]
            if type(v) is NoValue:
                if v is ABSENT:
                    return v
                found = v
        return found

    def results(self, table: list[Any], step: Step) -> Any:
        """Runs the node on what the table holds."""
        operands = [table[i] for i in self.inputs]
        try:
            if self.holds and any(type(v) is VariableState for v in operands):
                with step.state.lock:
                    for i in self.reads:
                        if type(operands[i]) is VariableState:
                            operands[i] = operands[i].read()
                    return self.kernel(step, operands)  # type: ignore[misc]
            return self.kernel(step, operands)  # type: ignore[misc]
        except Exception as e:
            raise at_node(e, self.op, operands) from e.__cause__

    def passed_on(self, table: list[Any], step: Step, i: int = 0) -> Any:
        """Returns an operand as nodes that only pass values on see it."""
        v = table[self.inputs[i]]
        if self.dereferences and type(v) is VariableState:
            try:
                with step.state.lock:
                    return v.read()
            except errors.OpError as e:
                raise at_node(e, self.op) from None
        return v

    def give(self, table: list[Any], value: Any) -> None:
        """Puts one value in the place of all results."""
        for slot in self.outputs:
            if slot is not None:
                table[slot] = value
        if self.place is not None:
            table[self.place] = value if type(value) is NoValue else _DONE

    def run(self, table: list[Any], run: _Run) -> None:
        missing = self.missing(table)
        if missing is not None:
            self.give(table, missing)
            return
        for slot, v in zip(self.outputs, self.results(table, run.step), strict=True):
            if slot is not None:
                table[slot] = v
        if self.place is not None:
            table[self.place] = _DONE


def hands_memory_on(op: Operation, structure: Structure) -> bool:
    """Whether a node that was given what is read from a variable takes the reference in its place, to hand it on."""
    while op.type == "Switch" or (op.type == "Enter" and op.attrs["is_constant"]):
        data = structure.inputs(op)[0]
        if data._dtype.is_ref:
            return not op._inputs[0]._dtype.is_ref
        if data in structure.fed:
            break
        op = data._op
    return False


def _is_handle(t: Tensor) -> bool:
    return t._dtype is dtypes.resource or t._dtype.is_ref


class _Switch(_Node):
    def prepare(self, tensors: Sequence[Tensor], has_aliases: bool) -> None:
        pass

    def run(self, table: list[Any], run: _Run) -> None:
        missing = self.missing(table)
        if missing is not None:
            self.give(table, missing)
            return
        pred = table[self.inputs[1]]
        if type(pred) is VariableState:
            with run.step.state.lock:
                pred = pred.read()
        value = self.passed_on(table, run.step)
        self.give(table, DEAD)
        array = np.asarray(pred)
        if array.ndim:
            error = errors.InvalidArgumentError(
                None,
                None,
                f"The second input must be a scalar, but it has shape [{','.join(map(str, array.shape))}]",
            )
            raise at_node(error, self.op)
        slot = self.outputs[1 if array else 0]
        if slot is not None:
            table[slot] = value
        if self.place is not None:
            table[self.place] = _DONE


class _Merge(_Node):
    __slots__ = ("from_enter",)

    def prepare(self, tensors: Sequence[Tensor], has_aliases: bool) -> None:
        self.from_enter = [t._op.type in ENTERS for t in tensors]

    def run(self, table: list[Any], run: _Run) -> None:
        for i in self.controls:
            if table[i] is ABSENT:
                self.give(table, ABSENT)
                return
        dead = 0
        for i, slot in enumerate(self.inputs):
            v = table[slot]
            if type(v) is not NoValue:
                v = self.passed_on(table, run.step, i)
                for place, result in zip(self.outputs, (v, np.array(i, np.int32)), strict=True):
                    if place is not None:
                        table[place] = result
                if self.place is not None:
                    table[self.place] = _DONE
                return
            # A loop that is not entered has no iteration that its Merge could wait for.
            dead += len(self.inputs) if v is DEAD and self.from_enter[i] else v is DEAD
        self.give(table, DEAD if dead >= len(self.inputs) else ABSENT)


class _Trigger(_Node):
    """ControlTrigger: waits for nodes, and does not care whether they were on the branch taken."""

    def prepare(self, tensors: Sequence[Tensor], has_aliases: bool) -> None:
        pass

    def run(self, table: list[Any], run: _Run) -> None:
        if self.place is not None:
            absent = any(table[i] is ABSENT for i in self.controls)
            table[self.place] = ABSENT if absent else _DONE


_KINDS: dict[str, type[_Node]] = {
    **dict.fromkeys(SWITCHES, _Switch),
    **dict.fromkeys(MERGES, _Merge),
    "ControlTrigger": _Trigger,
}


class _Scope:
    """Items that share a table of values: those of a loop in one iteration, or those outside all loops.

    Attributes:
      slots: Tensor -> its place in the table.
      size: How many places the table has.
    """

    def __init__(self, program: FrameProgram, loop: Loop | None, items: Sequence[Item]):
        self.program = program
        self.slots: dict[Tensor, int] = {}
        self.places: dict[Operation, int] = {}
        self.size = 0
        structure = program._structure
        if loop is None:
            for t in program.inputs:
                self.slot(t)
        self.items: list[_Node | _Loop] = []
        for item in items:
            if isinstance(item, Loop):
                self.items.append(_Loop(program, item, self))
                continue
            tensors = structure.inputs(item)
            node = self.node(item, tensors)
            if item.type not in EXITS and item.type not in NEXTS:
                node.prepare(tensors, program.has_aliases)
                self.set_outputs(node)
            self.items.append(node)
        self.taps = [(t, self.slot(t)) for t in program._taps if self._makes(t, loop)]

    def _makes(self, t: Tensor, loop: Loop | None) -> bool:
        owner = self.program._structure.owner[t._op]
        return loop is not None and (owner.parent if t._op.type in EXITS else owner) is loop

    def slot(self, t: Tensor) -> int:
        """Returns a tensor's place."""
        found = self.slots.get(t)
        if found is None:
            found = self.slots[t] = self.size
            self.size += 1
        return found

    def place(self, op: Operation) -> int:
        """Returns where a node says that it has run."""
        found = self.places.get(op)
        if found is None:
            found = self.places[op] = self.size
            self.size += 1
        return found

    def node(self, op: Operation, tensors: Sequence[Tensor]) -> _Node:
        inside = self.program._inside
        controls = [self.place(c) for c in op._control_inputs if c in inside]
        return _KINDS.get(op.type, _Node)(
            op, [self.slot(t) for t in tensors], controls, hands_memory_on(op, self.program._structure)
        )

    def set_outputs(self, node: _Node) -> None:
        """Says where a node's results go in this scope."""
        fed = self.program._structure.fed
        node.outputs = [None if t in fed else self.slot(t) for t in node.op._outputs]
        if node.op in self.program._awaited:
            node.place = self.place(node.op)

    def run(self, table: list[Any], run: _Run) -> None:
        for item in self.items:
            item.run(table, run)


class _Loop:
    """A loop in its surroundings: takes values from a table, goes round, and puts values into the same table."""

    def __init__(self, program: FrameProgram, loop: Loop, around: _Scope):
        self.enters: list[
            tuple[_Node, _Node, bool]
        ] = []  # as seen from outside, from inside, whether it is constant
        self.loop = loop
        self.scope = scope = _Scope(program, loop, loop.items)
        for op in loop.enters:
            node = around.node(op, program._structure.inputs(op))
            inner = _Node(op, [], [])
            scope.set_outputs(inner)
            self.enters.append((node, inner, bool(op.attrs["is_constant"])))
        self.exits: list[tuple[_Node, _Node]] = []
        self.nexts: list[_Node] = []
        for item in scope.items:
            if isinstance(item, _Node) and item.op.type in EXITS:
                outer = _Node(item.op, [], [])
                around.set_outputs(outer)
                self.exits.append((item, outer))
            elif isinstance(item, _Node) and item.op.type in NEXTS:
                scope.set_outputs(item)
                self.nexts.append(item)
        handled = {id(node) for node, _ in self.exits} | {id(node) for node in self.nexts}
        self.items = [item for item in scope.items if id(item) not in handled]

    def run(self, table: list[Any], run: _Run) -> None:
        scope = self.scope
        constant = [ABSENT] * scope.size
        first: list[tuple[_Node, Any]] = []
        entered = False
        for node, inner, is_constant in self.enters:
            missing = node.missing(table)
            value = node.passed_on(table, run.step) if missing is None else missing
            if value is ABSENT:
                continue
            entered = True
            if is_constant:
                inner.give(constant, value)
            else:
                first.append((inner, value))
        if not entered:
            for _, outer in self.exits:
                outer.give(table, ABSENT)
            return
        found: dict[int, Any] = {}
        coming = first
        interrupts, done = Interrupts(), 0
        try:
            while True:
                mine = list(constant)
                for node, value in coming:
                    node.give(mine, value)
                for item in self.items:
                    item.run(mine, run)
                for i, (node, _) in enumerate(self.exits):
                    if node.missing(mine) is None:
                        found[i] = node.passed_on(mine, run.step)
                for t, slot in scope.taps:
                    _tap(t, mine[slot], run.tapped, self.scope.program._taps[t])
                coming = [
                    (node, node.passed_on(mine, run.step))
                    for node in self.nexts
                    if node.missing(mine) is None
                ]
                if not coming:
                    break
                done += 1
                if done == _FEW:
                    interrupts.watch()
                elif interrupts.came:
                    break
                if run.step.closing.is_set:
                    raise errors.CancelledError(None, None, "Loop execution was cancelled.")
                if run.step.deadline is not None and time.monotonic() > run.step.deadline:
                    raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
        finally:
            interrupts.end()
        for i, (_, outer) in enumerate(self.exits):
            outer.give(table, found.get(i, DEAD))


def _tap(t: Tensor, value: Any, tapped: dict[Tensor, Any], fetch: int) -> None:
    """Keeps a value from inside a loop that is fetched; there may be one only.

    Raises:
      InternalError: There are more.
    """
    if type(value) is NoValue:
        return
    if t in tapped:
        raise errors.InternalError(
            None, None, f"Retval[{fetch}] has already been set.\n\t [[{{{{node {t.op.name}}}}}]]"
        )
    tapped[t] = value
