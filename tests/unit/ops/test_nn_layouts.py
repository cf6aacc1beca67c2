"""With channels first the nn ops compute what they compute with channels last."""

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def normal(*shape):
    return np.random.RandomState(7).standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int32)


X, W, DY = normal(2, 5, 6, 3), normal(3, 2, 3, 4), normal(2, 3, 3, 4)
POINT, DY_POINT = normal(1, 1, 3, 4), normal(2, 3, 3, 4)
DEEP, DY_DEEP = normal(3, 2, 3, 1), normal(2, 3, 3, 3)
STEP = {"strides": [1, 2, 2, 1], "padding": "SAME"}
POOL = {"ksize": [1, 3, 2, 1], **STEP}
VECTOR = np.array([1.0, 2.0, 3.0], np.float32)

# name, operands, attrs; operands of four axes are images except the filters, which come as ("filter", array).
CASES = {
    "Conv2D": ((X, ("filter", W)), STEP),
    "Conv2D pointwise": ((X, ("filter", POINT)), STEP),
    "Conv2DBackpropInput": ((ints(2, 5, 6, 3), ("filter", W), DY), STEP),
    "Conv2DBackpropInput pointwise": ((ints(2, 5, 6, 3), ("filter", POINT), DY_POINT), STEP),
    "Conv2DBackpropFilter": ((X, ("sizes", ints(3, 2, 3, 4)), DY), STEP),
    "Conv2DBackpropFilter pointwise": ((X, ("sizes", ints(1, 1, 3, 4)), DY_POINT), STEP),
    "DepthwiseConv2dNative": ((X, ("filter", DEEP)), STEP),
    "DepthwiseConv2dNativeBackpropInput": ((ints(2, 5, 6, 3), ("filter", DEEP), DY_DEEP), STEP),
    "DepthwiseConv2dNativeBackpropFilter": ((X, ("sizes", ints(3, 2, 3, 1)), DY_DEEP), STEP),
    "MaxPool": ((X,), POOL),
    "MaxPoolGrad": ((X, DY_DEEP, DY_DEEP), POOL),
    "AvgPool": ((X,), POOL),
    "AvgPoolGrad": ((ints(2, 5, 6, 3), DY_DEEP), POOL),
    "BiasAdd": ((X, VECTOR), {}),
    "BiasAddGrad": ((X,), {}),
    "FusedBatchNormV3": ((X, VECTOR, VECTOR, np.zeros(0, np.float32), np.zeros(0, np.float32)), {}),
    "FusedBatchNormGrad": ((X, X * X, VECTOR, VECTOR, VECTOR), {}),
}


def compute(kind, operands, attrs):
    with tf.Graph().as_default(), tf.Session() as session:
        result = getattr(raw, kind)(*[tf.constant(v) for v in operands], **attrs)
        return session.run(list(result) if isinstance(result, tuple) else [result])


def moved(operand):
    if isinstance(operand, tuple):
        return operand[1]
    if operand.ndim == 4:
        return operand.transpose(FIRST)
    return operand[list(FIRST)] if operand.dtype == np.int32 else operand


@pytest.mark.parametrize("name", CASES)
def test_channels_first(name):
    operands, attrs = CASES[name]
    kind = name.split()[0]
    last = compute(kind, [v[1] if isinstance(v, tuple) else v for v in operands], attrs)
    first_attrs = {k: [v[i] for i in FIRST] if isinstance(v, list) else v for k, v in attrs.items()}
    first = compute(kind, [moved(v) for v in operands], {**first_attrs, "data_format": "NCHW"})
    is_filter = kind.endswith("BackpropFilter")
    for a, b in zip(first, last, strict=True):
        b = b.transpose(FIRST) if b.ndim == 4 and not is_filter else b
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("kind", ["Conv2D", "DepthwiseConv2dNative", "MaxPool", "AvgPool"])
def test_other_floats(kind, dtype):
    operands, attrs = CASES[kind]
    operands = [v[1] if isinstance(v, tuple) else v for v in operands]
    (want,) = compute(kind, operands, attrs)
    (got,) = compute(kind, [v.astype(dtype) for v in operands], attrs)
    assert got.dtype == dtype
    # The operands were rounded to float16, too: a few units of its last place.
    tolerance = 1e-2 if dtype == np.float16 else 1e-5
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_a_label_out_of_range_is_refused_once_and_for_all():
    with tf.Graph().as_default(), tf.Session() as session:
        labels = tf.placeholder(tf.int32, [None])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.zeros([2, 3]))
        for _ in range(3):
            np.testing.assert_allclose(session.run(loss, {labels: [0, 2]}), [np.log(3)] * 2, rtol=1e-6)
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"label value of 3 which is outside .* \[0, 3\)"
            ):
                session.run(loss, {labels: [0, 3]})
