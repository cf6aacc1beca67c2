"""Regions: the parts of a step in which values may be missing or come once for each iteration.

Outside them every node runs once and every value is there. Whether values are there comes from `Liveness`; what hangs
together through values that may be missing, and every loop, is one region.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.graph import Operation, Tensor
from headrace.passes.liveness import ALWAYS, Liveness
from headrace.passes.loops import CONTROL_FLOW, Groups, Item, Loop, Structure, ordered


class Region:
    """A part of a step that is run as one.

    Attributes:
      items: Its nodes and loops, in an order in which they can run.
    """

    def __init__(self, items: list[Item]):
        self.items = items
        self.first = min(i.first if isinstance(i, Loop) else i._id for i in items)

    def nodes(self) -> Iterable[Operation]:
        """Gives all nodes, those of loops included."""
        for item in self.items:
            if isinstance(item, Loop):
                yield from item.nodes()
            else:
                yield item


def regions(structure: Structure, liveness: Liveness) -> list[Operation | Region]:
    """Returns the step's plain nodes and regions, in an order in which they can run."""
    root = structure.root
    groups = Groups()
    for item in root.items:
        groups.find(item)
        for op in _takers(item):
            for t, before in _edges(structure, op):
                condition = liveness.runs(before) if t is None else liveness.of(t)
                if condition != ALWAYS:
                    groups.join(structure.item(before, root), item)
    parts: dict[Item, list[Item]] = {}
    for item in root.items:
        parts.setdefault(groups.find(item), []).append(item)
    after: dict[Item, set[Item]] = {part: set() for part in parts}
    for item in root.items:
        for op in _takers(item):
            for _, before in _edges(structure, op):
                a, b = groups.find(structure.item(before, root)), groups.find(item)
                if a is not b:
                    after[a].add(b)
    # What lies between two nodes of a region is part of it.
    home: dict[Item, int] = {}
    for i, component in enumerate(_components(after)):
        for part in component:
            for item in parts[part]:
                home[item] = i
    joined: dict[int, list[Item]] = {}
    for item in root.items:
        joined.setdefault(home[item], []).append(item)
    out: dict[int, Operation | Region] = {}
    for i, items in joined.items():
        only = items[0]
        plain = len(items) == 1 and isinstance(only, Operation) and only.type not in CONTROL_FLOW
        out[i] = only if plain and isinstance(only, Operation) else Region(items)

    def before_part(part: Operation | Region) -> set[Operation | Region]:
        found = set()
        for item in part.items if isinstance(part, Region) else [part]:
            for op in _takers(item):
                for _, b in _edges(structure, op):
                    found.add(out[home[structure.item(b, root)]])
        return found

    return ordered(list(out.values()), before_part, lambda part: RuntimeError("regions form a cycle"))


def _takers(item: Item) -> list[Operation]:
    return item.enters if isinstance(item, Loop) else [item]


def _edges(structure: Structure, op: Operation) -> Iterable[tuple[Tensor | None, Operation]]:
    """Gives a node's edges: tensor and the node that makes it, None and the node for a control edge."""
    for t in structure.inputs(op):
        if t not in structure.fed:
            yield t, t._op
    for c in op._control_inputs:
        yield None, c


def _components(after: dict[Item, set[Item]]) -> list[list[Item]]:
    """Returns the strongly connected components of a graph (Tarjan's algorithm, without recursion)."""
    number: dict[Item, int] = {}
    low: dict[Item, int] = {}
    open_: list[Item] = []
    is_open: set[Item] = set()
    out: list[list[Item]] = []
    for start in after:
        if start in number:
            continue
        number[start] = low[start] = len(number)
        open_.append(start)
        is_open.add(start)
        path = [(start, iter(after[start]))]
        while path:
            item, followers = path[-1]
            for f in followers:
                if f not in number:
                    number[f] = low[f] = len(number)
                    open_.append(f)
                    is_open.add(f)
                    path.append((f, iter(after[f])))
                    break
                if f in is_open:
                    low[item] = min(low[item], number[f])
            else:
                path.pop()
                if path:
                    around = path[-1][0]
                    low[around] = min(low[around], low[item])
                if low[item] == number[item]:
                    component: list[Item] = []
                    while True:
                        last = open_.pop()
                        is_open.discard(last)
                        component.append(last)
                        if last is item:
                            break
                    out.append(component)
    return out
