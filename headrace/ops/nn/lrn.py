"""Local response normalization: each channel divided by what its neighbours amount to."""

from __future__ import annotations

import numpy as np

from headrace import errors
from headrace.export import export
from headrace.lazy import jnp, lax
from headrace.opdef import op, raw
from headrace.ops.nn import interpreted
from headrace.shapes import merge_all, with_rank

_ATTRS = """
      depth_radius: int = 5
      bias: float = 1.0
      alpha: float = 1.0
      beta: float = 0.5
      T: {half, bfloat16, float} = float
"""
LRN = op(f"""
    LRN(input: T) -> (output: T){_ATTRS}
    input / (bias + alpha * sum of squares over the channels within depth_radius) ** beta.
""")  # fmt: skip


@LRN.shape
def lrn_shape(input):
    return with_rank(input, 4)


def _images(x, name="in"):
    """Returns `x` if it is of rank 4.

    Raises:
      errors.InvalidArgumentError: It is not.
    """
    if x.ndim != 4:
        raise errors.InvalidArgumentError(None, None, f"{name} must be 4-dimensional")
    return x


def _over_neighbours(xp, x, radius):
    """Returns for each channel the sum over those within `radius` of it."""
    if xp is np:
        return interpreted.over_neighbours(x, radius)
    radius = min(int(radius), x.shape[-1])
    window = (1, 1, 1, 2 * radius + 1)
    pads = ((0, 0), (0, 0), (0, 0), (radius, radius))
    return lax.reduce_window(x, np.zeros((), x.dtype)[()], lax.add, window, (1, 1, 1, 1), pads)


def _norms(xp, x, depth_radius, bias, alpha):
    if not 0 <= depth_radius < 2**31 - 1:
        raise errors.InvalidArgumentError(None, None, f"depth_radius = {depth_radius} larger than int max")
    return _over_neighbours(xp, x * x, depth_radius) * np.float32(alpha) + np.float32(bias)


def _lrn(xp, input, depth_radius, bias, alpha, beta):
    x = _images(input).astype(np.float32)
    return (x * _norms(xp, x, depth_radius, bias, alpha) ** np.float32(-beta)).astype(input.dtype)


@LRN.host
def lrn_host(input, *, depth_radius, bias, alpha, beta):
    return _lrn(np, input, depth_radius, bias, alpha, beta)


@LRN.lower
def lrn_lower(input, *, depth_radius, bias, alpha, beta):
    return _lrn(jnp, input, depth_radius, bias, alpha, beta)


@LRN.grad
def lrn_grad(op, dy):
    attrs = {name: op.attrs[name] for name in ("depth_radius", "bias", "alpha", "beta")}
    return raw.LRNGrad(dy, op.inputs[0], op.outputs[0], **attrs)


_ONE_TO_FIVE = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 1, 5)
_NORMAL = np.array([0.32366118, 0.38490018, 0.36644453, 0.33770478, 0.4839864], np.float32).reshape(
    1, 1, 1, 5
)
_SOME = {"depth_radius": 1, "bias": 2.0, "alpha": 0.5, "beta": 0.75}


@LRN.cases
def lrn_cases(case):
    case(_ONE_TO_FIVE, gives=_NORMAL, **_SOME)
    case(case.normal(2, 2, 3, 7))
    case.shapes("[?,4,4,8]", "[?,4,4,8]")
    case.fails("[4,4,8]", match="must be rank 4 but is rank 3")


LRNGrad = op(f"""
    LRNGrad(input_grads: T, input_image: T, output_image: T) -> (output: T){_ATTRS}
    The gradient of LRN.
""")  # fmt: skip


@LRNGrad.shape
def lrn_grad_shape(input_grads, input_image, output_image):
    return merge_all(with_rank(s, 4) for s in (input_grads, input_image, output_image))


def _lrn_grad(xp, input_grads, input_image, output_image, depth_radius, bias, alpha, beta):
    g, x, y = (v.astype(np.float32) for v in (input_grads, input_image, output_image))
    norms = _norms(xp, x, depth_radius, bias, alpha)
    shared = _over_neighbours(xp, g * y / norms, depth_radius)
    dx = g * norms ** np.float32(-beta) - np.float32(2 * alpha * beta) * x * shared
    return dx.astype(input_grads.dtype)


@LRNGrad.host
def lrn_grad_host(input_grads, input_image, output_image, *, depth_radius, bias, alpha, beta):
    return _lrn_grad(np, input_grads, input_image, output_image, depth_radius, bias, alpha, beta)


@LRNGrad.lower
def lrn_grad_lower(input_grads, input_image, output_image, *, depth_radius, bias, alpha, beta):
    return _lrn_grad(jnp, input_grads, input_image, output_image, depth_radius, bias, alpha, beta)


@LRNGrad.cases
def lrn_grad_cases(case):
    dx = np.array([0.23764262, -0.01290013, -0.05218863, -0.08425435, -0.03077057], np.float32)
    case(np.ones((1, 1, 1, 5), np.float32), _ONE_TO_FIVE, _NORMAL, gives=dx.reshape(1, 1, 1, 5), **_SOME)
    case.shapes("[?,4,4,8];?;[2,?,?,?]", "[2,4,4,8]")


@export("nn.local_response_normalization", "nn.lrn")
def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    """Returns images with each channel divided by what its neighbours amount to.

    Args:
      input: Images, channels last.
      depth_radius: How far a neighbour may be.
      bias: What is added to the sum of squares.
      alpha: What the sum of squares is multiplied by.
      beta: The exponent.
      name: A name for the operation.
    """
    return raw.LRN(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)
