"""FTRL: follows the regularized leader."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.graph import colocate_with
from headrace.opdef import constant_node
from headrace.train.optimizers.kernels import KernelOptimizer


@export("train.FtrlOptimizer")
class FtrlOptimizer(KernelOptimizer):
    """Follows the regularized leader: for sparse, large models.

    Args:
      learning_rate: A number, a tensor, or a function that returns one.
      learning_rate_power: How the rate falls with the sum of squared gradients; at most 0.
      initial_accumulator_value: What these sums start with.
      l1_regularization_strength: How strongly weights are kept at zero.
      l2_regularization_strength: How strongly they are kept small.
      use_locking: Whether updates wait for each other.
      name: The name of the updates and of the slots.
      accum_name: The name of the slot with the sums of squares.
      linear_name: The name of the other slot.
      l2_shrinkage_regularization_strength: A further penalty, on the gradient.

    Raises:
      ValueError: A number has the wrong sign.
    """

    _hyper = (
        ("_learning_rate", "learning_rate"),
        ("_l1_regularization_strength", "l1_regularization_strength"),
        ("_l2_regularization_strength", "l2_regularization_strength"),
        ("_l2_shrinkage_regularization_strength", "l2_shrinkage_regularization_strength"),
        ("_learning_rate_power", "learning_rate_power"),
    )

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ):
        super().__init__(use_locking, name)
        _check_not_negative("initial_accumulator_value", initial_accumulator_value)
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        _check_not_negative("l1_regularization_strength", l1_regularization_strength)
        _check_not_negative("l2_regularization_strength", l2_regularization_strength)
        _check_not_negative("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength)
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            with colocate_with(v.op):
                start = constant_node(
                    self._initial_accumulator_value, v.dtype.base_dtype, v.get_shape().as_list()
                )
            self._get_or_make_slot(v, start, "accum", self._accum_name or self._name)
            self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _parts(self, var: Any) -> tuple[str, list[Any], list[str]]:
        slots = [self.get_slot(var, "accum"), self.get_slot(var, "linear")]
        scalars = [a for a, _ in self._hyper]
        if self._l2_shrinkage_regularization_strength <= 0.0:
            scalars.remove("_l2_shrinkage_regularization_strength")
            return "ApplyFtrl", slots, scalars
        return "ApplyFtrlV2", slots, scalars

    def _kernel(self, grad: Any, var: Any) -> Any:
        kind, slots, scalars = self._parts(var)
        return self._apply(kind, var, slots, grad, *scalars)

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        kind, slots, scalars = self._parts(var)
        return self._apply("Sparse" + kind, var, slots, grad, indices, *scalars)


def _check_not_negative(name: str, value: float) -> None:
    if value < 0.0:
        raise ValueError(f"{name} {value:f} needs to be positive or zero")
