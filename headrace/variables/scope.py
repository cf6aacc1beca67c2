"""Variable scopes: `tf.variable_scope` and what variables made by `tf.get_variable` inherit from them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from headrace import dtypes
from headrace.export import export
from headrace.graph import GraphKeys, get_default_graph, name_scope
from headrace.graph.default import graph_of
from headrace.opdef import convert_to_tensor
from headrace.variables.modes import VariableAggregation, VariableSynchronization
from headrace.variables.store import AUTO_REUSE, ReuseMode, default_store

_SCOPES_KEY = ("__varscope",)


@export("VariableScope")
class VariableScope:
    """What `tf.get_variable` takes from the scopes around it: a name and defaults.

    Args:
      reuse: True to find variables only, AUTO_REUSE to find or make them, False or None to make them.
      name: The scope's full name, which variable names start with.
      initializer: The default initializer.
      regularizer: The default regularizer.
      caching_device: The default caching device.
      partitioner: The default partitioner.
      custom_getter: A function that stands before `tf.get_variable`.
      name_scope: The name scope that belongs to the variable scope.
      dtype: The default type.
      use_resource: Whether variables are resource variables.
      constraint: The default constraint.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: Any = None,
        constraint: Any = None,
    ):
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._reuse = reuse
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    @property
    def name(self) -> str:
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was opened with this scope the first time."""
        return self._name_scope

    @property
    def reuse(self) -> Any:
        return self._reuse

    @property
    def initializer(self) -> Any:
        return self._initializer

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def use_resource(self) -> Any:
        return self._use_resource

    @property
    def regularizer(self) -> Any:
        return self._regularizer

    @property
    def caching_device(self) -> Any:
        return self._caching_device

    @property
    def partitioner(self) -> Any:
        return self._partitioner

    @property
    def custom_getter(self) -> Any:
        return self._custom_getter

    @property
    def constraint(self) -> Any:
        return self._constraint

    def reuse_variables(self) -> None:
        """Makes `tf.get_variable` only find variables from now on."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: Any) -> None:
        self._dtype = dtype

    def set_use_resource(self, use_resource: Any) -> None:
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        self._custom_getter = custom_getter

    def get_collection(self, name: Any) -> list[Any]:
        """Returns the items of a collection whose names start with this scope."""
        return get_default_graph().get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def copy(self, **changes: Any) -> VariableScope:
        """Returns a scope like this one with some of its attributes changed."""
        made = VariableScope.__new__(VariableScope)
        made.__dict__.update(self.__dict__)
        made.__dict__.update({"_" + key: value for key, value in changes.items()})
        return made

    def get_variable(
        self,
        var_store: Any,
        name: str | None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: Any = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: Any = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """Finds or makes a variable in a store, with this scope's defaults; see `tf.get_variable`."""
        if regularizer is None:
            regularizer = self._regularizer
        if caching_device is None:
            caching_device = self._caching_device
        if partitioner is None:
            partitioner = self._partitioner
        if custom_getter is None:
            custom_getter = self._custom_getter
        if reuse is None:
            reuse = self._reuse
        full_name = name
        if self._name:
            full_name = self._name if name is None else f"{self._name}/{name}"
        # Variables are named by variable scopes alone.
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                found = convert_to_tensor(initializer).dtype.base_dtype
                if found != dtype:
                    raise ValueError(
                        f"Initializer type '{found}' and explicit dtype '{dtypes.as_dtype(dtype)}' don't match."
                    )
            if initializer is None:
                initializer = self._initializer
            if constraint is None:
                constraint = self._constraint
            if dtype is None:
                dtype = self._dtype
            if use_resource is None:
                use_resource = self._use_resource
            return var_store.get_variable(
                full_name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                regularizer=regularizer,
                reuse=reuse,
                trainable=trainable,
                collections=collections,
                caching_device=caching_device,
                partitioner=partitioner,
                validate_shape=validate_shape,
                use_resource=use_resource,
                custom_getter=custom_getter,
                constraint=constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )


class _Scopes:
    """The current variable scope of a graph, and how often each name was opened."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.counts: dict[str, int] = {}

    def open(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_inner(self, name: str | None) -> None:
        """Forgets how often the scopes inside one were opened, so that default names start over there."""
        for key in self.counts:
            if not name or key.startswith(name + "/"):
                self.counts[key] = 0


def _scopes() -> _Scopes:
    found = get_default_graph().get_collection_ref(_SCOPES_KEY)
    if not found:
        found.append(_Scopes())
    return found[0]  # type: ignore[no-any-return]


@export("get_variable_scope")
def get_variable_scope() -> VariableScope:
    """Returns the current variable scope."""
    return _scopes().current


def unique_default_name(prefix: str) -> str:
    """Returns a name for a scope inside the current one that was not opened there yet."""
    scopes = _scopes()
    outer = scopes.current.name
    full = f"{outer}/{prefix}" if outer else prefix
    if not scopes.counts.get(full):
        return prefix
    i = 1
    while scopes.counts.get(f"{full}_{i}"):
        i += 1
    return f"{prefix}_{i}"


def _composed(custom_getter: Any, outer: Any) -> Any:
    """Returns a getter that calls `custom_getter`, which in turn calls the outer scope's."""
    if outer is None:
        return custom_getter

    def getter(inner: Any, *args: Any, **kwargs: Any) -> Any:
        return custom_getter(functools.partial(outer, inner), *args, **kwargs)

    return getter


@contextlib.contextmanager
def _entered(
    name_or_scope: Any, options: dict[str, Any], reuse: Any, old_name_scope: Any
) -> Iterator[VariableScope]:
    """Makes a variable scope the current one, without a name scope."""
    scopes = _scopes()
    old = scopes.current
    given = {key: value for key, value in options.items() if value is not None}
    getter = given.pop("custom_getter", None)
    if isinstance(name_or_scope, VariableScope):
        new_name = name_or_scope.name
        saved = dict(scopes.counts)
        made = name_or_scope.copy(reuse=name_or_scope.reuse if not reuse else reuse, **given)
        if old_name_scope is not None and name_or_scope._name_scope is None:
            made._name_scope = old_name_scope
    else:
        new_name = f"{old.name}/{name_or_scope}" if old.name else name_or_scope
        saved = None
        made = old.copy(
            name=new_name, reuse=reuse or old.reuse, name_scope=old_name_scope or name_or_scope, **given
        )
    if getter is not None:
        made._custom_getter = _composed(getter, made._custom_getter)
    scopes.open(new_name)
    scopes.current = made
    try:
        yield made
    finally:
        scopes.close_inner(new_name)
        if saved is not None:
            # Entering a scope again by its object leaves the counts as they were.
            scopes.counts = saved
        scopes.current = old


@export("variable_scope")
class variable_scope:
    """Puts the variables that `tf.get_variable` makes in a `with` block under a name, and gives them defaults.

    Args:
      name_or_scope: The scope's name, or a VariableScope to enter again.
      default_name: A name to make unique where `name_or_scope` is None.
      values: Tensors that the block works on; they must be of one graph.
      initializer: The default initializer.
      regularizer: The default regularizer.
      caching_device: The default caching device.
      partitioner: The default partitioner.
      custom_getter: A function that stands before `tf.get_variable`, called as `custom_getter(getter, name, ...)`.
      reuse: True, AUTO_REUSE, or None to do as the scope around.
      dtype: The default type.
      use_resource: Whether variables are resource variables.
      constraint: The default constraint.
      auxiliary_name_scope: Whether a name scope is opened too.

    Raises:
      TypeError: There is neither a name nor a default name.
      ValueError: `reuse` is given without a name, or is no reuse mode.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: Any = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ):
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = [] if values is None else values
        self._options = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "custom_getter": custom_getter,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._reuse = reuse or None
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (None, True, False) and not isinstance(reuse, ReuseMode):
            raise ValueError("The reuse parameter must be True or False or None.")
        if self._values:
            graph_of(self._values)
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}"
            )
        self._auxiliary_name_scope = auxiliary_name_scope
        self._blocks: list[contextlib.ExitStack] = []

    def __enter__(self) -> VariableScope:
        with contextlib.ExitStack() as block:
            graph = graph_of(self._values) if self._values else get_default_graph()
            if graph is not get_default_graph():
                block.enter_context(graph.as_default())
            made = self._enter(block, graph)
            self._blocks.append(block.pop_all())
        return made

    def _enter(self, block: contextlib.ExitStack, graph: Any) -> VariableScope:
        target = self._name_or_scope
        if target is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            name = self._default_name
            target = unique_default_name(name or "")
        elif isinstance(target, str):
            name = target
        elif isinstance(target, VariableScope):
            name = target.name.split("/")[-1]
        else:
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if self._auxiliary_name_scope:
            opened = block.enter_context(name_scope(name)) if name else ""
        else:
            opened = graph.get_name_scope()
            opened = opened + "/" if opened else ""
        if isinstance(target, VariableScope):
            opened = target.original_name_scope
        return block.enter_context(_entered(target, self._options, self._reuse, opened))

    def __exit__(self, *error: Any) -> None:
        self._blocks.pop().__exit__(*error)


@export("variable_op_scope")
@contextlib.contextmanager
def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: Any = None,
    constraint: Any = None,
) -> Iterator[VariableScope]:
    """Is `variable_scope` with its arguments in another order."""
    with variable_scope(
        name_or_scope,
        default_name=default_name,
        values=values,
        initializer=initializer,
        regularizer=regularizer,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        reuse=reuse,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
    ) as scope:
        yield scope


@export("get_variable")
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: Any = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Finds a variable by its name in the current variable scope, or makes it, as the scope's reuse mode says.

    Args:
      name: The variable's name in the scope.
      shape: Its shape; not to be given where the initializer is a value.
      dtype: Its type, by default the scope's.
      initializer: A function `(shape, dtype, partition_info)`, a function without arguments, or a value.
      regularizer: A function from the variable to a loss, which goes to the collection of regularization losses.
      trainable: Whether optimizers train it.
      collections: The collections it goes to.
      caching_device: Where its value is kept once read.
      partitioner: A function `(shape, dtype)` that returns into how many parts to cut each dimension.
      validate_shape: Whether the shape must be known.
      use_resource: Whether it is a resource variable.
      custom_getter: A function that stands before this one.
      constraint: A function that optimizers apply to the value after each update.
      synchronization: When copies on several devices are brought together.
      aggregation: How their updates combine.

    Returns:
      The variable, or a PartitionedVariable.

    Raises:
      ValueError: It exists and must not, or the other way round, or it is of another shape or type.
    """
    return get_variable_scope().get_variable(
        default_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@export("get_local_variable")
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: Any = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Finds or makes a variable of the collection of local variables, which is not trained; see `get_variable`."""
    return get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=[*(collections or []), GraphKeys.LOCAL_VARIABLES],
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@export("no_regularizer")
def no_regularizer(_: Any) -> None:
    """Stands for a regularizer that adds no loss, where a scope has one."""
    return None


__all__ = ["AUTO_REUSE", "VariableScope", "get_variable", "get_variable_scope", "variable_scope"]
