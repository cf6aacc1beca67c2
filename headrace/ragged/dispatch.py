"""The ordinary functions on ragged tensors, and Python's operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.tensor import Tensor
from headrace.opdef import convert_to_tensor
from headrace.opdef.dispatch import add_handler, argument
from headrace.ops.math.ranges import range_v1
from headrace.ragged import gathering, joining, masking, one_hot, ranges, reducing, repeating, strings
from headrace.ragged.elementwise import map_flat_values
from headrace.ragged.shape import RaggedTensorDynamicShape, broadcast_dynamic_shape, broadcast_to
from headrace.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
    match_row_splits_dtypes,
)

UNARY = (
    "abs acos acosh angle as_string asin asinh atan atanh bitwise.invert cast ceil check_numerics clip_by_value conj "
    "cos cosh debugging.is_finite debugging.is_inf debugging.is_nan decode_base64 decode_compressed digamma "
    "saturate_cast encode_base64 erf erfc exp expm1 floor identity imag lgamma log log1p log_sigmoid logical_not "
    "negative real reciprocal rint round rsqrt sign sin sinh sqrt square tan ones_like zeros_like regex_replace "
    "string_strip string_to_hash_bucket_fast string_to_hash_bucket_strong strings.length strings.regex_full_match "
    "strings.unicode_script substr"
).split()
"""Functions of the values, one by one."""

LISTS = ("add_n", "string_join")
"""The same, of a list of tensors."""

BINARY = (
    "add atan2 bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift "
    "complex div_no_nan divide equal floordiv floormod greater greater_equal less less_equal logical_and logical_or "
    "logical_xor maximum minimum mod multiply not_equal pow realdiv squared_difference subtract truediv truncatediv "
    "truncatemod"
).split()
"""Functions of two tensors, which broadcast."""


def _unary(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(argument(function, args, kwargs, 0), RaggedTensor):
        return map_flat_values(function, *args, **kwargs)
    return NotImplemented


def _list(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = argument(function, args, kwargs, 0)
    if isinstance(values, (list, tuple)) and any(isinstance(v, RaggedTensor) for v in values):
        return map_flat_values(function, *args, **kwargs)
    return NotImplemented


def _binary(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, y = (argument(function, args, kwargs, i) for i in (0, 1))
    x_ragged, y_ragged = isinstance(x, RaggedTensor), isinstance(y, RaggedTensor)
    if not (x_ragged or y_ragged):
        return NotImplemented
    try:
        x = convert_to_tensor_or_ragged_tensor(x, name="x", preferred_dtype=y.dtype if y_ragged else None)
        y = convert_to_tensor_or_ragged_tensor(y, name="y", preferred_dtype=x.dtype)
    except (TypeError, ValueError):
        return NotImplemented
    if x_ragged and y_ragged:
        x, y = match_row_splits_dtypes(x, y)
    if (
        (x_ragged and y_ragged)
        or (x_ragged and _reaches(y, x.flat_values))
        or (y_ragged and _reaches(x, y.flat_values))
    ):
        kind = (x if x_ragged else y).row_splits.dtype
        shape = broadcast_dynamic_shape(
            RaggedTensorDynamicShape.from_tensor(x, kind), RaggedTensorDynamicShape.from_tensor(y, kind)
        )
        x = broadcast_to(x, shape, inner=False)
        y = broadcast_to(y, shape, inner=False)
    x_values = x.flat_values if isinstance(x, RaggedTensor) else x
    y_values = y.flat_values if isinstance(y, RaggedTensor) else y
    names = function.__code__.co_varnames[:2]
    rest = {k: v for k, v in kwargs.items() if k not in names}
    result = function(x_values, y_values, *args[2:], **rest)
    return (x if isinstance(x, RaggedTensor) else y).with_flat_values(result)


def _reaches(dense: Any, values: Any) -> bool:
    """Whether a dense tensor has a dimension beside the ragged ones of another."""
    a, b = dense.shape.ndims, values.shape.ndims
    return a is None or b is None or a >= b


def _is_any(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(is_ragged(v) for v in value)
    return is_ragged(value)


def _acceptable(value: Any) -> bool:
    """Whether a value is ragged or converts to a tensor; like TensorFlow, it converts lists to find out."""
    if value is None or is_ragged(value) or isinstance(value, Tensor):
        return True
    if isinstance(value, (list, tuple)):
        try:
            convert_to_tensor(value)
        except (TypeError, ValueError):
            return False
    return True


def _whole(ragged: Callable[..., Any], count: int = 1, listed: bool = False) -> Any:
    """Makes a handler that calls a function of ragged tensors with the same arguments.

    Args:
      ragged: The function.
      count: How many of the first arguments may be ragged.
      listed: Whether the first is a list of such.
    """

    def handle(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operands = [argument(function, args, kwargs, i) for i in range(count)]
        if listed and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
        if not any(_is_any(v) for v in operands) or not all(_acceptable(v) for v in operands):
            return NotImplemented
        return ragged(*args, **kwargs)

    return handle


def _expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    return repeating.expand_dims(input, dim if axis is None else axis, name)


def _squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    return repeating.squeeze(input, squeeze_dims if axis is None else axis, name)


def _size(input: Any, name: str | None = None, out_type: Any = "int32") -> Any:
    return repeating.size(input, out_type, name)


def _gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: Any = 0,
) -> Any:
    return gathering.gather(params, indices, validate_indices, 0 if axis is None else axis, batch_dims, name)


def _gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: Any = 0) -> Any:
    return gathering.gather_nd(params, indices, batch_dims, name)


def _dynamic_partition(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not isinstance(argument(function, args, kwargs, 2), int):
        return NotImplemented
    return _whole(ranges.dynamic_partition, 2)(function, args, kwargs)


def _reduction(public: str, node: str, reduce: Callable[..., Any]) -> None:
    def handle(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        value, axis, keepdims, name, old_axis, old_keep = (
            argument(function, args, kwargs, i) for i in range(6)
        )
        if not isinstance(value, RaggedTensor):
            return NotImplemented
        axis = old_axis if axis is None else axis
        keepdims = old_keep if keepdims is None else keepdims
        if axis is None:
            range_v1(0, repeating.rank(value))
            with name_scope(name, node):
                pass
        return reduce(value, axis, keepdims, name)

    add_handler(public, handle)


def _join(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    inputs, axis, old_keep, separator, name, old_axis, keepdims = (
        argument(function, args, kwargs, i) for i in range(7)
    )
    if not isinstance(inputs, RaggedTensor):
        return NotImplemented
    keepdims = old_keep if keepdims is None else keepdims
    reduce, by_segments = strings.joins("" if separator is None else separator)
    axis = old_axis if axis is None else axis
    return reducing.aggregate(reduce, by_segments, inputs, axis, keepdims, name, "RaggedSegmentJoin")


for _name in UNARY:
    add_handler(_name, _unary)
for _name in LISTS:
    add_handler(_name, _list)
for _name in BINARY:
    add_handler(_name, _binary)
for _name, _node in (
    ("sum", "Sum"),
    ("prod", "Prod"),
    ("max", "Max"),
    ("min", "Min"),
    ("mean", "Mean"),
    ("all", "All"),
    ("any", "Any"),
):
    _reduction("reduce_" + _name, _node, getattr(reducing, "reduce_" + _name))
for _name in ("sum", "prod", "max", "min", "mean", "sqrt_n"):
    add_handler("unsorted_segment_" + _name, _whole(getattr(reducing, "segment_" + _name), 2))
add_handler("batch_gather", _whole(gathering.batch_gather, 2))
add_handler("concat", _whole(joining.concat, listed=True))
add_handler("dynamic_partition", _dynamic_partition)
add_handler("expand_dims", _whole(_expand_dims))
add_handler("gather", _whole(_gather, 2))
add_handler("gather_nd", _whole(_gather_nd, 2))
add_handler("one_hot", _whole(one_hot.one_hot))
add_handler("reduce_join", _join)
add_handler("rank", _whole(repeating.rank))
add_handler("size", _whole(_size))
add_handler("squeeze", _whole(_squeeze))
add_handler("stack", _whole(joining.stack, listed=True))
add_handler("tile", _whole(repeating.tile))
add_handler("where", _whole(masking.where, 3))


def _operator(name: str, public: str) -> None:
    function = NAMES[public]
    setattr(RaggedTensor, f"__{name}__", lambda x, y: function(x, y))
    setattr(RaggedTensor, f"__r{name}__", lambda y, x: function(x, y))


for _name, _public in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("truediv", "truediv"),
    ("div", "div"),
    ("floordiv", "floordiv"),
    ("mod", "floormod"),
    ("pow", "pow"),
    ("and", "logical_and"),
    ("or", "logical_or"),
    ("xor", "logical_xor"),
):
    _operator(_name, _public)
for _name, _public in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
    setattr(RaggedTensor, f"__{_name}__", lambda x, y, _f=NAMES[_public]: _f(x, y))
for _name, _public in (("neg", "negative"), ("invert", "logical_not"), ("abs", "abs")):
    setattr(RaggedTensor, f"__{_name}__", lambda x, _f=NAMES[_public]: _f(x))
