"""Puts nodes that a plan can run like any others in the place of TensorFlow 1's control flow."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.graph import Graph, Operation, Tensor
from headrace.opdef import notation
from headrace.opdef.call import Plan as Arguments
from headrace.opdef.rules import Rule
from headrace.opdef.signature import Signature
from headrace.passes.access import Access, Late, access_of, source
from headrace.passes.aliases import with_aliases
from headrace.passes.functionalize import Functionalizer, functionalized
from headrace.passes.liveness import Liveness
from headrace.passes.loops import CONTROL_FLOW, NEXTS, Structure
from headrace.passes.regions import Region, regions
from headrace.passes.spread import spread
from headrace.passes.targets import Resists
from headrace.passes.trim import is_lowered
from headrace.runtime.deferring import can_wait, run_beside
from headrace.runtime.frames import FrameProgram

_SIGNATURE = """
    ControlFlowRegion(inputs: Tin) -> (outputs: Tout)
      Tin: list(type) >= 0
      Tout: list(type) >= 0
      stateful
"""


@dataclass
class Rewritten:
    """A step's nodes with regions replaced.

    Attributes:
      ops: The nodes, in an order in which they can run.
      late: Node -> its inputs, where they are others than the node says.
      waits: Node -> what it waits for, where that is something else than the node says.
      stand_ins: Tensor of a region -> the tensor that the step has in its place.
    """

    ops: list[Operation]
    late: Late
    waits: dict[Operation, list[Operation]] = field(default_factory=dict)
    stand_ins: dict[Tensor, Tensor] = field(default_factory=dict)


def has_control_flow(ops: Iterable[Operation]) -> bool:
    """Whether any of some nodes is of TensorFlow 1's control flow."""
    return any(op.type in CONTROL_FLOW for op in ops)


def held(ops: Iterable[Operation]) -> list[Operation]:
    """Returns the nodes that regions need as they are: what goes round loops, and what others wait for."""
    awaited = {c for op in ops for c in op._control_inputs if is_lowered(c)}
    return [op for op in ops if op.type in NEXTS or op in awaited]


def rewrite(
    ops: list[Operation], fetches: Sequence[Tensor], fed: set[Tensor], late: Late, functional: bool
) -> Rewritten:
    """Replaces each region by nodes that a plan can run.

    Args:
      ops: The nodes of a step, in an order in which they can run.
      fetches: The tensors that the step returns.
      fed: Tensors that are given.
      late: What `late_reads` says of the nodes.
      functional: Whether to give regions their functional form where they have one. Otherwise, and for the others,
        one node runs a whole region.

    Raises:
      InvalidArgumentError: Frames are put together wrongly; the message names the node.
    """
    apart = spread(ops, fed, late)
    ops, late = apart.ops, with_aliases(apart.ops, fed, apart.late)
    fetches = [apart.stand_ins.get(t, t) for t in fetches]
    structure = Structure(ops, fed, late)
    liveness = Liveness(structure)
    parts = regions(structure, liveness)
    out = Rewritten([], dict(late), stand_ins=dict(apart.stand_ins))
    nodes: dict[Operation, Operation] = {}
    labels = {t: i for i, t in enumerate(fetches) if t not in fed}
    home = {op: part for part in parts for op in (part.nodes() if isinstance(part, Region) else [part])}
    used = {t for op in ops for t in structure.inputs(op) if t not in fed and home[t._op] is not home[op]}
    wanted = {t for t in used | labels.keys() if isinstance(home.get(t._op), Region)}
    around = _graph_for_functions(ops[0]._graph)
    work: Functionalizer | None = None
    for part in parts:
        if not isinstance(part, Region):
            _place(part, structure.inputs(part), part._control_inputs, out, nodes)
            continue
        inside = sorted(part.nodes(), key=lambda op: op._id)
        asked = [t for op in inside for t in op._outputs if t in wanted]
        target = None
        if functional:
            work = work or Functionalizer(structure, liveness, wanted)
            with contextlib.suppress(Resists):
                target = functionalized(work, part.items, asked, around)
        if target is None:
            node = _region_node(part, structure, asked, labels, out)
            _place(node, node._inputs, node._control_inputs, out, nodes)
            nodes.update(dict.fromkeys(inside, node))
            continue
        for op in target.ops:
            _place(op, target.late.get(op, op._inputs), target.waits.get(op, op._control_inputs), out, nodes)
        out.stand_ins.update({t: target.value(t) for t in asked if target.value(t) is not t})
        nodes.update(target.nodes)
    out.stand_ins.update({old: out.stand_ins.get(t, t) for old, t in apart.stand_ins.items()})
    return out


