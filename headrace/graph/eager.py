"""Whether operations run as they are called: only inside functions that py_function calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from headrace.export import export, export_value
from headrace.graph.default import get_default_graph
from headrace.graph.graph import Graph


@export("executing_eagerly", "contrib.eager.executing_eagerly", "contrib.eager.in_eager_mode")
def executing_eagerly() -> bool:
    """Returns whether operations run as they are called; elsewhere they build a graph."""
    return bool(getattr(get_default_graph(), "executing_eagerly", False))


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Makes operations build a graph inside a block, as they do anyway."""
    if executing_eagerly():
        with Graph().as_default():
            yield
    else:
        yield


def inside_function() -> bool:
    """Returns whether a function's body is being built."""
    return get_default_graph().building_function


export_value("python.eager.context.graph_mode", graph_mode)
export_value("python.eager.context.in_eager_mode", executing_eagerly)
export_value("python.framework.ops.inside_function", inside_function)
