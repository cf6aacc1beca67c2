"""Batch normalization as graphs of TensorFlow's first days hold it, with given means and variances."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.shapes import merge_dim, with_rank

_ATTRS = """
      T: numbertype
      variance_epsilon: float
      scale_after_normalization: bool
      deprecated 9
"""
_NAMES = ("variance_epsilon", "scale_after_normalization")

BatchNormWithGlobalNormalization = op(f"""
    BatchNormWithGlobalNormalization(t: T, m: T, v: T, beta: T, gamma: T) -> (result: T){_ATTRS}
    (t - m) / sqrt(v + epsilon), with `scale_after_normalization` times gamma, plus beta.
""")  # fmt: skip


def _channels(image, *vectors):
    depth = with_rank(image, 4)[3]
    for vector in vectors:
        depth = merge_dim(depth, with_rank(vector, 1)[0])
    return depth


@BatchNormWithGlobalNormalization.shape
def batch_norm_shape(t, m, v, beta, gamma):
    return (*with_rank(t, 4)[:3], _channels(t, m, v, beta, gamma))


def _check(image, *vectors):
    if image.ndim != 4:
        raise InvalidArgumentError(None, None, f"input must be 4-dimensional{list(image.shape)}")
    for vector in vectors:
        if tuple(vector.shape) != tuple(image.shape[3:]):
            raise InvalidArgumentError(
                None,
                None,
                f"vectors must have the input's {image.shape[3]} channels, not {list(vector.shape)}",
            )


def _normalized(xp, t, m, v, beta, gamma, epsilon, scaled):
    _check(t, m, v, beta, gamma)
    factor = 1 / xp.sqrt(v + t.dtype.type(epsilon))
    if scaled:
        factor = factor * gamma
    return ((t - m) * factor + beta).astype(t.dtype)


@BatchNormWithGlobalNormalization.host
def batch_norm_host(t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization):
    with np.errstate(all="ignore"):
        return _normalized(np, t, m, v, beta, gamma, variance_epsilon, scale_after_normalization)


@BatchNormWithGlobalNormalization.lower
def batch_norm_lower(t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization):
    return _normalized(jnp, t, m, v, beta, gamma, variance_epsilon, scale_after_normalization)


@BatchNormWithGlobalNormalization.grad
def batch_norm_grad(op, dy):
    attrs = {name: op.attrs[name] for name in _NAMES}
    t, m, v, _, gamma = op.inputs
    return list(raw.BatchNormWithGlobalNormalizationGrad(t, m, v, gamma, dy, **attrs))


@BatchNormWithGlobalNormalization.cases
def batch_norm_cases(case):
    image = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 2, 2)
    mean, variance = np.array([1, 2], np.float32), np.array([3, 0], np.float32)
    beta, gamma = np.array([10, 20], np.float32), np.array([4, 2], np.float32)
    case(image, mean, variance, beta, gamma, variance_epsilon=1.0, scale_after_normalization=True,
         gives=np.array([10, 20, 14, 24]).reshape(1, 1, 2, 2))  # fmt: skip
    case(image, mean, variance, beta, gamma, variance_epsilon=1.0, scale_after_normalization=False,
         gives=np.array([10, 20, 11, 22]).reshape(1, 1, 2, 2))  # fmt: skip
    case.shapes("[?,4,4,?];[3];?;?;?", "[?,4,4,3]", variance_epsilon=1.0, scale_after_normalization=True)


BatchNormWithGlobalNormalizationGrad = op(f"""
    BatchNormWithGlobalNormalizationGrad(t: T, m: T, v: T, gamma: T, backprop: T) -> \
(dx: T, dm: T, dv: T, db: T, dg: T){_ATTRS}
    The gradient of BatchNormWithGlobalNormalization.
""")  # fmt: skip


@BatchNormWithGlobalNormalizationGrad.shape
def batch_norm_grad_shape(t, m, v, gamma, backprop):
    depth = _channels(t, m, v, gamma)
    depth = merge_dim(depth, with_rank(backprop, 4)[3])
    return [(*with_rank(t, 4)[:3], depth), *[(depth,)] * 4]


def _gradient(xp, t, m, v, gamma, dy, epsilon, scaled):
    _check(t, m, v, gamma)
    if tuple(dy.shape) != tuple(t.shape):
        raise InvalidArgumentError(None, None, "backprop must have the input's shape")
    factor = 1 / xp.sqrt(v + t.dtype.type(epsilon))
    scale = gamma if scaled else xp.ones_like(gamma)
    total = dy.sum((0, 1, 2), dtype=t.dtype)
    moment = (dy * (t - m)).sum((0, 1, 2), dtype=t.dtype)
    dx = dy * (scale * factor)
    dv = moment * scale * factor**3 * t.dtype.type(-0.5)
    dg = moment * factor if scaled else xp.zeros_like(gamma)
    return tuple(g.astype(t.dtype) for g in (dx, -total * scale * factor, dv, total, dg))


@BatchNormWithGlobalNormalizationGrad.host
def batch_norm_grad_host(t, m, v, gamma, backprop, *, variance_epsilon, scale_after_normalization):
    with np.errstate(all="ignore"):
        return _gradient(np, t, m, v, gamma, backprop, variance_epsilon, scale_after_normalization)


@BatchNormWithGlobalNormalizationGrad.lower
def batch_norm_grad_lower(t, m, v, gamma, backprop, *, variance_epsilon, scale_after_normalization):
    return _gradient(jnp, t, m, v, gamma, backprop, variance_epsilon, scale_after_normalization)


@BatchNormWithGlobalNormalizationGrad.cases
def batch_norm_grad_cases(case):
    image = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 2, 2)
    mean, variance = np.array([1, 2], np.float32), np.array([3, 0], np.float32)
    gamma, dy = np.array([4, 2], np.float32), np.ones((1, 1, 2, 2), np.float32)
    case(image, mean, variance, gamma, dy, variance_epsilon=1.0, scale_after_normalization=True,
         gives=(np.full((1, 1, 2, 2), 2.0), [-4, -4], [-0.5, -2], [2, 2], [1, 2]))  # fmt: skip
    case.shapes("[?,4,4,?];[3];?;?;?", "[?,4,4,3];[3];[3];[3];[3]",
                variance_epsilon=1.0, scale_after_normalization=True)  # fmt: skip
