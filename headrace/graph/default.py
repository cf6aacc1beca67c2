"""Functions that act on the default graph: `tf.name_scope`, `tf.device`, `tf.add_to_collection` and kin."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from headrace.export import export
from headrace.graph import stack
from headrace.graph.graph import Graph, as_operation
from headrace.graph.leaving import around_branches
from headrace.graph.operation import Operation
from headrace.graph.scopes import ControlDependencies
from headrace.graph.tensor import Tensor

stack.GraphStack.make_graph = Graph


@export("get_default_graph")
def get_default_graph() -> Graph:
    """Returns the graph that new nodes go to in this thread."""
    items = stack.graphs.items
    return items[-1] if items else stack.graphs.shared()  # type: ignore[no-any-return]


@export("get_default_session")
def get_default_session() -> Any:
    """Returns the innermost session entered in this thread, or None."""
    return stack.sessions.get()


@export("reset_default_graph")
def reset_default_graph() -> None:
    """Starts a new default graph.

    Raises:
      AssertionError: A graph is entered with `with graph.as_default()`.
    """
    if stack.graphs.items:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
            "and create a new graph."
        )
    stack.graphs.reset()


@export("device")
def device(device_name_or_function: Any) -> Any:
    """Places the nodes made inside a `with` block on a device; see `Graph.device`."""
    return get_default_graph().device(device_name_or_function)


@export("container")
def container(container_name: str) -> Any:
    """Puts the state made inside a `with` block into a named container; see `Graph.container`."""
    return get_default_graph().container(container_name)


@export("control_dependencies")
def control_dependencies(control_inputs: Any) -> ControlDependencies:
    """Makes the nodes of a `with` block wait for others; see `Graph.control_dependencies`."""
    return get_default_graph().control_dependencies(control_inputs)


@contextlib.contextmanager
def colocate_with(op: Any, ignore_existing: bool = False) -> Iterator[None]:
    """Places the nodes of a `with` block where `op` is; see `Graph.colocate_with`."""
    with get_default_graph().colocate_with(op, ignore_existing):
        yield


@export("colocate_with")
def deprecated_colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """Places the nodes of a `with` block where `op` is; see `Graph.colocate_with`."""
    return colocate_with(op, ignore_existing)


@export("add_to_collection")
def add_to_collection(name: Any, value: Any) -> None:
    """Adds a value to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


@export("add_to_collections")
def add_to_collections(names: Any, value: Any) -> None:
    """Adds a value to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


@export("get_collection_ref")
def get_collection_ref(key: Any) -> list[Any]:
    """Returns a collection of the default graph itself, not a copy."""
    return get_default_graph().get_collection_ref(key)


@export("get_collection")
def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Returns a copy of a collection of the default graph, filtered by name; see `Graph.get_collection`."""
    return get_default_graph().get_collection(key, scope)


def get_all_collection_keys() -> list[Any]:
    """Returns the names of the default graph's collections."""
    return get_default_graph().get_all_collection_keys()


