"""Loops of TensorFlow 1: which node is in which frame, and the loops that follow, nested, with an order for each.

An Enter takes a value into a frame, an Exit out of it, a NextIteration into the frame's next iteration. A frame's nodes
that hang together are one loop.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace import errors
from headrace.graph import Operation, Tensor
from headrace.passes.access import Late

ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
NEXTS = frozenset({"NextIteration", "RefNextIteration"})
MERGES = frozenset({"Merge", "RefMerge"})
SWITCHES = frozenset({"Switch", "RefSwitch"})
CONTROL_FLOW = ENTERS | EXITS | NEXTS | MERGES | SWITCHES | {"LoopCond", "ControlTrigger"}


def is_back_edge(before: Operation, op: Operation) -> bool:
    """Whether an edge leads into the next iteration of a loop, so that it does not order nodes."""
    return before.type in NEXTS and op.type in MERGES


class Frame:
    """A frame as the graph shows it: its name within the frame around it (None around all)."""

    __slots__ = ("depth", "name", "parent")

    def __init__(self, name: str, parent: Frame | None):
        self.name = name
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1


class Loop:
    """Nodes of one frame that hang together, and the loops among them; or all that is in no frame.

    Attributes:
      parent: The loop around it, None for what is in no frame.
      enters: The Enter nodes through which values come in.
      items: The other nodes and the loops inside, in an order in which they can run.
    """

    def __init__(self, frame: Frame):
        self.frame = frame
        self.parent: Loop | None = None
        self.enters: list[Operation] = []
        self.items: list[Operation | Loop] = []
        self.first = 0  # the smallest number of a node, which decides between loops that could come next

    @property
    def name(self) -> str:
        return self.frame.name

    def nodes(self) -> Iterable[Operation]:
        """Gives all nodes, those of loops inside included."""
        yield from self.enters
        for item in self.items:
            if isinstance(item, Loop):
                yield from item.nodes()
            else:
                yield item


Item = Operation | Loop


class Structure:
    """The loops of a step's nodes.

    Attributes:
      root: What is in no frame, with all loops inside.
      owner: Node -> the loop that it is in; an Enter and an Exit are in the loop that they lead into and out of.

    Args:
      ops: The nodes, in an order in which they can run if edges into next iterations are left out.
      fed: Tensors that are given.
      late: What `late_reads` says of the nodes.

    Raises:
      InvalidArgumentError: Frames are put together wrongly; the message names the node.
    """

    def __init__(self, ops: Sequence[Operation], fed: set[Tensor], late: Late):
        self.ops = ops
        self.fed = fed
        self.late = late
        self.owner: dict[Operation, Loop] = {}
        self._home: dict[Operation, Frame] = {}
        self._none = Frame("", None)
        self._assign()
        self.root = self._loops()

    def inputs(self, op: Operation) -> tuple[Tensor, ...]:
        return self.late.get(op, op._inputs)

    def before(self, op: Operation) -> list[Operation]:
        """Returns the nodes that a node takes from or waits for."""
        out = [t._op for t in self.inputs(op) if t not in self.fed]
        out += op._control_inputs
        return out

    def output_frame(self, op: Operation) -> Frame:
        """Returns the frame in which a node's outputs are."""
        home = self._home[op]
        return home.parent or home if op.type in EXITS else home

    # -- frames ------------------------------------------------------------------------------------------------
    def _assign(self) -> None:
        frames: dict[tuple[Frame, str], Frame] = {}
        for op in self.ops:
            around = self._input_frame(op)
            if op.type in ENTERS:
                key = around, op.attrs["frame_name"]
                if not key[1]:
                    raise _invalid(op, f"The Enter node {{{{node {op.name}}}}} must have a frame name.")
                if key not in frames:
                    frames[key] = Frame(key[1], around)
                self._home[op] = frames[key]
                continue
            if around is self._none and (op.type in EXITS or op.type in NEXTS):
                raise _invalid(
                    op,
                    f"{{{{node {op.name}}}}} is in no loop: there is no Enter node on the way to this {op.type}.",
                )
            self._home[op] = around
        for op in self.ops:
            if op.type in MERGES:
                for t in self.inputs(op):
                    if t not in self.fed and t._op.type in NEXTS and self._home[t._op] is not self._home[op]:
                        raise self._different(op, [(t._op, self._home[t._op]), (op, self._home[op])])

    def _input_frame(self, op: Operation) -> Frame:
        """Returns the frame that a node's inputs are in.

        Raises:
          InvalidArgumentError: They are in different ones.
        """
        found: list[tuple[Any, Frame]] = [(t, self._none) for t in self.inputs(op) if t in self.fed]
        for b in self.before(op):
            if b in self._home:
                found.append((b, self.output_frame(b)))
        if not found:
            return self._none
        first = found[0][1]
        for other in found[1:]:
            if other[1] is not first:
                raise self._different(op, [other, found[0]])
        return first

    def _different(self, op: Operation, found: list[tuple[Any, Frame]]) -> errors.OpError:
        rows = [
            f"The input {f'{{{{node {b.name}}}}}' if isinstance(b, Operation) else f'{b.name}, which is fed,'} is in "
            f"frame '{frame.name}'."
            for b, frame in found
        ]
        return _invalid(op, f"{{{{node {op.name}}}}} has inputs from different frames. {' '.join(rows)}")

    # -- loops -------------------------------------------------------------------------------------------------
    def _loops(self) -> Loop:
        """Returns what is in no frame; loops are found from the innermost frames outwards."""
        by_frame: dict[Frame, list[Operation]] = {}
        for op in self.ops:
            by_frame.setdefault(self._home[op], []).append(op)
        inside: dict[Frame, list[Loop]] = {}
        for frame in sorted(by_frame, key=lambda f: -f.depth):
            if frame is self._none:
                continue
            assert frame.parent is not None
            by_frame.setdefault(frame.parent, [])
        root = Loop(self._none)
        for frame in sorted(by_frame, key=lambda f: -f.depth):
            nodes, loops = by_frame[frame], inside.get(frame, [])
            if frame is self._none:
                self._fill(root, nodes, loops)
                break
            for part_nodes, part_loops in self._connected(frame, nodes, loops):
                loop = Loop(frame)
                self._fill(loop, part_nodes, part_loops)
                assert frame.parent is not None
                inside.setdefault(frame.parent, []).append(loop)
        return root

    def _connected(
        self, frame: Frame, nodes: list[Operation], loops: list[Loop]
    ) -> list[tuple[list[Operation], list[Loop]]]:
        """Returns the parts of a frame that hang together."""
        parts = Groups()
        for item in [*nodes, *loops]:
            parts.find(item)
        takers = [*nodes, *[e for loop in loops for e in loop.enters]]
        for op in takers:
            if op.type in ENTERS and self._home[op] is frame:
                continue  # its inputs are in the frame around
            for b in self.before(op):
                if self.output_frame(b) is frame:
                    parts.join(self._item(b, frame), self._item(op, frame))
        out: dict[Any, tuple[list[Operation], list[Loop]]] = {}
        for op in nodes:
            out.setdefault(parts.find(op), ([], []))[0].append(op)
        for loop in loops:
            out.setdefault(parts.find(loop), ([], []))[1].append(loop)
        return list(out.values())

    def _item(self, op: Operation, frame: Frame) -> Item:
        """Returns what stands for a node in a frame: itself, or the loop that it is in."""
        if self._home[op] is frame:
            return op
        loop = self.owner[op]
        while loop.frame.parent is not frame:
            assert loop.parent is not None
            loop = loop.parent
        return loop

    def item(self, op: Operation, loop: Loop) -> Item:
        """Returns what stands for a node among the items of a loop: itself, or the inner loop that it is in."""
        mine = self.owner[op]
        if mine is loop:
            return op
        while mine.parent is not loop:
            assert mine.parent is not None
            mine = mine.parent
        return mine

    def _fill(self, loop: Loop, nodes: list[Operation], loops: list[Loop]) -> None:
        for op in nodes:
            self.owner[op] = loop
        for inner in loops:
            inner.parent = loop
        if loop.frame is not self._none:
            loop.enters = [op for op in nodes if op.type in ENTERS]
            nodes = [op for op in nodes if op.type not in ENTERS]
        loop.first = min(
            [op._id for op in [*nodes, *loop.enters]] + [inner.first for inner in loops], default=0
        )
        items: list[Item] = [*nodes, *loops]
        loop.items = ordered(items, lambda item: self._before_item(item, loop), self._stuck)

    def _before_item(self, item: Item, loop: Loop) -> set[Any]:
        takers = item.enters if isinstance(item, Loop) else [item]
        out: set[Any] = set()
        for op in takers:
            for b in self.before(op):
                # What an iteration of this loop takes from the one before is there from the start.
                if is_back_edge(b, op) or (b.type in ENTERS and self.owner[b] is loop):
                    continue
                out.add(self.item(b, loop))
        return out

    @staticmethod
    def _stuck(item: Item) -> errors.OpError:
        op = item if isinstance(item, Operation) else item.enters[0]
        return _invalid(
            op,
            f"The graph couldn't be sorted in topological order: {op.name} is in a cycle that no NextIteration closes.",
        )


