"""Which kind of variable `tf.Variable` makes, and the creators that may change that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from headrace.export import export
from headrace.graph import get_default_graph
from headrace.variables import base
from headrace.variables.reference import RefVariable
from headrace.variables.resource import ResourceVariable

_resource_by_default = False


@export("enable_resource_variables")
def enable_resource_variables() -> None:
    """Makes resource variables the default from now on."""
    global _resource_by_default
    _resource_by_default = True


@export("disable_resource_variables")
def disable_resource_variables() -> None:
    """Makes reference variables the default from now on."""
    global _resource_by_default
    _resource_by_default = False


@export("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Returns whether resource variables are the default."""
    return _resource_by_default


def default_variable_creator(next_creator: Any = None, **arguments: Any) -> Any:
    """Makes a variable of the kind that `use_resource`, the variable scope and the default say."""
    from headrace.variables.scope import get_variable_scope

    use_resource = arguments.pop("use_resource", None)
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = _resource_by_default
    return (ResourceVariable if use_resource else RefVariable)(**arguments)


base.default_creator = lambda **arguments: default_variable_creator(None, **arguments)


def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
    """Returns the variable that a VariableDef describes."""
    kind = ResourceVariable if variable_def.is_resource else RefVariable
    return kind(variable_def=variable_def, import_scope=import_scope)


@export("variable_creator_scope")
@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Lets a function take part in the making of variables inside a `with` block.

    Args:
      variable_creator: Called as `variable_creator(next_creator, **arguments)` with what `tf.Variable` was given; it
        returns a variable, usually what `next_creator(**arguments)` returns.
    """
    graph = get_default_graph()
    old = graph._variable_creator_stack
    graph._variable_creator_stack = [*old, variable_creator]
    try:
        yield
    finally:
        graph._variable_creator_stack = old
