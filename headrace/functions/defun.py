"""Defun: TensorFlow 1's way to make a function of the graph; nodes that call it are of its own op."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from headrace import errors
from headrace.dtypes import as_dtype
from headrace.export import export_value
from headrace.graph import Graph, Operation, Tensor, get_default_graph, init_scope
from headrace.graph.func_graph import FuncGraph, Function
from headrace.graphdef.functions import FunctionOp
from headrace.opdef import OPS, convert_to_tensor
from headrace.variables.scope import get_variable_scope, variable_scope

_PLACE = "python.framework.function."


class DefunGraph(FuncGraph):
    """The body of a Defun. Variables and constants of outer graphs are captured by value.

    Attributes:
      extra_inputs: The captured tensors.
      extra_args: The placeholders that stand for them.
      extra_vars: The variables that were made or fetched inside.
    """

    def __init__(self, name: str, outer: Graph | None = None, by_value: bool = False):
        super().__init__(name, outer)
        self._automatic_control = False
        self.extra_vars: list[Any] = []
        self._by_value = by_value
        self._copies: dict[Operation, Operation] = {}

    @property
    def extra_inputs(self) -> list[Tensor]:
        return self.external_captures

    @property
    def extra_args(self) -> list[Tensor]:
        return self.internal_captures

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the placeholder that stands for a tensor of an outer graph, or the copy of it."""
        if self._by_value and tensor._op._graph is not self:
            return self._copied(tensor._op)._outputs[tensor._value_index]
        return super().capture(tensor, "Placeholder" if tensor._op._graph is not self else name)

    def _copied(self, op: Operation) -> Operation:
        found = self._copies.get(op)
        if found is None:
            if op.type == "Placeholder":
                raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
            if op.kind.is_stateful:
                raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")
            inputs = tuple([self.capture(t) for t in op._inputs])
            types = [t._dtype for t in op._outputs]
            found = self._copies[op] = self.add(op.kind, op._name, inputs, dict(op.attrs), types)
        return found