def ordered(
    items: Sequence[Any], before: Callable[[Any], set[Any]], stuck: Callable[[Any], BaseException]
) -> list[Any]:
    """Returns items in an order in which each comes after those before it, the first made first.

    Raises:
      What `stuck` makes for an item in a cycle.
    """
    waiting: dict[Any, int] = {}
    after: dict[Any, list[Any]] = {}
    for item in items:
        mine = before(item)
        mine.discard(item)
        waiting[item] = len(mine)
        for b in mine:
            after.setdefault(b, []).append(item)
    number = {
        item: (item._id if isinstance(item, Operation) else item.first, i) for i, item in enumerate(items)
    }
    ready = [(number[item], item) for item, n in waiting.items() if not n]
    heapq.heapify(ready)
    out = []
    while ready:
        _, item = heapq.heappop(ready)
        out.append(item)
        for a in after.get(item, ()):
            waiting[a] -= 1
            if not waiting[a]:
                heapq.heappush(ready, (number[a], a))
    if len(out) < len(items):
        done = set(out)
        raise stuck(next(item for item in items if item not in done))
    return out


class Groups:
    """Disjoint groups of hashable things that can be joined."""

    def __init__(self) -> None:
        self._up: dict[Any, Any] = {}

    def find(self, item: Any) -> Any:
        """Returns what stands for an item's group."""
        up = self._up
        root = item
        while (above := up.setdefault(root, root)) is not root:
            root = above
        while up[item] is not root:
            up[item], item = root, up[item]
        return root

    def join(self, a: Any, b: Any) -> None:
        self._up[self.find(a)] = self.find(b)


def _invalid(op: Operation, message: str) -> errors.OpError:
    return errors.InvalidArgumentError(lambda: op.node_def, op, message)  # type: ignore[no-any-return]
