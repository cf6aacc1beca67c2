"""Activations that work element by element, and their gradients."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.lazy import jnp
from headrace.native import batch_norm, finish
from headrace.opdef import family, op, raw
from headrace.ops.nn.names import public
from headrace.shapes import merge, unchanged

FLOATS = "{half, bfloat16, float, double}"
NUMBERS = "realnumbertype"

SELU_SCALE = 1.0507009873554804934193349852946
SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


def _merged(gradients, operand):
    return merge(gradients, operand)


def _cases(case, op):
    for dtype in op.signature.attrs["T"].allowed:
        if dtype.is_floating:
            case(case.normal(3, 4, dtype=dtype))
    case(np.zeros((0, 2), np.float32), gives=np.zeros((0, 2)))
    case.shapes("[2,?]", "[2,?]")
    case.shapes("?", "?")


def _gradient_cases(case, op):
    case(case.normal(3, 4), case.uniform(3, 4, low=-0.9, high=8.0))
    case.shapes("[2,?];[?,3]", "[2,3]")
    case.fails("[2];[3]", match="must be equal")


unary = family("features: T -> activations: T", shape=unchanged, cases=_cases)
by_features = family("gradients: T, features: T -> backprops: T", shape=_merged, cases=_gradient_cases)
by_outputs = family("gradients: T, outputs: T -> backprops: T", shape=_merged, cases=_gradient_cases)


def _like(xp, value, x):
    """Returns a Python number as a scalar of the array's type, so that it does not widen it."""
    return xp.asarray(value, x.dtype)


def _rectified(x, six=False):
    found = finish.rectified(x, six)
    return batch_norm.rectified(x, six) if found is None else found


def _relu(xp, x):
    found = None if xp is np else _rectified(x)
    return xp.maximum(x, _like(xp, 0, x)) if found is None else found


def _relu6(xp, x):
    found = None if xp is np else _rectified(x, six=True)
    if found is not None:
        return found
    y = xp.maximum(x, _like(xp, 0, x))
    if xp is np:
        return np.minimum(y, _like(np, 6, x), out=y) if y.ndim else np.minimum(y, _like(np, 6, x))
    return xp.minimum(y, _like(xp, 6, x))


def _masked(xp, dy, mask):
    # Infinite and NaN gradients stay NaN where the mask is off, as in TensorFlow; XLA would make a choice of a product
    # with the mask.
    if xp is np and dy.dtype.char in "fd":
        return dy * mask  # the same in one pass
    return xp.where(mask, dy, dy * _like(xp, 0, dy))


def _relu_grad(xp, dy, x):
    result = _masked(xp, dy, x > _like(xp, 0, x))
    return result if xp is np else batch_norm.masked(result, dy, x)


def _relu6_grad(xp, dy, x):
    result = _masked(xp, dy, (x > _like(xp, 0, x)) & (x < _like(xp, 6, x)))
    return result if xp is np else batch_norm.masked(result, dy, x, six=True)


def _elu(xp, x):
    zero = _like(xp, 0, x)
    return xp.where(x < zero, xp.exp(xp.minimum(x, zero)) - _like(xp, 1, x), x)


def _elu_grad(xp, dy, y):
    return xp.where(y < _like(xp, 0, y), (y + _like(xp, 1, y)) * dy, dy)


def _selu(xp, x):
    zero = _like(xp, 0, x)
    low = _like(xp, SELU_SCALE_ALPHA, x) * (xp.exp(xp.minimum(x, zero)) - _like(xp, 1, x))
    return xp.where(x < zero, low, _like(xp, SELU_SCALE, x) * x)


def _selu_grad(xp, dy, y):
    return xp.where(
        y < _like(xp, 0, y), dy * (y + _like(xp, SELU_SCALE_ALPHA, y)), dy * _like(xp, SELU_SCALE, y)
    )


def _softplus(xp, x):
    # log1p(exp(-|x|)) + max(x, 0) neither overflows nor loses the small end.
    return xp.log1p(xp.exp(-xp.abs(x))) + xp.maximum(x, _like(xp, 0, x))


def _softplus_grad(xp, dy, x):
    with np.errstate(over="ignore"):
        return dy / (xp.exp(-x) + _like(xp, 1, x))


def _softsign(xp, x):
    return x / (_like(xp, 1, x) + xp.abs(x))


def _softsign_grad(xp, dy, x):
    one_plus = _like(xp, 1, x) + xp.abs(x)
    return dy / (one_plus * one_plus)


def _zeros_like_shape(x):
    return public.zeros(public.shape(x), dtype=x.dtype)


