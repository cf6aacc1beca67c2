"""A tensor list as XLA can hold it: one array that has the elements along its first dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.dtypes import DType
from headrace.lazy import jax, jnp, lax
from headrace.resources.tensor_list import TensorList
from headrace.shapes import Shape

_registered = False
_NONE: Any = object()  # stands for the only element that is not zero where there is none


class ArrayFlags:
    """Stands, among a trace's variables, for what was written and read of a `tf.TensorArray`.

    Attributes:
      maker: The node that makes the array.
    """

    __slots__ = ("maker",)

    def __init__(self, maker: Any):
        self.maker = maker

    @property
    def name(self) -> str:
        return f"the elements of {self.maker.name}"


class StackedList:
    """A list of tensors of one shape within a compiled step; changing it gives another list.

    What one array can't hold is refused with NotImplementedError: the host then works on a TensorList instead.

    Attributes:
      element_dtype: The type of all elements.
      buffer: Array [capacity, *element shape], None as long as no element has told its shape.
      rows: The same, except that rows which `blank` marks stand for zeros.
      blank: Array [capacity] of bools, or None: a loop that clears one element after the other then moves this and
        not all the elements.
      size: How many elements there are: a number, or a scalar int32 in a loop that makes the list longer.
      is_set: Array [capacity] of bools where unset elements may not be read as zeros, else None.
      element_shape: What was said of the elements' shape when the list was made.
      is_fixed: Whether the buffer can't grow.
      most: How many elements it may be pushed to, -1 for any number.
      flags: Under which key a trace keeps, beside its variables, which elements of the array that the list belongs to
        were written and read, where a step has to look at that; else None.
      constant: An array that all elements equal, known while tracing; there is no buffer then. The shapes that a
        loop leaves for its gradient are such elements.
    """

    __slots__ = (
        "_host",
        "_only",
        "blank",
        "constant",
        "element_dtype",
        "element_shape",
        "flags",
        "is_fixed",
        "is_set",
        "most",
        "rows",
        "size",
    )

    def __init__(
        self,
        element_dtype: DType,
        buffer: Any,
        size: Any,
        is_set: Any = None,
        element_shape: Shape = None,
        is_fixed: bool = False,
        constant: np.ndarray[Any, Any] | None = None,
        most: int = -1,
        blank: Any = None,
        flags: ArrayFlags | None = None,
    ):
        _register()
        self.element_dtype = element_dtype
        self.rows = buffer
        self.blank = blank
        self.size = size
        self.is_set = is_set
        self.element_shape = element_shape
        self.is_fixed = is_fixed
        self.constant = constant
        self.most = most
        self.flags = flags
        self._host: TensorList | None = None
        # (index, value) of the only element that is not zero, while tracing: sums of such lists touch one row.
        self._only: tuple[Any, Any] | None = None

    @property
    def buffer(self) -> Any:
        if self.blank is None:
            return self.rows
        return jnp.where(_beside(self.blank, self.rows), np.zeros((), self.rows.dtype), self.rows)

    def like(
        self, buffer: Any, size: Any, is_set: Any = None, is_fixed: bool | None = None, blank: Any = None
    ) -> StackedList:
        """Returns a list of the same kind with other elements."""
        fixed = self.is_fixed if is_fixed is None else is_fixed
        constant = self.constant if buffer is None else None
        return StackedList(
            self.element_dtype,
            buffer,
            size,
            is_set,
            self.element_shape,
            fixed,
            constant,
            self.most,
            blank,
            self.flags,
        )

    def of_constant(self, constant: np.ndarray[Any, Any] | None, size: Any) -> StackedList:
        """Returns a list of the same kind all of whose elements are one known array."""
        made = StackedList(
            self.element_dtype, None, size, None, self.element_shape, self.is_fixed, constant, self.most
        )
        made.flags = self.flags
        return made

    @property
    def has_known_size(self) -> bool:
        return isinstance(self.size, int)

    def known_size(self) -> int:
        """Returns the number of elements.

        Raises:
          NotImplementedError: It depends on data.
        """
        if not isinstance(self.size, int):
            raise NotImplementedError("the length of a list depends on data")
        return self.size

    def merged_shape(self, asked: Shape) -> Shape:
        """Returns what the list and one who reads it say of the elements' shape."""
        try:
            shape = shapes.merge(asked, self.element_shape)
            if self.buffer is not None:
                shapes.merge(shape, self.buffer.shape[1:])
        except ValueError as e:
            raise NotImplementedError(str(e)) from None
        return shape

    def with_shape(self, shape: Any, dtype: Any, capacity: int | None = None) -> StackedList:
        """Returns the list with room for elements of a shape.

        Args:
          shape: The elements' shape.
          dtype: Their type.
          capacity: The least number of elements to have room for; the number of elements by default.
        """
        buffer, is_set = self.buffer, self.is_set
        if capacity is None:
            if isinstance(self.size, int):
                capacity = self.size
            else:  # one of a loop of any length, whose flags have the room that it is to have
                capacity = 0 if self.is_set is None else self.is_set.shape[0]
        rows = self.rows
        if (
            rows is not None
            and rows.shape[1:] == tuple(shape)
            and rows.dtype == dtype
            and rows.shape[0] >= capacity
        ):
            return self
        if not shapes.compatible(tuple(shape), self.element_shape):
            raise NotImplementedError(f"an element of shape {tuple(shape)} in a list of {self.element_shape}")
        if buffer is None and self.constant is not None:
            buffer = jnp.broadcast_to(self.constant, (capacity, *self.constant.shape))
        elif buffer is None:
            buffer = jnp.zeros((capacity, *shape), dtype)
        if buffer.shape[1:] != tuple(shape) or buffer.dtype != dtype:
            raise NotImplementedError(f"elements of shapes {buffer.shape[1:]} and {tuple(shape)} in a list")
        if buffer.shape[0] < capacity:
            more = jnp.zeros((capacity - buffer.shape[0], *shape), dtype)
            buffer = jnp.concatenate([buffer, more])
        if is_set is not None and is_set.shape[0] < buffer.shape[0]:
            is_set = jnp.concatenate([is_set, jnp.zeros(buffer.shape[0] - is_set.shape[0], bool)])
        return self.like(buffer, self.size, is_set)

    def get(self, index: Any) -> Any:
        """Returns an element, which must be in range."""
        if self.rows is None and self.constant is not None:
            return self.constant
        row = lax.dynamic_index_in_dim(self.rows, index, 0, keepdims=False)
        return row if self.blank is None else jnp.where(self.blank[index], np.zeros((), row.dtype), row)

    def set(self, index: Any, value: Any) -> StackedList:
        """Returns the list with another element at a place, which must be in range."""
        value = jnp.asarray(value)
        full = self
        if self.rows is None or self.rows.shape[1:] != value.shape or self.rows.dtype != value.dtype:
            full = self.with_shape(value.shape, value.dtype)
        is_set = None if full.is_set is None else full.is_set.at[index].set(True)
        blank = None if full.blank is None else full.blank.at[index].set(False)
        rows = lax.dynamic_update_index_in_dim(full.rows, value, index, 0)
        changed = self.like(rows, self.size, is_set, blank=blank)
        if is_set is None and self._only is _NONE:
            changed._only = index, value
        return changed

    def cleared(self, index: Any, shape: Shape, dtype: Any) -> StackedList:
        """Returns the list with zeros of a shape at a place, which must be in range."""
        if self.rows is None or self.rows.shape[1:] != shape or self.rows.dtype != dtype:
            return self.set(index, jnp.zeros(shape, dtype))
        is_set = None if self.is_set is None else self.is_set.at[index].set(True)
        return self.like(self.rows, self.size, is_set, blank=self.with_blanks().blank.at[index].set(True))

    def with_blanks(self) -> StackedList:
        """Returns the list with an array that says which elements stand for zeros."""
        if self.blank is not None or self.rows is None:
            return self
        return self.like(self.rows, self.size, self.is_set, blank=jnp.zeros(self.rows.shape[0], bool))

    def without_blanks(self) -> StackedList:
        """Returns the list with its zeros written out."""
        return self if self.blank is None else self.like(self.buffer, self.size, self.is_set)

    def all_zeros(self) -> StackedList:
        """Returns the list, of which the caller knows that all its elements are zeros."""
        self._only = _NONE
        return self

    def push(self, value: Any) -> StackedList:
        """Returns the list with an element more; one that is a NumPy array is known to be the same in all steps."""
        if type(value) is np.ndarray and self.buffer is None:
            known = self.constant
            if known is None and self.has_known_size and not self.size:
                return self.of_constant(value, 1)
            if known is not None and _same(known, value):
                return self.of_constant(known, self.size + 1)
        if self.is_fixed:
            longer = self.set(self.size, value)
            return self.like(longer.rows, self.size + 1, longer.is_set, blank=longer.blank)
        n = self.known_size()
        return self.with_shape(value.shape, value.dtype, n + 1).set(n, value).like_with_size(n + 1)

    def like_with_size(self, size: Any) -> StackedList:
        """Returns the list with another number of its elements."""
        return self.like(self.rows, size, self.is_set, blank=self.blank)

    def pop(self) -> tuple[StackedList, Any]:
        """Returns the list without its last element, and that element; there must be one."""
        return self.like_with_size(self.size - 1), self.get(self.size - 1)

    def stacked(self) -> Any:
        """Returns the elements as one array."""
        n = self.known_size()
        if self.buffer is None and self.constant is not None:
            return jnp.broadcast_to(self.constant, (n, *self.constant.shape))
        return self.buffer if self.buffer.shape[0] == n else self.buffer[:n]

    def add(self, other: StackedList) -> StackedList:
        """Returns the list of the sums of elements."""
        if self.constant is not None or other.constant is not None:
            raise NotImplementedError("a sum of lists of known elements")
        if self.buffer is None or other.buffer is None:
            return other if self.buffer is None else self
        known = self.has_known_size and other.has_known_size
        if self.buffer.shape != other.buffer.shape or (known and self.size != other.size):
            raise NotImplementedError("a sum of lists of different lengths")
        is_set = None
        if self.is_set is not None and other.is_set is not None:
            is_set = self.is_set | other.is_set
        size = self.size if self.has_known_size else other.size
        for all_rows, one in ((self, other), (other, self)):
            if type(one._only) is tuple and is_set is None:
                index, value = one._only
                return self.like(all_rows.set(index, all_rows.get(index) + value).buffer, size)
        return self.like(self.buffer + other.buffer, size, is_set)

    def zeros_like(self) -> StackedList:
        """Returns the list with zeros in place of its elements."""
        if self.constant is not None:
            return self.of_constant(np.zeros_like(self.constant), self.size)
        return self.like(None if self.buffer is None else jnp.zeros_like(self.buffer), self.size, self.is_set)

    def host_rows(self) -> np.ndarray[Any, Any]:
        """Returns the elements, and what there is room for, as a NumPy array."""
        rows = np.asarray(self.rows)
        if self.blank is not None:
            rows = np.where(_beside(np.asarray(self.blank), rows), np.zeros((), rows.dtype), rows)
        return rows

    def on_host(self) -> TensorList:
        """Returns the list as host rules take it, made once."""
        if self._host is None:
            n = int(self.size)
            if self.constant is not None:
                self._host = TensorList(
                    self.element_dtype, self.element_shape, [self.constant] * n, self.most
                )
            elif self.buffer is None:
                self._host = TensorList.reserved(self.element_dtype, self.element_shape, n)
            else:
                rows = self.host_rows()[:n]
                known = [True] * n if self.is_set is None else np.asarray(self.is_set)[:n]
                items = [row if is_set else None for row, is_set in zip(rows, known, strict=True)]
                self._host = TensorList(self.element_dtype, self.element_shape, items, self.most)
        return self._host


