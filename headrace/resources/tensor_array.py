"""What TensorArray and Stack ops work on: arrays of tensors that live for one step."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import shapes
from headrace.dtypes import DType
from headrace.resources import array_messages as messages
from headrace.resources.array_messages import invalid
from headrace.resources.tensor_list import check_length, shape_text
from headrace.shapes import Shape

_numbers = itertools.count()
_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def _type_name(dtype: DType) -> str:
    return _NAMES.get(dtype.name, dtype.name)


class _Element:
    """One place: its tensor if there is one, its shape once that is known, what was done to it."""

    __slots__ = ("cleared", "read", "shape", "value", "written")

    def __init__(self) -> None:
        self.value: Any = None
        self.shape: tuple[int, ...] | None = None
        self.written = self.read = self.cleared = False


class TensorArray:
    """An array of tensors, each of which is written once.

    Attributes:
      name: What messages call it.
      dtype: The elements' type.
      element_shape: What is known of the elements' shape.
      is_dynamic: Whether writing beyond the end makes it longer.
      clears: Whether an element is forgotten once it was read.
      is_uniform: Whether all elements have the shape of the first one written.
      adds: Whether writing again adds up: the gradients of another array.
    """

    def __init__(
        self,
        name: str,
        dtype: DType,
        size: int,
        *,
        element_shape: Shape = None,
        is_dynamic: bool = False,
        clears: bool = True,
        is_uniform: bool = False,
        adds: bool = False,
    ) -> None:
        if size < 0:
            raise invalid("Size should be >= 0.")
        check_length(size)
        self.name = name
        self.dtype = dtype
        self.element_shape = element_shape
        self.is_dynamic = is_dynamic
        self.clears = clears
        self.is_uniform = is_uniform
        self.adds = adds
        self._elements = [_Element() for _ in range(size)]
        self._gradients: dict[tuple[str, tuple[int, ...]], TensorArray] = {}
        self._is_closed = False
        self._lock = threading.RLock()

    @staticmethod
    def numbered(name: str) -> str:
        """Returns a name that no other array or stack of this process has."""
        return f"{name}_{next(_numbers)}"

    @property
    def size(self) -> int:
        """How many elements there are.

        Raises:
          InvalidArgumentError: It was closed.
        """
        self._check_open()
        return len(self._elements)

    def close(self) -> None:
        """Forgets all elements; the array can't be used any more."""
        with self._lock:
            self._is_closed = True
            self._elements = []

    def _check_open(self) -> None:
        if self._is_closed:
            raise messages.closed(self.name)

    def grow(self, size: int) -> None:
        """Makes a dynamic array at least so long."""
        check_length(size)
        with self._lock:
            while len(self._elements) < size:
                self._elements.append(_Element())

    # -- writing -------------------------------------------------------------------------------------------------
    def check_written(self, dtype: DType) -> None:
        """Refuses values of another type.

        Raises:
          InvalidArgumentError: `dtype` is not the elements' type.
        """
        if dtype is not self.dtype:
            raise invalid(
                f"TensorArray dtype is {_type_name(self.dtype)} but Op is trying to write dtype {_type_name(dtype)}."
            )

    def write(self, i: int, value: Any) -> None:
        """Gives an element its tensor.

        Raises:
          InvalidArgumentError: It has one, was read, is out of range, or has another shape.
        """
        with self._lock:
            self._check_open()
            if i < 0 or (i >= len(self._elements) and not self.is_dynamic):
                raise messages.not_resizeable(self.name, i, len(self._elements))
            self.grow(i + 1)
            if not shapes.compatible(value.shape, self.element_shape):
                raise messages.another_shape(self.name, i, value.shape, self.element_shape)
            element = self._elements[i]
            if element.read:
                raise messages.not_written(self.name, i, messages.WAS_READ)
            if element.written and not self.adds:
                raise messages.not_written(self.name, i, messages.WAS_WRITTEN)
            if element.written:
                if element.shape != value.shape:
                    raise invalid(
                        f"TensorArray {self.name}: Could not aggregate to TensorArray index {i} because the existing "
                        f"shape is {shape_text(element.shape)} but the new input shape is {shape_text(value.shape)}."
                    )
                if element.value is not None:
                    with np.errstate(all="ignore"):
                        value = np.asarray(element.value + value)
            if self.is_uniform:
                self.element_shape = shapes.merge(self.element_shape, value.shape)
            element.value, element.shape, element.written = value, value.shape, True

    # -- reading -------------------------------------------------------------------------------------------------
    def check_read(self, dtype: DType) -> None:
        """Refuses to be read as another type.

        Raises:
          InvalidArgumentError: `dtype` is not the elements' type.
        """
        if dtype is not self.dtype:
            raise invalid(
                f"TensorArray dtype is {_type_name(self.dtype)} but Op requested dtype {_type_name(dtype)}."
            )

    def read(self, i: int) -> Any:
        """Returns an element's tensor; zeros where it is not set and its shape is known.

        Raises:
          InvalidArgumentError: It was forgotten, is out of range, or nothing is known of it.
        """
        with self._lock:
            self._check_open()
            if not 0 <= i < len(self._elements):
                raise messages.not_there(i, len(self._elements))
            element = self._elements[i]
            if element.cleared:
                raise messages.read_twice(self.name, i)
            value = element.value
            if value is None:
                value = self._zeros(i, element)
            element.read = True
            if self.clears:
                element.value, element.cleared = None, True
            return value

    def _zeros(self, i: int, element: _Element) -> Any:
        shape = element.shape if element.written else self.element_shape
        if not shapes.is_full(shape):
            raise messages.unknown_shape(self.name, i, shape)
        if self.dtype.storage.hasobject:
            raise messages.no_zeros(self.dtype)
        element.shape, element.written = shape, True  # type: ignore[assignment]
        return np.zeros(shape, self.dtype.storage)

    def read_many(self, indices: Sequence[int]) -> list[Any]:
        """Returns several elements.

        Raises:
          InvalidArgumentError: One can't be read.
        """
        with self._lock:
            return [self.read(i) for i in indices]

    # -- gradients -----------------------------------------------------------------------------------------------
    def gradient(self, source: str, prefix: tuple[int, ...] = ()) -> TensorArray:
        """Returns the array of the gradients of the elements, the same one for each use of a source.

        It starts with zeros where this array is written, and what is written to it adds up.

        Args:
          source: Which call of `tf.gradients` it belongs to.
          prefix: Dimensions that gradients have before those of the elements.

        Raises:
          InvalidArgumentError: This array was closed, or is one of gradients itself.
        """
        if self.adds:
            raise invalid(f"Wrong input container. _tensor_array_grads{self.name}")
        with self._lock:
            self._check_open()
            # What gradients were taken of can't grow any more.
            self.is_dynamic = False
            found = self._gradients.get((source, prefix))
            if found is None:
                shape = shapes.concatenate(prefix, self.element_shape)
                found = TensorArray(
                    f"{self.name}@{source}",
                    self.dtype,
                    len(self._elements),
                    element_shape=shape,
                    is_uniform=self.is_uniform,
                    adds=True,
                )
                for mine, its in zip(self._elements, found._elements, strict=True):
                    if mine.shape is not None:
                        its.shape, its.written = (*prefix, *mine.shape), True
                self._gradients[source, prefix] = found
            return found


