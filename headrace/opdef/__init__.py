"""How an op is declared: a signature in TensorFlow's words, and rules hung on it."""

from headrace.export import export, export_value
from headrace.opdef.case import Recorder
from headrace.opdef.convert import (
    constant_node,
    convert_n_to_tensor,
    convert_to_tensor,
    convert_to_tensor_or_indexed_slices,
    register_tensor_conversion_function,
)
from headrace.opdef.family import family
from headrace.opdef.infer import constant_as_shape, constant_value, dim_value
from headrace.opdef.op import UNDECLARED, Op, op
from headrace.opdef.registry import GRADIENTS, OPS, lookup, raw

__all__ = [
    "GRADIENTS",
    "OPS",
    "UNDECLARED",
    "Op",
    "Recorder",
    "constant_as_shape",
    "constant_node",
    "constant_value",
    "convert_n_to_tensor",
    "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices",
    "dim_value",
    "export",
    "export_value",
    "family",
    "lookup",
    "op",
    "raw",
    "register_tensor_conversion_function",
]
