"""TensorList: an immutable list of tensors whose newest version is changed at the cost of a Python list.

Loops make a chain of versions, each the last one with an element more, fewer or replaced, and hardly ever look at
any but the newest. So the newest version owns the Python list; an older one knows how it differs from its successor.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace import errors, shapes
from headrace.dtypes import DType
from headrace.shapes import Shape

_lock = threading.RLock()
_GONE: Any = object()  # stands for "no element": undoing a push
_FAR = 16  # versions; what is further from the newest one gets a Python list of its own when read
_MOST = 1 << 27  # elements; a list of more is a mistake, and as pointers alone fills a gigabyte


class TensorList:
    """A list of tensors of one type, which may be unset; changing it gives another list.

    Attributes:
      element_dtype: The type of all elements.
      element_shape: What is known of the shape of all elements.
      most: How many elements it may be pushed to, -1 for any number.
      size: How many elements there are.
      log: What was done to the elements of the `tf.TensorArray` that it stands for, or None.
    """

    __slots__ = (
        "_index",
        "_items",
        "_newer",
        "_was",
        "element_dtype",
        "element_shape",
        "log",
        "most",
        "size",
    )

    def __init__(
        self,
        element_dtype: DType,
        element_shape: Shape = None,
        items: Iterable[Any] = (),
        most: int = -1,
    ):
        self.element_dtype = element_dtype
        self.element_shape = element_shape
        self.most = most
        self._items: list[Any] | None = list(items)
        self.size = len(self._items)
        self._newer: TensorList | None = None
        self._index = 0
        self._was: Any = None
        self.log: Any = None  # an ArrayLog, shared by all versions

    @classmethod
    def reserved(cls, element_dtype: DType, element_shape: Shape, n: int) -> TensorList:
        """Returns a list of `n` unset elements.

        Raises:
          ResourceExhaustedError: It would be absurdly long.
        """
        check_length(n)
        return cls(element_dtype, element_shape, [None] * n)

    @property
    def items(self) -> list[Any]:
        """The elements, None where unset, as a list that must not be changed."""
        with _lock:
            return self._owned() if self._items is None else self._items

    def get(self, i: int) -> Any:
        """Returns an element, None if it is unset."""
        with _lock:
            version: TensorList | None = self
            for _ in range(_FAR):
                assert version is not None
                if version._items is not None:
                    return version._items[i]
                if version._index == i:
                    return version._was
                version = version._newer
            return self._owned()[i]

    def set(self, i: int, value: Any) -> TensorList:
        """Returns the list with another element at a place."""
        with _lock:
            items = self._owned()
            new = self._succeeded(i, items[i], items, self.size)
            items[i] = value
            return new

    def push(self, value: Any) -> TensorList:
        """Returns the list with an element more."""
        with _lock:
            items = self._owned()
            new = self._succeeded(self.size, _GONE, items, self.size + 1)
            items.append(value)
            return new

    def pop(self) -> tuple[TensorList, Any]:
        """Returns the list without its last element, and that element."""
        with _lock:
            items = self._owned()
            value = items.pop()
            return self._succeeded(self.size - 1, value, items, self.size - 1), value

    def like(self, items: Iterable[Any]) -> TensorList:
        """Returns a list with other elements of the same type and shape."""
        return TensorList(self.element_dtype, self.element_shape, items, self.most)

    def changed(self, items: Iterable[Any]) -> TensorList:
        """Returns the same list with other elements: what it stands for stays the same."""
        new = self.like(items)
        new.log = self.log
        return new

    def _succeeded(self, index: int, was: Any, items: list[Any], size: int) -> TensorList:
        new = TensorList.__new__(TensorList)
        new.element_dtype, new.element_shape, new.most = self.element_dtype, self.element_shape, self.most
        new._items, new.size, new._newer, new._was, new._index = items, size, None, None, 0
        new.log = self.log
        self._items, self._newer, self._index, self._was = None, new, index, was
        return new

    def _owned(self) -> list[Any]:
        """Returns a Python list that is this version's own."""
        if self._items is not None:
            return self._items
        chain: list[TensorList] = []
        version: TensorList | None = self
        while version is not None and version._items is None:
            chain.append(version)
            version = version._newer
        assert version is not None and version._items is not None
        items = list(version._items)
        for older in reversed(chain):
            if older._was is _GONE:
                items.pop()
            elif older._index == len(items):
                items.append(older._was)
            else:
                items[older._index] = older._was
        self._items, self._newer, self._was = items, None, None
        return items

    # -- what variants can do --------------------------------------------------------------------------------
    def add(self, other: TensorList) -> TensorList:
        """Returns the list of the sums of two lists' elements; an unset one counts as zero.

        Raises:
          InvalidArgumentError: Types, lengths or shapes differ.
        """
        if other.element_dtype is not self.element_dtype:
            raise _invalid(
                "Trying to add two lists of tensors of different dtypes. One is "
                f"{_type_name(self.element_dtype)} and the other is {_type_name(other.element_dtype)}"
            )
        if other.size != self.size:
            raise _invalid(
                f"Trying to add two lists of tensors with different lengths. One is {self.size} and the other is "
                f"{other.size}"
            )
        try:
            shape = shapes.merge(self.element_shape, other.element_shape)
        except ValueError:
            raise _invalid(
                "Trying to add two lists of tensors with incompatible element shapes. One is "
                f"{shape_text(self.element_shape)} and the other is {shape_text(other.element_shape)}"
            ) from None
        items = [_sum(a, b) for a, b in zip(self.items, other.items, strict=True)]
        return TensorList(self.element_dtype, shape, items, self.most)

    __add__ = add

    def zeros_like(self) -> TensorList:
        """Returns the list with zeros in place of its elements; unset ones stay unset."""
        return self.like([None if x is None else _zeros_like(x) for x in self.items])

    def __repr__(self) -> str:
        return f"<list of {self.size} {self.element_dtype.name} tensors of shape {shape_text(self.element_shape)}>"


def as_list(value: Any) -> TensorList:
    """Returns the list that a variant holds.

    Raises:
      InvalidArgumentError: It holds something else.
    """
    if type(value) is np.ndarray and value.shape == ():
        value = value.item()
    if not isinstance(value, TensorList):
        raise _invalid("Input handle is not a list. Saw: '<unknown type>'")
    return value


def check_length(n: int) -> None:
    """Refuses absurdly long lists.

    Raises:
      ResourceExhaustedError: `n` is more than fits into memory.
    """
    if n > _MOST:
        raise errors.ResourceExhaustedError(None, None, f"A list of {n} tensors does not fit into memory")


def shape_text(shape: Shape) -> str:
    """Returns a partial shape as TensorFlow's kernels print it."""
    return "<unknown>" if shape is None else shapes.to_text(shape)


def _type_name(dtype: DType) -> str:
    return "float" if dtype.name == "float32" else "double" if dtype.name == "float64" else dtype.name


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)  # type: ignore[no-any-return]


def _sum(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, TensorList):
        return a.add(b)
    if a.shape != b.shape:
        raise _invalid(
            "Trying to add two tensors with incompatible element shapes. One is "
            f"{shape_text(a.shape)} and the other is {shape_text(b.shape)}"
        )
    with np.errstate(all="ignore"):
        return np.asarray(np.asarray(a) + np.asarray(b))


def _zeros_like(x: Any) -> Any:
    if hasattr(x, "zeros_like"):  # a list, or an optional
        return x.zeros_like()
    return np.full(x.shape, b"", object) if x.dtype == object else np.zeros(x.shape, x.dtype)