class Stack:
    """A stack of tensors.

    Attributes:
      name: What messages call it.
      dtype: The elements' type.
      most: How many elements fit, -1 for any number.
    """

    def __init__(self, name: str, dtype: DType, most: int = -1) -> None:
        self.name = name
        self.dtype = dtype
        self.most = most
        self._elements: list[Any] = []
        self._is_closed = False

    def push(self, value: Any, dtype: DType) -> None:
        """Puts a tensor on top.

        Raises:
          InvalidArgumentError: It has another type, the stack is full or was closed.
        """
        if dtype is not self.dtype:
            raise invalid(f"Must have type {self.dtype.as_datatype_enum} but got {dtype.as_datatype_enum}")
        self._check_open()
        if 0 <= self.most <= len(self._elements):
            raise invalid(f"Stack[{self.name}] overflowed its max_size ({self.most})")
        self._elements.append(value)

    def pop(self) -> Any:
        """Takes the top off and returns it.

        Raises:
          InvalidArgumentError: The stack is empty or was closed.
        """
        self._check_open()
        if not self._elements:
            raise invalid(f"Stack[{self.name}] is empty when calling Pop().")
        return self._elements.pop()

    def close(self) -> None:
        """Forgets all elements; the stack can't be used any more."""
        self._elements = []
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise invalid(f"Stack[{self.name}] has already been closed.")
