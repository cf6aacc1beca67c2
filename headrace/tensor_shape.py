"""TensorShape and Dimension: shapes as programs see them.

Inside headrace a shape is a tuple (see `shapes`); these classes stand at the border and agree with TensorFlow 1.15's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from headrace import shapes
from headrace.export import export
from headrace.shapes import Shape


@export("Dimension")
class Dimension:
    """The size of one dimension of a TensorShape; its `value` is an int, or None where it is not known."""

    __slots__ = ("_value",)

    def __init__(self, value: Any):
        if value is None:
            self._value: int | None = None
            return
        if isinstance(value, Dimension):
            self._value = value._value
            return
        number = int(value)
        if not isinstance(value, (str, bytes)) and number != value:
            raise ValueError(f"Ambiguous dimension: {value}")
        if number < 0:
            raise ValueError(f"Dimension {number} must be >= 0")
        self._value = number

    @property
    def value(self) -> int | None:
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value!r})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]  # None makes int() raise TypeError, as it should

    def __index__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __bool__(self) -> bool:
        return bool(self._value)

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: Any) -> Any:
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return self._value == other._value

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented or equal is None else not equal

    def _compare(self, other: Any, compare: Any) -> Any:
        other = as_dimension(other)
        if self._value is None or other._value is None:
            return None
        return compare(self._value, other._value)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: a >= b)

    def _combine(self, other: Any, combine: Any) -> Any:
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return Dimension(None)
        return Dimension(combine(self._value, other._value))

    def __add__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b // a)

    def __mod__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b % a)

    def __div__(self, other: Any) -> Any:
        return self // other

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', please use // instead"
        )

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', please use // instead"
        )

    __radd__ = __add__
    __rmul__ = __mul__

    def is_compatible_with(self, other: Any) -> bool:
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Returns the dimension that both describe.

        Raises:
          ValueError: They differ.
        """
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)

    def __reduce__(self) -> Any:
        return Dimension, (self._value,)


def as_dimension(value: Any) -> Dimension:
    return value if isinstance(value, Dimension) else Dimension(value)


