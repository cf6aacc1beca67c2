"""tf.nest, and what else TensorFlow's inside has for nested structures: shallower structures and paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MappingView
from typing import Any

from headrace.export import export, export_value
from headrace.graph.structure import check_same, components, is_composite, is_nested, pack_like
from headrace.graph.structure import flatten as leaves_of

export("nest.is_nested")(is_nested)
is_sequence = is_nested


def is_sequence_or_composite(value: Any) -> bool:
    """Says whether a value has leaves, those of sparse tensors and the like counted."""
    return is_nested(value) or is_composite(value)


@export("nest.flatten")
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves of a structure in order, dictionaries by sorted keys.

    Args:
      structure: A structure, or a single leaf.
      expand_composites: Whether sparse tensors and the like are taken apart too.
    """
    return leaves_of(structure, expand_composites)


@export("nest.assert_same_structure")
def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Checks that two structures nest in the same way.

    Args:
      nest1: A structure.
      nest2: Another.
      check_types: Whether the types of sequences have to be the same too.
      expand_composites: Whether sparse tensors and the like are taken apart too.

    Raises:
      ValueError: They don't.
      TypeError: They do, but with sequences of different types.
    """
    check_same(nest1, nest2, check_types, expand_composites)


@export("nest.pack_sequence_as")
def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Returns a structure like another with other leaves.

    Args:
      structure: The other structure.
      flat_sequence: The leaves in order.
      expand_composites: Whether sparse tensors and the like are put together too.

    Raises:
      TypeError: `flat_sequence` is no sequence.
      ValueError: There are more or fewer leaves than the structure has.
    """
    nested = is_sequence_or_composite if expand_composites else is_nested
    if not nested(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    flat = list(flat_sequence)
    if not nested(structure):
        if len(flat) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat)} > 1")
        return flat[0]
    wanted = len(leaves_of(structure, expand_composites))
    if wanted != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had {len(flat)} elements.  "
            f"Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return pack_like(structure, flat, expand_composites)


def _options(kwargs: dict[str, Any]) -> tuple[bool, bool]:
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if kwargs:
        names = "`, `".join(kwargs)
        raise ValueError(
            f"Only valid keyword arguments are `check_types` and `expand_composites`, not: `{names}`"
        )
    return check_types, expand_composites


@export("nest.map_structure")
def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Returns a structure of what a function makes of the leaves of structures that nest alike.

    Args:
      func: A function of as many arguments as there are structures.
      *structure: The structures; the result is like the first.
      **kwargs: `check_types` and `expand_composites`, as in `assert_same_structure`.

    Raises:
      TypeError: `func` can't be called, or sequences are of different types.
      ValueError: There is no structure, they don't nest alike, or there is another keyword.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types, expand = _options(kwargs)
    for other in structure[1:]:
        check_same(structure[0], other, check_types, expand)
    rows = zip(*(leaves_of(each, expand) for each in structure), strict=True)
    return pack_like(structure[0], [func(*row) for row in rows], expand)


# -- structures that go less deep --------------------------------------------------------------------------------
def _items(structure: Any) -> list[tuple[Any, Any]]:
    """Returns what is directly in a structure with its place there: a key, the name of a field, a number."""
    if isinstance(structure, Mapping):
        return [(key, structure[key]) for key in sorted(structure)]
    if is_composite(structure):
        return list(enumerate(components(structure)))
    fields = getattr(structure, "_fields", None)
    if fields is not None:
        return list(zip(fields, structure, strict=True))
    return list(enumerate(structure))


def _same_namedtuples(a: Any, b: Any) -> bool:
    return type(a).__name__ == type(b).__name__ and a._fields == b._fields


def _is_namedtuple(instance: Any, strict: bool = False) -> bool:
    return isinstance(instance, tuple) and hasattr(instance, "_fields")