Relu = unary("Relu", "{realnumbertype, qint8}", _relu, lambda op, dy: raw.ReluGrad(dy, op.outputs[0]),
             doc="max(features, 0).")  # fmt: skip
Relu6 = unary("Relu6", NUMBERS, _relu6, lambda op, dy: raw.Relu6Grad(dy, op.outputs[0]),
              doc="min(max(features, 0), 6).")  # fmt: skip
Elu = unary("Elu", FLOATS, _elu, lambda op, dy: raw.EluGrad(dy, op.outputs[0]),
            doc="exp(features) - 1 where negative, features elsewhere.")  # fmt: skip
Selu = unary("Selu", FLOATS, _selu, lambda op, dy: raw.SeluGrad(dy, op.outputs[0]),
             doc="The scaled exponential linear unit of self-normalizing networks.")  # fmt: skip
Softplus = unary("Softplus", FLOATS, _softplus,
                 lambda op, dy: raw.Mul(dy, raw.Sigmoid(op.inputs[0], name="Sigmoid"), name="mul"),
                 doc="log(exp(features) + 1).")  # fmt: skip
Softsign = unary("Softsign", FLOATS, _softsign, lambda op, dy: raw.SoftsignGrad(dy, op.inputs[0]),
                 doc="features / (abs(features) + 1).")  # fmt: skip


def _relu_grad_grad(op, ddx):
    x = op.inputs[1]
    return raw.ReluGrad(ddx, x), _zeros_like_shape(x)


def _relu6_grad_grad(op, ddx):
    x = op.inputs[1]
    return raw.Relu6Grad(ddx, x), _zeros_like_shape(x)


def _where_negative(op, ddx, y):
    """The second gradients of Elu and Selu: only the exponential part bends."""
    negative = raw.Less(y, 0.0, name="Less")
    product = raw.Mul(ddx, op.inputs[0], name="mul")
    return raw.Select(negative, product, public.zeros_like(y), name="Select")


def _elu_grad_grad(op, ddx):
    y = op.inputs[1]
    return raw.EluGrad(ddx, y), _where_negative(op, ddx, y)


def _selu_grad_grad(op, ddx):
    y = op.inputs[1]
    return raw.SeluGrad(ddx, y), _where_negative(op, ddx, y)


def _softplus_grad_grad(op, ddx):
    dy, x = op.inputs
    first = raw.SoftplusGrad(ddx, x)
    with public.control_dependencies([ddx]):
        product = raw.Mul(ddx, dy, name="mul")
        bottom = raw.AddV2(
            raw.AddV2(raw.Exp(raw.Neg(x, name="Neg"), name="Exp"), 2.0, name="add"),
            raw.Exp(x, name="Exp"),
            name="add",
        )
        return first, raw.RealDiv(product, bottom, name="truediv")


ReluGrad = by_features("ReluGrad", NUMBERS, _relu_grad, _relu_grad_grad,
                       doc="The gradient of Relu, from its input or its output.")  # fmt: skip
Relu6Grad = by_features("Relu6Grad", NUMBERS, _relu6_grad, _relu6_grad_grad,
                        doc="The gradient of Relu6, from its input or its output.")  # fmt: skip
EluGrad = by_outputs(
    "EluGrad", FLOATS, _elu_grad, _elu_grad_grad, doc="The gradient of Elu, from its output."
)
SeluGrad = by_outputs(
    "SeluGrad", FLOATS, _selu_grad, _selu_grad_grad, doc="The gradient of Selu, from its output."
)
SoftplusGrad = by_features("SoftplusGrad", FLOATS, _softplus_grad, _softplus_grad_grad,
                           doc="The gradient of Softplus, from its input.")  # fmt: skip
SoftsignGrad = by_features(
    "SoftsignGrad", FLOATS, _softsign_grad, doc="The gradient of Softsign, from its input."
)

LeakyRelu = op("""
    LeakyRelu(features: T) -> (activations: T)
      alpha: float = 0.20000000298023224
      T: {half, bfloat16, float, double} = float

    max(features, features * alpha).
""", shape=unchanged)  # fmt: skip


@LeakyRelu.host
def leaky_relu_host(features, *, alpha):
    return np.maximum(features, features * _like(np, alpha, features))


@LeakyRelu.lower
def leaky_relu_lower(features, *, alpha):
    return jnp.maximum(features, features * _like(jnp, alpha, features))


@LeakyRelu.grad
def leaky_relu_grad(op, dy):
    return raw.LeakyReluGrad(dy, op.inputs[0], alpha=op.attrs["alpha"])


