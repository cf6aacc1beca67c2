"""Reads of reference variables that branches and loops write to.

In TensorFlow what is read from a reference variable shares its memory, and Switch and constant Enter nodes hand that
memory on: in a branch or in a loop a node sees what was written before it, though the read stands outside.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.graph import Operation, Tensor
from headrace.passes.access import Late, access_of, source


def with_aliases(ops: Sequence[Operation], fed: set[Tensor], late: Late) -> Late:
    """Returns `late` with the references themselves where branches and loops that write them take what is read.

    Args:
      ops: The nodes of a step.
      fed: Tensors that are given.
      late: What `late_reads` says of the nodes.
    """
    written: set[Tensor] = set()
    for op in ops:
        access = access_of(op, late.get(op))
        for t in access.writes if access is not None else ():
            if t._dtype.is_ref and _is_inside(t):
                written.add(source(t))
    if not written:
        return late
    out = dict(late)
    for op in ops:
        if op.type == "Switch" or (op.type == "Enter" and op.attrs["is_constant"]):
            inputs = late.get(op, op._inputs)
            reference = _reference(inputs[0], fed)
            if reference is not None and source(reference) in written:
                out[op] = (reference, *inputs[1:])
    return out


def _is_inside(t: Tensor) -> bool:
    """Whether a reference came into a branch or a loop."""
    while t._op._inputs and t._op._inputs[0]._dtype.is_ref:
        if t._op.type in ("RefSwitch", "RefEnter"):
            return True
        t = t._op._inputs[0]
    return False


def _reference(t: Tensor, fed: set[Tensor]) -> Tensor | None:
    """Returns the reference that a tensor was read from, None if it was not read from one."""
    while t not in fed and t._op.type in ("Identity", "Switch", "Enter"):
        t = t._op._inputs[0]
        if t._dtype.is_ref:
            return t
    return None
