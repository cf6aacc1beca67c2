"""The order in which the nodes of a GraphDef can be added: every node after those it takes from."""

from __future__ import annotations

import heapq


def split_input(text: str) -> tuple[str, int]:
    """Returns the node and the output index that an input of a NodeDef names; -1 stands for a control input.

    Raises:
      ValueError: It is malformed.
    """
    if text[:1] == "^":
        return text[1:], -1
    node, colon, index = text.rpartition(":")
    if not colon:
        return text, 0
    if not node or not index.isdigit():
        raise ValueError(f"Unknown input node '{text}'")
    return node, int(index)


def topological(names: list[str], ops: list[str], inputs: list[list[str]]) -> tuple[list[int], set[int]]:
    """Returns the order in which to add nodes, and which of them close loops.

    Among the nodes that can be added the first in the file is next, as in TensorFlow. A Merge does not wait for the
    NextIteration that it takes.

    Args:
      names, ops, inputs: For each node its name, its op, and the inputs that it waits for, as written in the file;
        inputs that come from outside are left out.

    Returns:
      The indices in order, and the indices of the Merge nodes with a back edge.

    Raises:
      ValueError: There is another cycle.
    """
    if _in_order(names, inputs):
        return list(range(len(names))), set()
    index = {name: i for i, name in enumerate(names)}
    needs: list[list[int]] = []
    for mine in inputs:
        row = []
        for text in mine:
            j = index.get(text)
            if j is None:
                j = index.get(split_input(text)[0])
            if j is not None:  # else it is reported, with its node, when the node is added
                row.append(j)
        needs.append(row)
    loops: set[int] = set()
    waiting = [0] * len(names)
    takers: list[list[int]] = [[] for _ in names]
    for i, row in enumerate(needs):
        merge = ops[i] in ("Merge", "RefMerge")
        for j in row:
            if merge and ops[j] in ("NextIteration", "RefNextIteration"):
                loops.add(i)
                continue
            takers[j].append(i)
            waiting[i] += 1
    ready = [i for i, n in enumerate(waiting) if n == 0]
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for j in takers[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                heapq.heappush(ready, j)
    if len(order) < len(names):
        raise ValueError(f"{len(names) - len(order)} nodes in a cycle")
    return order, loops


def _in_order(names: list[str], inputs: list[list[str]]) -> bool:
    """Whether every node stands after those that it takes from, as in files that TensorFlow writes."""
    seen: set[str] = set()
    for name, mine in zip(names, inputs, strict=True):
        for text in mine:
            if text not in seen:
                node = split_input(text)[0]
                if node not in seen:
                    return False
                seen.add(text)
        seen.add(name)
    return True