def assert_shallow_structure(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> None:
    """Checks that a structure is the upper part of another.

    Args:
      shallow_tree: The upper part.
      input_tree: The other structure.
      check_types: Whether the types of sequences have to be the same too.
      expand_composites: Whether sparse tensors and the like are taken apart too.
      check_subtrees_length: Whether sequences have to be of the same length, else the upper part's may be shorter.

    Raises:
      TypeError: A type differs, or what is a sequence in the upper part is none in the other.
      ValueError: A length differs, or a key is missing.
    """
    nested = is_sequence_or_composite if expand_composites else is_nested
    if not nested(shallow_tree):
        return
    if not nested(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    if (
        check_types
        and not isinstance(input_tree, type(shallow_tree))
        and not _alike(shallow_tree, input_tree)
    ):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    upper, whole = _items(shallow_tree), _items(input_tree)
    if check_subtrees_length and len(upper) != len(whole):
        raise ValueError(
            f"The two structures don't have the same sequence length. Input structure has length {len(whole)}, while "
            f"shallow structure has length {len(upper)}."
        )
    if len(upper) > len(whole):
        raise ValueError(
            f"The input_tree has fewer elements than the shallow_tree. Input structure has length {len(whole)}, "
            f"while shallow structure has length {len(upper)}."
        )
    if isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping):
        missing = [key for key in sorted(shallow_tree) if key not in input_tree]
        if missing:
            raise ValueError(
                "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the following "
                f"keys that are not in the input_tree: {missing}."
            )
    for branch, other in _pairs(shallow_tree, input_tree):
        assert_shallow_structure(branch, other, check_types, expand_composites, check_subtrees_length)


def _alike(shallow: Any, whole: Any) -> bool:
    if isinstance(shallow, Mapping) and isinstance(whole, Mapping):
        return True
    if _is_namedtuple(shallow) and _is_namedtuple(whole):
        return _same_namedtuples(shallow, whole)
    return False


def _pairs(shallow: Any, whole: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(shallow, Mapping) and isinstance(whole, Mapping):
        for key in sorted(shallow):
            yield shallow[key], whole[key]
    else:
        for (_, branch), (_, other) in zip(_items(shallow), _items(whole), strict=False):
            yield branch, other


def _yield_up_to(
    shallow: Any, whole: Any, nested: Callable[[Any], bool], path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yields the parts of a structure at the leaves of its upper part, with their paths."""
    if not nested(shallow):
        yield path, whole
        return
    rows = dict(_items(whole))
    for number, (place, branch) in enumerate(_items(shallow)):
        inner = rows[place] if place in rows else _items(whole)[number][1]
        yield from _yield_up_to(branch, inner, nested, (*path, place))


def flatten_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[Any]:
    """Returns the parts of a structure at the leaves of its upper part; see `assert_shallow_structure`."""
    found = flatten_with_tuple_paths_up_to(
        shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length
    )
    return [part for _, part in found]


def flatten_with_tuple_paths_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[tuple[tuple[Any, ...], Any]]:
    """Returns the parts of a structure at the leaves of its upper part with their paths."""
    nested = is_sequence_or_composite if expand_composites else is_nested
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length)
    return list(_yield_up_to(shallow_tree, input_tree, nested))


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Returns a structure of what a function makes of the parts of structures at the leaves of their upper part.

    Args:
      shallow_tree: The upper part.
      func: A function of as many arguments as there are structures.
      *inputs: The structures.
      **kwargs: `check_types`, `check_subtrees_length` and `expand_composites`.

    Raises:
      ValueError: There is no structure, or one doesn't fit.
      TypeError: A type differs.
    """
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda _, *values, **rest: func(*values, **rest), *inputs, **kwargs
    )


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Is `map_structure_up_to` with a function that takes the path, a tuple, before the parts."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    check_lengths = kwargs.pop("check_subtrees_length", True)
    nested = is_sequence_or_composite if expand else is_nested
    for tree in inputs:
        assert_shallow_structure(shallow_tree, tree, check_types, expand, check_lengths)
    rows = [list(_yield_up_to(shallow_tree, tree, nested)) for tree in inputs]
    paths = [path for path, _ in rows[0]]
    columns = zip(*([part for _, part in row] for row in rows), strict=True)
    results = [func(path, *parts, **kwargs) for path, parts in zip(paths, columns, strict=True)]
    return pack_sequence_as(shallow_tree, results, expand)


# -- paths -------------------------------------------------------------------------------------------------------
def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yields the path of each leaf, a tuple of keys, names of fields and numbers."""
    nested = is_sequence_or_composite if expand_composites else is_nested
    for path, _ in _yield_up_to(nest, nest, nested):
        yield path


def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[tuple[Any, Any]]:
    """Returns a pair of path and leaf for each leaf."""
    paths = yield_flat_paths(structure, expand_composites)
    return list(zip(paths, leaves_of(structure, expand_composites), strict=True))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Returns a pair of path, as a text, and leaf for each leaf."""
    found = flatten_with_tuple_paths(structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in found]


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Is `map_structure` with a function that takes the path, as a text, before the leaves."""
    return map_structure_with_tuple_paths_up_to(
        structure[0],
        lambda path, *v, **rest: func("/".join(map(str, path)), *v, **rest),
        *structure,
        **kwargs,
    )


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Is `map_structure` with a function that takes the path, a tuple, before the leaves."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """Returns a structure of booleans that says where a function lets one go deeper.

    Args:
      traverse_fn: A function from a part of the structure to a boolean, or to booleans for what is directly in it.
      structure: The structure.
      expand_composites: Whether sparse tensors and the like are taken apart too.

    Raises:
      TypeError: The function returns something else.
    """
    nested = is_sequence_or_composite if expand_composites else is_nested
    wanted = traverse_fn(structure)
    if not nested(structure):
        if not isinstance(wanted, bool):
            raise TypeError(f"traverse_fn returned structure: {wanted} for non-structure: {structure}")
        return wanted
    inner = [value for _, value in _items(structure)]
    if not nested(wanted):
        if not isinstance(wanted, bool):
            raise TypeError(f"traverse_fn returned a non-bool scalar: {wanted} for input: {structure}")
        if not wanted:
            return False
        made = [get_traverse_shallow_structure(traverse_fn, each, expand_composites) for each in inner]
        return _sequence_like(structure, made)
    assert_shallow_structure(wanted, structure, expand_composites=expand_composites)
    made = []
    for (_, each), part in zip(_items(wanted), inner, strict=False):
        if not isinstance(each, bool):
            raise TypeError(
                f"traverse_fn didn't return a depth=1 structure of bools.  saw: {wanted}  for structure: {structure}"
            )
        made.append(get_traverse_shallow_structure(traverse_fn, part, expand_composites) if each else False)
    return _sequence_like(wanted, made)


def flatten_dict_items(dictionary: Any) -> Any:
    """Returns a dictionary with keys and values that are structures taken apart into their leaves.

    Raises:
      TypeError: It is no dictionary.
      ValueError: A key and its value differ in their number of leaves, or a leaf of a key comes twice.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = (leaves_of(key), leaves_of(value)) if is_nested(key) else ([key], [value])
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} elements. "
                f"Key: {keys}, value: {values}."
            )
        for each, part in zip(keys, values, strict=True):
            if each in flat:
                raise ValueError(f"Could not flatten dictionary: key {each} is not unique.")
            flat[each] = part
    return flat


