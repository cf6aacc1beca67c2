"""Whether nodes work on a `tf.TensorArray` that is to behave as one that is changed in place."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.graph import Operation
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
