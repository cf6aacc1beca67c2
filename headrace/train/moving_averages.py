"""Moving averages of variables and tensors."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import GraphKeys, colocate_with, get_default_graph, init_scope, name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.flow.group import group
from headrace.ops.math.cast import cast
from headrace.train import slots
from headrace.variables.base import Variable
from headrace.variables.collected import global_variables, moving_average_variables, trainable_variables
from headrace.variables.initializers.basic import Zeros
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope
from headrace.variables.updates import assign


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Moves a variable towards a value: variable -= (variable - value) * (1 - decay).

    Args:
      variable: The variable that holds the average.
      value: The new value.
      decay: How much of the old average stays, between 0 and 1.
      zero_debias: Whether to divide out that the average began with zeros; it takes two more variables.
      name: The name of the update.

    Returns:
      What holds the average after the update.
    """
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rate = convert_to_tensor(1.0 - decay, name="decay")
        if rate.dtype != variable.dtype.base_dtype:
            rate = cast(rate, variable.dtype.base_dtype)
        if zero_debias:
            return assign(variable, _unbiased(variable, value, rate), name=scope)
        change = (variable - value) * rate
        if slots.is_resource(variable):
            return variable.assign_sub(change)
        return variable.assign_sub(change, name=scope)


def _unbiased(variable: Any, value: Any, rate: Any) -> Any:
    """Updates an average that began with zeros, and returns it divided by the weight it has by now."""
    with variable_scope(variable.op.name, values=[variable, value, rate]), colocate_with(variable.op):
        with init_scope():
            dtype = variable.dtype.base_dtype
            biased = get_variable(
                _unused("biased"),
                shape=variable.get_shape(),
                dtype=dtype,
                initializer=Zeros(dtype),
                trainable=False,
            )
            count = get_variable(
                _unused("local_step"), shape=[], dtype=dtype, initializer=Zeros(), trainable=False
            )
    moved = biased.assign_sub((biased - value) * rate)
    counted = count.assign_add(1)
    return moved / (1 - raw.Pow(1.0 - rate, counted))


def _unused(name: str) -> str:
    """Returns a name that no variable has yet in the current variable scope."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    taken = {v.op.name for v in global_variables()}
    found, i = name, 1
    while (f"{scope.name}/{found}" if scope.name else found) in taken:
        found, i = f"{name}_{i}", i + 1
    return found


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the moving average of a tensor whose values come with weights.

    Args:
      value: The tensor.
      decay: How much of the old average stays.
      weight: How much the new value counts.
      truediv: Whether integers are divided to a fraction.
      collections: The collections of the two variables that this makes.
      name: The variable scope of these.
    """
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        options = dict(initializer=Zeros(), trainable=False, collections=collections)
        total = get_variable("value_x_weight", shape=value.get_shape(), dtype=value.dtype, **options)
        weights = get_variable("weight", shape=weight.get_shape(), dtype=weight.dtype, **options)
        numerator = assign_moving_average(total, value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(weights, weight, decay, zero_debias=False)
        return NAMES["truediv" if truediv else "div"](numerator, denominator, name=scope.name)


def _start(variable: Any) -> Any:
    """Returns the value that a variable's average starts with."""
    # Without conditionals the initial value stands in; it is the same as long as all is initialized in one step.
    return variable.initialized_value() if "cond" in NAMES else variable.initial_value


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Keeps moving averages of variables: average -= (average - variable) * (1 - decay).

    Args:
      decay: How much of the old average stays at each update, between 0 and 1.
      num_updates: How many updates there were; while there are few, the decay is less.
      zero_debias: Whether averages of tensors, which begin with zeros, are corrected for that.
      name: What comes after the variables' names in those of the averages.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ):
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """What comes after the variables' names in those of the averages."""
        return self._name

    def apply(self, var_list: Any = None) -> Any:
        """Makes the averages of some variables or tensors.

        Args:
          var_list: Variables and tensors of floating types, by default the trainable variables.

        Returns:
          The operation that updates the averages.

        Raises:
          TypeError: One is not of a floating type.
        """
        if var_list is None:
            var_list = trainable_variables()
        unbiased = set()
        for var in var_list:
            if var.dtype.base_dtype not in (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16):
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if var in self._averages:
                continue
            with init_scope():
                if isinstance(var, Variable):
                    average = slots.create_slot(var, _start(var), self.name, colocate_with_primary=True)
                    get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                else:
                    is_variable = var.op.type in ("Variable", "VariableV2", "VarHandleOp")
                    average = slots.create_zeros_slot(var, self.name, colocate_with_primary=is_variable)
                    if self._zero_debias:
                        unbiased.add(average)
            self._averages[var] = average
        with name_scope(self.name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                updates = cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = raw.Minimum(decay, (1.0 + updates) / (10.0 + updates))
            return group(
                *[
                    assign_moving_average(
                        self._averages[var], var, decay, zero_debias=self._averages[var] in unbiased
                    )
                    for var in var_list
                ],
                name=scope,
            )

    def average(self, var: Any) -> Any:
        """Returns the variable that holds the average of `var`, or None if there is none."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """Returns the name of the variable that holds, or would hold, the average of `var`."""
        if var in self._averages:
            return self._averages[var].op.name  # type: ignore[no-any-return]
        return get_default_graph().unique_name(f"{var.op.name}/{self.name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """Returns what a Saver needs to put averages in the place of variables: names and variables.

        Args:
          moving_avg_variables: The variables that take their average's value, by default the trainable ones and
            those that have one.
        """
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        chosen = list(dict.fromkeys(moving_avg_variables))
        found = {self.average_name(v): v for v in chosen}
        names = {v.name for v in chosen}
        for v in dict.fromkeys(global_variables()):
            if v.name not in names and v.op.name not in found:
                found[v.op.name] = v
        return found
