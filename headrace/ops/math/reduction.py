"""Reductions: sums, means, products, extremes and norms over some axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp, lax
from headrace.opdef import op
from headrace.ops.math import reduction_gradients as gradients
from headrace.ops.math.quiet import quiet


def reduced_shape(input: Any, axes: Any, *, keep_dims: bool, ctx: Any) -> Any:
    """The shape rule: `axes` may be a scalar or a vector, negative ones count from the end."""
    shapes.with_rank_at_most(axes, 1)
    value = ctx.constant("reduction_indices")
    if input is None:
        return None
    if value is None:
        return (None,) * len(input) if keep_dims else None
    rank = len(input)
    gone = set()
    for axis in np.atleast_1d(value).tolist():
        if not -rank <= axis < rank:
            raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
        gone.add(axis % rank)
    if keep_dims:
        return tuple(1 if i in gone else d for i, d in enumerate(input))
    return tuple(d for i, d in enumerate(input) if i not in gone)


def axes_of(x: Any, axes: Any) -> tuple[int, ...]:
    """Returns the axes to reduce, positive and without repetition.

    Raises:
      InvalidArgumentError: One is out of range.
    """
    rank = x.ndim
    out = []
    for axis in axes.tolist() if axes.ndim else (int(axes),):
        if not -rank <= axis < rank:
            raise InvalidArgumentError(
                None, None, f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
            )
        axis = axis + rank if axis < 0 else axis
        if axis not in out:
            out.append(axis)
    return tuple(out)


def reduction(
    name: str,
    host: Any,
    lower: Any,
    grad: Any,
    *,
    doc: str,
    types: str | None = "numbertype",
    cases: Any = None,
) -> Any:
    """Declares one reduction.

    Args:
      name: The op's name.
      host: Called as `(x, axes, keep)` with a NumPy array.
      lower: The same with a JAX array.
      grad: Its gradient function, None if it has none on purpose, `...` if nothing was declared.
      doc: What it computes.
      types: What stands after `T:`; None for booleans.
      cases: More cases, called with the recorder.
    """
    kind = "T" if types else "bool"
    lines = [
        f"{name}(input: {kind}, reduction_indices: Tidx) -> (output: {kind})",
        "  keep_dims: bool = false",
    ]
    lines += [f"  T: {types}"] if types else []
    lines += ["  Tidx: {int32, int64} = DT_INT32", "", doc]
    made = op("\n".join(lines), shape=reduced_shape)
    if grad is not ...:
        made.declare("grad", grad)

    @made.host
    @quiet
    def reduction_host(input: Any, reduction_indices: Any, *, keep_dims: bool) -> Any:
        axes = axes_of(input, reduction_indices)
        return host(input, axes, keep_dims) if axes else unreduced(input, host)

    @made.lower(static="reduction_indices")
    def reduction_lower(input: Any, reduction_indices: Any, *, keep_dims: bool) -> Any:
        return lower(input, axes_of(input, np.asarray(reduction_indices)), keep_dims)

    @made.cases
    def reduction_cases(case: Any) -> None:
        if types:
            case(case.normal(2, 3, 4), np.int32(1))
            case(case.normal(2, 3, 4), np.array([0, -1], np.int32), keep_dims=True)
            case(case.normal(2, 3), np.array([0, 1], np.int64), grad=made.name != "Prod")
            case(case.normal(2, 3), np.array([], np.int32))
            case(case.integers(3, 4, dtype=np.int64), np.int32(0))
        case.shapes("[2,?,4];[]", "[2,4]", values={"reduction_indices": 1})
        case.shapes("[2,?,4];[1]", "[1,?,4]", values={"reduction_indices": [-3]}, keep_dims=True)
        case.shapes("[2,3];[?]", "?")
        case.shapes("[2,3];[?]", "[?,?]", keep_dims=True)
        case.fails("[2,3];[]", match="Invalid reduction dimension 2 for input with 2 dimensions",
                   values={"reduction_indices": 2})  # fmt: skip
        case.fails("[2,3];[1,1]", match="must be at most rank 1 but is rank 2")
        if cases is not None:
            cases(case)

    return made


def unreduced(x: np.ndarray[Any, Any], host: Any) -> Any:
    """Returns what a reduction over no axes gives: each element by itself."""
    return host(x[None], (0,), False) if x.dtype.kind in "fcV" else x


def _narrow(x: Any) -> bool:
    """Whether sums of this type are taken in float32 and rounded once."""
    return x.dtype.itemsize == 2 and x.dtype.kind not in "iu"


def _sum(x: Any, axes: Any, keep: bool) -> Any:
    if _narrow(x):
        return np.asarray(np.sum(x, axes, np.float32, keepdims=keep)).astype(x.dtype)
    return np.add.reduce(x, axes, x.dtype, None, keep)


def _sum_lower(x: Any, axes: Any, keep: bool) -> Any:
    if _narrow(x):
        return jnp.sum(x.astype(np.float32), axes, keepdims=keep).astype(x.dtype)
    return jnp.sum(x, axes, x.dtype, keepdims=keep)


def _count(x: Any, axes: Any) -> int:
    return math.prod(x.shape[a] for a in axes)


def _mean(x: Any, axes: Any, keep: bool) -> Any:
    n = _count(x, axes)
    if x.dtype.kind in "iu":
        total = _sum(x, axes, keep)
        return (
            (np.trunc(total / n).astype(x.dtype) if x.dtype.itemsize < 8 else _divided(total, n))
            if n
            else total
        )
    if _narrow(x):
        return np.asarray(np.sum(x, axes, np.float32, keepdims=keep) / np.float32(n)).astype(x.dtype)
    return np.divide(np.add.reduce(x, axes, x.dtype, None, keep), n, dtype=x.dtype)


def _divided(total: Any, n: int) -> Any:
    """Returns integers divided by n > 0, rounded toward 0."""
    total = np.asarray(total)
    quotient = total // n
    return (quotient + ((total % n != 0) & (total < 0))).astype(total.dtype)


def _mean_lower(x: Any, axes: Any, keep: bool) -> Any:
    n = _count(x, axes)
    if x.dtype.kind in "iu":
        total = jnp.sum(x, axes, x.dtype, keepdims=keep)
        return lax.div(total, jnp.full_like(total, n)) if n else total
    if _narrow(x):
        return (jnp.sum(x.astype(np.float32), axes, keepdims=keep) / np.float32(n)).astype(x.dtype)
    return jnp.sum(x, axes, x.dtype, keepdims=keep) / x.dtype.type(n)


def _prod(x: Any, axes: Any, keep: bool) -> Any:
    if _narrow(x):
        return np.asarray(np.prod(x.astype(np.float32), axes, keepdims=keep)).astype(x.dtype)
    return np.multiply.reduce(x, axes, x.dtype, None, keep)


def _prod_lower(x: Any, axes: Any, keep: bool) -> Any:
    if _narrow(x):
        return jnp.prod(x.astype(np.float32), axes, keepdims=keep).astype(x.dtype)
    return jnp.prod(x, axes, x.dtype, keepdims=keep)


def _start(dtype: Any, largest: bool) -> Any:
    """Returns what the greatest (or least) of no numbers is."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dtype.type(info.min if largest else info.max)
    return dtype.type(-np.inf if largest else np.inf)


