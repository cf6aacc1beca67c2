"""What is known of a tensor without running ops: constants, static shapes, and what is put together of those.

TensorFlow's Python functions see as much and no more, and which nodes they make depends on it; shape rules see
further (`headrace.opdef.infer`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.graph.tensor import Tensor

_LARGEST = 1 << 20  # elements of a value that is put together


def plain_value(tensor: Any) -> np.ndarray[Any, Any] | None:
    """Returns a tensor's value if it is a constant or is put together of constants and static shapes, else None."""
    if not isinstance(tensor, Tensor):
        return None
    op = tensor._op
    kind = op.type
    if kind == "Const":
        return np.asarray(op.attrs["value"])
    if kind in ("Shape", "Size", "Rank"):
        return _of_shape(kind, tensor, op._inputs[0]._dims)
    if kind not in _RULES:
        return None
    values = [plain_value(t) for t in op._inputs]
    if not values or any(v is None for v in values):
        return None
    found: np.ndarray[Any, Any] | None = _RULES[kind](op, tensor, values)
    return found


def _of_shape(kind: str, tensor: Tensor, dims: Any) -> np.ndarray[Any, Any] | None:
    if dims is None:
        return None
    storage = tensor._dtype.storage
    if kind == "Rank":
        return np.array(len(dims), storage)
    if None in dims:
        return None
    return np.array(shapes.num_elements(dims) if kind == "Size" else dims, storage)


def _range(op: Any, tensor: Tensor, values: Any) -> Any:
    numbers: list[Any] = [v.item() for v in values]
    start, limit, delta = numbers
    if not delta or abs((limit - start) / delta) > _LARGEST:
        return None
    arange: Any = np.arange
    return arange(start, limit, delta, tensor._dtype.storage)


def _fill(op: Any, tensor: Tensor, values: Any) -> Any:
    dims, value = values
    if (dims < 0).any() or int(np.prod(dims, dtype=np.int64)) > _LARGEST:
        return None
    return np.full(tuple(dims), value, tensor._dtype.storage)


def _compare(op: Any, tensor: Tensor, values: Any) -> Any:
    same = np.equal(*values)
    return np.asarray(same if op.type == "Equal" else ~same)


_RULES: dict[str, Any] = {
    "Cast": lambda op, tensor, values: values[0].astype(tensor._dtype.storage),
    "Concat": lambda op, tensor, values: np.concatenate(values[1:], axis=int(values[0])),
    "ConcatV2": lambda op, tensor, values: np.concatenate(values[:-1], axis=int(values[-1])),
    "Pack": lambda op, tensor, values: np.stack(values, axis=op.attrs["axis"]),
    "Range": _range,
    "Fill": _fill,
    "Equal": _compare,
    "NotEqual": _compare,
}