class DefinedFunction:
    """A function of the graph: call it with tensors to add a node of its op.

    Args:
      func: The Python function.
      argnames: The names of its arguments.
      input_types: Their dtypes.
      func_name: The function's name, by default that of `func` with a hash of the body.
      grad_func: A DefinedFunction that is its gradient.
      python_grad_func: A Python function `(op, *grads)` that builds its gradient.
      out_names: The names of its results.
      shape_func: A function from the calling Operation to the shapes of its results.
      capture_by_value: Copies captured nodes into the body, where that is possible.
      **kwargs: Further marks for all calls: `noinline`, `compiled`, and any whose name begins with `experimental_`.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        input_types: Sequence[Any],
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Any = None,
        out_names: Sequence[str] | None = None,
        shape_func: Any = None,
        capture_by_value: bool = False,
        **kwargs: Any,
    ):
        self._func = func
        self._arg_names = list(argnames)
        self._input_types = tuple(as_dtype(t) for t in input_types)
        self._func_name = func_name
        self._grad_func = grad_func
        self.python_grad_func = python_grad_func
        self._out_names = list(out_names) if out_names else None
        self.shape_function = shape_func
        self._extra_kwargs = kwargs
        self._capture_by_value = capture_by_value
        self._function: Function | None = None
        self._graph: DefunGraph | None = None
        self._op: FunctionOp | None = None
        self._definition: Any = None
        # A function in a body is not known to be called until the body is complete.
        self._op_owner: Any = None

    # -- what it is --------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """The function's name."""
        self._build()
        assert self._func_name is not None
        return self._func_name

    @property
    def definition(self) -> Any:
        """The function as a FunctionDef message."""
        self._build()
        return self._definition

    @property
    def declared_input_types(self) -> tuple[Any, ...]:
        """The dtypes of its arguments."""
        return self._input_types

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of outer graphs that it uses."""
        self._build()
        assert self._graph is not None
        return self._graph.extra_inputs

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """The nodes inside that have effects: (name, op) pairs."""
        self._build()
        assert self._graph is not None
        return [(op.name, op.type) for op in self._graph._ops if op.kind.is_stateful]

    @property
    def grad_func_name(self) -> str | None:
        """The name of the function that is its gradient, or None."""
        return self._grad_func.name if self._grad_func is not None else None

    gradient_name = grad_func_name

    def set_grad_func(self, grad_func: Any) -> None:
        """Says which function is its gradient."""
        self._grad_func = grad_func

    @property
    def op(self) -> FunctionOp:
        """The op of the nodes that call it."""
        if self._op is None:
            self._op = FunctionOp(self.definition)
        return self._op

    def function(self, graph: Any) -> Function:
        """Returns what runs."""
        self._build()
        assert self._function is not None
        return self._function

    def add_to_graph(self, g: Any) -> None:
        """Puts the function, and its gradient, into a graph's library.

        Raises:
          ValueError: The graph has another function of that name.
        """
        self._build()
        name = self.name
        if OPS.find(name) is not None:
            raise errors.InvalidArgumentError(
                None, None, f"Cannot add function '{name}' because an op with the same name already exists."
            )
        known = g._functions.get(name)
        if known is None:
            g._functions[name] = self
            g._version_changed()
        elif known is not self and _text(known.definition) != _text(self.definition):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Cannot add function '{name}' because a different function with the same name already exists.",
            )
        if self._grad_func is not None:
            self._grad_func.add_to_graph(g)

    # -- the body ----------------------------------------------------------------------------------------------
    def _build(self) -> None:
        if self._definition is not None:
            return
        if self._graph is not None:
            raise ValueError(
                f"The function {self._func_name or self._func.__name__} calls itself while it is built"
            )
        outer = get_default_graph()
        name = self._func_name or _plain_name(self._func)
        graph = self._graph = DefunGraph(name, outer, self._capture_by_value)
        try:
            self._trace(graph)
        except BaseException:
            self._graph = None
            raise

    def _trace(self, graph: DefunGraph) -> None:
        def get(getter: Any, *args: Any, **kwargs: Any) -> Any:
            # Variables are of the outer graph; the body takes the value of a resource variable.
            with init_scope():
                variable = getter(*args, **kwargs)
                graph.extra_vars.append(variable)
                return variable.value() if hasattr(variable, "handle") else variable

        scope = variable_scope(get_variable_scope(), custom_getter=get, auxiliary_name_scope=False)
        with graph.as_default(), scope:
            for name, dtype in zip(self._arg_names, self._input_types, strict=False):
                graph.inputs.append(graph.placeholder(dtype, None, name))
            outputs = self._func(*graph.inputs)
            outputs = _listed(outputs, self._func_name or self._func.__name__)
            graph.outputs = [graph.capture(convert_to_tensor(t)) for t in outputs]
        if self._out_names is not None and len(self._out_names) != len(graph.outputs):
            raise errors.InvalidArgumentError(
                None,
                None,
                "output names must be either empty or equal in size to outputs. output names size = "
                f"{len(self._out_names)} outputs size = {len(graph.outputs)}",
            )
        function = Function(self._func_name or graph.name, graph, graph.inputs, graph.outputs)
        function.controls = tuple(op for op in graph._ops if op.kind.is_stateful)
        function.doc = inspect.getdoc(self._func) or ""
        function.result_names = self._out_names
        function.attrs.update(self._marks(self._extra_kwargs))
        if self._func_name is None:
            self._func_name = function.name = f"{graph.name}_{_hash(_definition(function))}"
        self._function = function
        self._definition = _definition(function)

    @staticmethod
    def _marks(kwargs: dict[str, Any], name: str = "") -> dict[str, Any]:
        marks: dict[str, Any] = {"_disable_call_shape_inference": True}
        rest = dict(kwargs)
        noinline = rest.pop("noinline", None)
        if noinline is not None:
            marks["_noinline"] = bool(noinline)
        compiled = rest.pop("compiled", None)
        separate = rest.pop("separate_compiled_gradients", None)
        if compiled is not None:
            marks["_XlaCompile"] = bool(compiled)
            marks["_XlaSeparateCompiledGradients"] = bool(separate)
            marks["_XlaScope"] = f"function_{name}"
        for key in [key for key in rest if key.startswith("experimental_")]:
            marks[key] = value = rest.pop(key)
            if not isinstance(value, (bool, int, float, str, bytes)):
                raise ValueError(f"Unsupported attribute type for {key} with type {type(value)}")
        if rest:
            raise ValueError(f"Unknown keyword arguments: {rest.keys()}")
        return marks

    # -- calls -------------------------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a node that calls the function.

        Args:
          *args: Its arguments.
          **kwargs: `name`, the node's name; marks for this call.

        Returns:
          A tensor, a tuple of tensors, or the Operation if there is no result.

        Raises:
          ValueError: There are too many or too few arguments, or one is of a wrong dtype.
        """
        self.add_to_graph(get_default_graph())
        given = [convert_to_tensor(v) for v in args]
        return _call(self, [*given, *self.captured_inputs], len(given), kwargs)


