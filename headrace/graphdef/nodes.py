"""Operation -> NodeDef and Graph -> GraphDef."""

from __future__ import annotations

from typing import Any

from headrace import proto
from headrace.graph import hooks
from headrace.graphdef.attr_values import attr_into_proto, attr_into_proto_of_node
from headrace.graphdef.tensor_proto import shape_into_proto

_FUNCTIONS_SINCE = 12  # the first consumer that could read a function library


def node_into_proto(op: Any, message: Any, add_shapes: bool = False) -> None:
    """Writes an Operation into a NodeDef."""
    message.name = op._name
    message.op = op.type
    inputs = [t._as_node_def_input() for t in op._inputs]
    if op._control_inputs:
        inputs += sorted({"^" + c._name for c in op._control_inputs})
    if inputs:
        message.input.extend(inputs)
    if op._device:
        message.device = op._device
    attr = message.attr
    declared = op.kind.signature.attrs
    for name, value in op.attrs.items():
        known = declared.get(name)
        if known is None:
            attr_into_proto(value, None, attr[name])
        elif known.type == "tensor":
            attr_into_proto_of_node(op, name, value, attr[name])
        else:
            attr_into_proto(value, known.type, attr[name])
    if add_shapes and op._outputs:
        target = attr["_output_shapes"].list
        del target.shape[:]
        for t in op._outputs:
            shape_into_proto(t._dims, target.shape.add())


def node_def(op: Any) -> Any:
    """Returns an Operation as a NodeDef."""
    message = proto.NodeDef()
    node_into_proto(op, message)
    return message


def graph_def(graph: Any, from_version: int | None = None, add_shapes: bool = False) -> Any:
    """Returns a Graph as a GraphDef; see `Graph.as_graph_def`."""
    message = proto.GraphDef()
    add = message.node.add
    # A node whose id is `from_version` was added as the graph went beyond that version.
    start = 0 if from_version is None else from_version
    for op in graph._ops[start:]:
        node_into_proto(op, add(), add_shapes)
    versions = message.versions
    versions.producer = graph._producer
    if graph._min_consumer:
        versions.min_consumer = graph._min_consumer
    if graph._functions:
        versions.min_consumer = max(graph._min_consumer, _FUNCTIONS_SINCE)
        library = message.library
        for function in graph._functions.values():
            definition = getattr(function, "definition", function)
            library.function.add().CopyFrom(definition)
            gradient = getattr(function, "gradient_name", None)
            if gradient:
                library.gradient.add(function_name=function.name, gradient_func=gradient)
        for name, gradient in graph._function_gradients.items():
            library.gradient.add(function_name=name, gradient_func=gradient)
    return message


hooks.node_def = node_def
hooks.graph_def = graph_def
