"""What was done to the elements of a `tf.TensorArray`, which here is a chain of tensor lists.

In TensorFlow without functional control flow an array is one thing that is changed in place: an element is written
once, and read once unless it is kept. All lists that one array becomes share a log of that.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace import shapes
from headrace.resources import array_messages as messages
from headrace.resources.tensor_array import TensorArray
from headrace.resources.tensor_list import shape_text
from headrace.shapes import Shape


@dataclass(frozen=True)
class ArrayFacts:
    """How an array was made; the mark of the nodes that work on it.

    Attributes:
      name: What messages call it, before its number.
      is_dynamic: Whether writing beyond the end makes it longer.
      clears: Whether an element can be read once only.
      is_uniform: Whether all elements have the shape of the first one written.
      shape: What was said of the elements' shape.
      size: How many elements there are, None if that is not known while building.
    """

    name: str
    is_dynamic: bool
    clears: bool
    is_uniform: bool
    shape: Shape
    size: int | None


class ArrayLog:
    """The log of one array in one step.

    Attributes:
      facts: How the array was made.
      name: What messages call it.
      shape: What is known of the elements' shape by now.
      is_needed: Whether the program's graph alone doesn't tell that no element is written or read twice.
    """

    def __init__(self, facts: ArrayFacts, is_needed: bool = False):
        self.facts = facts
        self.is_needed = is_needed
        self.name = TensorArray.numbered(facts.name)
        self.shape = facts.shape
        self._written: set[int] = set()
        self._read: set[int] = set()
        self._is_closed = False
        self._lock = threading.Lock()

    def close(self) -> None:
        """Has all that comes after it be refused."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise messages.closed(self.name)

    def write(self, i: int, shape: Any, size: int) -> None:
        """Notes that an element is written.

        Args:
          i: Which.
          shape: Its shape.
          size: How many elements there are.

        Raises:
          InvalidArgumentError: It was written or read before, is out of range, or has another shape.
        """
        with self._lock:
            self._check_open()
            if i < 0 or i >= size:
                raise messages.not_resizeable(self.name, i, size)
            if not shapes.compatible(tuple(shape), self.shape):
                raise messages.another_shape(self.name, i, shape, self.shape)
            if i in self._read:
                raise messages.not_written(self.name, i, messages.WAS_READ)
            if i in self._written:
                raise messages.not_written(self.name, i, messages.WAS_WRITTEN)
            self._written.add(i)
            if self.facts.is_uniform:
                self.shape = shapes.merge(self.shape, tuple(shape))

    def write_many(self, places: Iterable[int], rows: Sequence[Any], size: int) -> None:
        """Notes that elements are written, one after the other; see `write`."""
        for i, row in zip(places, rows, strict=True):
            self.write(i, row.shape, size)

    def read(self, i: int, size: int) -> None:
        """Notes that an element is read.

        Args:
          i: Which.
          size: How many elements there are.

        Raises:
          InvalidArgumentError: It was read before and is not kept, or is out of range.
        """
        with self._lock:
            self._check_open()
            if not 0 <= i < size:
                raise messages.not_there(i, size)
            if self.facts.clears and i in self._read:
                raise messages.read_twice(self.name, i)
            self._read.add(i)

    def learn(self, shape: Shape) -> None:
        """Notes what a node that reads many elements says of their shape."""
        if shapes.compatible(shape, self.shape):
            self.shape = shapes.merge(self.shape, shape)

    def unset(self, i: int, dtype: Any) -> Any:
        """Returns what an element that was never written counts as: zeros.

        Raises:
          InvalidArgumentError: Its shape is not known.
        """
        if not shapes.is_full(self.shape):
            raise messages.unknown_shape(self.name, i, self.shape)
        if dtype.storage.hasobject:
            raise messages.no_zeros(dtype)
        with self._lock:
            self._written.add(i)
        return np.zeros(self.shape, dtype.storage)

    def read_many(self, given: Any, places: Sequence[int]) -> list[Any]:
        """Returns elements of a list of this array's; see `read` and `unset`."""
        out = []
        for i in places:
            self.read(i, given.size)
            item = given.get(i)
            out.append(self.unset(i, given.element_dtype) if item is None else item)
        return out


def log_of(given: Any, facts: ArrayFacts) -> ArrayLog:
    """Returns the log of a list, which begins where the list comes from a compiled step: that keeps none."""
    if given.log is None:
        given.log = log = ArrayLog(facts)
        if facts.is_uniform:
            # What was written there tells of which shape those are that were not.
            first = next((item for item in given.items if item is not None), None)
            if first is not None:
                log.shape = shapes.merge(log.shape, tuple(first.shape))
    found: ArrayLog = given.log
    return found


