"""Optionals: a value that may be missing. TensorFlow's gradients of branches hand on intermediates in them."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, errors, shapes
from headrace.dtypes import as_dtype
from headrace.opdef import op, raw
from headrace.resources.stacked_list import StackedList
from headrace.resources.tensor_list import TensorList


class Optional:
    """A tuple of tensors, or nothing.

    Attributes:
      components: The tensors; None if there is nothing.
    """

    __slots__ = ("components",)

    def __init__(self, components=None):
        self.components = components

    def zeros_like(self):
        """Returns an optional of zeros like the tensors; nothing for nothing."""
        return Optional(None if self.components is None else tuple(_zeros(c) for c in self.components))

    def add(self, other):
        """Returns an optional of the sums of the tensors of both; nothing if both hold nothing.

        Raises:
          InvalidArgumentError: Only one holds something, or they hold what can't be added up.
        """
        if not isinstance(other, Optional):  # the list that a compiled step made of an optional
            nested = self.components is not None and hasattr(self.components[0], "add")
            other = Optional((other,) if nested else (other.items[0],))
        a, b = self.components, other.components
        if a is None and b is None:
            return self
        if a is None or b is None:
            problem = "because one has a value and the other doesn't"
        elif len(a) != len(b):
            problem = f"because they have different numbers of components ({len(a)} vs. {len(b)})"
        else:
            return Optional(tuple(_sum(x, y) for x, y in zip(a, b, strict=True)))
        raise errors.InvalidArgumentError(None, None, f"Cannot add optionals {problem}.")


def _sum(a, b):
    if hasattr(a, "add"):
        return a.add(b)
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype:
        problem = "add two tensors with incompatible element types. One is {} and the other is {}".format(
            *(as_dtype(v.dtype).name.replace("float32", "float") for v in (a, b))
        )
    elif a.shape != b.shape:
        problem = "add two tensors with incompatible element shapes. One is {} and the other is {}".format(
            *(f"[{','.join(map(str, v.shape))}]" for v in (a, b))
        )
    elif a.dtype.kind == "O":
        problem = f"add unsupported dtype {as_dtype(a.dtype).as_datatype_enum}"
    else:
        return a + b  # of booleans, too: third gradients of nested branches add up predicates
    raise errors.InvalidArgumentError(None, None, f"Trying to {problem}")


def _zeros(value):
    if hasattr(value, "zeros_like"):
        return value.zeros_like()
    value = np.asarray(value)
    if value.dtype == object:
        raise errors.InvalidArgumentError(
            None, None, "Trying to compute zeros_like for unsupported dtype string"
        )
    return np.zeros_like(value)


OptionalFromValue = op("""
    OptionalFromValue(components: Toutput_types) -> (optional: variant)
      Toutput_types: list(type) >= 1

    Gives an optional that holds tensors.
""", shape=shapes.scalar, host=lambda components: Optional(tuple(components)))  # fmt: skip


# In a compiled step an optional is a list of the one tensor that it holds, or the list that it holds.


@OptionalFromValue.lower(lists=True)
def optional_from_value_lower(components):
    if len(components) != 1:
        raise NotImplementedError("an optional of several tensors")
    (value,) = components
    if isinstance(value, StackedList):
        return value
    return StackedList(as_dtype(value.dtype), value[None], 1, None, tuple(value.shape))


@OptionalFromValue.grad
def optional_from_value_grad(op, dy):
    types = [t.dtype.base_dtype for t in op.inputs]
    return raw.OptionalGetValue(dy, output_types=types, output_shapes=[t._dims for t in op.inputs])


OptionalNone = op("""
    OptionalNone() -> (optional: variant)

    Gives an optional that holds nothing.
""", shape=shapes.scalar, host=Optional)  # fmt: skip


@OptionalNone.lower(lists=True)
def optional_none_lower():
    # In a branch, what nobody looks at is made like what other branches give in its place.
    raise NotImplementedError("an empty optional outside a branch")


OptionalHasValue = op("""
    OptionalHasValue(optional: variant) -> (has_value: bool)

    Says whether an optional holds something.
""", shape=shapes.scalar)  # fmt: skip


@OptionalHasValue.host
def optional_has_value(optional):
    return held(optional).components is not None


OptionalGetValue = op("""
    OptionalGetValue(optional: variant) -> (components: output_types)
      output_types: list(type) >= 1
      output_shapes: list(shape) >= 1

    Gives what an optional holds.
""")  # fmt: skip


@OptionalGetValue.shape
def optional_get_value_shape(optional, *, output_shapes):
    return list(output_shapes)


@OptionalGetValue.host
def optional_get_value(optional, *, output_types):
    components = _held_or_list(optional, output_types).components
    if components is None:
        raise errors.InvalidArgumentError(None, None, "The given optional does not have a value.")
    return list(components)


def _held_or_list(value, types):
    """Returns the Optional that a variant holds, where a compiled step gave a list in its place too."""
    if type(value) is np.ndarray and value.shape == ():
        value = value.item()
    if isinstance(value, TensorList) and len(types) == 1:
        return Optional((value,) if types[0] is dtypes.variant else (value.items[0],))
    return held(value)


@OptionalGetValue.lower(lists=True)
def optional_get_value_lower(optional, *, output_types):
    if len(output_types) != 1:
        raise NotImplementedError("an optional of several tensors")
    return [optional if output_types[0] is dtypes.variant else optional.get(0)]


@OptionalGetValue.grad
def optional_get_value_grad(op, *dys):
    return raw.OptionalFromValue(list(dys))


def held(value):
    """Returns the Optional that a variant holds.

    Raises:
      InvalidArgumentError: It holds something else.
    """
    if not isinstance(value, Optional):
        value = value.item() if getattr(value, "shape", None) == () else value
    if not isinstance(value, Optional):
        raise errors.InvalidArgumentError(None, None, "Input is not an optional.")
    return value


def _cases(case):
    @case.program
    def holds_or_not(step):
        some, none = raw.OptionalFromValue([[1.0, 2.0], 3]), raw.OptionalNone()
        step([raw.OptionalHasValue(some), raw.OptionalHasValue(none)], gives=(True, False))
        types = {"output_types": ["float32", "int32"], "output_shapes": [[2], []]}
        step(list(raw.OptionalGetValue(some, **types)), gives=([1, 2], 3))
        step(
            list(raw.OptionalGetValue(none, **types)),
            fails=errors.InvalidArgumentError,
            match="does not have a value",
        )


for _kind in (OptionalFromValue, OptionalNone, OptionalHasValue, OptionalGetValue):
    _kind.cases(_cases)