def _extreme(plain: Any, without_nan: Any, largest: bool) -> Any:
    """Returns the host rule of a maximum or minimum: NaN never wins, as in TensorFlow's kernels."""

    def host(x: Any, axes: Any, keep: bool) -> Any:
        first = _start(x.dtype, largest)
        out = plain.reduce(x, axes, None, None, keep, first)
        if x.dtype.kind not in "iu" and np.isnan(out).any():
            out = without_nan.reduce(x, axes, None, None, keep, first)
        return out

    return host


def _extreme_lower(largest: bool) -> Any:
    def lower(x: Any, axes: Any, keep: bool) -> Any:
        first = _start(x.dtype, largest)
        if x.dtype.kind not in "iu":
            x = jnp.where(jnp.isnan(x), first, x)
        return (jnp.max if largest else jnp.min)(x, axes, keepdims=keep, initial=first)

    return lower


def _norm(xp: Any, x: Any, axes: Any, keep: bool) -> Any:
    if all(x.shape[a] == 1 for a in axes):
        return xp.sum(x, axes, dtype=x.dtype, keepdims=keep)  # itself, its sign included
    y = x.astype(np.float32) if _narrow(x) else x
    square = y * (xp.conj(y) if y.dtype.kind == "c" else y)
    total = xp.sum(square, axes, dtype=square.dtype, keepdims=keep)
    if x.dtype.kind in "iu":  # the squares and their sum have overflowed by now
        total = total.astype(np.float64)
    return xp.sqrt(total).astype(x.dtype)


