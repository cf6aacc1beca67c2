"""tf.graph_util: GraphDefs cut down to what is needed, and with variables frozen into constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace import dtypes, proto
from headrace.export import export
from headrace.graph.operation import Operation
from headrace.graphdef.order import split_input
from headrace.graphdef.tensor_proto import proto_from_array

_VARIABLES = ("Variable", "VariableV2")
# Ops that read a resource variable, and what they become once its value is a constant.
_READS = ("ReadVariableOp", "ResourceGather")


def _node_of(text: str) -> str:
    return split_input(text)[0]


@export("graph_util.extract_sub_graph")
def extract_sub_graph(graph_def: Any, dest_nodes: list[str]) -> Any:
    """Returns a GraphDef with just the nodes that some nodes depend on, in their order.

    Args:
      graph_def: The GraphDef.
      dest_nodes: The names of the nodes to reach.

    Raises:
      TypeError: `graph_def` is no GraphDef, or `dest_nodes` no list.
      AssertionError: A node is not in the graph.
    """
    if not hasattr(graph_def, "node") or not hasattr(graph_def, "versions"):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    kept: set[str] = set()
    todo = list(dest_nodes)
    while todo:
        name = todo.pop()
        if name not in kept:
            kept.add(name)
            todo.extend(_node_of(text) for text in nodes[name].input)
    out = type(graph_def)()
    out.node.extend(node for node in graph_def.node if node.name in kept)
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


@export("graph_util.remove_training_nodes")
def remove_training_nodes(input_graph: Any, protected_nodes: Iterable[str] | None = None) -> Any:
    """Returns a GraphDef without CheckNumerics nodes, and without Identity nodes that only pass a value on.

    Args:
      input_graph: The GraphDef.
      protected_nodes: The names of nodes to keep in any case.
    """
    protected = set(protected_nodes or ())
    waited_for = {text[1:] for node in input_graph.node for text in node.input if text.startswith("^")}
    passed_over: dict[str, str] = {}
    for node in input_graph.node:
        if node.name in protected or not node.input:
            continue
        passes_on = node.op == "Identity" and node.name not in waited_for
        if (passes_on or node.op == "CheckNumerics") and not any(text.startswith("^") for text in node.input):
            passed_over[node.name] = node.input[0]
    out = type(input_graph)()
    for node in input_graph.node:
        if node.name in passed_over:
            continue
        kept = out.node.add()
        kept.CopyFrom(node)
        inputs = []
        for text in node.input:
            if text.startswith("^"):
                if text[1:] in passed_over:
                    text = "^" + _node_of(_source(text[1:], passed_over))
            else:
                name = text.removesuffix(":0")
                if name in passed_over:
                    text = _source(name, passed_over)
            inputs.append(text)
        del kept.input[:]
        kept.input.extend(inputs)
    out.library.CopyFrom(input_graph.library)
    out.versions.CopyFrom(input_graph.versions)
    return out


def _source(name: str, passed_over: dict[str, str]) -> str:
    """Returns the input that a chain of nodes that are left out starts from."""
    text = passed_over[name]
    seen = {name}
    while (inner := text.removesuffix(":0")) in passed_over and inner not in seen:
        seen.add(inner)
        text = passed_over[inner]
    return text


@export("graph_util.must_run_on_cpu")
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Returns whether a node has no kernel for GPUs in TensorFlow.

    Args:
      node: A NodeDef or an Operation.
      pin_variables_on_cpu: Says so of variables as well.
    """
    if isinstance(node, Operation):
        node = node.node_def
    if node.op in _VARIABLES:
        return pin_variables_on_cpu
    if node.op == "Const":
        return node.attr["dtype"].type in (dtypes.string.as_datatype_enum, dtypes.int32.as_datatype_enum)
    if node.op == "DynamicStitch":
        return node.attr["T"].type == dtypes.int32.as_datatype_enum  # type: ignore[no-any-return]
    return False


@export("graph_util.tensor_shape_from_node_def_name")
def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> Any:
    """Returns the static shape of a tensor that a NodeDef's input names.

    Raises:
      KeyError: There is no such tensor.
    """
    return graph.get_tensor_by_name(input_name if ":" in input_name else input_name + ":0").get_shape()


