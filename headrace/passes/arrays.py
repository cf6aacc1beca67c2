"""Whether nodes and tensors belong to a `tf.TensorArray` that is to behave as one that is changed in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function
from headrace.opdef.functions import called_functions
from headrace.passes.targets import origin


def work_on_arrays(ops: Iterable[Operation]) -> bool:
    """Whether any of some nodes, or of those in functions that they call, works on such an array."""
    seen: set[Function] = set()
    todo = list(ops)
    while todo:
        op = todo.pop()
        if "array" in origin(op).__dict__:
            return True
        for function in called_functions(op):
            if function not in seen:
                seen.add(function)
                todo.extend(function.body)
    return False


def is_flow(tensor: Tensor) -> bool:
    """Whether a tensor is the list that stands for such an array."""
    while True:
        op = origin(tensor._op)
        if "array" in op.__dict__:
            return True
        functions = called_functions(op)
        if op.type in ("Identity", "TensorListResize"):
            tensor = op._inputs[0]
        elif op.type in ("While", "StatelessWhile"):
            tensor = op._inputs[tensor.value_index]
        elif op.type in ("If", "StatelessIf", "Case") and functions:
            tensor = functions[0].outputs[tensor.value_index]
        elif op.type == "Placeholder" and op._graph.building_function:
            graph: Any = op._graph
            outer = next((o for o, inner in graph._captures.items() if inner is tensor), None)
            if outer is None:
                return False
            tensor = outer
        else:
            return False