@export("name_scope", "keras.backend.name_scope")
class name_scope:
    """Puts the nodes made inside a `with` block under a name.

    Args:
      name: The scope's name, or None.
      default_name: What to take where `name` is None.
      values: Tensors that the block works on; they must be of one graph, which becomes the default.

    Raises:
      TypeError: `values` are given but neither name is.
      ValueError: `values` come from different graphs.
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: Any = None):
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(f"`default_name` type ({type(default_name)}) is not a string type. You likely meant to "
                            "pass this into the `values` kwarg.")  # fmt: skip
        if name is None and default_name is None and values is not None:
            raise ValueError(
                f"At least one of name ({name}) and default_name ({default_name}) must be provided."
            )
        self._name = default_name if name is None else name
        self._values = values
        self._entered: list[Any] = []

    @property
    def name(self) -> str | None:
        return self._name

    def __enter__(self) -> str:
        graph: Graph = graph_of(self._values) if self._values else get_default_graph()
        switched = None
        if graph is not get_default_graph():
            switched = graph.as_default()
            switched.__enter__()
        old = graph._name_stack, graph._scope_around
        try:
            new = graph._enter_name_scope(self._name)
        except BaseException:
            if switched is not None:
                switched.__exit__(None, None, None)
            raise
        graph._name_stack = new
        if not self._name:
            graph._scope_around = ""
        self._entered.append((graph, old, switched))
        return new + "/" if new else ""

    def __exit__(self, *error: Any) -> None:
        graph, old, switched = self._entered.pop()
        graph._name_stack, graph._scope_around = old
        if switched is not None:
            switched.__exit__(*error)


def graph_of(values: Any) -> Graph:
    """Returns the graph that tensors or operations among `values` belong to, the default graph if there are none.

    Raises:
      ValueError: They belong to different graphs.
    """
    current = get_default_graph()
    if current.building_function:
        return current  # whatever they belong to, they are captured
    found: Graph | None = None
    original: Any = None
    for value in values:
        if isinstance(value, (list, tuple)):
            candidates = value
        else:
            candidates = (value,)
        for each in candidates:
            graph = getattr(each, "graph", None) if isinstance(each, (Tensor, Operation)) else None
            if graph is None and hasattr(each, "_as_graph_element"):
                graph = getattr(each, "graph", None)
            if graph is None:
                continue
            graph = around_branches(graph)
            if found is None:
                found, original = graph, each
            elif graph is not found:
                raise ValueError(f"{each} must be from the same graph as {original}.")
    return found if found is not None else current


@export("op_scope")
@contextlib.contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """Is `name_scope` with its arguments in another order."""
    with name_scope(name, default_name=default_name, values=values) as scope:
        yield scope


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Returns a name without the scope it starts with."""
    if export_scope:
        scope = export_scope.rstrip("/") + "/"
        prefix = "^" if name.startswith("^") else "loc:@" if name.startswith("loc:@") else ""
        bare = name[len(prefix) :]
        if bare.startswith(scope):
            return prefix + bare[len(scope) :]
    return name


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Returns a name put under a scope."""
    if import_scope:
        scope = import_scope.rstrip("/")
        for prefix in ("^", "loc:@"):
            if name.startswith(prefix):
                return f"{prefix}{scope}/{name[len(prefix) :]}"
        return f"{scope}/{name}"
    return name


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Lifts the nodes made inside out of control dependencies and function bodies.

    Inside a function's graph the outermost graph becomes the default. Device blocks stay in force; inside colocation,
    which clears them, those around the enclosing `init_scope` do. So do name scopes, also those around a branch or a
    loop that TensorFlow makes no function of.
    """
    graph = get_default_graph()
    scope = "/".join(part for part in (graph._scope_around, graph.get_name_scope()) if part)
    outer = graph
    while outer.building_function and outer.outer_graph is not None:
        outer = outer.outer_graph
    with contextlib.ExitStack() as exits:
        if outer is not graph:
            exits.enter_context(outer.as_default())
        exits.enter_context(outer.name_scope(scope + "/" if scope else None))
        exits.enter_context(outer.control_dependencies(None))
        devices = outer._devices
        chosen = graph._devices or graph._init_devices
        saved = outer._init_devices
        outer._devices = outer._init_devices = chosen
        try:
            yield
        finally:
            outer._devices, outer._init_devices = devices, saved


export("init_scope")(init_scope)


def has_default_graph() -> bool:
    return bool(stack.graphs.items) or stack.GraphStack._shared is not None


def maybe_colocate(op: Any, when: bool) -> Callable[[], Any] | Any:
    """Returns a colocation block with `op` if `when`, else a block that does nothing."""
    if when:
        return get_default_graph()._colocate_with_for_gradient(as_operation(op, get_default_graph()), None)
    return contextlib.nullcontext()
