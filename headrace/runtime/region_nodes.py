"""Puts nodes that a plan can run like any others in the place of TensorFlow 1's control flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.graph import Operation, Tensor
from headrace.opdef import notation
from headrace.opdef.call import Plan as Arguments
from headrace.opdef.rules import Rule
from headrace.passes.access import Access, Late, access_of, source
from headrace.passes.liveness import Liveness
from headrace.passes.loops import CONTROL_FLOW, Structure
from headrace.passes.regions import Region, regions
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


def rewrite(ops: list[Operation], fetches: Sequence[Tensor], fed: set[Tensor], late: Late) -> Rewritten:
    """Replaces each region by one node that runs it.

    Args:
      ops: The nodes of a step, in an order in which they can run.
      fetches: The tensors that the step returns.
      fed: Tensors that are given.
      late: What `late_reads` says of the nodes.

    Raises:
      InvalidArgumentError: Frames are put together wrongly; the message names the node.
    """
    structure = Structure(ops, fed, late)
    parts = regions(structure, Liveness(structure))
    out = Rewritten([], dict(late))
    nodes: dict[Operation, Operation] = {}
    labels = {t: i for i, t in enumerate(fetches) if t not in fed}
    home = {op: part for part in parts for op in (part.nodes() if isinstance(part, Region) else [part])}
    used = {t for op in ops for t in structure.inputs(op) if t not in fed and home[t._op] is not home[op]}
    for part in parts:
        if isinstance(part, Region):
            node = _region_node(part, structure, used, labels, out)
            nodes.update(dict.fromkeys(part.nodes(), node))
            part_ops = [node]
        else:
            part_ops = [part]
        for op in part_ops:
            inputs = structure.inputs(op)
            if not out.stand_ins.keys().isdisjoint(inputs):
                out.late[op] = tuple(out.stand_ins.get(t, t) for t in inputs)
            if any(c in nodes for c in op._control_inputs):
                out.waits[op] = list(dict.fromkeys(nodes.get(c, c) for c in op._control_inputs))
            out.ops.append(op)
    return out


class _RegionKind:
    """The op of a region's node; each region has one of its own, for its rule is the region."""

    type_attrs: frozenset[str] = frozenset()

    def __init__(self, program: FrameProgram):
        self.name = "ControlFlowRegion"
        self.module = __name__
        self.is_stateful = True
        self.reads: tuple[str, ...] = ()
        self.signature = notation.parse(_SIGNATURE)
        self.plan = Arguments(self.signature)

        def run(inputs: tuple[Any, ...], *, ctx: Any) -> list[Any]:
            return program.run(ctx.step, inputs)

        self.rules: dict[str, Rule | None] = {"host": Rule(run, untouched=True, calls=True)}


def _region_node(
    region: Region, structure: Structure, used: set[Tensor], labels: dict[Tensor, int], out: Rewritten
) -> Operation:
    inside = set(region.nodes())
    asked = [t for op in structure.ops if op in inside for t in op._outputs if t in labels or t in used]
    program = FrameProgram(region, structure, asked, labels)
    first = min(inside, key=lambda op: op._id)
    attrs = {
        "Tin": tuple(t._dtype for t in program.inputs),
        "Tout": tuple(t._dtype for t in asked),
    }
    kind: Any = _RegionKind(program)
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
