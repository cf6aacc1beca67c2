"""Strings as rows of characters: decoded to code points, split, and encoded again."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import raw
from headrace.ops.array.pack import stack
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape as shape_of
from headrace.ragged.repeating import expand_dims
from headrace.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor


@export("strings.unicode_encode")
def unicode_encode(
    input: Any,
    output_encoding: Any,
    errors: Any = "replace",
    replacement_char: Any = 65533,
    name: str | None = None,
) -> Any:
    """Joins code points to strings.

    Args:
      input: A tensor of code points, which may be ragged; its innermost dimension is joined.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: What is done about points that there are not: "replace", "ignore" or "strict", that is refused.
      replacement_char: The point that replaces them.
      name: The scope's name.

    Returns:
      A tensor of one dimension less.

    Raises:
      ValueError: The rank is unknown or 0.
    """
    options = (output_encoding, errors, replacement_char)
    with name_scope(name, "UnicodeEncode", [input]):
        points = convert_to_tensor_or_ragged_tensor(input)
        rank = points.shape.ndims
        if rank is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if isinstance(points, RaggedTensor):
            if points.flat_values.shape.ndims > 1:
                return points.with_flat_values(unicode_encode(points.flat_values, *options))
            if points.ragged_rank > 1:
                return points.with_values(unicode_encode(points.values, *options))
            return raw.UnicodeEncode(
                points.values,
                points.row_splits,
                output_encoding=output_encoding,
                errors=errors,
                replacement_char=replacement_char,
            )
        if rank == 2:
            return unicode_encode(RaggedTensor.from_tensor(points), *options)
        if rank > 2:
            rows = reshape(points, stack([-1, shape_of(points)[-1]]))
            return reshape(unicode_encode(rows, *options), points.shape[:-1])
        if rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        row = RaggedTensor.from_row_splits(points, stack([0, shape_of(points)[0]]), validate=False)
        return reshape(unicode_encode(row, *options), [])


def _decoded(
    input: Any, encoding: Any, errors: Any, replacement_char: Any, controls: Any, with_offsets: bool
) -> tuple[Any, Any]:
    """Returns the code points of strings, and where they begin or None."""
    input = convert_to_tensor_or_ragged_tensor(input, name="input")
    rank = input.shape.ndims
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank > 1:
        if not isinstance(input, RaggedTensor):
            input = RaggedTensor.from_tensor(input, ragged_rank=rank - 1)
        elif input.flat_values.shape.ndims > 1:
            # So many that there never are enough dimensions; TensorFlow refuses these tensors too.
            depth = rank - input.ragged_rank + 1
            input = input.with_flat_values(RaggedTensor.from_tensor(input.flat_values, ragged_rank=depth))
    if isinstance(input, RaggedTensor):
        flat = reshape(input.flat_values, [-1])
    else:
        flat = reshape(input, [-1])
    decode = raw.UnicodeDecodeWithOffsets if with_offsets else raw.UnicodeDecode
    splits, *found = decode(
        flat,
        input_encoding=encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=controls,
    )
    if rank > 0:
        found = [RaggedTensor.from_row_splits(values, splits, validate=False) for values in found]
        if isinstance(input, RaggedTensor):
            found = [input.with_flat_values(values) for values in found]
    return (found[0], found[1]) if with_offsets else (found[0], None)


@export("strings.unicode_decode")
def unicode_decode(
    input: Any,
    input_encoding: Any,
    errors: Any = "replace",
    replacement_char: Any = 65533,
    replace_control_characters: Any = False,
    name: str | None = None,
) -> Any:
    """Returns the code points of strings.

    Args:
      input: A tensor of strings, which may be ragged.
      input_encoding: The name of an encoding.
      errors: What is done about bytes that are none: "replace", "ignore" or "strict", that is refused.
      replacement_char: The point that replaces them.
      replace_control_characters: Whether it replaces control characters too.
      name: The scope's name.

    Returns:
      A ragged tensor of one dimension more; for a scalar a vector.

    Raises:
      ValueError: The rank is unknown.
    """
    with name_scope(name, "UnicodeDecode", [input]):
        return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, False)[0]


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: Any,
    input_encoding: Any,
    errors: Any = "replace",
    replacement_char: Any = 65533,
    replace_control_characters: Any = False,
    name: str | None = None,
) -> Any:
    """Returns the code points of strings, and the places in bytes where they begin; see `unicode_decode`."""
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, True)


@export("strings.unicode_split")
def unicode_split(
    input: Any,
    input_encoding: Any,
    errors: Any = "replace",
    replacement_char: Any = 65533,
    name: str | None = None,
) -> Any:
    """Splits strings into characters.

    Args:
      input: A tensor of strings, which may be ragged.
      input_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: What is done about bytes that are none: "replace", "ignore" or "strict", that is refused.
      replacement_char: The code point that replaces them.
      name: The scope's name.

    Returns:
      A ragged tensor of one dimension more; for a scalar a vector.

    Raises:
      ValueError: The rank is unknown.
    """
    with name_scope(name, "UnicodeSplit", [input]):
        points, _ = _decoded(input, input_encoding, errors, replacement_char, False, False)
        return unicode_encode(expand_dims(points, -1), input_encoding, errors, replacement_char)


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: Any,
    input_encoding: Any,
    errors: Any = "replace",
    replacement_char: Any = 65533,
    name: str | None = None,
) -> Any:
    """Splits strings into characters, and returns the places in bytes where they begin; see `unicode_split`."""
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        points, offsets = _decoded(input, input_encoding, errors, replacement_char, False, True)
        return unicode_encode(expand_dims(points, -1), input_encoding, errors, replacement_char), offsets