# -- names that programs take from TensorFlow's inside --------------------------------------------------------------
def _sequence_like(instance: Any, args: Any) -> Any:
    """Returns a structure of one level like another, of other elements."""
    items = list(args)
    if isinstance(instance, Mapping):
        made = dict(zip(sorted(instance), items, strict=True))
        kind: Any = type(instance)
        return kind((key, made[key]) for key in instance)
    if _is_namedtuple(instance):
        return type(instance)(*items)
    return items if isinstance(instance, (range, MappingView)) else type(instance)(items)


def _sorted(dict_: Any) -> list[Any]:
    return sorted(dict_)


def _yield_value(iterable: Any) -> Iterator[Any]:
    for _, value in _items(iterable):
        yield value


def _yield_sorted_items(iterable: Any) -> Iterator[tuple[Any, Any]]:
    yield from _items(iterable)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _yield_flat_up_to(shallow_tree: Any, input_tree: Any, is_seq: Any, path: tuple[Any, ...] = ()) -> Any:
    yield from _yield_up_to(shallow_tree, input_tree, is_seq, path)


yield_flattened_up_to = _yield_flat_up_to

for _name in (
    "is_sequence flatten flatten_up_to map_structure_up_to assert_shallow_structure assert_same_structure "
    "pack_sequence_as map_structure flatten_dict_items is_nested get_traverse_shallow_structure yield_flat_paths "
    "flatten_with_joined_string_paths"
).split():
    export_value("contrib.framework.nest." + _name, globals()[_name])
