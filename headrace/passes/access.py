"""How nodes touch state: which references and resources each reads and writes, and the order that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headrace import dtypes
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function
from headrace.opdef.functions import called_functions

Inputs = tuple[Tensor, ...]
Late = dict[Operation, Inputs]


@dataclass
class Access:
    """What one node does to state: the reference and resource tensors it reads and those it writes."""

    reads: list[Tensor] = field(default_factory=list)
    writes: list[Tensor] = field(default_factory=list)


def access_of(op: Operation, inputs: Inputs | None = None) -> Access | None:
    """Returns what a node does to state, None for a node that touches none.

    A reference taken where a plain tensor is asked for is a read. References and resources that the op does not
    declare as `reads` count as written.
    """
    # A node that stands for many says itself what they do.
    if op.type == "ControlFlowRegion":
        return op.access  # type: ignore[attr-defined,no-any-return]
    found: Access | None = None
    inputs = op._inputs if inputs is None else inputs
    if not any(t._dtype.is_ref or t._dtype is dtypes.resource for t in inputs):
        return None
    if op.kind.rules.get("host") is not None and op.kind.rules["host"].options.get("calls"):
        return _access_of_call(op, inputs)
    plan = op.kind.plan
    i = 0
    for arg, n in zip(plan.signature.inputs, plan.sizes(plan.signature.inputs, op.attrs), strict=True):
        for t in inputs[i : i + (1 if n is None else n)]:
            if not (t._dtype.is_ref or t._dtype is dtypes.resource):
                continue
            found = found or Access()
            only_read = arg.name in op.kind.reads or (t._dtype.is_ref and not arg.is_ref)
            # Identity and the like hand a resource on without looking at what it holds.
            if t._dtype is dtypes.resource and arg.dtype is None:
                continue
            (found.reads if only_read else found.writes).append(t)
        i += 1 if n is None else n
    return found if found is not None and (found.reads or found.writes) else None


def _access_of_call(op: Operation, inputs: Inputs) -> Access | None:
    """Returns what the functions that a node calls do to its inputs; a reference given for a value is read."""
    read: dict[Tensor, None] = {}
    written: dict[Tensor, None] = {}
    for function in called_functions(op):
        reads, writes = effects(function)
        arguments = inputs[len(inputs) - len(function.inputs) :]
        read.update(
            (a, None)
            for a, t in zip(arguments, function.inputs, strict=True)
            if a._dtype.is_ref and not t._dtype.is_ref
        )
        read.update(dict.fromkeys(arguments[i] for i in reads))
        written.update(dict.fromkeys(arguments[i] for i in writes))
    found = Access([t for t in read if t not in written], list(written))
    return found if found.reads or found.writes else None


def effects(function: Function) -> tuple[list[int], list[int]]:
    """Returns which of its inputs (their positions) a function reads from and which it writes to."""
    known = function.facts.get("effects")
    if known is None:
        function.facts["effects"] = [], []  # the answer to a function that calls itself
        position = {t: i for i, t in enumerate(function.inputs)}
        reads: set[int] = set()
        writes: set[int] = set()
        for op in function.body:
            access = access_of(op)
            if access is not None:
                reads.update(position[s] for s in map(source, access.reads) if s in position)
                writes.update(position[s] for s in map(source, access.writes) if s in position)
        # A reference that is returned is read at the end.
        reads.update(position[s] for s in map(source, function.outputs) if s in position and s._dtype.is_ref)
        known = function.facts["effects"] = sorted(reads - writes), sorted(writes)
    return known


def source(tensor: Tensor) -> Tensor:
    """Returns the tensor that a handle comes from, through nodes that hand it on."""
    while True:
        op = tensor._op
        if not op._inputs:
            return tensor
        first = op._inputs[0]
        # Assign and its kin return the reference they were given; Identity returns the handle.
        if first._dtype.base_dtype is not tensor._dtype.base_dtype:
            return tensor
        if not (first._dtype.is_ref or first._dtype is dtypes.resource):
            return tensor
        tensor = first


def order_edges(ops: Iterable[Operation], late: Late | None = None) -> dict[Operation, list[Operation]]:
    """Returns for each node the earlier ones it must follow because they touch the same state.

    TensorFlow leaves a race where a read and a write of a variable are not ordered by edges. Here the order of `ops`
    decides: reads and writes of one variable happen in that order.

    Args:
      ops: The nodes, in an order in which they can run.
      late: What `late_reads` says of them.
    """
    last_write: dict[Tensor, Operation] = {}
    reads_since: dict[Tensor, list[Operation]] = {}
    edges: dict[Operation, list[Operation]] = {}
    for op in ops:
        access = access_of(op, late.get(op) if late else None)
        if access is None:
            continue
        before: list[Operation] = []
        for t in access.reads:
            key = source(t)
            if key in last_write:
                before.append(last_write[key])
            reads_since.setdefault(key, []).append(op)
        for t in access.writes:
            key = source(t)
            if key in last_write:
                before.append(last_write[key])
            before.extend(r for r in reads_since.pop(key, ()) if r is not op)
            last_write[key] = op
        if before:
            edges[op] = before
    return edges


def late_reads(ops: list[Operation], fed: set[Tensor]) -> Late:
    """Returns the nodes that see a reference variable as it is after a write that they wait for.

    A reference variable is read through one Identity node, made with the variable. In TensorFlow that node's output
    shares the variable's memory, so a node that waits for a write (a constraint, a moving average under control
    dependencies) sees what was written, though the Identity ran long before. Such nodes take the reference itself.

    Args:
      ops: The nodes of a step, in an order in which they can run.
      fed: Tensors that are given.

    Returns:
      Node -> its inputs, with references in place of the tensors read from them.
    """
    writers: dict[Tensor, list[Operation]] = {}
    snapshots: list[Tensor] = []
    for op in ops:
        if op.type == "Identity" and op._inputs[0]._dtype.is_ref:
            snapshots.append(op._outputs[0])
            continue
        access = access_of(op)
        for t in access.writes if access is not None else ():
            if t._dtype.is_ref:
                writers.setdefault(source(t), []).append(op)
    late: Late = {}
    if not writers:
        return late
    inside = set(ops)
    for snapshot in snapshots:
        reference = snapshot._op._inputs[0]
        writes = writers.get(source(reference))
        if not writes or snapshot in fed:
            continue
        first = min(w._id for w in writes)
        readers = [r for r in snapshot._consumers if r in inside and r._id > first]
        if not readers:
            continue
        after = _descendants([w for w in writes if snapshot._op not in _descendants([w], inside)], inside)
        for reader in readers:
            if reader in after:
                inputs = late.get(reader, reader._inputs)
                late[reader] = tuple(reference if t is snapshot else t for t in inputs)
    return late


def _descendants(roots: list[Operation], inside: set[Operation]) -> set[Operation]:
    """Returns the nodes among `inside` that come after any of `roots` along data and control edges."""
    found: set[Operation] = set()
    stack = list(roots)
    while stack:
        op = stack.pop()
        followers = [c for t in op._outputs for c in t._consumers] + op._control_outputs
        for f in followers:
            if f in inside and f not in found:
                found.add(f)
                stack.append(f)
    return found
