"""FuncGraph: the graph of a function's body (a branch, a loop's body), and the functions that nodes call by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from headrace import errors
from headrace.dtypes import resource as resource_type
from headrace.graph import hooks, numbering
from headrace.graph.collections import GraphKeys
from headrace.graph.default import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.leaving import brought_out
from headrace.graph.operation import Operation
from headrace.graph.refusals import InaccessibleTensorError
from headrace.graph.scopes import ControlDependencies, DeviceScopes
from headrace.graph.tensor import Tensor
from headrace.graph.traceback import Frames
from headrace.shapes import Shape

# What a function shares with the graph around it: variables and their scopes. Other collections it sees as they were.
_SHARED = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    ("__variable_store",),
    ("__varscope",),
)


class FuncGraph(Graph):
    """The body of a function: a graph with inputs and outputs, inside another graph.

    Tensors of graphs around it may be used freely; each becomes an input. A reference variable is captured as a
    reference, so that a body can assign to it.

    Attributes:
      inputs: The placeholders that stand for the arguments, in the order of the function's parameters.
      outputs: The tensors that the function returns.
      structured_outputs: What the Python function returned, with tensors of this graph as leaves.
      returned: What it returned, as it was.
      structured_input_signature: The (args, kwargs) that the Python function was called with, as TensorSpecs.
      control_captures: Operations of outer graphs that nodes inside were told to wait for.
      control_outputs: Operations that run with every call, whatever the outputs need.
      is_of_gradient: Whether it is the body of a branch's or a loop's gradient.
      gradient_of: The body that it is the gradient of, which it knows the tensors of.
      choice: Of a branch as TensorFlow 1 has it, the predicate and whether it is the true branch; otherwise None.
      repeats: Whether it is the body of a loop that the program wrote.
      stands_for: Placeholder -> the tensor, of a graph around, whose value it has in every call.

    Args:
      name: The function's name.
      outer: The graph around it, the default graph if None.
    """

    is_of_gradient = False
    choice: tuple[Tensor, bool] | None = None
    repeats = False

    def __init__(self, name: str, outer: Graph | None = None):
        super().__init__()
        self.name = name
        outer = get_default_graph() if outer is None else outer
        self.outer_graph = outer
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.structured_outputs: Any = None
        self.returned: Any = None
        self.structured_input_signature: Any = None
        self.control_outputs: list[Operation] = []
        self.control_captures: list[Operation] = []
        self._captures: dict[Tensor, Tensor] = {}
        self.stands_for: dict[Tensor, Tensor] = {}
        self._seed = outer._seed
        # Where a function runs is said where it is called; only device functions see the nodes inside.
        self._devices = outer._devices if outer._devices.has_functions else DeviceScopes()
        self._colocation = outer._colocation
        self._automatic_control: bool = getattr(outer, "_automatic_control", False)
        self._container = outer._container
        self._gradient_overrides = outer._gradient_overrides
        self._variable_creator_stack = outer._variable_creator_stack
        self._functions = outer._functions
        self._derived_functions = outer._derived_functions
        self._function_gradients = outer._function_gradients
        for key in list(outer._collections):
            if key not in _SHARED:
                self._collections[key] = list(outer._collections[key])
        for key in _SHARED:
            self._collections[key] = outer.get_collection_ref(key)

    @property
    def building_function(self) -> bool:
        return True

    @property
    def captures(self) -> list[tuple[Tensor, Tensor]]:
        """The tensors of outer graphs that are used inside, each with the placeholder that stands for it."""
        return list(self._captures.items())

    @property
    def external_captures(self) -> list[Tensor]:
        return list(self._captures)

    @property
    def internal_captures(self) -> list[Tensor]:
        """The placeholders that stand for tensors of outer graphs."""
        return list(self._captures.values())

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables whose handles are captured."""
        handles = {t for t in self._captures if t._dtype is resource_type}
        known = self.get_collection(GraphKeys.GLOBAL_VARIABLES) + self.get_collection(
            GraphKeys.LOCAL_VARIABLES
        )
        found = [v for v in known if getattr(v, "handle", None) in handles]
        return tuple({id(v): v for v in found}.values())

    @property
    def output_types(self) -> list[Any]:
        return [t._dtype for t in self.outputs]

    @property
    def output_shapes(self) -> list[Any]:
        return [t.shape for t in self.outputs]

    @property
    def root(self) -> Graph:
        """The graph around all others."""
        graph: Graph = self
        while graph.outer_graph is not None:
            graph = graph.outer_graph
        return graph

    def _version_changed(self) -> None:
        super()._version_changed()
        # Plans belong to sessions, and sessions run the outermost graph.
        if self.outer_graph is not None:
            self.outer_graph._version_changed()

    # -- inputs ------------------------------------------------------------------------------------------------
    def placeholder(self, dtype: Any, dims: Shape = None, name: str | None = None, **marks: Any) -> Tensor:
        """Adds a placeholder, without making it an input; `marks` are further attrs."""
        kind = hooks.lookup_kind("Placeholder")
        attrs = {"dtype": dtype.base_dtype, "shape": dims, **marks}
        controls, self._control_stack = self._control_stack, []
        try:
            op = super().add(kind, name, (), attrs, [dtype])
        finally:
            self._control_stack = controls
        return op._outputs[0]

    def add_input(self, like: Tensor, name: str | None = None, dims: Any = ...) -> Tensor:
        """Adds an input that takes what `like` gives; its shape may be said to be less known."""
        inner = self.placeholder(like._dtype, like._dims if dims is ... else dims, name)
        inner._handle_data = like._handle_data
        self.inputs.append(inner)
        return inner

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the tensor of this graph that stands for one of an outer graph.

        Raises:
          InaccessibleTensorError: `tensor` is of a graph that is not around this one.
        """
        if tensor._op._graph is self:
            return tensor
        name = name or tensor._op._name
        tensor = brought_out(tensor, self)
        if tensor._op._graph is self:
            return tensor
        tensor = self._in_outer(tensor, name)
        found = self._captures.get(tensor)
        if found is None:
            found = self.add_input(tensor, name)
            self._captures[tensor] = found
            self.stands_for[found] = tensor
            if self._numbered_with is not None:
                numbering.captured(self, tensor)
        return found

    def _in_outer(self, tensor: Tensor, name: str) -> Tensor:
        """Returns a tensor of a graph around this one: `tensor` itself, or what stands for it there.

        Raises:
          InaccessibleTensorError: `tensor` is of a graph that has nothing to do with this one.
        """
        outer = self.outer_graph
        around: Graph | None = outer
        while around is not None:
            if around is tensor._op._graph:
                return tensor
            around = around.outer_graph
        if isinstance(outer, FuncGraph):
            # The body of a gradient knows the tensors of the body that it is the gradient of.
            return outer.capture(tensor, name)
        raise InaccessibleTensorError(
            f"The tensor '{tensor}' cannot be accessed here: it is defined in another function or code block. Use "
            "return values, explicit Python locals or TensorFlow collections to access it. Defined in: "
            f"{tensor._op._graph}; accessed from: {self}."
        )

    def __str__(self) -> str:
        return f"FuncGraph(name={self.name}, id={id(self)})"

    __repr__ = __str__

    # -- nodes -------------------------------------------------------------------------------------------------
    def add(
        self,
        kind: Any,
        name: str | None,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        types: list[Any],
        frames: Frames | None = None,
    ) -> Operation:
        """Adds one node; inputs of outer graphs are captured."""
        for t in inputs:
            if t._op._graph is not self:
                # The placeholders of what a node captures stand under the node's name.
                name = kind.name if name is None else name
                scope = name[:-1] if name[-1:] == "/" else self.unique_name(name)
                old, self._name_stack = self._name_stack, scope
                try:
                    inputs = tuple([self.capture(each) for each in inputs])
                finally:
                    self._name_stack = old
                name = scope + "/"
                break
        return super().add(kind, name, inputs, attrs, types, frames)

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        """Places the nodes made inside where `op` is; of an outer graph's variable, where its placeholder is."""
        handle = op if isinstance(op, Tensor) else getattr(op, "_handle", None)
        if isinstance(op, Operation) and op._graph is not self and op._outputs:
            handle = op._outputs[0]
        if isinstance(handle, Tensor) and handle._dtype is resource_type:
            op = self.capture(handle)
        return super().colocate_with(op, ignore_existing)

    def control_dependencies(self, control_inputs: Any) -> ControlDependencies:
        """Returns a block inside which nodes wait for others; operations of outer graphs the whole function awaits."""
        if control_inputs is None:
            return super().control_dependencies(None)
        inside = []
        for each in control_inputs:
            op = _operation(each)
            if op is not None and op._graph is not self:
                op = each = brought_out(op, self)
            if op is not None and op._graph is not self:
                if op not in self.control_captures:
                    self.control_captures.append(op)
            else:
                inside.append(each)
        return super().control_dependencies(inside)