def _definition(function: Function) -> Any:
    message = function.definition
    # A Defun's effects are found by what its nodes are, not by names of control outputs.
    del message.signature.control_output[:]
    message.control_ret.clear()
    return message


def _call(function: Any, inputs: list[Tensor], n_given: int, kwargs: dict[str, Any]) -> Any:
    graph = get_default_graph()
    kind = function.op
    expected = kind.signature.inputs
    kwargs = dict(kwargs)
    name = kwargs.pop("name", None)
    wanted = len(expected) - (len(inputs) - n_given)
    if n_given != wanted:
        raise ValueError(f"Expected number of arguments: {wanted}, received: {n_given}")
    marks = DefinedFunction._marks(kwargs, function.name)
    base = function.name if name is None else name
    inputs = [graph.capture(t) if graph.building_function and t.graph is not graph else t for t in inputs]  # type: ignore[attr-defined]
    for t, arg in zip(inputs, expected, strict=True):
        if t.dtype.base_dtype is not arg.dtype:
            made = graph.unique_name(base)
            raise ValueError(
                f"Input '{arg.name}' passed {_spelt(t.dtype)} expected {_spelt(arg.dtype)} while building NodeDef "
                f"'{made}' using {_shown(kind.signature)}"
            )
    types = [a.dtype for a in kind.signature.outputs]
    node: Operation = graph.add(kind, base, tuple(inputs), marks, types)
    if not node.outputs:
        return node
    return node.outputs[0] if len(node.outputs) == 1 else tuple(node.outputs)


_SPELT = {"float32": "float", "float64": "double", "float16": "half"}


def _spelt(dtype: Any) -> str:
    return _SPELT.get(dtype.base_dtype.name, dtype.base_dtype.name)


def _shown(signature: Any) -> str:
    inputs = ", ".join(f"{a.name}:{_spelt(a.dtype)}" for a in signature.inputs)
    outputs = ", ".join(f"{a.name}:{_spelt(a.dtype)}" for a in signature.outputs)
    stateful = "; is_stateful=true" if signature.is_stateful else ""
    return f"Op<name={signature.name}; signature={inputs} -> {outputs}{stateful}>"


def _listed(outputs: Any, name: str) -> list[Any]:
    if outputs is None:
        return []
    listed = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    if any(t is None for t in listed):
        raise ValueError(f"Function {name} can not return None.")
    if isinstance(outputs, dict):
        raise TypeError("List of Tensors when single Tensor expected")
    return listed


def _plain_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    owner = getattr(function, "__self__", None)
    return name if owner is None else f"{type(owner).__name__}.{name}"


def _text(message: Any) -> bytes:
    return message.SerializeToString(deterministic=True)  # type: ignore[no-any-return]


def _hash(message: Any) -> str:
    """Returns eleven letters that tell bodies apart."""
    import base64
    import hashlib

    digest = hashlib.sha256(_text(message)).digest()[:8]
    return base64.b64encode(digest, b"__").decode().rstrip("=").replace("_", "0")


