"""Rewriting: cheaper nodes in the place of a step's own, by tables of patterns.

What is rewritten is the list of nodes that a plan has pruned, never the program's graph: names, the number of nodes and
what can be fetched stay. A pattern looks at one node at a time, in the order in which they run, and says which tensors
may stand for its results. A node stays as it is if its results are fetched or fed, if it is asked to run, if control
edges lead to it or away, or if it touches a reference, a resource or a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.dtypes import resource, variant
from headrace.graph import Operation, Tensor, hooks
from headrace.passes.access import Late

Inputs = tuple[Tensor, ...]
Example = Callable[[Any, Any], Any]

# What a node must have for a pattern to look at it: nothing; a constant among its inputs; only constants; the inputs
# of an earlier node of its op, constants aside. Few nodes have any, and that is cheap to see.
ANY, ONE_KNOWN, ALL_KNOWN, AGAIN = range(4)
_MOST_TWINS = (
    8  # nodes that differ in their constants only, remembered for one that may be equal to any of them
)

# Nodes that must be seen to run though they are not declared as stateful, and those that compute nothing.
_SEEN = frozenset({"Const", "CheckNumerics", "Placeholder", "PlaceholderV2", "FakeParam"})


@dataclass(frozen=True)
class Pattern:
    """One way to make a step cheaper.

    Attributes:
      name: What `explain` calls it.
      types: The nodes it looks at, separated by blanks; "*" for all that do nothing but compute.
      rewrite: Is given a node, its inputs and a `Rewriter`; returns the tensors that stand for the node's outputs from
        now on (or the one), or None to leave the node alone.
      why: What pays.
      fires: Examples that the pattern fires on: functions of the `tf` module and a placeholder of shape [2, 3].
      alone: Examples that look like it and are left alone.
      glance: What a node must have for the pattern to look at it: one of the constants above.
      is_exact: Whether results stay the same to the last bit.
    """

    name: str
    types: str
    rewrite: Callable[[Operation, Inputs, Rewriter], Any]
    why: str
    fires: tuple[Example, ...]
    alone: tuple[Example, ...]
    glance: int = ANY
    is_exact: bool = True


@dataclass(frozen=True)
class Table:
    """Patterns that are turned on and off together.

    Attributes:
      name: What options call it.
      patterns: The patterns, in the order in which they are tried.
    """

    name: str
    patterns: tuple[Pattern, ...]


class Rules:
    """Some tables together.

    Args:
      tables: The tables, in the order in which their patterns are tried.
    """

    def __init__(self, tables: Sequence[Table]):
        self._patterns = [(p, p.types.split()) for table in tables for p in table.patterns]
        self._by_kind: dict[Any, list[tuple[Pattern, ...]]] = {}

    def of(self, kind: Any) -> list[tuple[Pattern, ...]]:
        """Returns the patterns that look at an op's nodes, those of each glance."""
        found = self._by_kind.get(kind)
        if found is None:
            computes = _only_computes(kind)
            mine = [p for p, types in self._patterns if kind.name in types or (computes and types == ["*"])]
            found = [tuple([p for p in mine if p.glance == g]) for g in (ANY, ONE_KNOWN, ALL_KNOWN, AGAIN)]
            self._by_kind[kind] = found
        return found


@dataclass
class Rewritten:
    """A step's nodes with cheaper ones in their place.

    Attributes:
      ops: The nodes, in an order in which they can run.
      late: Node -> its inputs, where they are others than the node says.
      counts: Pattern -> how often it fired.
    """

    ops: list[Operation]
    late: Late
    counts: Counter[str] = field(default_factory=Counter)


