"""A tensor list as XLA can hold it: one array that has the elements along its first dimension."""

from __future__ import annotations

from typing import Any

from headrace.lazy import jax, jnp, lax

_registered = False


class StackedList:
    """A list of tensors of one shape within a compiled step.

    Methods return new lists; `place` refuses what one array can't hold, so that the step's loop runs on the host.

    Attributes:
      buffer: Array [capacity, *element shape], None as long as no element has told its shape.
      size: How many elements there are: a number, or a scalar int32 in a loop that makes the list longer.
      is_fixed: Whether the buffer can't grow.
    """

    __slots__ = ("buffer", "is_fixed", "size")

    def __init__(self, buffer: Any, size: Any, is_fixed: bool = False):
        self.buffer = buffer
        self.size = size
        self.is_fixed = is_fixed

    @classmethod
    def of(cls, buffer: Any, size: Any, is_fixed: bool = False) -> StackedList:
        """Returns a list, which JAX may take apart from here on."""
        global _registered
        if not _registered:
            jax.tree_util.register_pytree_node(cls, _take_apart, _put_together)
            _registered = True
        return cls(buffer, size, is_fixed)

    @property
    def has_known_size(self) -> bool:
        return isinstance(self.size, int)

    def with_shape(self, shape: Any, dtype: Any, capacity: int | None = None) -> StackedList:
        """Returns the list with room for elements of a shape.

        Args:
          shape: The elements' shape.
          dtype: Their type.
          capacity: The least number of elements to have room for; the number of elements by default.

        Raises:
          NotImplementedError: The elements have another shape.
        """
        buffer = self.buffer
        if capacity is None:
            capacity = int(self.size) if self.has_known_size else 0
        if buffer is None:
            return StackedList.of(jnp.zeros((capacity, *shape), dtype), self.size, self.is_fixed)
        if buffer.shape[1:] != tuple(shape):
            raise NotImplementedError(f"elements of shapes {buffer.shape[1:]} and {tuple(shape)} in a list")
        if buffer.shape[0] < capacity:
            more = jnp.zeros((capacity - buffer.shape[0], *shape), dtype)
            buffer = jnp.concatenate([buffer, more])
        return StackedList.of(buffer, self.size, self.is_fixed)

    def get(self, index: Any) -> Any:
        return lax.dynamic_index_in_dim(self.buffer, index, 0, keepdims=False)

    def set(self, index: Any, value: Any) -> StackedList:
        full = self.with_shape(value.shape, value.dtype)
        return StackedList.of(
            lax.dynamic_update_index_in_dim(full.buffer, value, index, 0), self.size, self.is_fixed
        )

    def push(self, value: Any) -> StackedList:
        if not self.is_fixed:
            full = self.with_shape(value.shape, value.dtype)
            buffer = jnp.concatenate([full.buffer[: self.size], value[None]])
            return StackedList.of(buffer, self.size + 1)
        full = self.with_shape(value.shape, value.dtype)
        buffer = lax.dynamic_update_index_in_dim(full.buffer, value, self.size, 0)
        return StackedList.of(buffer, self.size + 1, True)

    def pop(self) -> tuple[StackedList, Any]:
        return StackedList.of(self.buffer, self.size - 1, self.is_fixed), self.get(self.size - 1)

    def stacked(self) -> Any:
        """Returns the elements as one array, whose number must be known."""
        return self.buffer[: self.size]

    @property
    def addressable(self) -> bool:
        """Whether the elements are arrays, not tracers."""
        return hasattr(self.buffer, "addressable_shards") and not isinstance(self.buffer, jax.core.Tracer)


def _take_apart(each: StackedList) -> tuple[Any, Any]:
    if each.has_known_size:
        return (each.buffer,), (each.size, each.is_fixed)
    return (each.buffer, each.size), (None, each.is_fixed)


def _put_together(aux: Any, children: Any) -> StackedList:
    size, is_fixed = aux
    return StackedList(children[0], children[1] if size is None else size, is_fixed)
