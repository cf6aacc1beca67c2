"""Sums of products with matrices, in the variable scope of the caller."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export_value
from headrace.graph.structure import is_nested
from headrace.variables.initializers.basic import Constant
from headrace.variables.scope import get_variable, get_variable_scope, variable_scope


def _depth(args: Any) -> int:
    """Returns how many columns some tensors have together.

    Raises:
      ValueError: There are none, or one is no matrix of known width.
    """
    shapes = [each.shape for each in args]
    total = 0
    for shape in shapes:
        if shape.ndims != 2:
            raise ValueError(f"linear is expecting 2D arguments: {shapes}")
        if shape[1].value is None:
            raise ValueError(f"linear expects shape[1] to be provided for shape {shape}, but saw {shape[1]}")
        total += shape[1].value
    return total


def _checked(args: Any) -> list[Any]:
    if args is None or (is_nested(args) and not args):
        raise ValueError("`args` must be specified")
    return list(args) if is_nested(args) else [args]


class Linear:
    """A matrix and a bias; called with tensors, it puts them side by side, multiplies and adds.

    Args:
      args: A tensor, or a list of tensors, like those it will be called with.
      output_size: How many columns the result has.
      build_bias: Whether there is a bias.
      bias_initializer: Its initializer, zeros by default.
      kernel_initializer: The matrix's initializer.

    Raises:
      ValueError: A tensor is no matrix of known width.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ):
        self._is_sequence = is_nested(args)
        args = _checked(args)
        self._build_bias = build_bias
        depth = _depth(args)
        dtype = args[0].dtype
        with variable_scope(get_variable_scope()) as outer:
            self._weights = get_variable(
                "kernel", [depth, output_size], dtype=dtype, initializer=kernel_initializer
            )
            if build_bias:
                with variable_scope(outer) as inner:
                    inner.set_partitioner(None)
                    if bias_initializer is None:
                        bias_initializer = Constant(0.0, dtype=dtype)
                    self._biases = get_variable(
                        "bias", [output_size], dtype=dtype, initializer=bias_initializer
                    )

    def __call__(self, args: Any) -> Any:
        parts = list(args) if self._is_sequence else [args]
        if len(parts) == 1:
            result = NAMES["matmul"](parts[0], self._weights)
        else:
            one = NAMES["constant"](1, dtype="int32")
            result = NAMES["matmul"](NAMES["concat"](parts, one), self._weights)
        return NAMES["nn.bias_add"](result, self._biases) if self._build_bias else result


def linear(
    args: Any, output_size: int, bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None
) -> Any:
    """Puts tensors side by side, multiplies with a matrix and adds a bias.

    Args:
      args: A tensor, or a list of tensors.
      output_size: How many columns the result has.
      bias: Whether there is a bias.
      bias_initializer: Its initializer, zeros by default.
      kernel_initializer: The matrix's initializer.

    Raises:
      ValueError: A tensor is no matrix of known width.
    """
    args = _checked(args)
    depth = _depth(args)
    dtype = args[0].dtype
    with variable_scope(get_variable_scope()) as outer:
        weights = get_variable("kernel", [depth, output_size], dtype=dtype, initializer=kernel_initializer)
        joined = args[0] if len(args) == 1 else NAMES["concat"](args, 1)
        result = NAMES["matmul"](joined, weights)
        if not bias:
            return result
        with variable_scope(outer) as inner:
            inner.set_partitioner(None)
            if bias_initializer is None:
                bias_initializer = Constant(0.0, dtype=dtype)
            biases = get_variable("bias", [output_size], dtype=dtype, initializer=bias_initializer)
        return NAMES["nn.bias_add"](result, biases)


for _module in ("core_rnn_cell", "core_rnn_cell_impl"):
    export_value(f"contrib.rnn.python.ops.{_module}._Linear", Linear)
    export_value(f"contrib.rnn.python.ops.{_module}._linear", linear)
