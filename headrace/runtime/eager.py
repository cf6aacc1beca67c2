"""EagerGraph: a graph whose nodes run as they are made. Functions that py_function calls see their tensors so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.graph import Graph, Operation, Tensor
from headrace.opdef import convert_to_tensor, raw, register_tensor_conversion_function
from headrace.resources.variable import VariableState
from headrace.runtime.context import Step
from headrace.runtime.failure import at_node
from headrace.runtime.kernel import Kernel
from headrace.runtime.state import SessionState


class EagerTensor(Tensor):
    """A tensor whose value is known; `_value` is an array, or a variable's state."""

    __slots__ = ()

    def numpy(self) -> Any:
        """Returns the value: a NumPy array of the caller's own, a NumPy scalar, or bytes for a scalar string."""
        value = self._array()
        return np.array(value, order="C") if value.ndim else value[()]

    def _array(self) -> np.ndarray[Any, Any]:
        value = self.__dict__["_value"]
        if isinstance(value, VariableState):
            value = value.read()
        return np.asarray(value)

    def __bool__(self) -> bool:
        return bool(self._array())

    def __int__(self) -> int:
        return int(self._array())

    def __float__(self) -> float:
        return float(self._array())

    def __index__(self) -> int:
        return self._array().__index__()

    def __len__(self) -> int:
        if not self._dims:
            raise TypeError("Scalar tensor has no `len()`")
        return self._dims[0]  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Any]:
        if not self._dims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        for i in range(len(self)):
            yield self[i]  # type: ignore[index]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.array(self._array(), dtype, order="C")

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Is what tensors of other graphs have."""
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're looking for?"
        )

    def __str__(self) -> str:
        return f"tf.Tensor({_shown(self)}, shape={self.shape}, dtype={self._dtype.name})"

    def __repr__(self) -> str:
        value = repr(self.numpy()) if self._dims else _shown(self)
        return f"<tf.Tensor: id={self._op._id}, shape={self.shape}, dtype={self._dtype.name}, numpy={value}>"

    __hash__ = Tensor.__hash__


def _shown(tensor: EagerTensor) -> str:
    value = tensor._array()
    return str(value if value.ndim else value[()])


def _itself(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
    if dtype is not None and not dtype.is_compatible_with(value._dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value._dtype.name}: {value!r}"
        )
    return value


register_tensor_conversion_function(EagerTensor, _itself, 0)


class EagerGraph(Graph):
    """A graph whose nodes run as they are made; their outputs are EagerTensors."""

    executing_eagerly = True

    def __init__(self, state: SessionState | None = None) -> None:
        super().__init__()
        self._step = Step(SessionState() if state is None else state)

    def _insert(self, op: Operation, types: list[Any], kind: Any) -> Operation:
        super()._insert(op, types, kind)
        operands = [t.__dict__["_value"] for t in op._inputs]
        try:
            with np.errstate(all="ignore"):
                results = Kernel(op)(self._step, operands)
        except Exception as e:
            raise at_node(e, op, operands) from e.__cause__
        for t, v in zip(op._outputs, results, strict=True):
            t.__class__ = EagerTensor
            t.__dict__["_value"] = v
            if not isinstance(v, VariableState) and hasattr(v, "shape"):
                t._dims = tuple(v.shape)
        return op

    def tensor(self, value: Any, dtype: Any = None) -> EagerTensor:
        """Returns a tensor of this graph with a value that may be on any device."""
        with self.as_default():
            if isinstance(value, np.ndarray) or np.isscalar(value):
                return raw.Const(value=np.asarray(value), dtype=dtype)  # type: ignore[no-any-return]
            return convert_to_tensor(np.asarray(value), dtype)  # type: ignore[return-value]
