"""Where a graph writes and reads a `tf.TensorArray`, and whether that alone says that no element is met twice.

An element is written once, and read once unless it is kept; what was read isn't written afterwards. What follows from
the graph needs no look at a step's data: places that are constants, and those that a loop counts up or down.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.graph import Operation, Tensor
from headrace.opdef import constant_value
from headrace.opdef.functions import called_functions
from headrace.ops.array.tensor_list_shapes import ARRAY

# Op -> which input says the place, None for all of them.
_WRITES = {"TensorListSetItem": 1, "TensorListScatterIntoExistingList": 2}
_READS = {"TensorListGetItem": 1, "TensorListGather": 1, "TensorListStack": None, "TensorListConcatV2": None}
_FILLS = ("TensorListFromTensor", "TensorListSplit")  # which write all elements of a new array
_HANDS_ON = ("Identity", "TensorListResize")
_LOOPS = ("While", "StatelessWhile")
_BRANCHES = ("If", "StatelessIf", "Case")
_SUMS = ("Add", "AddV2", "Sub")
_MOST_USES = 40  # nodes that are compared with each other


@dataclass(frozen=True)
class _Counted:
    """A place that is a loop's counter, added to something that stays the same.

    Attributes:
      counter: The loop variable.
      step: By how much it grows in each iteration, the sign of the sum considered.
      offset: What is added, None if that isn't known.
      first: The place in the first iteration, None if that isn't known.
    """

    counter: Tensor
    step: int
    offset: int | None
    first: int | None


@dataclass(frozen=True)
class _Use:
    """A node that writes or reads elements.

    Attributes:
      op: The node.
      index: The tensor that says at which places, None for all.
      path: The nodes whose functions it is in, from the array's graph on, each with the number of the function.
    """

    op: Operation
    writes: bool
    index: Tensor | None
    path: tuple[tuple[Operation, int], ...]

    @property
    def loops(self) -> list[tuple[Operation, int]]:
        return [call for call in self.path if call[0].type in _LOOPS]


def needs_flags(op: Operation) -> bool:
    """Whether the graph alone doesn't tell that no element of an array that a node makes is written or read twice."""
    facts = op.__dict__.get(ARRAY)
    if facts is None:
        return False
    uses = _uses(op)
    if uses is None or len(uses) > _MOST_USES:
        return True
    if not facts.clears and not any(u.writes for u in uses):
        return False
    checked = [u for u in uses if u.writes or facts.clears]
    if not all(map(_is_once, checked)):
        return True
    return any(
        (facts.clears or a.writes or b.writes) and not _are_apart(a, b)
        for a, b in itertools.combinations(uses, 2)
    )


def _uses(op: Operation) -> list[_Use] | None:
    """Returns all nodes that write or read an array, None if it goes where that can't be followed."""
    found: list[_Use] = []
    if op.type in _FILLS:
        found.append(_Use(op, True, None, ()))
    todo: list[tuple[Tensor, Any]] = [(op._outputs[0], ())]
    seen = set()
    while todo:
        tensor, path = todo.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        for user in tensor._consumers:
            marked = ARRAY in user.__dict__
            if user.type in _WRITES:
                if marked:
                    found.append(_Use(user, True, user._inputs[_WRITES[user.type]], path))
                todo.append((user._outputs[0], path))
            elif user.type in _READS:
                if marked:
                    at = _READS[user.type]
                    found.append(_Use(user, False, None if at is None else user._inputs[at], path))
            elif user.type in _HANDS_ON:
                todo.append((user._outputs[0], path))
            elif user.type in _LOOPS or user.type in _BRANCHES:
                functions = called_functions(user)
                first = len(user._inputs) - len(functions[0].inputs)
                for i, t in enumerate(user._inputs[first:]):
                    if t is not tensor:
                        continue
                    todo += [(f.inputs[i], (*path, (user, k))) for k, f in enumerate(functions)]
                    if user.type in _LOOPS:
                        todo.append((user._outputs[i], path))
                if user.type in _BRANCHES:
                    todo += [(t, path) for t in user._outputs if t._dtype.name == "variant"]
            elif called_functions(user):
                return None
    return list(dict.fromkeys(found))


