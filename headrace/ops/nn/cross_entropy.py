"""Cross entropies of softmax, with dense and with sparse labels."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.opdef import constant_value, op, raw
from headrace.ops.nn.softmax import shifted_exp
from headrace.shapes import broadcast, merge_dim, to_text, with_rank

SECOND_DERIVATIVE = (
    "Currently there is no way to take the second derivative of sparse_softmax_cross_entropy_with_logits due to the "
    "fused implementation's interaction with tf.gradients()"
)

SoftmaxCrossEntropyWithLogits = op("""
    SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> (loss: T, backprop: T)
      T: {half, bfloat16, float, double}

    The cross entropy between labels and the softmax of features, row by row, and its gradient.
""")  # fmt: skip


@SoftmaxCrossEntropyWithLogits.shape
def softmax_cross_entropy_shape(features, labels):
    both = broadcast(features, labels)
    if both is None:
        return [(None,), (None, None)]
    rows, classes = with_rank(both, 2)
    return [(rows,), (rows, classes)]


def _dense(xp, features, labels):
    if features.shape != labels.shape:
        try:
            both = np.broadcast_shapes(features.shape, labels.shape)
        except ValueError:
            raise InvalidArgumentError(
                None,
                None,
                f"logits and labels must be broadcastable: logits_size={to_text(features.shape)} "
                f"labels_size={to_text(labels.shape)}",
            ) from None
        features, labels = xp.broadcast_to(features, both), xp.broadcast_to(labels, both)
    if features.ndim != 2:
        raise InvalidArgumentError(
            None, None, "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional"
        )
    dtype = features.dtype
    x, e = shifted_exp(xp, features)
    labels = labels.astype(x.dtype)
    total = xp.sum(e, axis=-1, keepdims=True)
    loss = xp.sum(labels * (xp.log(total) - x), axis=-1)
    return loss.astype(dtype), (e * (1 / total) - labels).astype(dtype)


@SoftmaxCrossEntropyWithLogits.host
def softmax_cross_entropy_host(features, labels):
    with np.errstate(invalid="ignore"):
        return _dense(np, features, labels)


@SoftmaxCrossEntropyWithLogits.lower
def softmax_cross_entropy_lower(features, labels):
    return _dense(jnp, features, labels)


@SoftmaxCrossEntropyWithLogits.grad
def softmax_cross_entropy_grad(op, dloss, dbackprop):
    backprop = op.outputs[1]
    logits = op.inputs[0]
    grad = _times_rows(dloss, backprop)
    if dbackprop is not None and not _is_zero(dbackprop):
        probabilities = raw.Softmax(logits)
        row = raw.ExpandDims(dbackprop, 1)
        column = raw.ExpandDims(probabilities, 2)
        dot = raw.Squeeze(raw.BatchMatMulV2(row, column, name="MatMul"), squeeze_dims=[1])
        bent = raw.Mul(raw.Sub(dbackprop, dot, name="sub"), probabilities, name="mul")
        grad = raw.AddV2(grad, bent, name="add")
    return grad, _times_rows(dloss, raw.Neg(raw.LogSoftmax(logits)))


def _times_rows(vector, matrix):
    """Multiplies each row of a matrix by its element of a vector."""
    return raw.Mul(raw.ExpandDims(vector, -1), matrix, name="mul")


def _is_zero(tensor):
    if tensor.op.type in ("ZerosLike", "Zeros"):
        return True
    value = constant_value(tensor)
    return value is not None and bool((value == 0).all())


@SoftmaxCrossEntropyWithLogits.cases
def softmax_cross_entropy_cases(case):
    case(
        [[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
        gives=([1.4076059, 0.0], [[0.09003057, -0.75527155, 0.66524094], [0.0, 0.0, 0.0]]),
    )
    case(
        [[1.0, 2.0, 3.0], [3.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]], gives=([1.4076059, 3.094923], None), grad=False
    )
    # Labels that do not sum to 1, of which the by-product is not the derivative.
    case(case.normal(4, 3), case.uniform(4, 3), grad=False)
    case(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), gives=(np.zeros(0), np.zeros((0, 3))))
    case.shapes("[2,?];[?,3]", "[2];[2,3]")
    case.shapes("?;[2,3]", "[?];[?,?]")
    case.fails("[2,3];[2,4]", match="Dimensions must be equal, but are 3 and 4")
    case.fails("[3];[3]", match="must be rank 2 but is rank 1")


SparseSoftmaxCrossEntropyWithLogits = op("""
    SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> (loss: T, backprop: T)
      T: {half, bfloat16, float, double}
      Tlabels: {int32, int64} = int64

    The cross entropy of the softmax of each row of features where one class is right, and its gradient.
