"""Python functions as functions of the graph: tf.function, and TensorFlow 1's Defun."""

from headrace.functions.batching import batch_function
from headrace.functions.concrete import ConcreteFunction
from headrace.functions.defun import Defun
from headrace.functions.polymorphic import Function, function
from headrace.functions.trace import trace_function
from headrace.functions.wrapped import WrappedFunction, wrap_function

__all__ = [
    "ConcreteFunction",
    "Defun",
    "Function",
    "WrappedFunction",
    "batch_function",
    "function",
    "trace_function",
    "wrap_function",
]
