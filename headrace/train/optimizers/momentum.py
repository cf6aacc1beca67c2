"""Gradient descent along a decaying sum of gradients."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.train.optimizers.kernels import KernelOptimizer


@export("train.MomentumOptimizer")
class MomentumOptimizer(KernelOptimizer):
    """Moves along a decaying sum of the gradients.

    Args:
      learning_rate: A number, a tensor, or a function that returns one.
      momentum: What the sum is multiplied by at each step.
      use_locking: Whether updates wait for each other.
      name: The name of the updates and of the slots.
      use_nesterov: Whether to look one step ahead, as Nesterov's method does.
    """

    _hyper = (("_learning_rate", "learning_rate"), ("_momentum", "momentum"))

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _kernel(self, grad: Any, var: Any) -> Any:
        slots = [self.get_slot(var, "momentum")]
        return self._apply(
            "ApplyMomentum", var, slots, "_learning_rate", grad, "_momentum", use_nesterov=self._use_nesterov
        )

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        slots = [self.get_slot(var, "momentum")]
        return self._apply(
            "SparseApplyMomentum", var, slots, "_learning_rate", grad, indices, "_momentum",
            use_nesterov=self._use_nesterov,
        )  # fmt: skip
