"""RMSProp: steps divided by the root of a decaying mean of squared gradients."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.opdef import nodes
from headrace.train.optimizers.kernels import KernelOptimizer
from headrace.variables.initializers.basic import Ones


@export("train.RMSPropOptimizer")
class RMSPropOptimizer(KernelOptimizer):
    """Divides each step by the root of a decaying mean of squared gradients.

    Args:
      learning_rate: A number, a tensor, or a function that returns one.
      decay: What the mean is multiplied by at each step.
      momentum: What past steps are multiplied by.
      epsilon: What is added to the mean before the root.
      use_locking: Whether updates wait for each other.
      centered: Whether to divide by the variance and not by the mean square.
      name: The name of the updates and of the slots.
    """

    _hyper = (
        ("_learning_rate", "learning_rate"),
        ("_decay", "decay"),
        ("_momentum", "momentum"),
        ("_epsilon", "epsilon"),
    )

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            start = Ones(dtype) if v.get_shape().is_fully_defined() else nodes.ones_like(v)
            self._get_or_make_slot_with_initializer(v, start, v.get_shape(), dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _parts(self, var: Any) -> tuple[str, list[Any], list[str]]:
        names = ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
        slots = [self.get_slot(var, name) for name in names]
        return (
            "ApplyCenteredRMSProp" if self._centered else "ApplyRMSProp",
            slots,
            [a for a, _ in self._hyper],
        )

    def _kernel(self, grad: Any, var: Any) -> Any:
        kind, slots, scalars = self._parts(var)
        return self._apply(kind, var, slots, *scalars, grad)

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        kind, slots, scalars = self._parts(var)
        return self._apply("Sparse" + kind, var, slots, *scalars, grad, indices)
