"""NthElement: what would lie at a place if rows were sorted."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.opdef import op
from headrace.ops.nn.names import public
from headrace.shapes import to_text, with_rank, with_rank_at_least

NthElement = op("""
    NthElement(input: T, n: int32) -> (values: T)
      reverse: bool = false
      T: realnumbertype

    The element of each row (of the last axis) that has `n` smaller ones, or with `reverse` larger ones.
""")  # fmt: skip


@NthElement.shape
def nth_element_shape(input, n, *, ctx):
    shape = with_rank_at_least(input, 1)
    place = ctx.constant("n")
    if place is not None:
        if place.ndim:
            raise ValueError(f"Input must be scalar but has rank {place.ndim}")
        if place < 0:
            raise ValueError(
                f"Dimension size, given by scalar input 1, must be non-negative but is {int(place)}"
            )
    else:
        with_rank(n, 0)
    if shape is None:
        return None
    if place is not None and shape[-1] is not None and shape[-1] <= place:
        raise ValueError(f"Input must have last dimension > n = {int(place)} but is {shape[-1]}")
    return shape[:-1]


def _checked(input, n):
    if n.ndim:
        raise InvalidArgumentError(None, None, f"N must be scalar, got shape {to_text(n.shape)}")
    if input.ndim < 1:
        raise InvalidArgumentError(None, None, f"Input must be >= 1-D, got shape {to_text(input.shape)}")


@NthElement.host
def nth_element_host(input, n, *, reverse):
    _checked(input, n)
    if n < 0:
        raise InvalidArgumentError(None, None, f"Need n >= 0, got {int(n)}")
    width = input.shape[-1]
    if width <= n:
        raise InvalidArgumentError(None, None, "Input must have at least n+1 columns")
    place = width - 1 - int(n) if reverse else int(n)
    return np.array(np.partition(input, place, -1)[..., place])


@NthElement.lower
def nth_element_lower(input, n, *, reverse, ctx):
    _checked(input, n)
    width = input.shape[-1]
    if width == 0:
        raise InvalidArgumentError(None, None, "Input must have at least n+1 columns")
    ctx.check((n >= 0) & (n < width), "NthElement: n is out of range")
    place = jnp.clip(width - 1 - n if reverse else n, 0, width - 1)
    return jnp.take(jnp.sort(input, -1), place, -1)


@NthElement.grad
def nth_element_grad(op, dy):
    # Elements that are equal share the gradient.
    chosen = public.cast(public.equal(public.expand_dims(op.outputs[0], -1), op.inputs[0]), dy.dtype)
    dy = public.expand_dims(dy, -1)
    count = public.expand_dims(public.reduce_sum(chosen, -1), -1)
    return [public.div(chosen, count) * dy, None]


@NthElement.cases
def nth_element_cases(case):
    rows = np.array([[3, 1, 2, 2], [9, -1, 5, 4]], np.float32)
    case(rows, np.int32(0), gives=[1, -1])
    case(rows, np.int32(3), gives=[3, 9])
    case(rows, np.int32(1), reverse=True, gives=[2, 5])
    case(rows.astype(np.int8), np.int32(2), gives=np.array([2, 5], np.int8))
    case(rows[1], np.int32(2), gives=np.float32(5))
    case(rows[:0], np.int32(1), gives=np.zeros(0, np.float32), grad=False)
    case.shapes("[?,4,5];[]", "[?,4]")
    case.fails("[3,4];[]", match="must have last dimension > n = 4 but is 4", values={"n": np.int32(4)})
    case.fails("[3,4];[]", match="must be non-negative but is -1", values={"n": np.int32(-1)})
    case.fails("[];[]", match="at least rank 1 but is rank 0")
