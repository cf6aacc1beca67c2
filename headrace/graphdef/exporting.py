"""headrace.export: a graph as a GraphDef for other programs."""

from __future__ import annotations

import sys
import types
from typing import Any

from headrace.graph import Graph, get_default_graph
from headrace.graphdef.v1_control_flow import v1_graph_def


def export_graph(graph: Graph | None = None, *, control_flow: str = "v2") -> Any:
    """Returns a graph as a GraphDef. Programs call it as `headrace.export`.

    Args:
      graph: The graph, the default graph if None.
      control_flow: "v2" writes branches and loops as the If and While nodes that the graph has; "v1" writes them with
        Switch, Merge and frames, for programs that know nothing else. Either way every node keeps its name.

    Raises:
      ValueError: `control_flow` is something else.
    """
    graph = get_default_graph() if graph is None else graph
    if control_flow == "v1":
        return v1_graph_def(graph)
    if control_flow != "v2":
        raise ValueError(f'control_flow is "v1" or "v2", not {control_flow!r}')
    return graph.as_graph_def()


class _Module(types.ModuleType):
    """The module of public names, which exports a graph when it is called."""

    def __call__(self, graph: Graph | None = None, *, control_flow: str = "v2") -> Any:
        return export_graph(graph, control_flow=control_flow)


_Module.__call__.__doc__ = export_graph.__doc__
sys.modules["headrace.export"].__class__ = _Module
