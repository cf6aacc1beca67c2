"""The initial value of a variable: how it is made, and how it is kept from reading variables too early."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from headrace.export import NAMES
from headrace.graph import GraphKeys, Tensor, get_default_graph, name_scope, numbering
from headrace.opdef import OPS

_SOURCES = ("Variable", "VariableV2")
_SAFE = ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If")
_WITHOUT_REFERENCE = {"RefSwitch": "Switch", "RefIdentity": "Identity"}


@contextlib.contextmanager
def placed_with(name: str) -> Iterator[None]:
    """Marks the nodes made inside as placed with a variable that is yet to be made."""
    graph = get_default_graph()
    old = graph._attr_scope_map
    graph._attr_scope_map = {**old, "_class": lambda op: ("loc:@" + name,)}
    try:
        yield
    finally:
        graph._attr_scope_map = old


@contextlib.contextmanager
def initializer_block() -> Iterator[None]:
    """Puts the nodes made inside under `Initializer`, on no particular device."""
    with name_scope("Initializer"), get_default_graph().device(None):
        yield


def checked_collections(collections: Any, trainable: bool) -> list[Any]:
    """Returns the collections that a new variable goes to.

    Raises:
      ValueError: `collections` is not a list.
    """
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{collections} of type {type(collections)}"
        )
    found = list(collections)
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in found:
        found.append(GraphKeys.TRAINABLE_VARIABLES)
    return found


def check_initial_value(value: Any, name: str | None) -> None:
    """Refuses a tensor made in the body of a branch, a loop or a function as a variable's initial value.

    Raises:
      ValueError: `value` is such a tensor.
    """
    graph = get_default_graph()
    if not (isinstance(value, Tensor) and value.graph.building_function):
        return
    if numbering.is_numbered(value.graph):
        around = (graph._scope_around, graph.get_name_scope(), (name or "Variable").rstrip("/"))
        scope = name if name and name.endswith("/") else "/".join(part for part in around if part) + "/"
        raise ValueError(
            f"Initializer for variable {scope} is from inside a control-flow construct, such as a loop or conditional. "
            "When creating a variable inside a loop or conditional, use a lambda as the initializer."
        )
    raise ValueError(
        "Tensor-typed variable initializers must either be wrapped in an init_scope or callable (e.g., "
        "`tf.Variable(lambda : tf.truncated_normal([10, 40]))`) when building functions. Please file a feature request "
        "if this restriction inconveniences you."
    )


def guarded(name: str, value: Tensor) -> Tensor:
    """Returns an initial value that does not read uninitialized variables.

    Where the value is computed from other variables, these are replaced by their `initialized_value()`, so that all
    variables can be initialized at once, in any order. Nodes between are made again under names that end with the
    new variable's name.

    Args:
      name: The new variable's full name.
      value: The initial value.
    """
    if "cond" not in NAMES or not _depends_on_variables(value.op):
        return value
    return _safe(name, value, {})


def _depends_on_variables(op: Any) -> bool:
    seen = {op}
    stack = [op]
    found = False
    while stack:
        each = stack.pop()
        if each.type in ("NextIteration", "RefNextIteration"):
            return False  # a loop can't be made again node by node
        if each.type in _SOURCES:
            found = True
        for before in [t.op for t in each.inputs] + each.control_inputs:
            if before not in seen:
                seen.add(before)
                stack.append(before)
    return found


def _safe(name: str, tensor: Tensor, done: dict[Any, Any]) -> Tensor:
    op = tensor.op
    if op not in done:
        done[op] = _safe_op(name, op, done)
    return done[op].outputs[tensor.value_index]  # type: ignore[no-any-return]


def _safe_op(name: str, op: Any, done: dict[Any, Any]) -> Any:
    if op.type in _SAFE:
        return op
    if op.type in _SOURCES:
        variable = _variable_of(op)
        return op if variable is None else variable.initialized_value().op
    changed = False
    inputs = []
    for t in op.inputs:
        new = _safe(name, t, done)
        changed |= new is not t
        inputs.append(new)
    if not changed:
        return op
    kind = op.kind
    if kind.name in _WITHOUT_REFERENCE and not inputs[0].dtype.is_ref:
        kind = OPS[_WITHOUT_REFERENCE[kind.name]]
    # The copy must keep its old name apart from the ending, whatever scope is open.
    graph = op.graph
    if op.type in ("If", "StatelessIf") and not NAMES["control_flow_v2_enabled"]():
        numbering.shift(
            graph, 1
        )  # TensorFlow copies what reads the other variable, too: a Switch and an Identity
    with graph.name_scope(None):
        attrs, types = kind.complete(tuple(inputs), dict(op.attrs), None)
        return graph.add(kind, f"{op.name}_{name}", tuple(inputs), attrs, types)


def _variable_of(op: Any) -> Any:
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in op.graph.get_collection(key):
            if getattr(variable, "op", None) is op:
                return variable
    return None