class Rewriter:
    """Rewrites the nodes of one step; what patterns ask about the step, and make nodes with.

    Attributes:
      most_bytes: The size of the largest constant that may be made.
      known: The constants so far, each with its value if that is one number, else with None.
      twins: The earlier nodes that may be equal to the one that is looked at, for patterns that glance `AGAIN`.
      computed: For what is computed from constants, so that it is computed once.

    Args:
      ops: The nodes, in an order in which they can run.
      wanted: The tensors that the step returns.
      targets: The operations that it runs.
      fed: Tensors that are given.
      late: Node -> its inputs, where they are others than the node says.
      waits: Node -> what it waits for, where that is something else than the node says.
    """

    def __init__(
        self,
        ops: list[Operation],
        wanted: Iterable[Tensor],
        targets: Iterable[Operation],
        fed: Iterable[Tensor],
        late: Late,
        waits: dict[Operation, list[Operation]],
        most_bytes: int,
    ):
        self.most_bytes = most_bytes
        self._before = ops
        self._ops: list[Operation] = []
        self._late = dict(late)
        self._fed = frozenset(fed)
        self._stays = {t._op for t in (*wanted, *self._fed)}
        self._stays.update(targets)
        for op, awaited in waits.items():
            self._stays.add(op)
            self._stays.update(awaited)
        self._values: dict[int, Tensor] = {}  # id of a tensor -> the one that stands for it
        self._absorbed: set[Operation] = set()
        self._uses: Counter[Tensor] | None = None
        self.known: dict[Tensor, Any] = {}
        self._counts: Counter[str] = Counter()
        self.twins: tuple[Operation, ...] = ()
        self.computed: dict[Any, tuple[Operation, list[Tensor]]] = {}

    @np.errstate(all="ignore")
    def run(self, rules: Rules) -> Rewritten:
        """Rewrites the nodes."""
        ops, late, values, stays, known = self._ops, self._late, self._values, self._stays, self.known
        # Each op's patterns, and its nodes so far (one, or a tuple of several) by their inputs or, if there are
        # constants among those, by the first other one.
        met: dict[Any, Any] = {}
        for op in self._before:
            inputs = late[op] if late and op in late else op._inputs
            if values:
                for t in inputs:
                    if id(t) in values:
                        inputs = late[op] = tuple([values.get(id(t), t) for t in inputs])
                        break
            kind = op.kind
            found = met.get(kind)
            if found is None:
                found = met[kind] = *rules.of(kind), {}
            patterns, one_known, all_known, again, nodes = found
            looks = patterns or one_known or all_known or again
            if not looks or op._control_inputs or op._control_outputs or op in stays:
                if op.type == "Const" and op._outputs[0] not in self._fed:
                    self._know(op._outputs[0])
                ops.append(op)
                continue
            # Numbers stand for tensors: those hash more slowly. Different inputs may have one number.
            key: Any = None
            is_known = False
            for t in inputs:
                if t._op.type == "Const" and t in known:
                    is_known = True
                elif key is None:
                    key = first = id(t)
                else:
                    key = 3 * key + id(t)
            if is_known:
                if key is None:
                    patterns += all_known + one_known
                else:
                    key = first
                    patterns += one_known
            twins: Any = op
            if again and key is not None:
                twins = nodes.setdefault(key, op)
                if twins is not op:
                    self.twins = twins if type(twins) is tuple else (twins,)
                    patterns += again
            for pattern in patterns:
                new = pattern.rewrite(op, inputs, self)
                if new is not None and self._replace(op, inputs, new):
                    self._counts[pattern.name] += 1
                    if twins is op:
                        nodes.pop(key, None)
                    break
            else:
                ops.append(op)
                if twins is not op and len(self.twins) < _MOST_TWINS:
                    nodes[key] = *self.twins, op
        if not self._counts:
            return Rewritten(self._before, self._late, self._counts)
        return Rewritten(self._swept() if self._absorbed else ops, self._late, self._counts)

    def _replace(self, op: Operation, inputs: Inputs, found: Any) -> bool:
        new = (found,) if type(found) is Tensor else found
        for t in (*inputs, *new):
            if t._dtype.is_ref or t._dtype is resource or t._dtype is variant:
                return False
        values, device = self._values, op._device
        for t in new:
            # A device that does not exist must be told of, and what has been asked for a device is left on it.
            if t._op._device != device:
                return False
        for old, t in zip(op._outputs, new, strict=True):
            values[id(old)] = t
        self._late.pop(op, None)
        return True

    def _swept(self) -> list[Operation]:
        """Returns the nodes without those that only rewritten ones needed, and the constants that only those took."""
        used = set(self._stays)
        late, absorbed = self._late, self._absorbed
        kept = []
        for op in reversed(self._ops):
            if op not in used and (op in absorbed or (op.type == "Const" and not op._control_outputs)):
                continue
            kept.append(op)
            for t in late.get(op, op._inputs):
                used.add(t._op)
        kept.reverse()
        return kept

    # -- what patterns ask -------------------------------------------------------------------------------------
    def inputs(self, op: Operation) -> Inputs:
        """Returns the inputs of an earlier node."""
        return self._late.get(op, op._inputs)

    def constant(self, t: Tensor) -> np.ndarray[Any, Any] | None:
        """Returns the value of a constant, None for any other tensor."""
        return t._op.attrs["value"] if t in self.known else None

    def _know(self, t: Tensor) -> None:
        value = t._op.attrs["value"]
        self.known[t] = None if value.ndim else value.item()

    def is_private(self, op: Operation) -> bool:
        """Whether the results of a node go to one input of one node, and nowhere else."""
        if self._uses is None:
            self._uses = Counter(t for op in self._before for t in self._late.get(op, op._inputs))
        return self._may_go(op) and sum(self._uses[t] for t in op._outputs) == 1

    def is_fed(self, t: Tensor) -> bool:
        """Whether the step is given a tensor's value."""
        return t in self._fed

    # -- what patterns make ------------------------------------------------------------------------------------
    def absorb(self, op: Operation) -> None:
        """Has an earlier node left out, unless somebody needs it besides those that are rewritten."""
        if self._may_go(op):
            self._absorbed.add(op)

    def stands_for(self, new: Tensor, old: Tensor) -> bool:
        """Has later nodes take another tensor in the place of an earlier node's result; returns whether they do."""
        if not self._may_go(old._op) or new._op._device != old._op._device:
            return False
        self._values[id(old)] = new
        return True

    def _may_go(self, op: Operation) -> bool:
        return op not in self._stays and not op._control_inputs and not op._control_outputs

    def add(
        self, kind: str, like: Operation, inputs: Inputs, attrs: dict[str, Any], types: Any, dims: Any
    ) -> Operation:
        """Adds a node that has another one's name, device and place in the program.

        Args:
          kind: Its op.
          like: The other node.
          inputs: Its inputs.
          attrs: Its attrs.
          types: The types of its outputs.
          dims: Their shapes.
        """
        op = Operation(like._graph, hooks.lookup_kind(kind), like._name, inputs, attrs, [], like._traceback)
        op._add_outputs(types, dims)
        op._id = like._id
        op._device = like._device
        self._ops.append(op)
        return op

    def const(self, like: Operation, value: np.ndarray[Any, Any], dtype: Any) -> Tensor:
        """Adds a constant."""
        op = self.add("Const", like, (), {"value": value, "dtype": dtype}, [dtype], [value.shape])
        self._know(op._outputs[0])
        return op._outputs[0]


def have_same_attrs(one: Operation, other: Operation) -> bool:
    """Whether two nodes of an op have the same attrs, marks included."""
    a, b = one.attrs, other.attrs
    if len(a) != len(b):
        return False
    for key, value in a.items():
        its = b.get(key)
        if isinstance(value, np.ndarray) or isinstance(its, np.ndarray):
            return False
        if value is not its and (type(value) is not type(its) or value != its):
            return False
    return True


def _only_computes(kind: Any) -> bool:
    """Whether running a node has no effect but its results, which are those of any node like it with these inputs."""
    if (
        kind.is_stateful
        or kind.name in _SEEN
        or kind.name == "Const"
        or not (kind.module or "").startswith("headrace.")
    ):
        return False
    host, lower = kind.rules.get("host"), kind.rules.get("lower")
    if host is None and lower is None:
        return False
    for rule in (host, lower):
        if rule is not None and (rule.options.get("calls") or rule.options.get("lists")):
            return False
    return not (host.wants_ctx if host is not None else lower.wants_ctx)
