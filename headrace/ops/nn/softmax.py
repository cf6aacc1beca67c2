"""Softmax and its logarithm."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.graph.tensor import Tensor
from headrace.lazy import jnp
from headrace.opdef import constant_value, op, raw
from headrace.ops.nn.names import public, renamed
from headrace.shapes import unchanged_min_rank

Softmax = op("""
    Softmax(logits: T) -> (softmax: T)
      T: {half, bfloat16, float, double}

    exp(logits) / sum(exp(logits)) over the last axis, without overflow.
""", shape=unchanged_min_rank(1))  # fmt: skip

LogSoftmax = op("""
    LogSoftmax(logits: T) -> (logsoftmax: T)
      T: {half, bfloat16, float, double}

    logits - log(sum(exp(logits))) over the last axis, without overflow.
""", shape=unchanged_min_rank(1))  # fmt: skip


def shifted_exp(xp, logits):
    """Returns logits less their maximum, and exp of that, in at least float32."""
    x = logits.astype(xp.float32) if logits.dtype.itemsize < 4 else logits
    with np.errstate(invalid="ignore"):
        x = x - xp.max(x, axis=-1, keepdims=True, initial=-xp.inf)
    return x, xp.exp(x)


def _softmax(xp, logits):
    _check_rank(logits)
    _, e = shifted_exp(xp, logits)
    return (e * (1 / xp.sum(e, axis=-1, keepdims=True))).astype(logits.dtype)


def _log_softmax(xp, logits):
    _check_rank(logits)
    x, e = shifted_exp(xp, logits)
    return (x - xp.log(xp.sum(e, axis=-1, keepdims=True))).astype(logits.dtype)


def _check_rank(logits):
    if logits.ndim < 1:
        raise InvalidArgumentError(None, None, "logits must have >= 1 dimension, got []")


@Softmax.host
def softmax_host(logits):
    return _softmax(np, logits)


@Softmax.lower
def softmax_lower(logits):
    return _softmax(jnp, logits)


@Softmax.grad
def softmax_grad(op, dy):
    y = op.outputs[0]
    total = raw.Sum(raw.Mul(dy, y, name="mul"), -1, keep_dims=True)
    return raw.Mul(raw.Sub(dy, total, name="sub"), y, name="mul")


@Softmax.cases
def softmax_cases(case):
    case([[0.0, 0.0], [1e4, 0.0]], gives=[[0.5, 0.5], [1.0, 0.0]])
    case(case.normal(2, 3, 5))
    case(np.zeros((2, 0), np.float32), gives=np.zeros((2, 0)))
    case(np.array([[1, 2, 3]], np.float16), gives=[[0.09003, 0.2446, 0.665]], tol=2e-3)
    case([[-np.inf, 1.0], [-np.inf, -np.inf]], gives=[[0.0, 1.0], [np.nan, np.nan]], grad=False)
    case.shapes("[2,?,5]", "[2,?,5]")
    case.fails("[]", match="at least rank 1")


@LogSoftmax.host
def log_softmax_host(logits):
    return _log_softmax(np, logits)


@LogSoftmax.lower
def log_softmax_lower(logits):
    return _log_softmax(jnp, logits)


@LogSoftmax.grad
def log_softmax_grad(op, dy):
    y = raw.Exp(op.outputs[0])
    total = raw.Sum(dy, -1, keep_dims=True)
    return raw.Sub(dy, raw.Mul(total, y, name="mul"), name="sub")


@LogSoftmax.cases
def log_softmax_cases(case):
    case([[0.0, 0.0], [1000.0, 0.0]], gives=[[-0.6931472, -0.6931472], [0.0, -1000.0]])
    case(case.normal(2, 3, 5))
    case.shapes("[2,?,5]", "[2,?,5]")
    case.fails("[]", match="at least rank 1")


# -- public functions ---------------------------------------------------------------------------------------


@export("nn.softmax", "math.softmax")
def softmax(logits, axis=None, name=None, dim=None):
    """Returns exp(logits) / sum(exp(logits)) along an axis.

    Args:
      logits: A tensor of floats that has at least one axis.
      axis: The axis to sum over, by default the last.
      name: A name for the operation.
      dim: The deprecated name of `axis`.

    Raises:
      InvalidArgumentError: `axis` is out of range.
    """
    axis = renamed("axis", axis, "dim", dim)
    return _along_axis(raw.Softmax, logits, -1 if axis is None else axis, name)


@export("nn.log_softmax", "math.log_softmax")
def log_softmax(logits, axis=None, name=None, dim=None):
    """Returns logits - log(sum(exp(logits))) along an axis.

    Args:
      logits: A tensor of floats that has at least one axis.
      axis: The axis to sum over, by default the last.
      name: A name for the operation.
      dim: The deprecated name of `axis`.

    Raises:
      InvalidArgumentError: `axis` is out of range.
    """
    axis = renamed("axis", axis, "dim", dim)
    return _along_axis(raw.LogSoftmax, logits, -1 if axis is None else axis, name)


def _along_axis(kind, logits, axis, name):
    """Applies an op of the last axis along another one, by exchanging the two before and after."""
    logits = public.convert_to_tensor(logits)
    rank = None if logits._dims is None else len(logits._dims)
    is_tensor = isinstance(axis, Tensor)
    if not is_tensor and (axis == -1 or (rank is not None and axis == rank - 1)):
        return kind(logits, name=name)
    known = constant_value(axis) if is_tensor else axis
    if rank is None:
        raise TypeError("softmax along another axis than the last needs logits of known rank")
    if known is not None and not -rank <= known < rank:
        raise InvalidArgumentError(
            None,
            None,
            f"Dimension ({int(known)}) must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions"
            " in the input.",
        )
    ndims = public.rank(logits)
    if is_tensor:
        axis = raw.Select(raw.Less(axis, 0, name="Less"), raw.AddV2(axis, ndims, name="add"), axis)
    elif axis < 0:
        axis = raw.AddV2(axis, ndims, name="add")
    all_axes = public.rank(logits)
    axis = raw.FloorMod(axis, rank, name="mod") if isinstance(axis, Tensor) else axis % rank
    moved = _exchange(logits, axis, raw.Sub(all_axes, 1))
    return _exchange(kind(moved), axis, raw.Sub(all_axes, 1), name)


def _exchange(x, axis, last, name=None):
    """Transposes `x` so that `axis` and the last axis change places."""
    before = public.range(axis)
    after = raw.AddV2(axis, 1, name="add") if isinstance(axis, Tensor) else axis + 1
    order = public.concat([before, [last], public.range(after, last), [axis]], 0)
    return public.transpose(x, order, name="transpose" if name is None else name)
