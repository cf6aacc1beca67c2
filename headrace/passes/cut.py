"""Cutting a step into host stages and clusters.

Stages alternate: even ones hold nodes that XLA can take, odd ones nodes that run on the host. Every edge goes to the
same or a later stage, so the nodes of one even stage form one convex cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from headrace import dtypes
from headrace.graph import Operation, Tensor
from headrace.passes.access import Late, access_of, order_edges, source

_READS = ("Identity", "ReadVariableOp")
# What takes no more of a table than some rows, or its shape.
_OF_ROWS = ("Gather", "GatherV2", "ResourceGather", "Shape", "Size")
_LARGE = 1 << 14  # numbers in a table; smaller ones are copied in no time


def stages(
    ops: list[Operation],
    fed: set[Tensor],
    on_host: Callable[[Operation], bool],
    static_edges: set[tuple[Operation, Operation]],
    late: Late | None = None,
    waits: dict[Operation, list[Operation]] | None = None,
) -> list[list[Operation]]:
    """Returns the nodes of each stage, in order; even stages are clusters.

    Args:
      ops: The nodes in an order in which they can run.
      fed: Tensors that are given.
      on_host: Whether a node has to run on the host.
      static_edges: (producer, consumer) pairs whose consumer needs the producer's value before it can be compiled.
      late: What `late_reads` says of the nodes.
      waits: Node -> what it waits for, where that is something else than the node says.
    """
    before: dict[Operation, list[Operation]] = {}
    late = late or {}
    waits = waits or {}
    extra = order_edges(ops, late)
    in_turn = _locks_in_turn(ops)
    inside = set(ops)
    # Nodes that do nothing have no place of their own: what waits for one waits for what that waits for.
    idle = [op for op in ops if op.type == "NoOp"]
    everything, ops = ops, [op for op in ops if op.type != "NoOp"]
    for op in everything:
        sources = [t._op for t in late.get(op, op._inputs) if t not in fed]
        sources += waits.get(op, op._control_inputs)
        sources += extra.get(op, ())
        sources += in_turn.get(op, ())
        found: dict[Operation, None] = {}
        for b in sources:
            if b in inside:
                found.update(dict.fromkeys(before[b]) if b.type == "NoOp" else {b: None})
        before[op] = list(found)
    host = {op: on_host(op) for op in ops}
    _follow_tables(ops, host, fed, late)
    _keep_reads_outside(ops, host, fed, late)
    earliest: dict[Operation, int] = {}
    for op in ops:
        parity = 1 if host[op] else 0
        stage = parity
        for b in before[op]:
            least = earliest[b]
            if (b, op) in static_edges and not host[op] and not host[b]:
                least += 1  # at least one host stage in between, where the value becomes known
            if least % 2 != parity:
                least += 1
            stage = max(stage, least)
        earliest[op] = stage
    # Cluster nodes move as late as they can: fewer, larger clusters.
    last = max((earliest[op] for op in ops if not host[op]), default=0)
    latest = dict(earliest)
    after: dict[Operation, list[Operation]] = {}
    for op in ops:
        for b in before[op]:
            after.setdefault(b, []).append(op)
    for op in reversed(ops):
        if host[op]:
            continue
        stage = last
        for a in after.get(op, ()):
            most = latest[a] - 1 if host[a] else latest[a] - (2 if (op, a) in static_edges else 0)
            stage = min(stage, most)
        latest[op] = stage
    _merge(ops, before, host, static_edges, latest)
    for op in idle:
        latest[op] = max((latest[b] for b in before[op]), default=0)
    ops = everything
    out: list[list[Operation]] = [[] for _ in range(max(latest.values(), default=0) + 1)]
    for op in ops:
        out[latest[op]].append(op)
    return out


def _locks_in_turn(ops: list[Operation]) -> dict[Operation, list[Operation]]:
    """Returns which locks of mutexes have to be given back before another is taken.

    A stage that takes two would wait for itself: between them the nodes run, in other stages, that the first guards.
    """
    given_back: list[Operation] = []
    edges: dict[Operation, list[Operation]] = {}
    for op in ops:
        if op.type == "ConsumeMutexLock":
            given_back.append(op)
        elif op.type == "MutexLock" and given_back:
            edges[op] = list(given_back)
    return edges


def updates_distinct_rows(op: Operation, late: Late) -> bool:
    """Whether a node updates the rows of a variable that a step finds to be distinct ones.

    Those are others, and of another number, in each step, and a cluster has to sort them.
    """
    if not op.type.startswith(("SparseApply", "ResourceSparseApply")):
        return False
    names = [arg.name for arg in op.kind.plan.signature.inputs]
    tensor = late.get(op, op._inputs)[names.index("indices")]
    while tensor._op.type in ("Identity", "Reshape"):
        tensor = late.get(tensor._op, tensor._op._inputs)[0]
    return tensor._op.type in ("Unique", "UniqueV2", "UniqueWithCounts")


def _follow_tables(ops: list[Operation], host: dict[Operation, bool], fed: set[Tensor], late: Late) -> None:
    """Leaves to the host what takes a few rows of a table some of whose rows the host changes.

    The host changes them where they are; a cluster would have the whole table copied before that in each step.
    """
    changed: set[Tensor] = set()
    for op in ops:
        access = access_of(op, late.get(op)) if host[op] else None
        if access is not None:
            changed.update(source(t) for t in access.writes)
    if not changed:
        return
    for op in ops:
        if not host[op] and op.type in _OF_ROWS:
            table = _table(late.get(op, op._inputs)[0], fed)
            if table in changed:
                host[op] = True


def _table(tensor: Tensor, fed: set[Tensor]) -> Tensor | None:
    """Returns the handle of the variable, a large one, that a tensor is or was read from; None if it is none."""
    while tensor not in fed:
        if tensor._dtype.is_ref or tensor._dtype is dtypes.resource:
            handle = source(tensor)
            shape = handle._op.attrs.get("shape")
            is_small = isinstance(shape, tuple) and None not in shape and math.prod(shape) < _LARGE
            return None if is_small else handle
        if tensor._op.type not in _READS:
            return None
        tensor = tensor._op._inputs[0]
    return None


def _keep_reads_outside(
    ops: list[Operation], host: dict[Operation, bool], fed: set[Tensor], late: Late
) -> None:
    """Leaves values that only the host asks for to the host: a cluster would copy the whole variable."""
    takers: dict[Operation, list[Operation]] = {}
    for op in ops:
        for t in late.get(op, op._inputs):
            if t not in fed:
                takers.setdefault(t._op, []).append(op)
    for op in reversed(ops):
        if op.type in _READS and op in takers and all(host[t] for t in takers[op]):
            host[op] = True


def _merge(
    ops: list[Operation],
    before: dict[Operation, list[Operation]],
    host: dict[Operation, bool],
    static_edges: set[tuple[Operation, Operation]],
    latest: dict[Operation, int],
) -> None:
    """Makes one of two neighbouring clusters if the second needs nothing of what the host does between them."""
    members: dict[int, list[Operation]] = {}
    for op in ops:
        if not host[op]:
            members.setdefault(latest[op], []).append(op)
    for stage in sorted(members, reverse=True):
        into = stage - 2
        if into in members and all(
            latest[b] == stage or latest[b] <= into - (2 if (b, op) in static_edges else 0)
            for op in members[stage]
            for b in before[op]
        ):
            for op in members[stage]:
                latest[op] = into
            members[into] += members.pop(stage)


def pieces(parts: list[list[Operation]], most: int) -> list[list[Operation]]:
    """Returns stages with clusters of more than `most` nodes in equal pieces, and nothing on the host between."""
    out: list[list[Operation]] = []
    for i, part in enumerate(parts):
        n = 1 if i % 2 else max(1, -(-len(part) // most))
        size = -(-len(part) // n)
        for k in range(n):
            if k:
                out.append([])
            out.append(part[k * size : (k + 1) * size])
    return out
