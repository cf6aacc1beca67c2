"""Adadelta: steps scaled by the ratio of past updates to past gradients."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.train.optimizers.kernels import KernelOptimizer


@export("train.AdadeltaOptimizer")
class AdadeltaOptimizer(KernelOptimizer):
    """Scales the gradient by the ratio of past updates to past gradients.

    Args:
      learning_rate: A number, a tensor, or a function that returns one.
      rho: What the means of squares are multiplied by at each step.
      epsilon: What is added to them before the root.
      use_locking: Whether updates wait for each other.
      name: The name of the updates and of the slots.
    """

    _hyper = (("_lr", "lr"), ("_rho", "rho"), ("_epsilon", "epsilon"))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ):
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _slots_of(self, var: Any) -> list[Any]:
        return [self.get_slot(var, "accum"), self.get_slot(var, "accum_update")]

    def _kernel(self, grad: Any, var: Any) -> Any:
        return self._apply("ApplyAdadelta", var, self._slots_of(var), "_lr", "_rho", "_epsilon", grad)

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply(
            "SparseApplyAdadelta", var, self._slots_of(var), "_lr", "_rho", "_epsilon", grad, indices
        )
