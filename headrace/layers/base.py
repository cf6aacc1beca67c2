"""Layer: the base class of tf.layers, a function with variables of its own in a variable scope of its own."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import GraphKeys, Operation, Tensor, get_default_graph, name_scope
from headrace.layers.input_spec import check_inputs
from headrace.opdef import constant_value, convert_to_tensor
from headrace.tensor_shape import TensorShape
from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.partitions import PartitionedVariable
from headrace.variables.scope import get_variable, variable_scope

_NAMES_KEY = ("__layer_names",)


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """Applies a function to the leaves of nested lists, tuples and dictionaries."""
    if isinstance(value, dict):
        return {key: map_leaves(function, each) for key, each in value.items()}
    if isinstance(value, list):
        return [map_leaves(function, each) for each in value]
    if isinstance(value, tuple):
        made = [map_leaves(function, each) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return function(value)


def leaves(value: Any) -> list[Any]:
    """Returns the leaves of nested lists, tuples and dictionaries (by sorted keys) in order."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def depends(target: Any, sources: list[Any]) -> bool:
    """Says whether an operation or tensor is computed from any of some tensors."""
    sought = {id(t) for t in sources}
    makers = [t.op._id for t in sources if isinstance(t, Tensor)]
    if not makers:
        return False
    oldest = min(makers)
    if isinstance(target, Tensor) and id(target) in sought:
        return True
    pending = [target if isinstance(target, Operation) else target.op]
    seen = set(pending)
    while pending:
        op = pending.pop()
        for t in op.inputs:
            if id(t) in sought:
                return True
            # Nodes made before the sources cannot depend on them.
            if t.op not in seen and t.op._id >= oldest:
                seen.add(t.op)
                pending.append(t.op)
    return False


def _snake_case(name: str) -> str:
    spaced = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    spaced = re.sub(r"([a-z])([A-Z])", r"\1_\2", spaced).lower()
    # A scope's name must not begin with an underscore.
    return "private" + spaced if spaced.startswith("_") else spaced


def _numbered(base: str) -> str:
    """Returns `base` with the number of layers without a name of this kind in the graph, this one included."""
    found = get_default_graph().get_collection_ref(_NAMES_KEY)
    if not found:
        found.append({})
    counts = found[0]
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"


