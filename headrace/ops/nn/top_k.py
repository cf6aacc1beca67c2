"""The k greatest elements of each row, and whether a class is among them."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp, lax
from headrace.native import rows as native
from headrace.opdef import op, raw
from headrace.ops.nn.names import public
from headrace.shapes import merge_dim, with_rank, with_rank_at_least

TopK = op("""
    TopK(input: T) -> (values: T, indices: int32)
      k: int >= 0
      sorted: bool = true
      T: realnumbertype
      deprecated 7

    The k greatest elements of each row and their places; of equal ones the first comes first.
""")  # fmt: skip

TopKV2 = op("""
    TopKV2(input: T, k: int32) -> (values: T, indices: int32)
      sorted: bool = true
      T: realnumbertype

    The k greatest elements of each row and their places; of equal ones the first comes first.
""")  # fmt: skip


def _shape(input, k):
    with_rank_at_least(input, 1)
    if input is None:
        return [None, None]
    if k is not None and input[-1] is not None and input[-1] < k:
        raise ValueError(f"input must have last dimension >= k = {k} but is {input[-1]}")
    out = (*input[:-1], k)
    return [out, out]


@TopK.shape
def top_k_shape(input, *, k):
    return _shape(input, k)


@TopKV2.shape
def top_k_v2_shape(input, k, *, ctx):
    with_rank(k, 0)
    value = ctx.constant("k")
    if value is not None and value < 0:
        raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {value}")
    return _shape(input, None if value is None else int(value))


def _check(input, k):
    if k < 0:
        raise InvalidArgumentError(None, None, f"Need k >= 0, got {k}")
    if input.ndim < 1:
        raise InvalidArgumentError(None, None, "input must be >= 1-D, got shape []")
    if input.shape[-1] < k:
        raise InvalidArgumentError(
            None, None, f"input must have at least k columns. Had {input.shape[-1]}, needed {k}"
        )


def _host(input, k):
    k = int(k)
    _check(input, k)
    found = native.top_k(input, k)
    if found is not None:
        return found
    # Sorted stably on the reversed row from below, so that the first of equal elements ends up first.
    order = np.argsort(input[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :k]
    places = (input.shape[-1] - 1 - order).astype(np.int32)
    return np.take_along_axis(input, places, axis=-1), places


def _lower(input, k):
    k = int(k)
    _check(input, k)
    if input.dtype.kind == "f" or input.dtype.name == "bfloat16" or input.dtype == jnp.int32:
        if input.dtype == jnp.int32:
            values, places = lax.top_k(input, k)
            return values, places.astype(jnp.int32)
        # XLA puts 0 before -0, which here are equal.
        _, places = lax.top_k(jnp.where(input == 0, jnp.zeros((), input.dtype), input), k)
        return jnp.take_along_axis(input, places, axis=-1), places.astype(jnp.int32)
    places = input.shape[-1] - 1 - jnp.argsort(input[..., ::-1], axis=-1, stable=True)[..., ::-1][..., :k]
    return jnp.take_along_axis(input, places, axis=-1), places.astype(jnp.int32)


@TopK.host
def top_k_host(input, *, k):
    return _host(input, k)


@TopK.lower
def top_k_lower(input, *, k):
    return _lower(input, k)


@TopKV2.host
def top_k_v2_host(input, k):
    return _host(input, k)


@TopKV2.lower(static="k")
def top_k_v2_lower(input, k):
    return _lower(input, k)


def _grad(op, dy):
    """Scatters the gradient of the values to their places in the flattened input."""
    shape = public.shape(op.inputs[0])
    places_shape = public.shape(op.outputs[1])
    row = public.gather(public.cast(places_shape, "int64"), raw.Sub(public.size(places_shape), 1, name="sub"))
    rows = public.reshape(op.outputs[1], public.stack([-1, row]))
    width = public.gather(public.cast(shape, "int64"), raw.Sub(public.size(shape), 1, name="sub"))
    outer = public.shape(rows)[0]
    starts = public.range(0, raw.Mul(public.cast(outer, "int64"), width, name="mul"), width)
    flat = public.reshape(
        raw.AddV2(rows, public.cast(public.expand_dims(starts, -1), "int32"), name="add"), [-1]
    )
    scattered = raw.ScatterNd(
        public.expand_dims(flat, -1), public.reshape(dy, [-1]), [public.reduce_prod(shape)]
    )
    return public.reshape(scattered, shape)


@TopK.grad
def top_k_grad(op, dy, _):
    return _grad(op, dy)


@TopKV2.grad
def top_k_v2_grad(op, dy, _):
    return _grad(op, dy), public.zeros([], dtype="int32")


def _cases(case, call):
    call([[1.0, 2.0], [3.0, 4.0], [1.0, 5.0]], 2, gives=([[2, 1], [4, 3], [5, 1]], [[1, 0], [1, 0], [1, 0]]))
    call(np.array([3, 1, 3, 3, 2, 3], np.int32), 3, gives=([3, 3, 3], [0, 2, 3]))
    call(np.array([3, 1, 255, 3], np.uint8), 2, gives=([255, 3], [2, 0]))
    call(case.normal(2, 3, 6), 4)
    call(np.array([3, 1, 4], np.float32), 0, gives=(np.zeros(0), np.zeros(0)))


@TopK.cases
def top_k_cases(case):
    _cases(case, lambda x, k, **more: case(x, k=k, **more))
    case.shapes("[2,?,5]", "[2,?,3];[2,?,3]", k=3)
    case.fails("[2,2]", match="input must have last dimension >= k = 3 but is 2", k=3)


@TopKV2.cases
def top_k_v2_cases(case):
    _cases(case, lambda x, k, **more: case(x, np.int32(k), **more))
    case.shapes("[2,?,5];[]", "[2,?,3];[2,?,3]", values={"k": np.int32(3)})
    case.shapes("[2,?,5];[]", "[2,?,?];[2,?,?]")
    case.fails("[];[]", match="at least rank 1 but is rank 0")
    case.fails(
        (np.zeros(3, np.float32), np.int32(4)), match="at least k columns. Had 3, needed 4|last dimension"
    )
    case.fails((np.zeros(3, np.float32), np.int32(-1)), match="Need k >= 0, got -1")


InTopK = op("""
    InTopK(predictions: float, targets: T) -> (precision: bool)
      k: int
      T: {int32, int64} = int32

    Whether fewer than k predictions of a row exceed that of its target.