def _place(
    op: Operation,
    inputs: Sequence[Tensor],
    waits: list[Operation],
    out: Rewritten,
    nodes: dict[Operation, Operation],
) -> None:
    """Adds a node to a step, with what stands in for what it takes from regions."""
    mine = tuple(out.stand_ins.get(t, t) for t in inputs)
    if mine != op._inputs:
        out.late[op] = mine
    awaited = list(dict.fromkeys(nodes.get(c, c) for c in waits))
    if awaited != op._control_inputs:
        out.waits[op] = awaited
    out.ops.append(op)


def _graph_for_functions(graph: Graph) -> Graph:
    """Returns a graph for nodes that stand for regions: it knows the functions of the program's graph and theirs."""
    around = Graph()
    around._functions = dict(graph._functions)
    around._derived_functions = graph._derived_functions
    around._function_gradients = graph._function_gradients
    return around


@functools.cache
def _arguments() -> tuple[Signature, Arguments]:
    signature = notation.parse(_SIGNATURE)
    return signature, Arguments(signature)


class _RegionKind:
    """The op of a region's node; each region has one of its own, for its rule is the region."""

    type_attrs: frozenset[str] = frozenset()

    def __init__(self, program: FrameProgram, waits: bool):
        self.name = "ControlFlowRegion"
        self.module = __name__
        self.is_stateful = True
        self.reads: tuple[str, ...] = ()
        self.signature, self.plan = _arguments()

        def run(inputs: tuple[Any, ...], *, ctx: Any) -> list[Any]:
            return run_beside(ctx.step, ctx.op, lambda step: program.run(step, inputs))

        self.rules: dict[str, Rule | None] = {"host": Rule(run, untouched=True, calls=True, waits=waits)}


def _region_node(
    region: Region, structure: Structure, asked: list[Tensor], labels: dict[Tensor, int], out: Rewritten
) -> Operation:
    inside = set(region.nodes())
    program = FrameProgram(region, structure, asked, labels)
    first = min(inside, key=lambda op: op._id)
    attrs = {
        "Tin": tuple(t._dtype for t in program.inputs),
        "Tout": tuple(t._dtype for t in asked),
    }
    kind: Any = _RegionKind(program, any(map(can_wait, inside)))
    waits = list(dict.fromkeys(c for op in region.nodes() for c in op._control_inputs if c not in inside))
    node = Operation(first._graph, kind, first.name, tuple(program.inputs), attrs, waits, first._traceback)
    node._id = first._id
    for t in asked:
        stand_in = Tensor(node, len(node._outputs), t._dtype, t._dims)
        stand_in._handle_data = t._handle_data
        node._outputs.append(stand_in)
        out.stand_ins[t] = stand_in
    node.__dict__["access"] = _access(region, structure, set(program.inputs))
    return node


def _access(region: Region, structure: Structure, inputs: set[Tensor]) -> Access | None:
    """Returns what a region's nodes do to the references and resources that come in from outside."""
    reads: dict[Tensor, None] = {}
    writes: dict[Tensor, None] = {}
    for op in region.nodes():
        if op.type in CONTROL_FLOW:
            continue
        access = access_of(op, structure.inputs(op))
        if access is not None:
            reads.update(dict.fromkeys(map(source, access.reads)))
            writes.update(dict.fromkeys(map(source, access.writes)))
    return Access([t for t in reads if t not in writes], list(writes)) if reads or writes else None