_ABBREVIATED = {"uint8": "i8", "int8": "int8", "string": "s", "bool": "b", "bfloat16": "b16"}
_LETTERS = (("quint", "qu"), ("qint", "qi"), ("complex", "c"), ("float", "f"), ("uint", "u"), ("int", "i"))


def _abbreviated(dtype: Any) -> str:
    """Returns what stands for a dtype in names of functions: f32 for float32."""
    name = dtype.name
    if name in _ABBREVIATED:
        return _ABBREVIATED[name]
    for long, short in _LETTERS:
        if name.startswith(long):
            return short + name.removeprefix(long)
    raise ValueError(f"Unsupported dtypes: [{dtype!r}]")


class OverloadedFunction:
    """A function of the graph whose arguments' dtypes are those of the first call; each kind has its own body."""

    def __init__(self, func: Callable[..., Any], argnames: Sequence[str], **kwargs: Any):
        self._func = func
        self._argnames = argnames
        self._kwargs = kwargs
        self._func_name = kwargs.pop("func_name", None)
        self._known: dict[Any, DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[Any]) -> DefinedFunction:
        """Returns the function for arguments of certain dtypes."""
        key = tuple(as_dtype(t).base_dtype for t in input_types)
        found = self._known.get(key)
        if found is None:
            name = self._func_name
            if name is not None:
                name = f"{name}_{''.join(_abbreviated(t) for t in key)}"
            found = self._known[key] = DefinedFunction(
                self._func, self._argnames, key, func_name=name, **self._kwargs
            )
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a node that calls the function for arguments of such dtypes."""
        given = [convert_to_tensor(v) for v in args]
        return self.instantiate([t.dtype for t in given])(*given, **kwargs)


class Defun:
    """A decorator that makes a Python function a function of the graph.

    Args:
      *input_types: The dtypes of its arguments; none, for a function with arguments, leaves them to its calls.
      **kwargs: `func_name`, `grad_func`, `python_grad_func`, `out_names`, `shape_func`, `noinline`, `compiled`; see
        DefinedFunction.
    """

    def __init__(self, *input_types: Any, **kwargs: Any):
        self._input_types = input_types
        self._kwargs = kwargs

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Returns the function of the graph.

        Raises:
          ValueError: `func` can't be called, or takes another number of arguments.
        """
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        spec = inspect.getfullargspec(func)
        if spec.defaults or spec.varkw:
            raise ValueError(
                "function with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {spec.defaults} and keywords {spec.varkw}."
            )
        names = list(spec.args)
        if inspect.ismethod(func):
            names = names[1:]
        types = self._input_types
        if types:
            if len(types) < len(names) or (spec.varargs is None and len(types) > len(names)):
                raise ValueError("The function has fewer arguments than the number of specified input types.")
            names += [f"arg{i}" for i in range(len(names), len(types))]
            return DefinedFunction(func, names, types, **self._kwargs)
        if not names and spec.varargs is None:
            return DefinedFunction(func, [], [], **self._kwargs)
        return OverloadedFunction(func, names, **self._kwargs)


def _innermost() -> DefunGraph | None:
    graph = get_default_graph()
    return graph if isinstance(graph, DefunGraph) else None


def get_extra_vars() -> list[Any]:
    """Returns the variables that were made in the Defun that is being built."""
    graph = _innermost()
    return [] if graph is None else graph.extra_vars


def get_extra_inputs() -> list[Tensor]:
    """Returns the outer tensors that the Defun that is being built has captured so far."""
    graph = _innermost()
    return [] if graph is None else graph.extra_inputs


def get_extra_args() -> list[Tensor]:
    """Returns the placeholders for the outer tensors that the Defun that is being built has captured so far."""
    graph = _innermost()
    return [] if graph is None else graph.extra_args


for _name, _value in (
    ("Defun", Defun),
    ("_DefinedFunction", DefinedFunction),
    ("_OverloadedFunction", OverloadedFunction),
    ("_FuncGraph", DefunGraph),
    ("get_extra_vars", get_extra_vars),
    ("get_extra_inputs", get_extra_inputs),
    ("get_extra_args", get_extra_args),
):
    export_value(_PLACE + _name, _value)
