"""Adding a bias to every channel."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp
from headrace.native import finish
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.nn.names import public
from headrace.shapes import merge_dim, to_text, with_rank, with_rank_at_least

BiasAdd = op("""
    BiasAdd(value: T, bias: T) -> (output: T)
      T: numbertype
      data_format: {"NHWC", "NCHW"} = "NHWC"

    Adds a vector along the channels: the last axis, or with "NCHW" the second.
""")  # fmt: skip


@BiasAdd.shape
def bias_add_shape(value, bias, *, data_format="NHWC"):
    with_rank_at_least(value, 3 if data_format == "NCHW" else 2)
    (channels,) = with_rank(bias, 1)
    if value is None:
        return None
    at = channel_axis(len(value), data_format)
    return (*value[:at], merge_dim(value[at], channels), *value[at + 1 :])


def channel_axis(rank, data_format):
    """Returns which axis holds the channels."""
    return 1 if data_format == "NCHW" else rank - 1


def _bias_add(xp, value, bias, data_format):
    if value.ndim < 2:
        raise InvalidArgumentError(None, None, f"Input tensor must be at least 2D: {to_text(value.shape)}")
    if bias.ndim != 1:
        raise InvalidArgumentError(None, None, f"Biases must be 1D: {to_text(bias.shape)}")
    at = channel_axis(value.ndim, data_format)
    if value.shape[at] != bias.shape[0]:
        which = "channel" if data_format == "NCHW" else "last"
        raise InvalidArgumentError(
            None,
            None,
            f"Must provide as many biases as the {which} dimension of the input tensor: {to_text(bias.shape)} vs. "
            f"{to_text(value.shape)}",
        )
    return value + xp.reshape(bias, (-1,) + (1,) * (value.ndim - 1 - at))


@BiasAdd.host
def bias_add_host(value, bias, *, data_format):
    return _bias_add(np, value, bias, data_format)


@BiasAdd.lower
def bias_add_lower(value, bias, *, data_format):
    found = finish.biased(value, bias) if channel_axis(value.ndim, data_format) == value.ndim - 1 else None
    return _bias_add(jnp, value, bias, data_format) if found is None else found


@BiasAdd.grad
def bias_add_grad(op, dy):
    return dy, raw.BiasAddGrad(dy, data_format=op.attrs["data_format"])


@BiasAdd.cases
def bias_add_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0], gives=[[11.0, 22.0], [13.0, 24.0]])
    case([[[1.0, 2.0]], [[3.0, 4.0]]], [10.0], data_format="NCHW", gives=[[[11.0, 12.0]], [[13.0, 14.0]]])
    case(case.normal(2, 3, 4, 5), case.normal(3), data_format="NCHW")
    case.shapes("[2,?];[3]", "[2,3]")
    case.shapes("[2,?,4];[3]", "[2,3,4]", data_format="NCHW")
    case.fails("[3,2];[3]", match="must be equal, but are 2 and 3")
    case.fails("[3];[3]", match="at least rank 2 but is rank 1")


BiasAddV1 = op("""
    BiasAddV1(value: T, bias: T) -> (output: T)
      T: numbertype

    Adds a vector along the last axis.
""")  # fmt: skip


@BiasAddV1.shape
def bias_add_v1_shape(value, bias):
    return bias_add_shape(value, bias)


@BiasAddV1.host
def bias_add_v1_host(value, bias):
    return _bias_add(np, value, bias, "NHWC")


@BiasAddV1.lower
def bias_add_v1_lower(value, bias):
    return _bias_add(jnp, value, bias, "NHWC")


@BiasAddV1.grad
def bias_add_v1_grad(op, dy):
    outer = public.range(raw.Sub(public.rank(dy), 1, name="sub"))
    return dy, raw.Sum(dy, outer)


@BiasAddV1.cases
def bias_add_v1_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0], gives=[[11.0, 22.0], [13.0, 24.0]])
    case.shapes("[2,?];[3]", "[2,3]")


BiasAddGrad = op("""
    BiasAddGrad(out_backprop: T) -> (output: T)
      T: numbertype
      data_format: {"NHWC", "NCHW"} = "NHWC"

    Sums over all axes but the channels: the gradient of BiasAdd with respect to the bias.
