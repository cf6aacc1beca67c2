"""Gradients of what a loop only takes rows of: IndexedSlices, which grow in the gradient's loop.

TensorFlow gives them without functional control flow, and optimizers then change only the rows that were taken. They
start with a row of zeros at index 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.autodiff.paths import is_trainable
from headrace.export import NAMES
from headrace.graph import IndexedSlices, Operation, Tensor
from headrace.graph.func_graph import FuncGraph, Function
from headrace.opdef import constant_value, nodes, raw
from headrace.opdef.functions import called_functions

_SAME = ("Identity", "ReadVariableOp")
_BRANCHES = ("If", "StatelessIf", "Case")
_NONE, _ROWS, _DENSE = 0, 1, 2
_GATHERS = ("GatherV2", "Gather", "ResourceGather")


def is_zero(grad: Any) -> bool:
    """Whether a gradient is none, or the zeros that stand for none."""
    if grad is None:
        return True
    if not isinstance(grad, Tensor):
        return False
    op = grad._op
    if op.type == "Fill":
        op = op._inputs[1]._op
    return op.type == "ZerosLike" or (op.type == "Const" and not np.any(op.attrs["value"]))


def is_only_gathered(work: Function, i: int) -> bool:
    """Whether a loop uses its i-th variable, of a known shape or the handle of such, only to take rows of it."""
    tensor = work.inputs[i]
    dims = _shape_of(tensor)
    if tensor is not work.outputs[i] or not dims or None in dims[1:]:
        return False
    return _use(tensor, [t for k, t in enumerate(work.outputs) if k != i]) == _ROWS


def _shape_of(tensor: Tensor) -> Any:
    if tensor._dtype is not dtypes.resource:
        return tensor._dims
    return tensor._handle_data[0][1] if tensor._handle_data else None


def _use(tensor: Tensor, outputs: Iterable[Tensor] = ()) -> int:
    """Returns what the gradient of a tensor is like for all that is made of it.

    Args:
      tensor: A tensor of a body.
      outputs: What the body returns.
    """
    found = _DENSE if any(t is tensor for t in outputs) else _NONE
    return max([found, *(_use_by(op, tensor, outputs) for op in tensor._consumers)])


def _use_by(op: Operation, tensor: Tensor, outputs: Iterable[Tensor]) -> int:
    if op.type in _SAME:
        return _use(op._outputs[0], outputs)
    if op.type == "StopGradient" or not any(is_trainable(t) for t in op._outputs):
        return _NONE
    if op.type in _BRANCHES:
        return _use_in_branches(op, tensor)
    if op.type == "While":
        return _use_in_loop(op, tensor, outputs)
    if op.type not in _GATHERS or op._inputs[0] is not tensor or op.attrs.get("batch_dims"):
        return _DENSE if _leads_to(op, outputs) else _NONE
    axis = constant_value(op._inputs[2]) if op.type == "GatherV2" else np.int32(0)
    return _ROWS if axis is not None and int(axis) == 0 else _DENSE


def _leads_to(op: Operation, outputs: Iterable[Tensor]) -> bool:
    """Whether a gradient comes from any of a body's results to a node: it may only choose the rows."""
    wanted = {t for t in outputs if is_trainable(t)}
    todo, seen = [op], {op}
    while todo:
        node = todo.pop()
        for t in node._outputs:
            if not is_trainable(t) or node.type == "StopGradient":
                continue
            if t in wanted:
                return True
            new = [user for user in t._consumers if user not in seen]
            seen.update(new)
            todo += new
    return False


def _use_in_branches(op: Operation, tensor: Tensor) -> int:
    found = []
    for i, t in enumerate(op._inputs[1:]):
        if t is tensor:
            found += [_use(f.inputs[i], f.outputs) for f in called_functions(op)]
    # A Case makes slices of what is dense in some of its branches.
    return _ROWS if op.type == "Case" and _ROWS in found else max(found, default=_DENSE)


def _use_in_loop(op: Operation, tensor: Tensor, outputs: Iterable[Tensor]) -> int:
    work = called_functions(op)[1]
    found = _NONE
    for i, t in enumerate(op._inputs):
        if t is tensor:
            inner = work.inputs[i]
            others = [each for k, each in enumerate(work.outputs) if k != i]
            is_only_read = inner is work.outputs[i] and _use(op._outputs[i], outputs) == _NONE
            found = max(found, _use(inner, others) if is_only_read else _DENSE)
    return found


class GatheredRows:
    """The slices of one tensor, gathered on two lists that are variables of the gradient's loop.

    Attributes:
      arguments: The lists before an iteration, parameters of the loop's body.
      results: The lists after it.

    Args:
      body: The body of the gradient's loop.
      source: What the forward loop takes rows of, a tensor of its body.
      slices: The gradient in one iteration.
    """

    def __init__(self, body: FuncGraph, source: Tensor, slices: IndexedSlices):
        row = (_shape_of(source) or ())[1:]
        self._shapes = [(None, *row), (None,)]
        self._types = [slices.values.dtype.base_dtype, slices.indices.dtype.base_dtype]
        self.arguments: list[Tensor] = []
        self.results: list[Tensor] = []
        for part, dtype, dims in zip((slices.values, slices.indices), self._types, self._shapes, strict=True):
            before = body.placeholder(dtypes.variant, (), "Placeholder")
            before._handle_data = ((dtype, dims),)
            self.arguments.append(before)
            self.results.append(raw.TensorListPushBack(before, body.capture(part)))

    def start(self) -> list[Tensor]:
        """Adds the empty lists that the loop starts with."""
        return [
            raw.EmptyTensorList(_operand(dims), -1, element_dtype=dtype)
            for dtype, dims in zip(self._types, self._shapes, strict=True)
        ]

    def slices(self, lists: list[Tensor], source: Tensor) -> IndexedSlices:
        """Returns the gradient.

        Args:
          lists: The lists at the loop's end.
          source: What the loop takes rows of, outside.
        """
        parts = []
        for each, dtype, dims in zip(lists, self._types, self._shapes, strict=True):
            none = np.zeros([0], np.int64)
            rows = raw.TensorListConcatV2(each, _operand(dims), none, element_dtype=dtype)[0]
            first = np.zeros((1, *[d or 0 for d in dims[1:]]), dtype.as_numpy_dtype)
            parts.append(NAMES["concat"]([first, rows], 0))
        is_handle = source._dtype is dtypes.resource
        shape = raw.VariableShape(source) if is_handle else nodes.shape_of(source)
        return IndexedSlices(values=parts[0], indices=parts[1], dense_shape=shape)


def _operand(dims: Any) -> list[int]:
    return [-1 if d is None else d for d in dims]
