"""Adam: a decaying mean of gradients divided by the root of that of their squares."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.graph import colocate_with, control_dependencies, get_default_graph, init_scope
from headrace.opdef import raw
from headrace.ops.flow.group import group
from headrace.ops.math.cast import cast
from headrace.train.optimizers.kernels import KernelOptimizer
from headrace.train.slots import is_resource
from headrace.variables.updates import assign, assign_sub, scatter_add


@export("train.AdamOptimizer")
class AdamOptimizer(KernelOptimizer):
    """Divides a decaying mean of gradients by the root of that of their squares.

    Args:
      learning_rate: A number, a tensor, or a function that returns one.
      beta1: What the mean of gradients is multiplied by at each step.
      beta2: What the mean of their squares is multiplied by.
      epsilon: What is added to the root.
      use_locking: Whether updates wait for each other.
      name: The name of the updates and of the slots.
    """

    _hyper = (("_lr", "learning_rate"), ("_beta1", "beta1"), ("_beta2", "beta2"), ("_epsilon", "epsilon"))

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ):
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """Returns the variables that hold the betas' powers."""
        with init_scope():
            graph = get_default_graph()
            return (
                self._get_non_slot_variable("beta1_power", graph=graph),
                self._get_non_slot_variable("beta2_power", graph=graph),
            )

    def _create_slots(self, var_list: Any) -> None:
        # The powers are placed with one variable, the same in every replica of the graph.
        first = min(var_list, key=lambda v: v.name)
        for name, value in (("beta1_power", self._beta1), ("beta2_power", self._beta2)):
            self._create_non_slot_variable(initial_value=value, name=name, colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _kernel(self, grad: Any, var: Any) -> Any:
        slots = [self.get_slot(var, "m"), self.get_slot(var, "v")]
        powers = [cast(p, var.dtype.base_dtype) for p in self._get_beta_accumulators()]
        return self._apply("ApplyAdam", var, slots, *powers, *[a for a, _ in self._hyper], grad)

    def _row_kernel(self, grad: Any, var: Any, indices: Any) -> Any:
        """Moves every row: those without a gradient go on along their decaying means."""
        beta1_power, beta2_power = [cast(p, var.dtype.base_dtype) for p in self._get_beta_accumulators()]
        lr, beta1, beta2, epsilon = [self._param(a, var) for a, _ in self._hyper]
        rate = lr * raw.Sqrt(1 - beta2_power) / (1 - beta1_power)
        m = self.get_slot(var, "m")
        scaled = grad * (1 - beta1)
        mean = self._decayed(m, m * beta1, indices, scaled)
        v = self.get_slot(var, "v")
        scaled = (grad * grad) * (1 - beta2)
        square = self._decayed(v, v * beta2, indices, scaled)
        root = raw.Sqrt(square)
        moved = self._write(assign_sub, var, rate * mean / (root + epsilon))
        return group(moved, mean, square)

    def _write(self, function: Any, var: Any, value: Any) -> Any:
        return function(var if is_resource(var) else var._ref(), value, use_locking=self._use_locking)

    def _decayed(self, slot: Any, decayed: Any, indices: Any, rows: Any) -> Any:
        """Puts a decayed mean into a slot, then adds the rows that have a gradient."""
        with control_dependencies([self._write(assign, slot, decayed)]):
            if is_resource(slot):
                with control_dependencies([raw.ResourceScatterAdd(slot.handle, indices, rows)]):
                    return slot.value()
            return scatter_add(slot._ref(), indices, rows, use_locking=self._use_locking)

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        with control_dependencies(update_ops):
            first, second = self._get_beta_accumulators()
            with colocate_with(first.op):
                updates = [
                    power.assign(power * self._tensors[beta], use_locking=self._use_locking)
                    for power, beta in ((first, "_beta1"), (second, "_beta2"))
                ]
        return group(*update_ops, *updates, name=name_scope)
