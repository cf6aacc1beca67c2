"""Gradient descent, plain and with a step towards small weights."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.opdef import raw
from headrace.train.optimizers.kernels import KernelOptimizer


@export("train.GradientDescentOptimizer")
class GradientDescentOptimizer(KernelOptimizer):
    """Subtracts the gradient times a learning rate.

    Args:
      learning_rate: A number, a tensor, or a function that returns one.
      use_locking: Whether updates wait for each other.
      name: The name of the updates.
    """

    _hyper = (("_learning_rate", "learning_rate"),)

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _kernel(self, grad: Any, var: Any) -> Any:
        return self._apply("ApplyGradientDescent", var, [], "_learning_rate", grad)

    # Subtracting twice is subtracting the sum: equal indices need not be brought together.
    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        rows = raw.Mul(grad.values, self._param("_learning_rate", var), name="mul")
        return raw.ScatterSub(var._ref(), grad.indices, rows, use_locking=self._use_locking).op

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        return raw.ResourceScatterAdd(handle.handle, indices, -grad * self._learning_rate)


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(KernelOptimizer):
    """Gradient descent, after each step of which the weights are shrunk.

    Args:
      learning_rate: A number or a tensor.
      l1_regularization_strength: How much is taken off the weights' absolute values.
      l2_regularization_strength: How much the weights are divided.
      use_locking: Whether updates wait for each other.
      name: The name of the updates.
    """

    _hyper = (
        ("_learning_rate", "learning_rate"),
        ("_l1_regularization_strength", "l1_regularization_strength"),
        ("_l2_regularization_strength", "l2_regularization_strength"),
    )

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _kernel(self, grad: Any, var: Any) -> Any:
        return self._apply("ApplyProximalGradientDescent", var, [], *[a for a, _ in self._hyper], grad)

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        return self._apply(
            "SparseApplyProximalGradientDescent", var, [], *[a for a, _ in self._hyper], grad, indices
        )