@export("graph_util.convert_variables_to_constants")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: list[str],
    variable_names_whitelist: Any = None,
    variable_names_blacklist: Any = None,
) -> Any:
    """Returns a GraphDef in which variables are constants with the values that they have now.

    Args:
      sess: The session that has the values.
      input_graph_def: The GraphDef, with the session's names.
      output_node_names: What to keep: these nodes and all that they depend on.
      variable_names_whitelist: The variables to convert, by default all.
      variable_names_blacklist: The variables not to convert, by default none.

    Raises:
      AssertionError: An output is not in the graph.
    """
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    nodes = {node.name: node for node in graph_def.node}
    readers, reads = _readers(graph_def, nodes), _reads(input_graph_def)
    wanted: dict[str, str] = {}
    for node in graph_def.node:
        if node.op not in (*_VARIABLES, "VarHandleOp"):
            continue
        if variable_names_whitelist is not None and node.name not in variable_names_whitelist:
            continue
        if variable_names_blacklist is not None and node.name in variable_names_blacklist:
            continue
        # A handle has no value; what reads it does.
        wanted[node.name] = node.name if node.op in _VARIABLES else reads.get(node.name, node.name)
    values = (
        dict(zip(wanted, sess.run([name + ":0" for name in wanted.values()]), strict=True)) if wanted else {}
    )
    out = type(graph_def)()
    for node in graph_def.node:
        variable = readers.get(node.name)
        if node.name in values:
            out.node.append(_constant(node.name, node.attr["dtype"].type, values[node.name]))
        elif node.op == "ReadVariableOp" and variable in values:
            out.node.append(_identity(node))
        elif node.op == "ResourceGather" and variable in values:
            out.node.extend(_gather(node))
        else:
            out.node.append(node)
            if variable in values:
                out.node[-1].attr["T"].CopyFrom(nodes[variable].attr["dtype"])  # no longer a handle
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


def _reads(graph_def: Any) -> dict[str, str]:
    """Returns for each resource variable a node that reads its value, preferably the one made with it."""
    found: dict[str, str] = {}
    for node in graph_def.node:
        if node.op == "ReadVariableOp" and node.input:
            handle = _node_of(node.input[0])
            if handle not in found or node.name == handle + "/Read/ReadVariableOp":
                found[handle] = node.name
    return found


def _readers(graph_def: Any, nodes: dict[str, Any]) -> dict[str, str]:
    """Returns for each node that takes a variable's handle, perhaps through others, the name of the variable."""
    found: dict[str, str] = {}
    passes = ("Identity", "Enter", "Switch", *_READS)
    for node in graph_def.node:
        if node.op in passes and node.input:
            name, seen = _node_of(node.input[0]), set()
            while name in nodes and nodes[name].op in ("Identity", "Enter", "Switch") and name not in seen:
                seen.add(name)
                name = _node_of(nodes[name].input[0])
            if name in nodes and nodes[name].op == "VarHandleOp":
                found[node.name] = name
    return found


def _constant(name: str, type_number: int, value: Any) -> Any:
    dtype = dtypes.as_dtype(type_number)
    node = proto.NodeDef(name=name, op="Const")
    node.attr["dtype"].type = type_number
    proto_from_array(np.asarray(value).astype(dtype.storage, copy=False), dtype, node.attr["value"].tensor)
    return node


def _identity(read: Any) -> Any:
    node = proto.NodeDef(name=read.name, op="Identity", input=read.input)
    node.attr["T"].CopyFrom(read.attr["dtype"])
    if "_class" in read.attr:
        node.attr["_class"].CopyFrom(read.attr["_class"])
    return node


def _gather(read: Any) -> list[Any]:
    axis = _constant(read.name + "/axis", dtypes.int32.as_datatype_enum, 0)
    node = proto.NodeDef(name=read.name, op="GatherV2", input=[*read.input[:2], axis.name, *read.input[2:]])
    node.attr["Tparams"].CopyFrom(read.attr["dtype"])
    node.attr["Tindices"].CopyFrom(read.attr["Tindices"])
    node.attr["Taxis"].type = dtypes.int32.as_datatype_enum
    if "_class" in read.attr:
        node.attr["_class"].CopyFrom(read.attr["_class"])
    return [axis, node]
