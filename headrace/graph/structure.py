"""Nested structures: lists, tuples, named tuples and dictionaries with tensors as leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MappingView, Sequence
from typing import Any

from headrace.graph.indexed_slices import IndexedSlices


def is_nested(seq: Any) -> bool:
    """Whether a value has leaves: a sequence other than a string, a dictionary, or a dictionary's values."""
    return isinstance(seq, Mapping) or _is_row(seq)


def _is_row(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return True
    return isinstance(value, (Sequence, MappingView)) and not isinstance(value, (str, bytes, bytearray))


def is_composite(value: Any) -> bool:
    """Whether a value is one thing to the user but tensors to the graph: a sparse or ragged tensor, a TensorArray."""
    if hasattr(value, "_is_composite_tensor"):
        return hasattr(value, "dense_shape") or hasattr(value, "_component_tensors")
    return hasattr(type(value), "_from_components") and hasattr(value, "flow")


def components(value: Any) -> list[Any]:
    """Returns the tensors that a composite consists of."""
    if hasattr(value, "flow"):
        return [value.flow]
    if hasattr(value, "_component_tensors"):
        return list(value._component_tensors())
    if isinstance(value, IndexedSlices):
        parts = [value.values, value.indices]
        return parts if value.dense_shape is None else [*parts, value.dense_shape]
    return [value.indices, value.values, value.dense_shape]


def flatten(value: Any, composites: bool = False) -> list[Any]:
    """Returns the leaves of a structure in order, dictionaries by sorted keys.

    Args:
      value: A structure, or a single leaf.
      composites: Whether sparse tensors are taken apart too.
    """
    out: list[Any] = []
    _flatten(value, composites, out)
    return out


def _flatten(value: Any, composites: bool, out: list[Any]) -> None:
    if isinstance(value, Mapping):
        for key in sorted(value):
            _flatten(value[key], composites, out)
    elif _is_row(value):
        for each in value:
            _flatten(each, composites, out)
    elif composites and is_composite(value):
        out.extend(components(value))
    else:
        out.append(value)


def pack_like(structure: Any, flat: list[Any], composites: bool = False) -> Any:
    """Returns a structure like another with other leaves, given in order.

    Raises:
      ValueError: There are more or fewer leaves than the structure has.
    """
    n = len(flatten(structure, composites))
    if n != len(flat):
        raise ValueError(f"Structure had {n} elements, but {len(flat)} were given")
    return _pack(structure, iter(flat), composites)


def _pack(like: Any, flat: Iterator[Any], composites: bool) -> Any:
    made: Any = type(like)
    if isinstance(like, Mapping):
        new = {key: _pack(like[key], flat, composites) for key in sorted(like)}
        ordered = [(key, new[key]) for key in like]
        if hasattr(like, "default_factory"):
            return made(like.default_factory, ordered)
        return made(ordered)
    if isinstance(like, tuple) and hasattr(like, "_fields"):
        return type(like)(*[_pack(v, flat, composites) for v in like])
    if _is_row(like):
        items = [_pack(v, flat, composites) for v in like]
        # A range or a view of a dictionary can't be made of its elements.
        return items if isinstance(like, (range, MappingView)) else type(like)(items)
    if composites and is_composite(like):
        parts = [next(flat) for _ in components(like)]
        return like._from_components(parts) if hasattr(like, "_from_components") else type(like)(*parts)
    return next(flat)


def map_leaves(function: Any, structure: Any) -> Any:
    """Returns a structure with a function applied to its leaves."""
    return pack_like(structure, [function(v) for v in flatten(structure)])


def check_same(a: Any, b: Any, check_types: bool = True, composites: bool = True) -> None:
    """Checks that two structures nest in the same way.

    Args:
      a: A structure.
      b: Another.
      check_types: Whether the types of sequences have to be the same too.
      composites: Whether sparse tensors and the like count as structures.

    Raises:
      ValueError: They don't.
      TypeError: They do, but with sequences of different types.
    """
    try:
        _check(a, b, check_types, composites)
    except (ValueError, TypeError) as e:
        raise type(e)(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {_shown(a)}\n\nSecond "
            f"structure: {_shown(b)}\n\nMore specifically: {e}\nEntire first structure:\n{_dots(a)}\nEntire second "
            f"structure:\n{_dots(b)}"
        ) from None


def _check(a: Any, b: Any, check_types: bool, composites: bool) -> None:
    nested_a = is_nested(a) or (composites and is_composite(a))
    nested_b = is_nested(b) or (composites and is_composite(b))
    if nested_a != nested_b:
        one, other = (a, b) if nested_a else (b, a)
        raise ValueError(
            f'Substructure "{_shown(one)}" is a sequence, while substructure "{_shown(other)}" is not'
        )
    if not nested_a:
        return
    if is_composite(a) or is_composite(b):
        if type(a) is not type(b):
            raise TypeError(
                f"The two structures don't have the same sequence type. First structure has type {type(a)}, while "
                f"second structure has type {type(b)}"
            )
        _check_specs(a, b)
        return
    if check_types and not _same_type(a, b):
        raise TypeError(
            f"The two namedtuples don't have the same sequence type. First structure {_shown(a)} has type "
            f"{type(a).__name__}, while second structure {_shown(b)} has type {type(b).__name__}"
        )
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if set(a) != set(b):
            raise ValueError(
                "The two dictionaries don't have the same set of keys. First structure has keys "
                f"{_shown(list(a))}, while second structure has keys {_shown(list(b))}"
            )
        for key in sorted(a):
            _check(a[key], b[key], check_types, composites)
        return
    if len(a) != len(b):
        raise ValueError(
            "The two structures don't have the same number of elements. First structure: "
            f"{_shown(a)}. Second structure: {_shown(b)}"
        )
    for x, y in zip(a, b, strict=True):
        _check(x, y, check_types, composites)


def _check_specs(a: Any, b: Any) -> None:
    """Refuses composites of one class with other types, or another number of ragged dimensions."""
    first, second = (getattr(value, "_type_spec", None) for value in (a, b))
    if first is None or second is None:
        return
    try:
        first.most_specific_compatible_type(second)
    except (TypeError, ValueError):
        raise ValueError(
            f"Incompatible CompositeTensor TypeSpecs: {_shown(first)} vs. {_shown(second)}"
        ) from None


def _same_type(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return True
    if hasattr(a, "_fields") and hasattr(b, "_fields"):
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    return type(a) is type(b)


def _shown(value: Any) -> str:
    return f"type={type(value).__name__} str={value!s}"


def _dots(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_dots(value[key])}" for key in value) + "}"
    if hasattr(value, "_fields"):
        fields = zip(value._fields, value, strict=True)
        return type(value).__name__ + "(" + ", ".join(f"{name}={_dots(v)}" for name, v in fields) + ")"
    if isinstance(value, tuple):
        inside = ", ".join(_dots(v) for v in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return "[" + ", ".join(_dots(v) for v in value) + "]"
    return "."