def _operation(value: Any) -> Operation | None:
    if isinstance(value, Operation):
        return value
    if isinstance(value, Tensor):
        return value._op
    handle = getattr(value, "_handle", None)
    if isinstance(handle, Tensor):
        return value.op  # type: ignore[no-any-return]
    convert = getattr(value, "_as_graph_element", None)
    element = convert() if convert is not None else getattr(value, "op", None)
    return element._op if isinstance(element, Tensor) else element if isinstance(element, Operation) else None


class Function:
    """A function that nodes call by name.

    Attributes:
      name: Its name.
      graph: Its body.
      inputs: The placeholders for its arguments.
      outputs: What it returns; several functions may share a body and return different parts of it.
      controls: Operations that run with every call, whatever the outputs need.
      gradient_name: The name of the function that is its gradient, or None.
      attrs: Attrs of the function itself, as they stand in its FunctionDef.
      doc: What its FunctionDef says that it does.
      result_names: The names of its results, those of their nodes if None.
    """

    # Set by headrace.graphdef: Function -> FunctionDef.
    to_definition: Callable[[Any], Any] | None = None

    def __init__(
        self,
        name: str,
        graph: FuncGraph,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        controls: Sequence[Operation] = (),
    ):
        self.name = name
        self.controls = tuple(controls)
        self.graph = graph
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.gradient_name: str | None = None
        self.attrs: dict[str, Any] = {}
        self.doc = ""
        self.result_names: list[str] | None = None
        self._frozen: Any = None
        self.facts: dict[Any, Any] = {}  # what passes found out about the body
        self._ops: list[Operation] | None = None

    @property
    def definition(self) -> Any:
        """The function as a FunctionDef message."""
        if self._frozen is not None:
            return self._frozen
        if Function.to_definition is None:
            raise RuntimeError("import headrace, not headrace.graph alone")
        return Function.to_definition(self)

    @property
    def body(self) -> list[Operation]:
        """The nodes that the outputs need, each after its inputs, without the placeholders of the inputs."""
        if self._ops is None:
            arguments = {t._op for t in self.inputs}
            found: set[Operation] = set()
            todo = [*[t._op for t in self.outputs], *self.controls]
            while todo:
                op = todo.pop()
                if op not in found and op not in arguments:
                    found.add(op)
                    todo.extend(t._op for t in op._inputs)
                    todo.extend(op._control_inputs)
            self._ops = _in_order(found)
        return self._ops

    @property
    def is_stateful(self) -> bool:
        """Whether calling it may do more than compute its outputs."""
        return any(op.kind.is_stateful for op in self.body)

    def freeze(self) -> None:
        """Keeps the FunctionDef as it is now: a node inside is about to change for the sake of a gradient."""
        self._frozen = self.definition

    def add_to_graph(self, graph: Graph) -> None:
        graph._functions.setdefault(self.name, self)

    def __repr__(self) -> str:
        return f"<function {self.name}>"


