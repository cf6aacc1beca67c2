"""How often a loop runs, as far as its condition and its counters say before it has run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.graph import Tensor
from headrace.graph.func_graph import Function
from headrace.passes.aliases import shared_inputs

# comparison -> (the comparison with its sides exchanged, whether equality goes on)
_COMPARISONS = {
    "Less": ("Greater", False),
    "LessEqual": ("GreaterEqual", True),
    "Greater": ("Less", False),
    "GreaterEqual": ("LessEqual", True),
}


@dataclass
class TripCount:
    """What is known of a loop's iterations.

    Attributes:
      most: The most iterations there can be, None if that isn't known.
      is_exact: Whether there are exactly so many.
      counters: Position of each loop variable that changes by the same number in each iteration -> that number.
      missing: Positions of operands whose values would make `most` known.
    """

    most: int | None = None
    is_exact: bool = False
    counters: dict[int, int] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)


def trip_count(
    test: Function, work: Function, operands: Sequence[Any], known: Callable[[Tensor], Any] = lambda t: None
) -> TripCount:
    """Returns how often a loop runs.

    Args:
      test: Its condition.
      work: Its body.
      operands: What it starts with; NumPy arrays are known, anything else isn't.
      known: Gives the value that a tensor of the condition has in all iterations, None if that isn't known.
    """
    found = TripCount()
    fixed = constant(work)
    for i, (given, after) in enumerate(zip(work.inputs, work.outputs, strict=True)):
        if i not in fixed and type(operands[i]) is np.ndarray and _is_whole(operands[i]):
            step = _step(given, after)
            if step:
                found.counters[i] = step
    position = {t: i for i, t in enumerate(test.inputs)}
    is_exact = True
    for conjunct in _conjuncts(test.outputs[0]):
        most = _iterations(conjunct, position, fixed, operands, found, known)
        if most is None:
            is_exact = False
        elif found.most is None or most < found.most:
            found.most = most
    found.is_exact = is_exact and found.most is not None
    if found.most is not None:
        found.missing = []
    return found


def unmoved(work: Function) -> list[int]:
    """Returns the positions of what a loop's body hands on as it is."""
    return [i for i, (a, b) in enumerate(zip(work.inputs, work.outputs, strict=True)) if strip(b) is a]


def constant(work: Function) -> set[int]:
    """Returns the positions of what is the same in all iterations: a body may write what it hands on as it is."""
    shared = shared_inputs(work)
    return {i for i in unmoved(work) if work.inputs[i] not in shared}


def _is_whole(array: Any) -> bool:
    return array.shape == () and array.dtype.kind in "iu"


def strip(tensor: Tensor) -> Tensor:
    """Returns what a tensor is a copy of."""
    while tensor._op.type == "Identity":
        tensor = tensor._op._inputs[0]
    return tensor


def _constant(tensor: Tensor) -> int | None:
    op = strip(tensor)._op
    if op.type != "Const":
        return None
    value = np.asarray(op.attrs["value"])
    return int(value) if _is_whole(value) else None


def _step(given: Tensor, after: Tensor) -> int | None:
    """Returns by how much a loop variable changes in each iteration."""
    op = strip(after)._op
    if op.type not in ("Add", "AddV2", "Sub"):
        return None
    a, b = op._inputs
    if strip(a) is given and (step := _constant(b)) is not None:
        return -step if op.type == "Sub" else step
    if op.type != "Sub" and strip(b) is given:
        return _constant(a)
    return None


def _conjuncts(tensor: Tensor) -> list[Tensor]:
    tensor = strip(tensor)
    if tensor._op.type == "LogicalAnd":
        return [c for t in tensor._op._inputs for c in _conjuncts(t)]
    return [tensor]


def _iterations(
    conjunct: Tensor,
    position: dict[Tensor, int],
    fixed: set[int],
    operands: Sequence[Any],
    found: TripCount,
    known: Callable[[Tensor], Any],
) -> int | None:
    """Returns in how many iterations a comparison of a counter with a limit holds."""
    op = conjunct._op
    if op.type not in _COMPARISONS:
        return None
    a, b = (strip(t) for t in op._inputs)
    kind = op.type
    if position.get(a) not in found.counters:
        a, b, kind = b, a, _COMPARISONS[kind][0]
    counter = position.get(a)
    if counter is None or counter not in found.counters:
        return None
    limit = _constant(b)
    if limit is None:
        place = position.get(b)
        if place is None:
            value = known(b)
        elif place in fixed:
            value = operands[place]
            if type(value) is not np.ndarray:
                found.missing.append(place)
        else:
            return None
        if type(value) is not np.ndarray or not _is_whole(value):
            return None
        limit = int(value)
    start, step = int(operands[counter]), found.counters[counter]
    with_equal = _COMPARISONS[kind][1]
    distance = limit - start if kind.startswith("Less") else start - limit
    pace = step if kind.startswith("Less") else -step
    if pace <= 0:
        return None
    distance += with_equal
    return max(0, -(-distance // pace))
