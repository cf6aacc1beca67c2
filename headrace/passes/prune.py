"""Pruning and ordering: the nodes that fetches need, in an order in which they can run."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from headrace import errors
from headrace.graph import Operation, Tensor
from headrace.passes.loops import is_back_edge


def needed(
    fetches: Iterable[Tensor], targets: Iterable[Operation], feeds: Iterable[Tensor]
) -> list[Operation]:
    """Returns the operations that a step has to run, ordered.

    Data and control edges are respected, but for those into a loop's next iteration; among nodes that could come
    next, the one created first does, so a step is deterministic.

    Args:
      fetches: The tensors whose values are asked for.
      targets: The operations that must run.
      feeds: Tensors whose values are given; nothing is run for their sake.

    Raises:
      InvalidArgumentError: The nodes form a cycle.
    """
    fed = set(feeds)
    # Who waits for a placeholder waits for what it is fed.
    given = {t._op for t in fed if t._op.type in ("Placeholder", "PlaceholderV2")}
    found: set[Operation] = set()
    stack = [t._op for t in fetches if t not in fed]
    stack.extend(targets)
    ordered = True
    while stack:
        op = stack.pop()
        if op in found:
            continue
        found.add(op)
        number = op._id
        for t in op._inputs:
            if t not in fed:
                before = t._op
                if before._id >= number:
                    ordered = False
                if before not in found:
                    stack.append(before)
        for before in op._control_inputs:
            if before in given:
                continue
            if before._id >= number:
                ordered = False
            if before not in found:
                stack.append(before)
    if ordered:
        return sorted(found, key=lambda op: op._id)
    return _topological(found, fed, given)


def _topological(ops: set[Operation], fed: set[Tensor], given: set[Operation]) -> list[Operation]:
    waiting: dict[Operation, int] = {}
    after: dict[Operation, list[Operation]] = {}
    for op in ops:
        before = {t._op for t in op._inputs if t not in fed and not is_back_edge(t._op, op)}
        before.update(b for b in op._control_inputs if b not in given)
        waiting[op] = len(before)
        for b in before:
            after.setdefault(b, []).append(op)
    ready = [(op._id, op) for op, n in waiting.items() if n == 0]
    heapq.heapify(ready)
    out: list[Operation] = []
    while ready:
        _, op = heapq.heappop(ready)
        out.append(op)
        for follower in after.get(op, ()):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, (follower._id, follower))
    if len(out) < len(ops):
        stuck = min((op for op in ops if waiting[op] > 0), key=lambda op: op._id)
        raise errors.InvalidArgumentError(
            stuck.node_def,
            stuck,
            f"The graph couldn't be sorted in topological order: {stuck.name} is in a cycle.",
        )
    return out
