"""Tracing: a Python function is called once, and what it builds is a FuncGraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from headrace.export import export
from headrace.graph import Graph, Operation, Tensor
from headrace.graph.automatic_control import AutomaticControl
from headrace.graph.func_graph import FuncGraph
from headrace.graph.structure import flatten, is_composite, pack_like
from headrace.graph.type_spec import TensorSpec, TypeSpec
from headrace.opdef import convert_to_tensor
from headrace.opdef.bodies import finish_in_order, returned

_USER_NAME = "_user_specified_name"


def trace_function(
    name: str,
    python_function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    arg_names: Sequence[str | None] = (),
    autograph: Any = False,
    outer: Graph | None = None,
    described_as: Any = None,
) -> FuncGraph:
    """Returns the FuncGraph of what a Python function builds.

    Args:
      name: The graph's name.
      python_function: The function. What it returns becomes tensors; leaves that are None stay None.
      args: Its positional arguments: structures of tensors, TensorSpecs (which become placeholders) and other values.
      kwargs: Its arguments by name.
      arg_names: A name for each positional argument.
      autograph: Converts Python's control flow over tensors: False, True, or AutoGraph's optional features.
      outer: The graph around it, the default graph if None.
      described_as: The function that messages talk about, `python_function` if None.

    Raises:
      TypeError: The function returns what is no tensor.
    """
    graph = FuncGraph(name, outer)
    graph._automatic_control = True
    call = python_function
    if autograph:
        from headrace.autograph import converted

        call = converted(python_function, autograph)
    automatic = AutomaticControl(graph)
    described_as = python_function if described_as is None else described_as
    names = [*arg_names, *[None] * (len(args) - len(arg_names))]
    with graph.as_default():
        given = tuple([as_placeholders(graph, n, value) for n, value in zip(names, args, strict=True)])
        given_by_name = {key: as_placeholders(graph, key, kwargs[key]) for key in sorted(kwargs)}
        given_by_name = {key: given_by_name[key] for key in kwargs}
        graph.structured_input_signature = (
            tuple(_described(each, graph) for each in given),
            {k: _described(v, graph) for k, v in given_by_name.items()},
        )
        result = call(*given, **given_by_name)
        structure = pack_like(result, [_returned(graph, v, described_as) for v in flatten(result)])
        graph.structured_outputs = structure
        graph.outputs = [t for t in flatten(structure, composites=True) if t is not None]
        finish_in_order(graph, automatic)
    return graph


def _returned(graph: FuncGraph, value: Any, function: Any) -> Any:
    if value is None:
        return value
    if is_composite(value):
        return pack_like(value, [returned(convert_to_tensor(t)) for t in flatten(value, True)], True)
    if isinstance(value, Operation) and value.graph is graph:
        raise TypeError(_no_tensor(value, function))
    try:
        found = convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(_no_tensor(value, function)) from None
    return returned(found)


def _no_tensor(value: Any, function: Any) -> str:
    kind = str(type(value)).replace("headrace.graph.operation", "tensorflow.python.framework.ops")
    return (
        "To be compatible with tf.contrib.eager.defun, Python functions must return zero or more Tensors; in "
        f"compilation of {function}, found return value of type {kind}, which is not a Tensor."
    )


def as_placeholders(graph: FuncGraph, name: str | None, structure: Any) -> Any:
    """Returns an argument with placeholders in place of its tensors and TensorSpecs."""
    return pack_like(structure, [_leaf(graph, name, v) for v in flatten(structure)])


def _leaf(graph: FuncGraph, name: str | None, value: Any) -> Any:
    if isinstance(value, TypeSpec) and not isinstance(value, TensorSpec):
        parts = value._component_specs
        inside = [_leaf(graph, name, each) for each in flatten(parts)]
        return value._from_components(pack_like(parts, inside))
    if is_composite(value):
        return _leaf(graph, name, value._type_spec)
    if isinstance(value, TensorSpec):
        wanted = value.name or name
        return _placeholder(graph, value.dtype, value._shape_tuple, wanted, None)
    if isinstance(value, Tensor):
        return _placeholder(graph, value.dtype.base_dtype, value._dims, name, value)
    handle = getattr(value, "handle", None)
    if isinstance(handle, Tensor):
        graph.capture(handle)
    return value


def _placeholder(graph: FuncGraph, dtype: Any, dims: Any, name: str | None, like: Tensor | None) -> Tensor:
    marks = {} if name is None else {_USER_NAME: name}
    name = "placeholder" if name is None else name
    plain = re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", name)
    if not re.match(r"[A-Za-z0-9.]", plain):
        plain = "arg_" + plain
    inner = graph.placeholder(dtype, dims, plain, **marks)
    graph.inputs.append(inner)
    if like is not None:
        inner._handle_data = like._handle_data
    return inner


def _described(structure: Any, graph: FuncGraph) -> Any:
    """Returns an argument with TensorSpecs in place of the placeholders in it."""

    def spec(value: Any) -> Any:
        if isinstance(value, Tensor) and value.graph is graph:
            return TensorSpec(value.shape, value.dtype, value.op.attrs.get(_USER_NAME))
        return value._type_spec if is_composite(value) else value

    return pack_like(structure, [spec(v) for v in flatten(structure)])


@export("python.framework.func_graph.func_graph_from_py_func")
def func_graph_from_py_func(
    name: str,
    python_func: Callable[..., Any],
    args: Any,
    kwargs: Any,
    signature: Any = None,
    func_graph: Any = None,
    autograph: bool = False,
    autograph_options: Any = None,
    **unused: Any,
) -> FuncGraph:
    """Returns the FuncGraph of what a Python function builds; see `trace_function`."""
    given = args if signature is None else signature
    features = autograph_options or True
    return trace_function(name, python_func, given, kwargs or {}, autograph=features if autograph else False)