def packed(items: Sequence[Any], shape: Shape, dtype: Any) -> Any:
    """Returns elements as the rows of one tensor.

    Args:
      items: The elements.
      shape: What is known of their shape.
      dtype: Their type.

    Raises:
      UnimplementedError: There are none, and their shape is not known.
      InvalidArgumentError: Their shapes differ.
    """
    if not items:
        if not shapes.is_full(shape):
            raise messages.empty(f"element shape {shape_text(shape)}", "packing")
        return np.zeros((0, *(shape or ())), dtype.storage)
    first = items[0].shape
    if not shapes.compatible(first, shape):
        raise messages.invalid(
            f"TensorArray was passed element_shape {shape_text(shape)} which does not match the Tensor at "
            f"index 0: {shapes.to_text(first)}"
        )
    for i, item in enumerate(items):
        if item.shape != first:
            raise messages.inconsistent(i, "shape: ", first, item.shape)
    return np.stack(items)


def joined(items: Sequence[Any], rest: Shape, dtype: Any) -> list[Any]:
    """Returns elements one after the other, and how many rows each has.

    Args:
      items: The elements.
      rest: What is known of their shape, the first dimension left out.
      dtype: Their type.

    Raises:
      UnimplementedError: There are none, and their shape is not known.
      InvalidArgumentError: One is a scalar, or their shapes differ.
    """
    if not items:
        if not shapes.is_full(rest):
            what = f"element_shape_except0 {shape_text(rest)}"
            raise messages.empty(what, "concatenating")
        return [np.zeros((0, *(rest or ())), dtype.storage), np.zeros([0], np.int64)]
    for i, item in enumerate(items):
        if not item.ndim:
            raise messages.invalid(
                f"Concat saw a scalar shape at index {i} but requires at least vectors.  Did you mean to call pack?"
            )
        mine, first = item.shape[1:], items[0].shape[1:]
        if not shapes.compatible(mine, rest):
            raise messages.invalid(
                f"TensorArray was passed element_shape_except0 {shape_text(rest)} but index {i} has "
                f"(excepting dimension 0) shape: {shapes.to_text(mine)} which does not match."
            )
        if mine != first:
            raise messages.inconsistent(i, "(excepting dimension 0) shape: ", first, mine)
    return [np.concatenate(items), np.array([len(item) for item in items], np.int64)]


def pieces(value: Any, lengths: Any, size: int, is_dynamic: bool) -> list[Any]:
    """Returns the pieces that a tensor is split into.

    Args:
      value: The tensor.
      lengths: How many rows each has.
      size: How many elements the array has.
      is_dynamic: Whether it may get more.

    Raises:
      InvalidArgumentError: They do not make up the tensor, or are not as many as the array has elements.
    """
    if lengths.ndim != 1:
        raise messages.invalid(
            f"Expected lengths to be a vector, received shape: {shapes.to_text(lengths.shape)}"
        )
    if not value.ndim:
        raise messages.invalid("Expected value to be at least a vector, but received shape: []")
    sizes = lengths.tolist()
    if any(n < 0 for n in sizes):
        raise messages.invalid(f"Expected lengths not to be negative, but saw: {min(sizes)}")
    if sum(sizes) != value.shape[0]:
        raise messages.invalid(
            "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{sum(sizes)} and value's shape is: {shapes.to_text(value.shape)}"
        )
    if len(sizes) != size and not (is_dynamic and len(sizes) > size):
        raise messages.invalid(
            f"TensorArray's size is not equal to the size of lengths ({size} vs. {len(sizes)}), and the "
            "TensorArray is not marked as dynamically resizeable"
        )
    ends = np.cumsum([0, *sizes]).tolist()
    return [np.ascontiguousarray(value[a:b]) for a, b in itertools.pairwise(ends)]


def check_scalar(value: Any, what: str) -> None:
    """Checks that an index or a size is a scalar.

    Raises:
      InvalidArgumentError: It has another shape.
    """
    if np.ndim(value):
        raise messages.invalid(
            f"TensorArray {what} must be scalar, but had shape: {shapes.to_text(np.shape(value))}"
        )


def check_rows(value: Any, places: Sequence[int], size: int, is_dynamic: bool) -> None:
    """Checks that a tensor's rows can be the elements at some places.

    Raises:
      InvalidArgumentError: They are not as many, or a place is beyond the end of an array that does not grow.
    """
    if value.ndim == 0:
        raise messages.invalid("Input value for unpack must be at least a vector but received shape: []")
    if len(places) != value.shape[0]:
        raise messages.invalid(
            f"Expected len(indices) == values.shape[0], but saw: {len(places)} vs. {value.shape[0]}"
        )
    most = max(places, default=-1)
    if most >= size and not is_dynamic:
        raise messages.beyond(most, size)
