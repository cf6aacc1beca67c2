"""The collections of variables, and the nodes that initialize them or tell what is not initialized."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import GraphKeys, control_dependencies, get_default_graph, name_scope
from headrace.graph.default import colocate_with, device
from headrace.opdef import constant_node, convert_to_tensor, raw


@export("global_variables")
def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that sessions share, or those whose names start with `scope` (a regular expression)."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


@export("all_variables")
def all_variables() -> list[Any]:
    """Is `global_variables` under its first name."""
    return global_variables()


@export("local_variables")
def local_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that belong to one process; see `global_variables`."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


@export("model_variables")
def model_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of the model proper; see `global_variables`."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


@export("trainable_variables")
def trainable_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that optimizers train; see `global_variables`."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


@export("moving_average_variables")
def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables of which moving averages are kept; see `global_variables`."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def _waiting_for(operations: list[Any], name: str) -> Any:
    """Returns one operation that waits for all these: one on each device, and one for those if they are several."""
    by_device: dict[str, list[Any]] = {}
    for op in operations:
        by_device.setdefault(op.device, []).append(op)
    if len(by_device) == 1:
        ((place, ops),) = by_device.items()
        with device(place or None), control_dependencies(ops):
            return raw.NoOp(name=name)
    with name_scope(name) as scope:
        parts = []
        for place in sorted(by_device):
            with device(place or None), control_dependencies(by_device[place]):
                parts.append(raw.NoOp())
        with control_dependencies(parts):
            return raw.NoOp(name=scope)


@export("variables_initializer", "initializers.variables")
def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """Returns an operation that gives the variables of a list their initial values.

    Args:
      var_list: The variables.
      name: The operation's name.
    """
    if var_list:
        return _waiting_for([v.initializer for v in var_list], name)
    return raw.NoOp(name=name)


@export("initialize_variables")
def initialize_variables(var_list: Any, name: str = "init") -> Any:
    """Is `variables_initializer` under its first name."""
    return variables_initializer(var_list, name)


@export("global_variables_initializer", "initializers.global_variables")
def global_variables_initializer() -> Any:
    """Returns an operation that gives all global variables their initial values."""
    return variables_initializer(global_variables())


@export("initialize_all_variables")
def initialize_all_variables() -> Any:
    """Is `global_variables_initializer` under its first name."""
    return global_variables_initializer()


@export("local_variables_initializer", "initializers.local_variables")
def local_variables_initializer() -> Any:
    """Returns an operation that gives all local variables their initial values."""
    return variables_initializer(local_variables())


@export("initialize_local_variables")
def initialize_local_variables() -> Any:
    """Is `local_variables_initializer` under its first name."""
    return local_variables_initializer()


@export("is_variable_initialized")
def is_variable_initialized(variable: Any) -> Any:
    """Returns whether a variable has a value, as a bool tensor."""
    return state_of(variable)


def state_of(ref: Any, name: str | None = None) -> Any:
    """Returns whether a variable, or a reference, has a value, as a bool tensor."""
    if ref.dtype.is_ref:
        return raw.IsVariableInitialized(ref, name=name)
    return ref.is_initialized(name=name)


@export("assert_variables_initialized")
def assert_variables_initialized(var_list: Any = None) -> Any:
    """Returns a node that fails if a variable has no value; None if there are no variables.

    Args:
      var_list: The variables, by default the global and local ones.
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        return None
    ranks = []
    for variable in var_list:
        with colocate_with(variable.op), name_scope("Rank") as scope:
            convert_to_tensor(variable)
            ranks.append(raw.Rank(variable, name=scope))
    return ranks[0] if len(ranks) == 1 else raw.Pack(ranks, name="stack")


@export("report_uninitialized_variables")
def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Any:
    """Returns the names of the variables that have no value, as a 1-D string tensor.

    Args:
      var_list: The variables, by default the global and local ones.
      name: The name scope of the nodes.
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    with name_scope(name):
        states = [state_of(v) for v in var_list]
        with device("/cpu:0"):
            if not var_list:
                return constant_node([], dtypes.string, name="Const")
            missing = raw.LogicalNot(raw.Pack(states, name="stack"))
            names = constant_node([v.op.name for v in var_list], name="Const")
            return NAMES["boolean_mask"](names, missing)


@export("tables_initializer", "initializers.tables_initializer")
def tables_initializer(name: str = "init_all_tables") -> Any:
    """Returns an operation that initializes the lookup tables of the default graph, one that does nothing if none."""
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return NAMES["group"](*initializers, name=name) if initializers else NAMES["no_op"](name=name)


@export("initialize_all_tables")
def initialize_all_tables(name: str = "init_all_tables") -> Any:
    """Is `tables_initializer` under its first name."""
    return tables_initializer(name)