def function_named(graph: Graph, name: str) -> Any:
    """Returns the function of this name that nodes of a graph may call.

    Raises:
      NotFoundError: There is none.
      ValueError: It came from a file and is malformed.
    """
    found = graph._functions.get(name)
    if found is None:
        found = graph._derived_functions.get(name)
    if found is None:
        raise errors.NotFoundError(None, None, f"Function {name} is not defined.")
    return found if isinstance(found, Function) else found.function(graph)


def check_arguments(function: Function, n: int) -> None:
    """Checks that a function is called with as many arguments as it takes.

    Raises:
      InvalidArgumentError: It isn't.
    """
    if len(function.inputs) != n:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{function.name} is called with {n} arguments; number of arguments = {len(function.inputs)}",
        )


def next_function_number(graph: Graph) -> int:
    """Returns the next number for names of functions in a graph and in those around it."""
    root = graph.root if isinstance(graph, FuncGraph) else graph
    numbers = root.__dict__.setdefault("_function_numbers", itertools.count())
    return next(numbers)  # type: ignore[no-any-return]


def holds_resource(tensor: Tensor) -> bool:
    """Whether a tensor leads to state: a reference, or a resource's handle."""
    return tensor._dtype.is_ref or tensor._dtype is resource_type


def _in_order(found: set[Operation]) -> list[Operation]:
    """Returns nodes in the order of their creation, except that all come after their inputs.

    A gradient gives a loop inputs that were made after it.
    """
    out: dict[Operation, None] = {}
    for op in sorted(found, key=lambda op: op._id):
        todo = [op]
        while todo:
            last = todo[-1]
            before = [*[t._op for t in last._inputs], *last._control_inputs]
            # The edge back into a loop of Switch and Merge is no order.
            missing = [b for b in before if b in found and b not in out and "NextIteration" not in b.type]
            if missing:
                todo.extend(missing)
            else:
                out[todo.pop()] = None
    return list(out)
