"""Liveness: under which predicates a tensor of a graph with Switch and Merge is there at all.

A condition is a set of alternatives, each a set of literals (predicate, whether it holds); it says when a value is
there for certain. Within a loop it speaks of one iteration that runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.graph import Operation, Tensor
from headrace.passes.loops import ENTERS, EXITS, MERGES, NEXTS, SWITCHES, Loop, Structure

Literal = tuple[Any, bool]
Alternative = frozenset[Literal]
Condition = frozenset[Alternative]

ALWAYS: Condition = frozenset([frozenset()])
_MOST = 16  # alternatives; a condition with more is taken as one of its own


def both(a: Condition, b: Condition) -> Condition:
    """Returns when two conditions hold together."""
    if a == b or b == ALWAYS:
        return a
    if a == ALWAYS:
        return b
    out = set()
    for x in a:
        for y in b:
            term = x | y
            if not any((p, not holds) in term for p, holds in term):
                out.add(term)
    return _simple(out)


def either(conditions: Iterable[Condition]) -> Condition:
    """Returns when at least one of some conditions holds."""
    out: set[Alternative] = set()
    for c in conditions:
        if c == ALWAYS:
            return c
        out |= c
    return _simple(out)


def _simple(terms: set[Alternative]) -> Condition:
    """Returns alternatives with what follows from each other left out: p and q, or not p, is q or not p."""
    changed = True
    while changed and 1 < len(terms) <= _MOST:
        changed = False
        for a in terms:
            for b in terms:
                if a is b:
                    continue
                shorter = _shortened(a, b)
                if shorter is not None:
                    terms = (terms - {b}) | ({shorter} if shorter is not b else set())
                    changed = True
                    break
            if changed:
                break
    return frozenset(terms)


def _shortened(a: Alternative, b: Alternative) -> Alternative | None:
    """Returns `b` with a literal less where `a` allows it, `b` itself where `a` makes it superfluous, None else."""
    if a <= b:
        return b
    for p, holds in a:
        against = (p, not holds)
        if against in b and a - {(p, holds)} <= b - {against}:
            return b - {against}
    return None


class Liveness:
    """When the values of a step's nodes are there.

    Attributes:
      nodes: Node -> when it runs (an Enter, an Exit: seen from the frame around).
      loops: Loop -> when it is entered.

    Args:
      structure: The step's nodes and loops.
    """

    def __init__(self, structure: Structure):
        self._structure = structure
        self.nodes: dict[Operation, Condition] = {}
        self.loops: dict[Loop, Condition] = {}
        self._outputs: dict[Tensor, Condition] = {}
        self._predicates: dict[Tensor, Literal] = {}
        self._known: Alternative = frozenset()  # what holds wherever the loop that is looked at runs
        self._add(structure.root)

    def of(self, t: Tensor) -> Condition:
        """Returns when a tensor is there, seen from the frame that it is in."""
        if t in self._structure.fed:
            return ALWAYS
        known = self._outputs.get(t)
        if known is not None:
            return known
        if t._op.type in ENTERS:
            return ALWAYS  # in the loop; whether the loop runs is another matter
        return self.nodes.get(t._op, ALWAYS)

    def runs(self, op: Operation) -> Condition:
        """Returns when a node runs, seen from the frame that its outputs are in."""
        return ALWAYS if op.type in ENTERS else self.nodes.get(op, ALWAYS)

    def _add(self, loop: Loop) -> None:
        for item in loop.items:
            if isinstance(item, Loop):
                self._add_loop(item)
            else:
                self._node(item)

    def _add_loop(self, loop: Loop) -> None:
        entered = ALWAYS
        for op in loop.enters:
            self.nodes[op] = self._all_inputs(op)
            entered = both(entered, self.nodes[op])
        if not entered and all(self.nodes[op] for op in loop.enters):
            entered = _own(loop.enters[0])  # what comes in excludes each other; each may still go its way
        self.loops[loop] = entered
        outside = self._known
        if len(entered) == 1:
            self._known |= next(iter(entered))
        self._add(loop)
        self._known = outside

    def _all_inputs(self, op: Operation) -> Condition:
        found = ALWAYS
        for t in self._structure.inputs(op):
            found = both(found, self.of(t))
        for c in op._control_inputs:
            found = both(found, self.runs(c))
        return found if len(found) <= _MOST else _own(op)

    def _node(self, op: Operation) -> None:
        if op.type in MERGES:
            first = [t for t in self._structure.inputs(op) if t._op.type not in NEXTS]
            found = either(self.of(t) for t in first)
            self.nodes[op] = found if len(found) <= _MOST else _own(op)
        elif op.type == "ControlTrigger":
            self.nodes[op] = ALWAYS
        elif op.type in EXITS:
            loop = self._structure.owner[op]
            inside = self._all_inputs(op)
            # A loop ends with one iteration in which its condition fails, or does not go round at all.
            ends = len(inside) == 1 and all(_is_end(p, holds) for term in inside for p, holds in term)
            self.nodes[op] = self.loops[loop] if ends else both(self.loops[loop], _own(op))
        else:
            found = self.nodes[op] = self._all_inputs(op)
            if op.type in SWITCHES:
                pred, sense = self.predicate(self._structure.inputs(op)[1])
                for i, t in enumerate(op._outputs):
                    literal = pred, sense == bool(i)
                    if literal in self._known:
                        self._outputs[t] = found
                    elif (pred, not literal[1]) in self._known:
                        self._outputs[t] = frozenset()
                    else:
                        self._outputs[t] = both(found, frozenset([frozenset([literal])]))

    # -- predicates --------------------------------------------------------------------------------------------
    def predicate(self, t: Tensor) -> Literal:
        """Returns what decides a boolean tensor's value, and whether the tensor holds if that does."""
        found = self._predicates.get(t)
        if found is None:
            found = self._predicates[t] = self._trace(t)
        return found

    def _trace(self, t: Tensor) -> Literal:
        sense = True
        fed = self._structure.fed
        while t not in fed:
            op = t._op
            inputs = self._structure.inputs(op)
            if op.type == "LogicalNot":
                sense = not sense
                t = inputs[0]
            elif op.type == "Identity" or op.type in SWITCHES or op.type in EXITS:
                if inputs[0]._dtype.is_ref or op.type in EXITS:
                    break
                t = inputs[0]
            elif op.type in ENTERS and op.attrs["is_constant"]:
                t = inputs[0]
            elif op.type == "Equal":
                known = self._which_input(inputs)
                return (t, sense) if known is None else (known[0], known[1] == sense)
            else:
                break
        return t, sense

    def _which_input(self, inputs: tuple[Tensor, ...]) -> Literal | None:
        """Returns what decides whether `Equal(value_index of a Merge, i)` holds."""
        merge, index = inputs[0]._op, inputs[1]
        if merge.type not in MERGES or inputs[0]._value_index != 1 or index._op.type != "Const":
            return None
        taken = self._structure.inputs(merge)
        if index in self._structure.fed or inputs[0] in self._structure.fed or len(taken) != 2:
            return None
        first, second = (self.of(t) for t in taken)
        if len(first) != 1 or len(second) != 1:
            return None
        a, b = next(iter(first)), next(iter(second))
        apart = a - b
        if len(apart) != 1:
            return None
        ((pred, holds),) = apart
        if b - a != frozenset([(pred, not holds)]):
            return None
        i = int(np.asarray(index._op.attrs["value"]))
        return (pred, holds if i == 0 else not holds) if i in (0, 1) else None


def _own(op: Operation) -> Condition:
    """Returns a condition that nothing is known of."""
    return frozenset([frozenset([(op, True)])])


def _is_end(pred: Any, holds: bool) -> bool:
    return isinstance(pred, Tensor) and pred._op.type == "LoopCond" and not holds


def is_sure(condition: Condition) -> bool:
    return condition == ALWAYS
