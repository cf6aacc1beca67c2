"""Has a compiled step refuse to write or read an element of a `tf.TensorArray` twice.

The interpreter keeps a log of each array. A compiled step keeps flags of what was written and read, beside its
variables, where the graph alone doesn't tell that no element is met twice.
"""

from __future__ import annotations

from typing import Any

from headrace import shapes
from headrace.graph import Operation
from headrace.lazy import jnp
from headrace.opdef import constant_value
from headrace.ops.array.array_uses import needs_flags
from headrace.ops.array.tensor_list_shapes import ARRAY
from headrace.resources.stacked_list import ArrayFlags
from headrace.shapes import Shape

_FLAGS, _NEEDS = "array_flags", "array_needs_flags"


def is_checked(op: Operation) -> bool:
    """Whether steps have to look at what is done to the elements of an array that a node of the program makes."""
    nodes = len(op._graph._ops)
    found = op.__dict__.get(_NEEDS)
    if found is None or found[0] != nodes:
        found = op.__dict__[_NEEDS] = nodes, needs_flags(op)
    return bool(found[1])


def with_flags(ctx: Any, given: Any, capacity: int, is_filled: bool = False) -> Any:
    """Returns a new array as a compiled step takes it: with flags, if steps have to look at its elements.

    Args:
      ctx: The context of the rule that makes it.
      given: The array.
      capacity: How many elements there is room for.
      is_filled: Whether all of them have been written.
    """
    if ctx.mark(ARRAY) is not None and is_checked(ctx.source):
        given.flags = ctx.source.__dict__.setdefault(_FLAGS, ArrayFlags(ctx.source))
        ctx.write(given.flags, jnp.stack([jnp.full(capacity, is_filled), jnp.zeros(capacity, bool)]))
    return given


def _flags(ctx: Any, given: Any) -> Any:
    if given.flags is None:
        return None
    if not ctx.is_initialized(given.flags):
        raise NotImplementedError("what was done to the elements before is not known")
    return ctx.read(given.flags)


def check_written(ctx: Any, given: Any, places: Any) -> None:
    """Has a compiled step refuse to write elements twice, or once they were read."""
    flags = _flags(ctx, given)
    if flags is None:
        return
    if places.size > 1:
        _check_apart(ctx, places)
    found = flags.at[:, places].get(mode="fill", fill_value=False)
    ctx.check(~found, "an element is written again")
    ctx.write(given.flags, flags.at[0, places].set(True))


def _check_apart(ctx: Any, places: Any) -> None:
    ordered = jnp.sort(places)
    ctx.check(ordered[1:] != ordered[:-1], "the same element twice")


def check_read(ctx: Any, given: Any, places: Any) -> None:
    """Has a compiled step refuse to read elements twice that are cleared when they are read."""
    facts = ctx.mark(ARRAY)
    if facts is None:
        return
    places = places.reshape(-1)
    if facts.clears and places.size > 1 and constant_value(ctx.source._inputs[1]) is None:
        _check_apart(ctx, places)
    flags = _flags(ctx, given)
    if flags is None:
        return
    if facts.clears:
        ctx.check(~flags[1].at[places].get(mode="fill", fill_value=False), "an element is read again")
    ctx.write(given.flags, flags.at[1, places].set(True))


def check_all_read(ctx: Any, given: Any) -> None:
    """Has a compiled step refuse to read all elements where one was read before."""
    facts, flags = ctx.mark(ARRAY), _flags(ctx, given)
    if facts is None or flags is None:
        return
    if facts.clears:
        ctx.check(~flags[1], "an element is read again")
    ctx.write(given.flags, flags.at[1].set(True))


def refuse_unset(ctx: Any, shape: Shape = None) -> None:
    """Refuses to read elements of an array to which nothing was written, unless their shape was told.

    Args:
      ctx: The context of the rule that reads them.
      shape: What the node says of their shape; only those that read many say it when they run.

    Raises:
      NotImplementedError: It was not; the host rule words the error.
    """
    facts = ctx.mark(ARRAY)
    if facts is not None and not shapes.is_full(facts.shape) and not shapes.is_full(shape):
        raise NotImplementedError("the shape of an unset element is not known")


def check_set(ctx: Any, given: Any, places: Any, shape: Shape = None) -> None:
    """Has a compiled step refuse to read elements that were never written, where nothing tells their shape.

    Elements that were written tell it, if all of an array have one shape.

    Args:
      ctx: The context of the rule that reads them.
      given: The array.
      places: Which elements.
      shape: As in `refuse_unset`.
    """
    facts = ctx.mark(ARRAY)
    if given.is_set is None or shapes.is_full(facts.shape) or shapes.is_full(shape):
        return
    ctx.check(given.is_set.any() if facts.is_uniform else given.is_set[places], "an unset element")


def resized(ctx: Any, given: Any, n: int) -> None:
    """Has the flags of an array be those of another number of elements."""
    flags = _flags(ctx, given)
    if flags is not None:
        more = max(0, n - flags.shape[1])
        ctx.write(given.flags, jnp.pad(flags[:, :n], ((0, 0), (0, more))))