def _sum_cases(case: Any) -> None:
    case([[1.0, 2.0], [3.0, 4.0]], np.int32(1), gives=[3.0, 7.0])
    case(np.array([200, 200, 201], np.uint8), np.int32(0), gives=np.uint8(89))
    case(np.zeros((2, 0), np.float32), np.int32(1), gives=[0.0, 0.0])


def _mean_cases(case: Any) -> None:
    case([[1.0, 2.0], [3.0, 4.0]], np.int32(0), gives=[2.0, 3.0])
    case(np.array([-3, -4, 0], np.int32), np.int32(0), gives=np.int32(-2))
    case(np.array([200, 200, 201], np.uint8), np.int32(0), gives=np.uint8(29))
    case(np.zeros((0,), np.float32), np.int32(0), gives=np.float32(np.nan), grad=False)
    case(np.zeros((0,), np.int32), np.int32(0), gives=np.int32(0))


def _prod_cases(case: Any) -> None:
    case([[1.0, 2.0], [3.0, 4.0]], np.int32(1), gives=[2.0, 12.0])
    case(np.zeros((0,), np.int32), np.int32(0), gives=np.int32(1))


def _max_cases(case: Any) -> None:
    case([[1.0, np.nan], [2.0, 3.0]], np.int32(0), gives=[2.0, 3.0], grad=False)
    case(np.zeros((0,), np.float32), np.int32(0), gives=np.float32(-np.inf), grad=False)
    case(np.zeros((0,), np.int32), np.int32(0), gives=np.int32(-(2**31)))


def _min_cases(case: Any) -> None:
    case([[1.0, np.nan], [2.0, 3.0]], np.int32(0), gives=[1.0, 3.0], grad=False)
    case(np.zeros((0,), np.float32), np.int32(0), gives=np.float32(np.inf), grad=False)


def _norm_cases(case: Any) -> None:
    case([[3.0, 4.0]], np.int32(1), gives=[5.0])
    case(np.array([3, 5], np.int32), np.int32(0), gives=np.int32(5))


def _bool_cases(gives: Any) -> Any:
    def cases(case: Any) -> None:
        case(np.array([[True, False], [True, True]]), np.int32(0), gives=np.array(gives))
        case(np.array([[True, False], [True, True]]), np.array([0, 1], np.int32), keep_dims=True)
        case(np.zeros((0,), bool), np.int32(0))

    return cases


reduction("Sum", _sum, _sum_lower, gradients.sum_grad, doc="The sum over some axes.", cases=_sum_cases)
reduction("Mean", _mean, _mean_lower, gradients.mean_grad, doc="The mean over some axes; integers round toward 0.",
          cases=_mean_cases)  # fmt: skip
reduction(
    "Prod", _prod, _prod_lower, gradients.prod_grad, doc="The product over some axes.", cases=_prod_cases
)
reduction("Max", _extreme(np.maximum, np.fmax, True), _extreme_lower(True), gradients.extreme_grad,
          doc="The greatest over some axes.", cases=_max_cases)  # fmt: skip
reduction("Min", _extreme(np.minimum, np.fmin, False), _extreme_lower(False), gradients.extreme_grad,
          doc="The least over some axes.", cases=_min_cases)  # fmt: skip
reduction("All", lambda x, axes, keep: np.logical_and.reduce(x, axes, keepdims=keep),
          lambda x, axes, keep: jnp.all(x, axes, keepdims=keep), ..., doc="Whether all are true over some axes.",
          types=None, cases=_bool_cases([True, False]))  # fmt: skip
reduction("Any", lambda x, axes, keep: np.logical_or.reduce(x, axes, keepdims=keep),
          lambda x, axes, keep: jnp.any(x, axes, keepdims=keep), ..., doc="Whether any is true over some axes.",
          types=None, cases=_bool_cases([True, True]))  # fmt: skip
reduction("EuclideanNorm", lambda x, axes, keep: np.asarray(_norm(np, x, axes, keep)),
          lambda x, axes, keep: _norm(jnp, x, axes, keep), None, doc="The Euclidean norm over some axes.",
          cases=_norm_cases)  # fmt: skip