""")  # fmt: skip


@SparseSoftmaxCrossEntropyWithLogits.shape
def sparse_softmax_cross_entropy_shape(features, labels):
    rows, classes = with_rank(features, 2)
    rows = merge_dim(rows, with_rank(labels, 1)[0])
    return [(rows,), (rows, classes)]


def _check_sparse(features, labels):
    shapes = to_text(features.shape), to_text(labels.shape)
    if features.ndim != 2:
        raise InvalidArgumentError(None, None, f"logits must be 2-D, but got shape {shapes[0]}")
    if labels.ndim != 1:
        raise InvalidArgumentError(None, None, f"labels must be 1-D, but got shape {shapes[1]}")
    if features.shape[0] != labels.shape[0]:
        raise InvalidArgumentError(
            None,
            None,
            "logits and labels must have the same first dimension, got logits shape "
            f"{shapes[0]} and labels shape {shapes[1]}",
        )
    if features.shape[1] == 0:
        raise InvalidArgumentError(
            None, None, f"Must have at least one class, but got logits shape {shapes[0]}"
        )


@SparseSoftmaxCrossEntropyWithLogits.host
def sparse_softmax_cross_entropy_host(features, labels):
    _check_sparse(features, labels)
    classes = features.shape[1]
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        raise InvalidArgumentError(
            None,
            None,
            f"Received a label value of {labels[wrong][0]} which is outside the valid range of [0, {classes}).  "
            f"Label values: {' '.join(str(v) for v in labels.tolist())}",
        )
    with np.errstate(invalid="ignore"):
        x, e = shifted_exp(np, features)
        total = np.sum(e, axis=-1, keepdims=True)
        at = np.arange(len(labels)), labels
        loss = np.log(total[:, 0]) - x[at]
        backprop = e / total
        backprop[at] -= 1
    return loss.astype(features.dtype), backprop.astype(features.dtype)


@SparseSoftmaxCrossEntropyWithLogits.lower
def sparse_softmax_cross_entropy_lower(features, labels, *, ctx):
    _check_sparse(features, labels)
    classes = features.shape[1]
    ctx.check(jnp.all((labels >= 0) & (labels < classes)), "Received a label value outside the valid range")
    x = features.astype(np.float32) if features.dtype.itemsize < 4 else features
    most = jnp.max(x, axis=-1, keepdims=True)
    e = jnp.exp(x - most)
    total = jnp.sum(e, axis=-1, keepdims=True)
    # One element a row is gathered; what has as many elements as `features` is a comparison with every class, which
    # fuses with what is around it.
    picked = jnp.take_along_axis(x, labels[:, None], 1) - most
    loss = (jnp.log(total) - picked)[:, 0]
    right = jnp.arange(classes, dtype=labels.dtype)[None, :] == labels[:, None]
    backprop = e * (1 / total) - right.astype(x.dtype)
    return loss.astype(features.dtype), backprop.astype(features.dtype)


@SparseSoftmaxCrossEntropyWithLogits.grad
def sparse_softmax_cross_entropy_grad(op, dloss, dbackprop):
    guarded = raw.PreventGradient(op.outputs[1], message=SECOND_DERIVATIVE)
    return _times_rows(dloss, guarded), None


@SparseSoftmaxCrossEntropyWithLogits.cases
def sparse_softmax_cross_entropy_cases(case):
    case(
        [[1.0, 2.0, 3.0], [1000.0, 0.0, 0.0]],
        np.array([2, 0], np.int32),
        gives=([0.40760595, 0.0], [[0.09003057, 0.24472848, -0.33475906], [0.0, 0.0, 0.0]]),
    )
    case(case.normal(4, 3), np.array([2, 0, 1, 1], np.int64))
    case(np.zeros((0, 3), np.float32), np.zeros(0, np.int64), gives=(np.zeros(0), np.zeros((0, 3))))
    case.shapes("[?,5];[3]", "[3];[3,5]")
    case.fails("[2,3];[3]", match="Dimensions must be equal, but are 2 and 3")
    case.fails("[2];[2]", match="must be rank 2 but is rank 1")
    case.fails(
        (np.zeros((2, 3), np.float32), np.array([2, 3], np.int32)),
        match=r"Received a label value of 3 which is outside the valid range of \[0, 3\).  Label values: 2 3",
    )
    case.fails((np.zeros((1, 0), np.float32), np.array([0], np.int32)), match="Must have at least one class")
