"""KernelOptimizer: an optimizer whose update is one Apply* op, the same for all kinds of variables and gradients."""

from __future__ import annotations

from typing import Any

from headrace.opdef import convert_to_tensor, raw
from headrace.ops.math.cast import cast
from headrace.train.optimizers.base import Optimizer
from headrace.train.slots import is_resource


class KernelOptimizer(Optimizer):
    """What the optimizers with an op of their own have in common.

    A subclass sets `_hyper`, the hyperparameters as pairs of an attribute's name and its tensor's name, and has
    `_kernel(grad, var)` and `_row_kernel(grad, var, indices)` add the op with `_apply`.
    """

    _hyper: tuple[tuple[str, str], ...] = ()

    def __init__(self, use_locking: bool, name: str):
        super().__init__(use_locking, name)
        self._tensors: dict[str, Any] = {}

    def _prepare(self) -> None:
        for attribute, name in self._hyper:
            value = self._call_if_callable(getattr(self, attribute))
            self._tensors[attribute] = convert_to_tensor(value, name=name)

    def _param(self, attribute: str, var: Any) -> Any:
        """Returns a hyperparameter's tensor in a variable's type."""
        return cast(self._tensors[attribute], var.dtype.base_dtype)

    def _apply(self, kind: str, var: Any, slots: list[Any], *operands: Any, **attrs: Any) -> Any:
        """Adds an op for a variable with its slots.

        Args:
          kind: The op's name for reference variables.
          var: The variable.
          slots: Its slots, in the op's order.
          *operands: The op's other operands; a str is a hyperparameter.
          **attrs: The op's attrs.
        """
        given = [self._param(o, var) if isinstance(o, str) else o for o in operands]
        if is_resource(var):
            handles = [v.handle for v in (var, *slots)]
            return getattr(raw, "Resource" + kind)(*handles, *given, use_locking=self._use_locking, **attrs)
        refs = [v._ref() for v in (var, *slots)]
        return getattr(raw, kind)(*refs, *given, use_locking=self._use_locking, **attrs).op

    def _kernel(self, grad: Any, var: Any) -> Any:
        """Adds the op for a whole gradient."""
        raise NotImplementedError

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        """Adds the op for the gradient of some rows."""
        raise NotImplementedError

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return self._kernel(grad, var)

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        return self._kernel(grad, handle)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._row_kernel(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._row_kernel(grad, handle, indices)