""")  # fmt: skip


@BiasAddGrad.shape
def bias_add_grad_shape(out_backprop, *, data_format):
    with_rank_at_least(out_backprop, 3 if data_format == "NCHW" else 2)
    return (None,) if out_backprop is None else (out_backprop[channel_axis(len(out_backprop), data_format)],)


def _bias_sum(xp, dy, data_format):
    if dy.ndim < 2:
        raise InvalidArgumentError(None, None, f"Input tensor must be at least 2D: {to_text(dy.shape)}")
    at = channel_axis(dy.ndim, data_format)
    axes = tuple(i for i in range(dy.ndim) if i != at)
    wide = "float32" if dy.dtype.name in ("float16", "bfloat16") else dy.dtype
    return xp.sum(dy, axis=axes, dtype=wide).astype(dy.dtype)


@BiasAddGrad.host
def bias_add_grad_host(out_backprop, *, data_format):
    return _bias_sum(np, out_backprop, data_format)


@BiasAddGrad.lower
def bias_add_grad_lower(out_backprop, *, data_format):
    return _bias_sum(jnp, out_backprop, data_format)


@BiasAddGrad.grad
def bias_add_grad_grad(op, ddb):
    """Spreads a vector over the shape of the summed tensor: reshaped for its channels, then tiled."""
    data_format = op.attrs["data_format"]
    shape = public.shape(op.inputs[0])
    bias_shape = public.shape(ddb)
    if data_format == "NCHW":
        expanded = public.concat(
            [public.ones_like(shape[:1]), bias_shape, public.ones_like(shape[2:])], 0
        )  # fmt: skip
        multiples = public.concat([shape[:1], [1], shape[2:]], 0)
    else:
        expanded = public.concat([public.ones_like(shape[:-1]), bias_shape], 0)
        multiples = public.concat([shape[:-1], [1]], 0)
    return raw.Tile(raw.Reshape(ddb, expanded), multiples)


@BiasAddGrad.cases
def bias_add_grad_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], gives=[4.0, 6.0])
    case(np.ones((2, 3, 4), np.int32), data_format="NCHW", gives=np.array([8, 8, 8], np.int32))
    case(case.normal(2, 3, 4, 5))
    case.shapes("[2,?,3]", "[3]")
    case.shapes("?", "[?]")
    case.fails("[2]", match="at least rank 2")


# -- public functions ---------------------------------------------------------------------------------------


@export("nn.bias_add")
def bias_add(value, bias, data_format=None, name=None):
    """Returns `value` with a vector added along its channels.

    Args:
      value: A tensor of at least two axes.
      bias: A vector as long as there are channels.
      data_format: Where the channels are: a name that starts with "NC" for the second axis, else one that starts with
        "N" and ends with "C"; by default the last axis.
      name: A name for the operation.

    Raises:
      ValueError: `data_format` is none of those.
    """
    with public.name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError("data_format must be of the form `N...C` or `NC...`")
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return raw.BiasAdd(value, bias, data_format=data_format, name=scope)


@export("nn.xw_plus_b")
def xw_plus_b(x, weights, biases, name=None):
    """Returns matmul(x, weights) + biases.

    Args:
      x: A matrix.
      weights: A matrix.
      biases: A vector.
      name: A name for the operation.
    """
    with public.name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        product, biases = _product(x, weights, biases)
        return raw.BiasAdd(product, biases, name=scope)


@export("nn.relu_layer")
def relu_layer(x, weights, biases, name=None):
    """Returns relu(matmul(x, weights) + biases).

    Args:
      x: A matrix.
      weights: A matrix.
      biases: A vector.
      name: A name for the operation.
    """
    with public.name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        product, biases = _product(x, weights, biases)
        return raw.Relu(raw.BiasAdd(product, biases), name=scope)


def _product(x, weights, biases):
    x = convert_to_tensor(x, name="x")
    weights = convert_to_tensor(weights, name="weights")
    biases = convert_to_tensor(biases, name="biases")
    return raw.MatMul(x, weights), biases