@LeakyRelu.cases
def leaky_relu_cases(case):
    case([-2.0, 0.0, 3.0], alpha=0.5, gives=[-1.0, 0.0, 3.0], grad=False)
    case(case.normal(3, 4))
    case.shapes("[2,?]", "[2,?]")


LeakyReluGrad = op("""
    LeakyReluGrad(gradients: T, features: T) -> (backprops: T)
      alpha: float = 0.20000000298023224
      T: {half, bfloat16, float, double} = float

    The gradient of LeakyRelu, from its input.
""", shape=_merged)  # fmt: skip


@LeakyReluGrad.host
def leaky_relu_grad_host(gradients, features, *, alpha):
    return np.where(features > 0, gradients, gradients * _like(np, alpha, features))


@LeakyReluGrad.lower
def leaky_relu_grad_lower(gradients, features, *, alpha):
    return jnp.where(features > 0, gradients, gradients * _like(jnp, alpha, features))


@LeakyReluGrad.grad
def leaky_relu_grad_grad(op, ddx):
    x = op.inputs[1]
    return raw.LeakyReluGrad(ddx, x, alpha=op.attrs["alpha"]), _zeros_like_shape(x)


@LeakyReluGrad.cases
def leaky_relu_grad_cases(case):
    case([1.0, 2.0, 3.0], [-1.0, 0.0, 1.0], alpha=0.5, gives=[0.5, 1.0, 3.0])
    case.shapes("[2,?];[?,3]", "[2,3]")
    case.fails("[2];[3]", match="must be equal")


# -- public functions ---------------------------------------------------------------------------------------


@export("nn.relu")
def relu(features, name=None):
    """Returns max(features, 0).

    Args:
      features: A tensor of real numbers.
      name: A name for the operation.
    """
    return raw.Relu(features, name=name)


@export("nn.relu6")
def relu6(features, name=None):
    """Returns min(max(features, 0), 6).

    Args:
      features: A tensor of real numbers.
      name: A name for the operation.
    """
    with public.name_scope(name, "Relu6", [features]) as scope:
        features = public.convert_to_tensor(features, name="features")
        return raw.Relu6(features, name=scope)


@export("nn.elu")
def elu(features, name=None):
    """Returns exp(features) - 1 where features are negative, features elsewhere.

    Args:
      features: A tensor of floats.
      name: A name for the operation.
    """
    return raw.Elu(features, name=name)


@export("nn.selu")
def selu(features, name=None):
    """Returns the scaled exponential linear unit of the features.

    Args:
      features: A tensor of floats.
      name: A name for the operation.
    """
    return raw.Selu(features, name=name)


@export("nn.softplus", "math.softplus")
def softplus(features, name=None):
    """Returns log(exp(features) + 1).

    Args:
      features: A tensor of floats.
      name: A name for the operation.
    """
    return raw.Softplus(features, name=name)


@export("nn.softsign", "math.softsign")
def softsign(features, name=None):
    """Returns features / (abs(features) + 1).

    Args:
      features: A tensor of floats.
      name: A name for the operation.
    """
    return raw.Softsign(features, name=name)


@export("nn.leaky_relu")
def leaky_relu(features, alpha=0.2, name=None):
    """Returns features where positive, alpha * features elsewhere.

    Args:
      features: A tensor of numbers; integers become float32.
      alpha: The slope of the negative side.
      name: A name for the operation.
    """
    with public.name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = public.convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = public.cast(features, "float32")
        if isinstance(alpha, np.ndarray):
            alpha = alpha.item()
        return raw.LeakyRelu(features, alpha=alpha, name=scope)


@export("nn.crelu")
def crelu(features, name=None, axis=-1):
    """Returns the rectified features beside the rectified negated features.

    Args:
      features: A tensor of real numbers.
      name: A name for the operation.
      axis: The axis along which the two are put side by side.
    """
    with public.name_scope(name, "CRelu", [features]) as scope:
        features = public.convert_to_tensor(features, name="features")
        both = public.concat([features, raw.Neg(features)], axis, name=scope)
        return raw.Relu(both)


@export("nn.swish")
def swish(features):
    """Returns features * sigmoid(features).

    Args:
      features: A tensor of floats.
    """
    return public.custom_gradient(_swish)(features)


def _swish(features):
    features = public.convert_to_tensor(features, name="features")

    def grad(dy):
        # Computed again rather than kept: the sigmoid would hold memory from the forward to the backward pass.
        with public.control_dependencies([dy]):
            gate = raw.Sigmoid(features)
        return dy * (gate * (1.0 + features * (1.0 - gate)))

    return features * raw.Sigmoid(features), grad