def _is_once(use: _Use) -> bool:
    """Whether a node can't meet an element that it has met before."""
    loops = use.loops
    known = None if use.index is None else constant_value(_outside(use.index))
    if loops:
        is_one = use.op.type in ("TensorListGetItem", "TensorListSetItem")
        # The second function of a loop is its body; the condition's nodes are run once more.
        return len(loops) == 1 and loops[0][1] == 1 and is_one and _counted(use) is not None
    if use.index is None or use.op.type in ("TensorListGetItem", "TensorListSetItem"):
        return True
    return known is not None and len(np.unique(known)) == known.size


def _are_apart(a: _Use, b: _Use) -> bool:
    """Whether two nodes can't be at fault together: they meet other elements, or in an order that is right."""
    exclusive = _is_exclusive(a, b)
    if not a.loops and not b.loops:
        return exclusive or _in_right_order(a, b) or _are_disjoint(a, b)
    if len(a.loops) > 1 or len(b.loops) > 1:
        return exclusive and not _meet_in_a_loop(a, b)
    if a.loops != b.loops:
        if exclusive and not _meet_in_a_loop(a, b):
            return True
        return _in_right_order(a, b) or _are_disjoint(a, b)
    x, y = _counted(a), _counted(b)
    if x is None or y is None or x.counter is not y.counter or x.step != y.step:
        return False
    same = _outside(a.index) is _outside(b.index) or (x.offset is not None and x.offset == y.offset)
    if same and exclusive:
        return True
    if a.writes == b.writes or x.offset is None or y.offset is None:
        # Places that keep a distance which no number of steps makes up for are apart.
        return x.offset is not None and y.offset is not None and (x.offset - y.offset) % abs(x.step) != 0
    read, write = (y, x) if a.writes else (x, y)
    ahead = (write.offset - read.offset) * (1 if write.step > 0 else -1)  # type: ignore[operator]
    if ahead > 0:
        return True  # what is read was written in an iteration before
    first, then = (a, b) if a.writes else (b, a)
    return ahead == 0 and _comes_first(first, then)


def _is_exclusive(a: _Use, b: _Use) -> bool:
    """Whether two nodes are in different branches of one node."""
    for (op, i), (other, k) in zip(a.path, b.path, strict=False):
        if op is not other:
            return False
        if i != k:
            return op.type in _BRANCHES
    return False


def _meet_in_a_loop(a: _Use, b: _Use) -> bool:
    """Whether a loop is around both nodes."""
    return any(x == y and x[0].type in _LOOPS for x, y in zip(a.path, b.path, strict=False))


def _in_right_order(a: _Use, b: _Use) -> bool:
    """Whether one node writes and the other reads what was written before, all writes being over."""
    if a.writes == b.writes:
        return False
    return _comes_first(a, b) if a.writes else _comes_first(b, a)


def _comes_first(a: _Use, b: _Use) -> bool:
    """Whether one node, or what it is in, runs before another."""
    depth = 0
    while depth < min(len(a.path), len(b.path)) and a.path[depth] == b.path[depth]:
        depth += 1
    x = a.path[depth][0] if depth < len(a.path) else a.op
    y = b.path[depth][0] if depth < len(b.path) else b.op
    return x is not y and x._id < y._id


def _are_disjoint(a: _Use, b: _Use) -> bool:
    """Whether two nodes that are not in the same loop never meet the same element."""
    x, y = _range(a), _range(b)
    if x is None or y is None:
        return False
    if isinstance(x, set) and isinstance(y, set):
        return not x & y
    if isinstance(x, set):
        x, y = y, x
    if isinstance(x, set) or not isinstance(y, set):
        return False
    first, step = x
    return all((p < first) if step > 0 else (p > first) for p in y)