def _register() -> None:
    """Tells JAX how lists are taken apart, once there is one: importing this must not import JAX."""
    global _registered
    if not _registered:
        _registered = True
        jax.tree_util.register_pytree_node(StackedList, _take_apart, _put_together)


def _beside(flags: Any, rows: Any) -> Any:
    """Returns flags of rows in a form that broadcasts against the rows."""
    return flags.reshape((-1,) + (1,) * (rows.ndim - 1))


class _Known:
    """An array that is equal to and hashed as others of the same type, shape and elements."""

    __slots__ = ("array", "key")

    def __init__(self, array: np.ndarray[Any, Any]):
        self.array = array
        self.key = array.dtype.str, array.shape, array.tobytes()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Known) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return _Known(a) == _Known(b)


def _take_apart(each: StackedList) -> tuple[Any, Any]:
    known = each.size if each.has_known_size else None
    size = () if each.has_known_size else each.size
    constant = None if each.constant is None else _Known(each.constant)
    told = each.element_dtype, known, each.element_shape, each.is_fixed, constant, each.most, each.flags
    return (each.rows, size, each.is_set, each.blank), told


def _put_together(aux: Any, children: Any) -> StackedList:
    dtype, known, element_shape, is_fixed, constant, most, flags = aux
    buffer, size, is_set, blank = children
    return StackedList(
        dtype,
        buffer,
        size if known is None else known,
        is_set,
        element_shape,
        is_fixed,
        None if constant is None else constant.array,
        most,
        blank,
        flags,
    )
