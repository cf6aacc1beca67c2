"""Optimizer: gradients of a loss, and their application to variables with slots."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.autodiff import gradients_between
from headrace.export import export
from headrace.graph import (
    GraphKeys,
    IndexedSlices,
    Tensor,
    colocate_with,
    control_dependencies,
    get_default_graph,
    init_scope,
    name_scope,
)
from headrace.graph.structure import flatten
from headrace.opdef import convert_to_tensor, convert_to_tensor_or_indexed_slices, raw
from headrace.ops.flow.group import group, tuple_
from headrace.train import slots
from headrace.train.optimizers.targets import target_of
from headrace.variables.base import Variable
from headrace.variables.collected import trainable_variables


def deduplicated(values: Any, indices: Any) -> tuple[Any, Any]:
    """Returns the rows of IndexedSlices with those of equal indices added up, and the indices that are left."""
    unique, positions = raw.Unique(indices)
    count = raw.Shape(unique)[0]
    return raw.UnsortedSegmentSum(values, positions, count), unique


def _key(variable: Any) -> Any:
    return variable.op.graph, variable.op.name


@export("train.Optimizer")
class Optimizer:
    """What all optimizers have in common.

    A subclass says how one variable is updated (`_apply_dense` and its kin) and which slots it needs
    (`_create_slots`). Slots are variables that belong to a variable that is trained, such as its momentum.

    Args:
      use_locking: Whether updates wait for each other (reference variables).
      name: The optimizer's name, from which slots and updates get theirs.

    Raises:
      ValueError: The name is empty.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[Any, Any] = {}
        self._deferred_slot_restorations: dict[Any, Any] = {}

    def get_name(self) -> str:
        """Returns the optimizer's name."""
        return self._name

    # -- gradients -----------------------------------------------------------------------------------------------
    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Adds nodes that make a loss smaller by changing variables.

        Args:
          loss: A tensor, or a function without arguments that returns one.
          global_step: A variable to count the steps in.
          var_list: The variables to change, by default all trainable ones.
          gate_gradients: How far gradients wait for each other: GATE_NONE, GATE_OP or GATE_GRAPH.
          aggregation_method: How to add up gradients, see `tf.AggregationMethod`.
          colocate_gradients_with_ops: Places gradients where their operations are.
          name: The name of the returned operation.
          grad_loss: The gradient of the loss, by default 1.

        Returns:
          The operation that does one step.

        Raises:
          ValueError: No variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Adds nodes that compute the gradients of a loss; see `minimize`.

        Returns:
          A list of (gradient, variable); the gradient is a Tensor, IndexedSlices or None.

        Raises:
          TypeError: `var_list` holds something that is no variable.
          ValueError: There is nothing to train, or an argument is none of the allowed values.
        """
        if callable(loss):
            loss = loss()
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        graph = get_default_graph()
        if var_list is None:
            var_list = trainable_variables() + graph.get_collection("trainable_resource_variables")
        else:
            var_list = flatten(var_list)
        var_list = list(var_list) + graph.get_collection("streaming_model_ports")
        targets = [target_of(v) for v in var_list]
        if not var_list:
            raise ValueError("No variables to optimize.")
        grads = gradients_between(
            loss,
            [t.target() for t in targets],
            grad_ys=grad_loss,
            gate=gate_gradients == Optimizer.GATE_OP,
            aggregation_method=aggregation_method,
            colocate=colocate_gradients_with_ops,
        )
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = tuple_(grads)
        pairs = list(zip(grads, var_list, strict=True))
        self._assert_valid_dtypes(
            [v for g, v in pairs if g is not None and v.dtype.base_dtype is not dtypes.resource]
        )
        return pairs

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Adds nodes that apply gradients to variables.

        Args:
          grads_and_vars: Pairs as `compute_gradients` returns them.
          global_step: A variable to count the steps in.
          name: The name of the returned operation, by default the optimizer's.

        Returns:
          The operation that applies all gradients and counts the step.

        Raises:
          TypeError: A gradient is no tensor.
          ValueError: No variable has a gradient.
        """
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        converted = [(_converted(grad), variable, target_of(variable)) for grad, variable in pairs]
        var_list = [v for g, v, _ in converted if g is not None]
        if not var_list:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v, _ in converted]}.")
        with init_scope():
            self._create_slots(var_list)
        updates = []
        with name_scope(name, self._name) as scope:
            self._prepare()
            for grad, variable, target in converted:
                if grad is None:
                    continue
                with name_scope("update_" + variable.op.name), colocate_with(variable.op):
                    updates.append(target.update_op(self, grad))
            applied = (
                self._finish(updates, scope)
                if global_step is None
                else self._counted(updates, global_step, scope)
            )
        if isinstance(applied, Tensor):
            applied = applied.op
        train_ops = get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
        if applied not in train_ops:
            train_ops.append(applied)
        return applied

    def _counted(self, updates: list[Any], global_step: Any, scope: str) -> Any:
        """Returns the operation that counts a step after the updates."""
        with control_dependencies([self._finish(updates, "update")]), colocate_with(global_step.op):
            if slots.is_resource(global_step):
                one = convert_to_tensor(1, dtype=global_step.dtype)
                return raw.AssignAddVariableOp(global_step.handle, one, name=scope)
            ref = global_step._ref() if isinstance(global_step, Variable) else global_step
            return raw.AssignAdd(ref, 1, name=scope)

    # -- slots ---------------------------------------------------------------------------------------------------
    def get_slot(self, var: Any, name: str) -> Any:
        """Returns a variable's slot, or None if there is none yet.

        Args:
          var: A variable that is trained.
          name: The slot's name, one of `get_slot_names()`.
        """
        return self._slots.get(name, {}).get(_key(var))

    def get_slot_names(self) -> list[str]:
        """Returns the names of the slots that the optimizer has made."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """Returns the optimizer's own variables in the default graph: slots, and those that go with no variable."""
        graph = get_default_graph()
        own = [v for v in self._non_slot_dict.values() if v.graph is graph]
        own += [slot for named in self._slots.values() for slot in named.values() if slot.graph is graph]
        return sorted(own, key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """Returns a variable's slot, made with an initial value if there is none."""
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = slots.create_slot(var, val, op_name)
        return named[_key(var)]

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        """Returns a variable's slot, made by an initializer if there is none."""
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = slots.create_slot_with_initializer(var, initializer, shape, dtype, op_name)
        return named[_key(var)]

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """Returns a variable's slot, made of zeros if there is none."""
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = slots.create_zeros_slot(var, op_name)
        return named[_key(var)]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """Returns a variable of the optimizer's own, made if there is none of that name in the graph."""
        graph = colocate_with.graph
        key = (name, graph)
        found = self._non_slot_dict.get(key)
        if found is None:
            with graph.colocate_with(colocate_with.op):
                found = Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=slots.is_resource(colocate_with),
                )
            self._non_slot_dict[key] = found
        return found

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> Any:
        return self._non_slot_dict.values()

    # -- what subclasses say ---------------------------------------------------------------------------------------
    def _valid_dtypes(self) -> set[Any]:
        """Returns the types that a loss and variables may have."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _assert_valid_dtypes(self, tensors: Any) -> None:
        valid = self._valid_dtypes()
        for t in tensors:
            dtype = t.dtype.base_dtype
            if dtype not in valid:
                expected = sorted(valid, key=lambda d: d.as_datatype_enum % 8)
                raise ValueError(f"Invalid type {dtype!r} for {t.name}, expected: {expected}.")

    def _create_slots(self, var_list: Any) -> None:
        """Makes the slots that the variables need; none by default."""

    def _prepare(self) -> None:
        """Makes the tensors that all updates share; none by default."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        """Returns the node that updates a reference variable by a whole gradient."""
        raise NotImplementedError()

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        """Returns the operation that updates a resource variable by a whole gradient."""
        raise NotImplementedError()

    def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
        """Updates a reference variable by rows, some of which may be of the same index."""
        values, indices = deduplicated(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        """Returns the node that updates a reference variable by rows of different indices."""
        raise NotImplementedError()

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Updates a resource variable by rows, some of which may be of the same index."""
        values, unique = deduplicated(grad, indices)
        return self._resource_apply_sparse(values, handle, unique)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Returns the operation that updates a resource variable by rows of different indices."""
        raise NotImplementedError()

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        """Returns the operation that has done all updates."""
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param: Any) -> Any:
        """Returns a hyperparameter, or what it returns if it is a function."""
        return param() if callable(param) else param


def _converted(grad: Any) -> Any:
    if grad is None:
        return None
    try:
        found = convert_to_tensor_or_indexed_slices(grad)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
        ) from None
    if not isinstance(found, (Tensor, IndexedSlices)):
        raise TypeError(f"Gradient must be a Tensor, IndexedSlices, or None: {found}")
    return found
