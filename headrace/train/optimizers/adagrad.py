"""Adagrad and its relatives: steps divided by the root of the sum of squared gradients."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.graph import colocate_with, device
from headrace.opdef import constant_node, nodes, raw
from headrace.ops.math.cast import cast
from headrace.train.optimizers.kernels import KernelOptimizer
from headrace.variables.initializers.basic import Constant


@export("train.AdagradOptimizer")
class AdagradOptimizer(KernelOptimizer):
    """Divides each step by the root of the sum of squared gradients so far.

    Args:
      learning_rate: A number, a tensor, or a function that returns one.
      initial_accumulator_value: What the sums start with.
      use_locking: Whether updates wait for each other.
      name: The name of the updates and of the slots.

    Raises:
      ValueError: `initial_accumulator_value` is not positive.
    """

    _hyper = (("_learning_rate", "learning_rate"),)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ):
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            dtype = v.dtype.base_dtype
            if v.get_shape().is_fully_defined():
                start: Any = Constant(self._initial_accumulator_value, dtype=dtype)
            else:
                start = lambda v=v, dtype=dtype: cast(  # noqa: E731
                    raw.Fill(nodes.shape_of(v), self._initial_accumulator_value), dtype
                )
            self._get_or_make_slot_with_initializer(v, start, v.get_shape(), dtype, "accumulator", self._name)

    def _kernel(self, grad: Any, var: Any) -> Any:
        return self._apply("ApplyAdagrad", var, [self.get_slot(var, "accumulator")], "_learning_rate", grad)

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        slots = [self.get_slot(var, "accumulator")]
        return self._apply("SparseApplyAdagrad", var, slots, "_learning_rate", grad, indices)


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(KernelOptimizer):
    """Adagrad, after each step of which the weights are shrunk.

    Args:
      learning_rate: A number or a tensor.
      initial_accumulator_value: What the sums of squared gradients start with.
      l1_regularization_strength: How much is taken off the weights' absolute values.
      l2_regularization_strength: How much the weights are divided.
      use_locking: Whether updates wait for each other.
      name: The name of the updates and of the slots.

    Raises:
      ValueError: `initial_accumulator_value` is not positive.
    """

    _hyper = (
        ("_learning_rate", "learning_rate"),
        ("_l1_regularization_strength", "l1_regularization_strength"),
        ("_l2_regularization_strength", "l2_regularization_strength"),
    )

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ):
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            with colocate_with(v.op):
                start = constant_node(
                    self._initial_accumulator_value, v.dtype.base_dtype, v.get_shape().as_list()
                )
            self._get_or_make_slot(v, start, "accumulator", self._name)

    def _kernel(self, grad: Any, var: Any) -> Any:
        slots = [self.get_slot(var, "accumulator")]
        return self._apply("ApplyProximalAdagrad", var, slots, *[a for a, _ in self._hyper], grad)

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        slots = [self.get_slot(var, "accumulator")]
        return self._apply(
            "SparseApplyProximalAdagrad", var, slots, *[a for a, _ in self._hyper], grad, indices
        )


@export("train.AdagradDAOptimizer")
class AdagradDAOptimizer(KernelOptimizer):
    """Adagrad by dual averaging: weights follow from the sums of all gradients, which keeps many of them zero.

    Args:
      learning_rate: A number or a tensor.
      global_step: The variable that counts the steps.
      initial_gradient_squared_accumulator_value: What the sums of squared gradients start with.
      l1_regularization_strength: How strongly weights are kept at zero.
      l2_regularization_strength: How strongly they are kept small.
      use_locking: Whether updates wait for each other.
      name: The name of the updates and of the slots.

    Raises:
      ValueError: `initial_gradient_squared_accumulator_value` is not positive.
    """

    _hyper = (("_learning_rate", "learning_rate"),)

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ):
        _check_positive(
            "initial_gradient_squared_accumulator_value", initial_gradient_squared_accumulator_value
        )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_gradient_squared_accumulator_value = initial_gradient_squared_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._global_step = global_step
        self._next_step: Any = None

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            dtype, shape = v.dtype.base_dtype, v.get_shape().as_list()
            with colocate_with(v.op):
                zeros = constant_node(0.0, dtype, shape)
                squares = constant_node(self._initial_gradient_squared_accumulator_value, dtype, shape)
            self._get_or_make_slot(v, zeros, "gradient_accumulator", self._name)
            self._get_or_make_slot(v, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        with colocate_with(self._tensors["_learning_rate"].op):
            self._next_step = raw.Identity(self._global_step) + 1

    def _operands(self, var: Any) -> tuple[list[Any], Any, list[Any]]:
        slots = [
            self.get_slot(var, "gradient_accumulator"),
            self.get_slot(var, "gradient_squared_accumulator"),
        ]
        with device(var.device):
            step = raw.Identity(self._next_step)
        dtype = var.dtype.base_dtype
        return (
            slots,
            step,
            [
                self._param("_learning_rate", var),
                cast(self._l1_regularization_strength, dtype),
                cast(self._l2_regularization_strength, dtype),
            ],
        )

    def _kernel(self, grad: Any, var: Any) -> Any:
        slots, step, scalars = self._operands(var)
        return self._apply("ApplyAdagradDA", var, slots, grad, *scalars, step)

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        slots, step, scalars = self._operands(var)
        return self._apply("SparseApplyAdagradDA", var, slots, grad, indices, *scalars, step)


def _check_positive(name: str, value: Any) -> None:
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")