def _range(use: _Use) -> Any:
    """Returns a set of places, or where they begin and by how much they grow; None if neither is known."""
    if use.index is None:
        return None
    if use.loops:
        found = _counted(use)
        return None if found is None or found.first is None else (found.first, found.step)
    known = constant_value(_outside(use.index))
    return None if known is None else set(known.reshape(-1).tolist())


# -- what a loop counts ------------------------------------------------------------------------------------------


def _outside(tensor: Any) -> Any:
    """Returns the tensor that one in a branch stands for, if it comes from outside."""
    graph: Any = tensor._op._graph
    while graph.building_function and not graph.repeats:
        outer = next((o for o, inner in graph._captures.items() if inner is tensor), None)
        if outer is None:
            break
        tensor, graph = outer, outer._op._graph
    return tensor


def _counted(use: _Use) -> _Counted | None:
    """Returns what is known of the place of a node in the body of a loop, None if the loop doesn't count it."""
    loop = use.loops[-1][0]
    body = called_functions(loop)[-1]
    graph: Any = body.graph
    if not getattr(graph, "repeats", False):
        return None
    found = _sum(use.index, graph, body)
    if found is None:
        return None
    counter, sign, offset = found
    at = next(i for i, t in enumerate(body.inputs) if t is counter)
    step = _step(counter, body.outputs[at], graph)
    if not step:
        return None
    start = constant_value(_outside(loop._inputs[at]))
    first = None
    if start is not None and start.size == 1 and offset is not None:
        first = sign * int(start.reshape(())) + offset
    return _Counted(counter, sign * step, offset, first)


def _sum(tensor: Any, graph: Any, body: Any) -> tuple[Tensor, int, int | None] | None:
    """Returns the loop variable in a sum, its sign, and what else is in the sum, None for what isn't known of that."""
    tensor = _outside(tensor)
    op = tensor._op
    if op.type == "Identity":
        return _sum(op._inputs[0], graph, body)
    if op.type in _SUMS:
        a, b = op._inputs
        minus = -1 if op.type == "Sub" else 1
        for one, other, sign, other_sign in ((a, b, 1, minus), (b, a, minus, 1)):
            found = _sum(one, graph, body) if _stays(other, graph) else None
            if found is not None:
                counter, inner, offset = found
                known = constant_value(_outside(other))
                if known is None or known.size != 1 or offset is None:
                    return counter, sign * inner, None
                return counter, sign * inner, sign * offset + other_sign * int(known.reshape(()))
        return None
    if op._graph is graph and not _stays(tensor, graph):
        for before in body.inputs:
            if before is tensor:
                return tensor, 1, 0
    return None


def _step(before: Tensor, after: Tensor, graph: Any) -> int:
    """Returns by how much a loop variable grows in each iteration, 0 if that isn't known."""
    op = after._op
    while op.type == "Identity":
        op = op._inputs[0]._op
    if op.type not in _SUMS:
        return 0
    by = [t for t in op._inputs if t is not before]
    known = constant_value(by[0]) if len(by) == 1 else None
    if known is None or known.size != 1 or (op.type == "Sub" and op._inputs[0] is not before):
        return 0
    step = int(known.reshape(()))
    return -step if op.type == "Sub" else step


def _stays(tensor: Any, graph: Any) -> bool:
    """Whether a tensor of a loop's body is the same in each iteration."""
    tensor = _outside(tensor)
    if constant_value(tensor) is not None:
        return True
    if any(tensor is inner for inner in graph._captures.values()):
        return True
    op = tensor._op
    if op.type in (*_SUMS, "Mul", "Identity"):
        return all(_stays(t, graph) for t in op._inputs)
    pairs = zip(graph.inputs, graph.outputs, strict=False)
    return any(tensor is before and before is after for before, after in pairs)
