"""The graph: operations, tensors, scopes, devices, collections.

What an op means is not known here; an op is an opaque `kind` with a name and an `infer_shapes` method.
"""

from headrace.graph import seeds
from headrace.graph.collections import GraphKeys
from headrace.graph.default import (
    colocate_with,
    control_dependencies,
    device,
    get_default_graph,
    get_default_session,
    init_scope,
    name_scope,
)
from headrace.graph.device import DeviceSpec
from headrace.graph.graph import Graph
from headrace.graph.indexed_slices import IndexedSlices
from headrace.graph.operation import Operation
from headrace.graph.tensor import Tensor
from headrace.graph.type_spec import TensorSpec, TypeSpec

__all__ = [
    "DeviceSpec",
    "Graph",
    "GraphKeys",
    "IndexedSlices",
    "Operation",
    "Tensor",
    "TensorSpec",
    "TypeSpec",
    "colocate_with",
    "control_dependencies",
    "device",
    "get_default_graph",
    "get_default_session",
    "init_scope",
    "name_scope",
    "seeds",
]
