"""Variables that a function makes when it is first called: they and their initializers belong to the outer graph."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import as_dtype
from headrace.graph import Graph, GraphKeys, Operation, Tensor, get_default_graph, init_scope, name_scope
from headrace.graph.default import colocate_with, device
from headrace.opdef import convert_to_tensor, raw
from headrace.tensor_shape import to_tuple
from headrace.variables.modes import checked_modes
from headrace.variables.resource import ResourceVariable


class UnliftableError(Exception):
    """A tensor can't be computed outside the function: it follows from the function's arguments."""

    ag_pass_through = True


def lift(tensor: Tensor, source: Any, target: Graph) -> Tensor:
    """Returns a copy, in an outer graph, of a tensor and of the nodes that it is computed from.

    Args:
      tensor: A tensor of a function's graph.
      source: The function's graph.
      target: The outer graph.

    Raises:
      UnliftableError: It depends on an argument of the function.
    """
    outside = {inner: outer for outer, inner in source.captures}
    copies: dict[Operation, Operation] = {}

    def visit(t: Tensor) -> Tensor:
        if t in outside:
            return outside[t]
        if t._op._graph is not source:
            return t
        return copy(t._op)._outputs[t._value_index]

    def copy(op: Operation) -> Operation:
        if op in copies:
            return copies[op]
        if op.type == "Placeholder":
            raise UnliftableError(
                f"Unable to lift tensor {tensor!r} because it depends transitively on placeholder {op!r} via at least "
                f"one path, e.g.: {op.name} (Placeholder)"
            )
        inputs = tuple([visit(t) for t in op._inputs])
        attrs = {k: v for k, v in op.attrs.items() if k != "_class"}
        with target.name_scope(None), target.control_dependencies(None):
            made = target.add(
                op.kind, op._name, inputs, attrs, [t._dtype for t in op._outputs], op._traceback
            )
        copies[op] = made
        return made

    return visit(tensor)


class LiftedVariable(ResourceVariable):
    """A variable that a function makes: its handle and its initializer are nodes of the outermost graph."""

    def __init__(
        self,
        initial_value: Any = None,
        trainable: Any = None,
        caching_device: Any = None,
        name: str | None = None,
        dtype: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        **unused: Any,
    ):
        graph = get_default_graph()
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        modes = checked_modes(synchronization, aggregation, trainable, name)
        self._synchronization, self._aggregation, self._trainable = modes
        self._constraint, self._caching_device = constraint, caching_device
        self._cached_value: Any = None
        values = [] if callable(initial_value) else [initial_value]
        with name_scope(name, "Variable", values) as scope:
            with name_scope("Initializer"), device(None):
                inner = convert_to_tensor(
                    initial_value() if callable(initial_value) else initial_value,
                    None if dtype is None else as_dtype(dtype).base_dtype,
                    name="initial_value",
                )
        self._dims = inner._dims if shape is None else to_tuple(shape)
        self._dtype = inner.dtype.base_dtype
        plain = scope.rstrip("/")
        with init_scope():
            outer = get_default_graph()
            with outer.name_scope(None):
                full = outer.unique_name(plain, mark_as_used=False)
                self._handle = raw.VarHandleOp(
                    shape=self._dims, dtype=self._dtype, shared_name=full, name=plain
                )
            with outer.name_scope(full + "/"):
                with name_scope("Read"), device(self._handle.device or None):
                    self._graph_element = self._read()
            self._initial_value = lift(inner, graph, outer)
            with outer.name_scope(plain + "/"):
                with name_scope("IsInitialized"):
                    self._is_initialized_op = raw.VarIsInitializedOp(self._handle)
                with (
                    name_scope("Assign") as assign_scope,
                    colocate_with(self._handle),
                    device(self._handle.device or None),
                ):
                    self._initializer_op = raw.AssignVariableOp(
                        self._handle, self._initial_value, name=assign_scope
                    )
            outer.add_to_collection(GraphKeys.GLOBAL_VARIABLES, self)
