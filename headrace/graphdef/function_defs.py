"""Functions whose bodies are FuncGraphs <-> FunctionDefs."""

from __future__ import annotations

import re
from typing import Any

from headrace import proto
from headrace.graph import Tensor
from headrace.graph.func_graph import FuncGraph, Function
from headrace.graphdef.attr_values import attr_into_proto, dtype_from_proto
from headrace.graphdef.functions import ImportedFunction
from headrace.graphdef.importer import import_graph_def
from headrace.graphdef.nodes import node_into_proto
from headrace.opdef.registry import OPS


class _Names:
    """The names inside one FunctionDef: results, arguments and nodes share one space."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, name: str) -> str:
        found, i = name, 0
        while found in self._taken:
            found, i = f"{name}_{i}", i + 1
        self._taken.add(found)
        return found

    def argument(self, tensor: Tensor) -> str:
        text = re.sub(r"[^a-z0-9]", "_", tensor._op._name.lower())
        return self.unique(re.sub(r"^[^a-z]+", "", text) or "unknown")


def function_def(function: Function) -> Any:
    """Returns a function as a FunctionDef."""
    message = proto.FunctionDef()
    signature = message.signature
    signature.name = function.name
    signature.description = function.doc
    names = _Names()
    if function.result_names is None:
        results = [names.argument(t) for t in function.outputs]
    else:
        results = [names.unique(name) for name in function.result_names]
    where: dict[Tensor, str] = {}
    for i, t in enumerate(function.inputs):
        arg = signature.input_arg.add(name=names.argument(t))
        # A reference that is only read travels as TensorFlow captures it: as a value.
        dtype = t._dtype if _is_written(function, t) else t._dtype.base_dtype
        arg.type = dtype.as_datatype_enum
        where[t] = arg.name
        marks = message.arg_attr[i].attr
        for key, value in t._op.attrs.items():
            if key.startswith("_"):
                attr_into_proto(value, None, marks[key])
    for key, value in function.attrs.items():
        attr_into_proto(value, None, message.attr[key])
    arguments = {t._op for t in function.inputs}
    needed = set(function.body)
    # A body may be shared with a function that has more inputs; what depends on those is left out.
    foreign = (
        {op for op in function.graph._ops if op.type in ("Placeholder", "FakeParam")} - arguments - needed
    )
    nodes = []
    for op in function.graph._ops:
        if op in arguments or op in foreign:
            continue
        if op not in needed and any(t._op in foreign for t in op._inputs):
            foreign.add(op)
            continue
        nodes.append(op)
    named = {op: names.unique(op._name) for op in nodes}
    for op in nodes:
        for t in op._outputs:
            where[t] = f"{named[op]}:{_output_name(t)}"
    for op in nodes:
        node = message.node_def.add()
        node_into_proto(op, node)
        node.name = named[op]
        del node.input[:]
        node.input.extend([where[t] for t in op._inputs])
        node.input.extend(sorted("^" + named[c] for c in op._control_inputs if c in named))
        signature.is_stateful = signature.is_stateful or op.kind.is_stateful
    for name, t in zip(results, function.outputs, strict=True):
        signature.output_arg.add(name=name).type = t._dtype.base_dtype.as_datatype_enum
        message.ret[name] = where[t]
    for name in sorted(named[op] for op in function.controls):
        signature.control_output.append(name)
        message.control_ret[name] = name
    return message


def _is_written(function: Function, tensor: Tensor) -> bool:
    if not tensor._dtype.is_ref:
        return False
    for op in tensor._consumers:
        if any(op._inputs[i] is tensor for i in op.kind.plan.reference_inputs(op.attrs)):
            return op.type != "IsVariableInitialized"
        if op.kind.rules.get("host") is not None and op.kind.rules["host"].options.get("calls"):
            return True
    return False


def _output_name(tensor: Tensor) -> str:
    """Returns the output argument that a tensor belongs to, and its place in it: `output:0`."""
    op = tensor._op
    plan = op.kind.plan
    i = tensor._value_index
    for arg, n in zip(plan.signature.outputs, plan.sizes(plan.signature.outputs, op.attrs), strict=True):
        size = 1 if n is None else n
        if i < size:
            return f"{arg.name}:{i}"
        i -= size
    raise IndexError(f"{op.name} has no output {tensor._value_index}")


# -- back ----------------------------------------------------------------------------------------------------


def function_of(definition: Any, graph: Any) -> Function:
    """Returns a FunctionDef as a function whose body is a FuncGraph in `graph`.

    Raises:
      ValueError: The definition is malformed.
    """
    while isinstance(graph, FuncGraph):
        graph = graph.outer_graph
    signature = definition.signature
    body = FuncGraph(signature.name, graph)
    places: dict[str, str] = {}
    inputs: dict[str, Tensor] = {}
    for arg in signature.input_arg:
        t = body.placeholder(dtype_from_proto(arg.type), None, arg.name)
        body.inputs.append(t)
        inputs[arg.name] = t
        places[arg.name] = t.name
    kinds = {n.name: n for n in definition.node_def}
    library = proto.GraphDef()
    library.versions.producer = graph._producer
    for n in definition.node_def:
        node = library.node.add()
        node.CopyFrom(n)
        del node.input[:]
        node.input.extend([_flat_input(text, kinds, graph) for text in n.input])
        _forget_outer_groups(node, kinds)
    used = {i for n in library.node for i in n.input}
    with body.as_default():
        import_graph_def(library, input_map={k: t for k, t in inputs.items() if k in used}, name="")
    outputs = []
    for arg in signature.output_arg:
        text = _flat_input(definition.ret[arg.name], kinds, graph)
        if text in inputs:
            outputs.append(inputs[text])
        else:
            outputs.append(body.get_tensor_by_name(text if ":" in text else text + ":0"))
    body.outputs = outputs
    controls = [body.get_operation_by_name(name) for name in definition.control_ret.values()]
    return Function(signature.name, body, body.inputs, outputs, controls)


def _forget_outer_groups(node: Any, nodes: dict[str, Any]) -> None:
    """Leaves out that a node of a body is placed with nodes of the graph around it."""
    if "_class" in node.attr:
        groups = node.attr["_class"].list.s
        inside = [g for g in groups if not g.startswith(b"loc:@") or g[5:].decode() in nodes]
        if len(inside) < len(groups):
            del groups[:]
            groups.extend(inside)
            if not inside:
                del node.attr["_class"]


def _flat_input(text: str, nodes: dict[str, Any], graph: Any) -> str:
    """Returns `node:output:i` as `node:j`, an argument or control input as it is."""
    if text.startswith("^"):
        return text
    name, *rest = text.split(":")
    if not rest:
        return name
    node = nodes.get(name)
    if node is None:
        return name
    kind = OPS.find(node.op) or getattr(graph._functions.get(node.op), "op", None)
    if kind is None:
        raise ValueError(f"Op type not registered '{node.op}' in a function's body")
    place = 0
    for arg in kind.signature.outputs:
        if arg.name == rest[0]:
            place += int(rest[1]) if len(rest) > 1 else 0
            return name if place == 0 else f"{name}:{place}"
        if arg.number_attr:
            place += node.attr[arg.number_attr].i
        elif arg.type_list_attr:
            place += len(node.attr[arg.type_list_attr].list.type)
        else:
            place += 1
    raise ValueError(f"Op '{node.op}' has no output '{rest[0]}'")


def _function(self: ImportedFunction, graph: Any) -> Function:
    found = self.__dict__.get("_built")
    if found is None:
        if self.__dict__.get("_building"):
            raise ValueError(f"Function {self.name} calls itself")
        self.__dict__["_building"] = True
        try:
            found = self.__dict__["_built"] = function_of(self.definition, graph)
        finally:
            self.__dict__["_building"] = False
    return found


Function.to_definition = staticmethod(function_def)
ImportedFunction.function = _function  # type: ignore[attr-defined]