@export("dimension_value", "compat.dimension_value")
def dimension_value(dimension: Any) -> Any:
    """Returns the int (or None) of a Dimension, and anything else as it is."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


@export("dimension_at_index", "compat.dimension_at_index")
def dimension_at_index(shape: Any, index: int) -> Dimension:
    """Returns one Dimension of a shape, an unknown one where the shape has no rank."""
    shape = as_shape(shape)
    return Dimension(None) if shape._dims is None else shape[index]


_plain_sizes = False


def use_plain_sizes(enabled: bool) -> None:
    """Says whether programs get numbers and None from a TensorShape, instead of Dimension objects."""
    global _plain_sizes
    _plain_sizes = enabled


def _asked_from_inside() -> bool:
    # The implementation relies on Dimension objects, whatever the program wants to see.
    return sys._getframe(2).f_globals.get("__name__", "").startswith("headrace.")


@export("TensorShape")
class TensorShape:
    """A shape of which some dimensions, or the rank, may be unknown.

    Args:
      dims: A list of ints, Nones or Dimensions; a TensorShape; a TensorShapeProto; or None for unknown rank.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: Any):
        self._dims: Shape = to_tuple(dims)

    @classmethod
    def of(cls, shape: Shape) -> TensorShape:
        """Returns the TensorShape of a shape tuple, without checks."""
        made = cls.__new__(cls)
        made._dims = shape
        return made

    @property
    def dims(self) -> list[Dimension] | None:
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def rank(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    def __repr__(self) -> str:
        shown = list(self._dims) if _plain_sizes and self._dims is not None else self.dims
        return f"TensorShape({shown!r})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        if len(self._dims) == 1:
            return f"({'?' if self._dims[0] is None else self._dims[0]},)"
        return "(" + ", ".join("?" if d is None else str(d) for d in self._dims) + ")"

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        if _plain_sizes and not _asked_from_inside():
            return iter(self._dims)  # type: ignore[arg-type]
        return iter([Dimension(d) for d in self._dims])

    def __getitem__(self, key: Any) -> Any:
        if _plain_sizes and not isinstance(key, slice) and not _asked_from_inside():
            return None if self._dims is None else self._dims[key]
        if self._dims is not None:
            if isinstance(key, slice):
                return TensorShape.of(self._dims[key])
            return Dimension(self._dims[key])
        if not isinstance(key, slice):
            return Dimension(None)
        start = key.start if key.start is not None else 0
        stop = key.stop
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        if stop is None or start < 0 or stop < 0:
            return TensorShape.of(None)
        return TensorShape.of((None,) * max(0, stop - start))

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None where it is not known."""
        return shapes.num_elements(self._dims)

    def merge_with(self, other: Any) -> TensorShape:
        """Returns the shape that both describe.

        Raises:
          ValueError: They are not compatible.
        """
        other = as_shape(other)
        if not shapes.compatible(self._dims, other._dims):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape.of(shapes.merge(self._dims, other._dims))

    def concatenate(self, other: Any) -> TensorShape:
        return TensorShape.of(shapes.concatenate(self._dims, as_shape(other)._dims))

    def assert_same_rank(self, other: Any) -> None:
        other = as_shape(other)
        if self._dims is not None and other._dims is not None and len(self._dims) != len(other._dims):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape with the given rank.

        Raises:
          ValueError: It has another rank.
        """
        try:
            return TensorShape.of(shapes.with_rank(self._dims, rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def is_compatible_with(self, other: Any) -> bool:
        return shapes.compatible(self._dims, as_shape(other)._dims)

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        return TensorShape.of(shapes.most_specific_compatible(self._dims, as_shape(other)._dims))

    def is_fully_defined(self) -> bool:
        return shapes.is_full(self._dims)

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def as_list(self) -> list[int | None]:
        """Returns the dimensions as a list of ints and Nones.

        Raises:
          ValueError: The rank is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> Any:
        """Returns the shape as a TensorShapeProto."""
        from headrace.proto import TensorShapeProto

        if self._dims is None:
            return TensorShapeProto(unknown_rank=True)
        dims = [TensorShapeProto.Dim(size=-1 if d is None else d) for d in self._dims]
        return TensorShapeProto(dim=dims)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    def __eq__(self, other: Any) -> Any:
        try:
            other = as_shape(other)
        except TypeError:
            return NotImplemented
        return self._dims == other._dims

    def __ne__(self, other: Any) -> Any:
        try:
            other = as_shape(other)
        except TypeError:
            return NotImplemented
        if self._dims is None or other._dims is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return self._dims != other._dims

    def __hash__(self) -> int:
        return hash(self._dims)

    def __reduce__(self) -> Any:
        return TensorShape, (None if self._dims is None else list(self._dims),)


def to_tuple(dims: Any) -> Shape:
    """Returns the shape tuple of anything that TensorShape() takes."""
    if dims is None:
        return None
    if isinstance(dims, TensorShape):
        return dims._dims
    if isinstance(dims, (tuple, list)):
        return tuple([d if type(d) is int and d >= 0 else as_dimension(d)._value for d in dims])
    if hasattr(dims, "unknown_rank"):  # a TensorShapeProto
        return None if dims.unknown_rank else tuple(None if d.size == -1 else d.size for d in dims.dim)
    if isinstance(dims, (str, bytes)):
        raise TypeError(f"A shape is a list of dimensions, not {dims!r}")
    try:
        each = iter(dims)
    except TypeError:
        return (as_dimension(dims)._value,)
    return tuple([as_dimension(d)._value for d in each])


def as_shape(shape: Any) -> TensorShape:
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None) -> TensorShape:
    """Returns a shape with unknown dimensions, of unknown rank if `rank` is None."""
    return TensorShape.of(None if rank is None else (None,) * rank)