""")  # fmt: skip

InTopKV2 = op("""
    InTopKV2(predictions: float, targets: T, k: T) -> (precision: bool)
      T: {int32, int64} = int32

    Whether fewer than k predictions of a row exceed that of its target.
""")  # fmt: skip


def _in_shape(predictions, targets):
    rows = with_rank(predictions, 2)[0]
    return (merge_dim(rows, with_rank(targets, 1)[0]),)


@InTopK.shape
def in_top_k_shape(predictions, targets):
    return _in_shape(predictions, targets)


@InTopKV2.shape
def in_top_k_v2_shape(predictions, targets, k):
    with_rank(k, 0)
    return _in_shape(predictions, targets)


def _in(xp, predictions, targets, k):
    if predictions.ndim != 2:
        raise InvalidArgumentError(None, None, "predictions must be 2-dimensional")
    if targets.ndim != 1:
        raise InvalidArgumentError(None, None, "targets must be 1-dimensional")
    if predictions.shape[0] != targets.shape[0]:
        raise InvalidArgumentError(
            None,
            None,
            f"First dimension of predictions {predictions.shape[0]} must match length of targets {targets.shape[0]}",
        )
    classes = predictions.shape[1]
    if classes == 0:
        return xp.zeros(targets.shape, bool)
    inside = (targets >= 0) & (targets < classes)
    mine = xp.take_along_axis(predictions, xp.where(inside, targets, 0)[:, None], axis=1)
    above = xp.sum(predictions > mine, axis=1)
    return inside & xp.all(xp.isfinite(predictions), axis=1) & (above < k)


@InTopK.host
def in_top_k_host(predictions, targets, *, k):
    return _in(np, predictions, targets, k)


@InTopK.lower
def in_top_k_lower(predictions, targets, *, k):
    return _in(jnp, predictions, targets, k)


@InTopKV2.host
def in_top_k_v2_host(predictions, targets, k):
    return _in(np, predictions, targets, k)


@InTopKV2.lower
def in_top_k_v2_lower(predictions, targets, k):
    return _in(jnp, predictions, targets, k)


_ROWS = np.array(
    [[1, 2, 2, 0], [1, 2, 3, 4], [np.nan, 1, 2, 3], [np.inf, 1, 2, 3], [1, 2, 3, 4]], np.float32
)  # fmt: skip


@InTopK.cases
def in_top_k_cases(case):
    case(_ROWS, np.array([1, 3, 3, 0, 9], np.int32), k=2, gives=[True, True, False, False, False])
    case.shapes("[?,4];[3]", "[3]", k=2)
    case.fails("[2,4];[3]", match="must be equal, but are 2 and 3", k=2)


@InTopKV2.cases
def in_top_k_v2_cases(case):
    case(_ROWS, np.array([1, 0, 0, 1, -1], np.int64), np.int64(2), gives=[True, False, False, False, False])
    case.shapes("[?,4];[3];[]", "[3]")
    case.fails("[2,4];[2];[1]", match="must be rank 0 but is rank 1")


# -- public functions ---------------------------------------------------------------------------------------


@export("nn.top_k", "math.top_k")
def top_k(input, k=1, sorted=True, name=None):
    """Returns the k greatest elements of each row, and their places.

    Args:
      input: A tensor of numbers with at least one axis.
      k: How many; at most the length of the last axis.
      sorted: Whether they must come in descending order.
      name: A name for the operation.
    """
    return raw.TopKV2(input, k, sorted=sorted, name=name)


@export("nn.in_top_k", "math.in_top_k")
def in_top_k(predictions, targets, k, name=None):
    """Returns whether each row's target is among its k greatest predictions.

    Args:
      predictions: A float32 matrix.
      targets: The class of each row, int32 or int64.
      k: How many predictions count.
      name: A name for the operation.
    """
    with public.name_scope(name, "in_top_k"):
        return raw.InTopKV2(predictions, targets, k, name=name)
