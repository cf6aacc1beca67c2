"""What is checked of a FunctionDef when a file brings it along, so that a step never meets a malformed one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import errors
from headrace.graphdef.op_defs import signature_from_op_def
from headrace.opdef import OPS
from headrace.opdef.signature import Arg


def check_function(definition: Any, known: dict[str, Any]) -> None:
    """Checks a FunctionDef: its ops are known, its nodes' inputs and its results exist.

    Args:
      definition: The FunctionDef.
      known: The functions that it may call: name -> FunctionDef, or an object with one as `definition`.

    Raises:
      NotFoundError: A node is of an op that is not known.
      ValueError: It is malformed.
    """
    signature = definition.signature
    name = signature.name
    if OPS.find(name) is not None:
        raise ValueError(f"Cannot add function '{name}' because an op with the same name already exists.")
    arguments = {arg.name for arg in signature.input_arg}
    outputs: dict[str, dict[str, bool]] = {}
    for node in definition.node_def:
        if node.name in outputs or node.name in arguments:
            raise ValueError(f"Node {node.name} of function {name} is not unique")
        outputs[node.name] = _outputs_of(node, known)
    for node in definition.node_def:
        for text in node.input:
            if not _exists(text, arguments, outputs):
                raise ValueError(f"input {text} is not found: {{{{node {node.name}}}}}")
    for arg in signature.output_arg:
        text = definition.ret.get(arg.name)
        if text is None:
            raise ValueError(f"Return {arg.name} missing. In function {name}")
        if not _exists(text, arguments, outputs):
            raise ValueError(f"Return {arg.name} -> {text} is not found. In function {name}")
    for key, text in definition.control_ret.items():
        if text not in outputs:
            raise ValueError(f"Control return {key} -> {text} is not found. In function {name}")


def _outputs_of(node: Any, known: dict[str, Any]) -> dict[str, bool]:
    """Returns the names of the output arguments of a node's op, and whether each is a list.

    Raises:
      NotFoundError: The op is not known.
    """
    kind = OPS.find(node.op)
    if kind is not None:
        return _named(kind.signature.outputs)
    found = known.get(node.op)
    if found is None:
        raise errors.NotFoundError(None, None, f"Op type not registered '{node.op}' in headrace.")
    definition = getattr(found, "definition", found)
    return _named(signature_from_op_def(definition.signature).outputs)


def _named(args: Sequence[Arg]) -> dict[str, bool]:
    return {arg.name: arg.is_list for arg in args}


def _exists(text: str, arguments: set[str], outputs: dict[str, dict[str, bool]]) -> bool:
    if text.startswith("^"):
        return text[1:] in outputs or text[1:] in arguments
    name, *rest = text.split(":")
    if not rest:
        return name in arguments or name in outputs
    if name in arguments:
        return True
    found = outputs.get(name)
    if found is None or rest[0] not in found:
        return False
    return all(part.isdigit() and (found[rest[0]] or int(part) == 0) for part in rest[1:])