@export("layers.Layer")
class Layer:
    """A function with variables: subclasses make those in `build` and do the work in `call`.

    The first call fixes the layer's variable scope and builds it; later calls use the same variables.

    Args:
      trainable: Whether optimizers train the variables.
      name: The layer's name; by default that of its class, numbered.
      dtype: The type of the variables, by default that of the first input.
      **kwargs: `_scope`, the variable scope or its name, and `_reuse`, its reuse mode.

    Raises:
      TypeError: There is another keyword.
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any):
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        kwargs.pop("autocast", None)
        self._activity_regularizer = kwargs.pop("activity_regularizer", None)
        kwargs.pop("input_shape", None)
        for key in kwargs:
            raise TypeError("Keyword argument not understood:", key)
        self._trainable = trainable
        self.stateful = False
        self.built = False
        self._input_spec: Any = None
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype.name
        self._base_name = name or _snake_case(type(self).__name__)
        self._name = name or _numbered(self._base_name)
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        # Pairs of a tensor, operation or function and the inputs that it was made for, None if for all.
        self._losses: list[tuple[Any, Any]] = []
        self._updates: list[tuple[Any, Any]] = []
        self._call_inputs: list[Any] | None = None
        self._scope: Any = None
        self._current_scope: Any = None
        parameters = inspect.signature(self.call).parameters
        self._call_has_scope_arg = "scope" in parameters
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    # -- what it is ----------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self._name

    @property
    def scope_name(self) -> str:
        """The full name of the layer's variable scope.

        Raises:
          ValueError: The layer was not called yet.
        """
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been used yet. The scope '
                "name  is determined the first time the layer instance is called. You must therefore call the layer "
                "before querying `scope_name`."
            )
        return self._scope.name  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The name of the variables' type; None before the first call."""
        return self._dtype

    @property
    def graph(self) -> None:
        """Nothing: layers do not keep their graph."""
        return None

    @property
    def input_spec(self) -> Any:
        return self._input_spec

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        self._input_spec = value

    @property
    def activity_regularizer(self) -> Any:
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = regularizer

    @property
    def trainable(self) -> bool:
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value

    @property
    def inbound_nodes(self) -> list[Any]:
        """Nothing: calls of these layers are not recorded."""
        return []

    @property
    def outbound_nodes(self) -> list[Any]:
        """Nothing: calls of these layers are not recorded."""
        return []

    def _not_connected(self, what: str) -> Any:
        raise AttributeError(f"Layer {self.name} is not connected, no {what} to return.")

    @property
    def input(self) -> Any:
        return self._not_connected("input")

    @property
    def output(self) -> Any:
        raise AttributeError(f"Layer {self.name} has no inbound nodes.")

    # -- variables -----------------------------------------------------------------------------------------------
    @property
    def trainable_weights(self) -> list[Any]:
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        if self.trainable:
            return list(self._non_trainable_weights)
        return [*self._trainable_weights, *self._non_trainable_weights]

    @property
    def weights(self) -> list[Any]:
        return self.trainable_weights + self.non_trainable_weights

    variables = weights
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights

    def count_params(self) -> int:
        """Returns how many numbers the variables hold.

        Raises:
          ValueError: The layer is not built.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You can build it "
                f"manually via: `{self.name}.build(batch_input_shape)`."
            )
        return sum(math.prod(w.shape.as_list()) for w in self.weights)

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Finds or makes a variable in the layer's scope.

        Args:
          name: The variable's name.
          shape: Its shape.
          dtype: Its type, by default the layer's.
          initializer: What makes its initial value.
          regularizer: A function from the variable to a loss of the layer.
          trainable: Whether it is trained if the layer is; by default it is.
          constraint: A function that optimizers apply to the value after each update.
          use_resource: Whether it is a resource variable.
          synchronization: When copies on several devices are brought together.
          aggregation: How their updates combine.
          partitioner: A function that says into how many parts to cut it.
          **kwargs: `experimental_autocast`, which changes nothing.

        Raises:
          TypeError: There is another keyword.
          ValueError: A variable that is synchronized on reads cannot be trained.
        """
        for key in kwargs:
            if key != "experimental_autocast":
                raise TypeError("Unknown keyword argument:", key)
        if synchronization == VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                    "variables. You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        elif trainable is None:
            trainable = True
        before = set(map(id, NAMES["global_variables"]()))
        # Variables take part in the layer's type where they are asked for by name alone.
        dtype = dtypes.as_dtype(dtype or self._dtype or dtypes.float32)
        self._set_scope(None)
        with variable_scope(
            self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False
        ) as scope:
            self._current_scope = scope
            with name_scope(scope.original_name_scope):
                variable = get_variable(
                    name,
                    shape=shape,
                    dtype=dtype,
                    initializer=initializer_of(initializer) if initializer is not None else scope.initializer,
                    trainable=trainable and self.trainable,
                    constraint=constraint,
                    partitioner=partitioner,
                    use_resource=use_resource or scope.use_resource,
                    synchronization=synchronization,
                    aggregation=aggregation,
                )
                parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
                if regularizer is not None and any(id(part) not in before for part in parts):
                    self._regularize(name, parts, regularizer)
        (self._trainable_weights if trainable else self._non_trainable_weights).extend(parts)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """Is `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def _regularize(self, name: str, parts: list[Any], regularizer: Any) -> None:
        for part in parts:

            def loss(part: Any = part) -> Any:
                with name_scope(name + "/Regularizer"):
                    return regularizer(part)

            self.add_loss(loss)

    # -- losses and updates --------------------------------------------------------------------------------------
    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses to the layer and to the collection of regularization losses.

        Args:
          losses: A tensor, a function without arguments that makes one, or a list of those.
          inputs: The inputs that they depend on, None if they depend on none.
        """
        given = None if inputs is None else leaves(inputs)
        made = []
        for loss in leaves(losses):
            value = loss() if callable(loss) else loss
            if value is None:
                continue
            if not callable(loss):
                loss = value = convert_to_tensor(loss)
            made.append(value)
            self._losses.append((loss, given))
        _collect(GraphKeys.REGULARIZATION_LOSSES, made)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations to run in each training step to the layer and to the collection of updates.

        Args:
          updates: An operation, a tensor, or a list of those.
          inputs: Not used: what an update depends on is looked up in the graph.
        """
        if not self.trainable and not self.stateful:
            return
        made = [u() if callable(u) else u for u in leaves(updates)]
        made = [u.op if isinstance(u, Tensor) else u for u in made]
        self._updates.extend((u, self._call_inputs or []) for u in made)
        _collect(GraphKeys.UPDATE_OPS, made)

    def _made_losses(self) -> Iterator[tuple[Any, Any]]:
        functions = []
        for loss, inputs in self._losses:
            if callable(loss):
                functions.append((loss, inputs))
            else:
                yield loss, inputs
        for loss, inputs in functions:
            value = loss()
            if value is not None:
                yield value, inputs

    @property
    def losses(self) -> list[Any]:
        """The layer's losses; those of variables are added to the graph anew."""
        return [loss for loss, _ in self._made_losses()]

    @property
    def updates(self) -> list[Any]:
        if not self.trainable and not self.stateful:
            return []
        return [update for update, _ in self._updates]

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """Returns the losses that depend on some inputs, or with None those that depend on no inputs."""
        if inputs is None:
            return [loss for loss, given in self._made_losses() if given is None]
        sources = leaves(inputs)
        return [t for t, given in self._made_losses() if given is not None and depends(t, sources)]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """Returns the updates that depend on some inputs, or with None those that depend on no inputs."""
        if not self.trainable and not self.stateful:
            return []
        if inputs is None:
            return [u for u, given in self._updates if not depends(u, given)]
        sources = leaves(inputs)
        return [u for u, given in self._updates if depends(u, given) and depends(u, sources)]

    # -- calling -------------------------------------------------------------------------------------------------
    def build(self, input_shape: Any) -> None:
        """Makes the variables; called once, before the first `call`.

        Args:
          input_shape: The TensorShape of the input, or a structure of those.
        """
        self.built = True

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """Does the work of the layer: returns what it makes of its inputs."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Returns the shape of the output for that of an input.

        Raises:
          NotImplementedError: The layer does not say.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what shape its output has")

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is None:
            if self._reuse:
                opened = variable_scope(scope if scope is not None else self._base_name)
            else:
                opened = variable_scope(scope, default_name=self._base_name)
            with opened as captured:
                self._scope = captured

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer if need be and calls it.

        Args:
          inputs: A tensor, or nested lists, tuples and dictionaries of tensors.
          *args: Further arguments of `call`.
          **kwargs: Further arguments of `call`, and `scope`, the variable scope to use in the first call.
        """
        scope = kwargs.pop("scope", None)
        self._set_scope(scope)
        with variable_scope(
            self._scope, reuse=True if self.built else self._reuse, auxiliary_name_scope=False
        ) as entered:
            self._current_scope = entered
            if self._call_has_scope_arg:
                kwargs["scope"] = entered
            inputs = map_leaves(
                lambda x: convert_to_tensor(x) if isinstance(x, (np.ndarray, float, int)) else x, inputs
            )
            flat = leaves(inputs)
            with name_scope(entered.original_name_scope):
                if not self.built:
                    self._build(inputs, flat)
                check_inputs(self._input_spec, flat, self.name)
                outer, self._call_inputs = self._call_inputs, flat
                try:
                    outputs = self.call(inputs, *args, **kwargs)
                    if outputs is None:
                        raise ValueError(
                            "A layer's `call` method should return a Tensor or a list of Tensors, not None (layer: "
                            f"{self.name})."
                        )
                    self._regularize_activity(inputs, outputs)
                finally:
                    self._call_inputs = outer
        # What asks for the collection finds it, even if nothing was added.
        get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer."""
        return self(inputs, *args, **kwargs)

    def _build(self, inputs: Any, flat: list[Any]) -> None:
        check_inputs(self._input_spec, flat, self.name)
        if self._dtype is None and flat:
            found = getattr(flat[0], "dtype", None)
            if found is not None:
                self._dtype = dtypes.as_dtype(found).base_dtype.name
        if all(hasattr(x, "shape") for x in flat):
            self.build(map_leaves(lambda x: x.shape, inputs))
        else:
            self.build(None)
        self.built = True

    def _regularize_activity(self, inputs: Any, outputs: Any) -> None:
        if self._activity_regularizer is None:
            return
        with name_scope("ActivityRegularizer"):
            for output in leaves(outputs):
                loss = self._activity_regularizer(output)
                rows = NAMES["cast"](NAMES["shape"](output)[0], loss.dtype)
                self.add_loss(loss / rows, inputs=inputs)

    def __deepcopy__(self, memo: Any) -> Layer:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(self.__dict__)
        return made


def _collect(key: str, values: list[Any]) -> None:
    """Adds to a collection what is not in it yet."""
    held = get_default_graph().get_collection_ref(key)
    there = {id(each) for each in held}
    for value in values:
        if id(value) not in there:
            there.add(id(value))
            held.append(value)


def activation_of(activation: Any) -> Any:
    """Returns the function that an activation stands for: itself, the one of that name, or None."""
    if not isinstance(activation, str):
        return activation
    if activation == "linear":
        return None
    return NAMES.get("nn." + activation) or NAMES["math." + activation]


def initializer_of(initializer: Any) -> Any:
    """Returns the initializer that a name stands for; anything else stays as it is."""
    return NAMES["initializers." + initializer]() if isinstance(initializer, str) else initializer


def smart_cond(condition: Any, if_true: Callable[[], Any], if_false: Callable[[], Any]) -> Any:
    """Calls the function for a condition that is known, and leaves the choice to the step for one that is not.

    Raises:
      NotImplementedError: It is not known, and there is no `tf.cond`.
    """
    known = known_condition(condition)
    if known is not None:
        return if_true() if known else if_false()
    if "cond" not in NAMES:
        raise NotImplementedError(
            "`training` as a tensor needs tf.cond, which is not there yet; give a Python bool"
        )
    return NAMES["cond"](condition, if_true, if_false)


def known_condition(condition: Any) -> bool | None:
    """Returns a condition's value, or None if only the step will know."""
    if isinstance(condition, (bool, np.bool_)):
        return bool(condition)
    if isinstance(condition, (int, np.integer)) and condition in (0, 1):
        return bool(condition)
    if condition is None:
        return False
    if isinstance(condition, Tensor):
        value = constant_value(condition)
        return None if value is None else bool(value)
    return None
