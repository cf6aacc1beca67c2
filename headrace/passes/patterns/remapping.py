"""Convolutions that take over what is done to their channels (grappler: remapping, constant_folding).

Only where filters and statistics are constants, as in frozen graphs. Where they are variables, their product would have
to be computed in each step, which is what XLA does anyway: it fuses the scaling of channels, and `relu`, into one pass
over what a convolution gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes
from headrace.graph import Operation, Tensor
from headrace.passes.rewrite import ONE_KNOWN, Inputs, Pattern, Rewriter, Table

_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def _filter_of(here: Rewriter, t: Tensor) -> tuple[Operation, np.ndarray[Any, Any]] | None:
    """Returns the convolution that makes a tensor for one node alone, and its constant filter."""
    conv = t._op
    if conv.type not in _CONVOLUTIONS or t._dtype is not dtypes.float32 or here.is_fed(t):
        return None
    weights = here.constant(here.inputs(conv)[1])
    if weights is None or weights.ndim != 4 or weights.nbytes > here.most_bytes or not here.is_private(conv):
        return None
    return conv, weights


def _channels(conv: Operation, weights: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Returns the dimensions of a filter that are the channels of what the convolution gives."""
    first = 2 if conv.type == "DepthwiseConv2dNative" else 3
    return tuple(weights.shape[first:])


def _scaled(
    here: Rewriter, conv: Operation, weights: np.ndarray[Any, Any], factor: np.ndarray[Any, Any]
) -> Tensor:
    """Returns what a convolution gives whose filter has been multiplied by a factor for each channel."""
    here.absorb(conv)
    x, old = here.inputs(conv)
    # Plans for several fetches share the filter.
    key = old, factor.tobytes()
    kept = conv.__dict__.get("scaled_filter")
    if kept is None or kept[0] != key:
        kept = conv.__dict__["scaled_filter"] = key, weights * factor.reshape(_channels(conv, weights))
    y = conv._outputs[0]
    taken = here.const(conv, kept[1], old._dtype)
    return here.add(conv.type, conv, (x, taken), conv.attrs, [y._dtype], [y._dims])._outputs[0]


def _usable(factor: np.ndarray[Any, Any], conv: Operation, op: Operation) -> bool:
    return bool(np.isfinite(factor).all()) and conv._device == op._device


def _batch_norm(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    x, *vectors = inputs
    found = None if op.attrs["is_training"] else _filter_of(here, x)
    values = [v for v in map(here.constant, vectors) if v is not None]
    if found is None or len(values) < len(vectors):
        return None
    conv, weights = found
    n = int(np.prod(_channels(conv, weights)))
    layout = op.attrs["data_format"]
    if any(v.shape != (n,) for v in values) or layout != conv.attrs["data_format"]:
        return None
    scale, offset, mean, variance = [v.astype(np.float64) for v in values]
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + op.attrs["epsilon"])
    if not _usable(factor, conv, op):
        return None
    y = _scaled(here, conv, weights, factor.astype(np.float32))
    bias = here.const(op, (offset - mean * factor).astype(np.float32), dtypes.float32)
    attrs = {"T": dtypes.float32, "data_format": layout}
    shifted = here.add("BiasAdd", op, (y, bias), attrs, [y._dtype], [y._dims])._outputs[0]
    of_all = vectors[2:]  # the means and variances that it hands on are those it is given
    more = [here.const(op, np.zeros((), np.float32), dtypes.float32)] if len(op._outputs) > 5 else []
    return [shifted, *of_all, *of_all, *more]


def _product(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    x, by = inputs
    if here.known.get(by, 0) is not None:  # it isn't a constant array
        x, by = by, x
        if here.known.get(by, 0) is not None:
            return None
    factor = here.constant(by)
    found = None if factor is None else _filter_of(here, x)
    if found is None or factor is None or found[0].attrs["data_format"] != "NHWC":
        return None
    conv, weights = found
    n = int(np.prod(_channels(conv, weights)))
    if factor.shape[-1:] != (n,) or factor.size != n or factor.ndim > 4 or not _usable(factor, conv, op):
        return None
    return _scaled(here, conv, weights, factor)


def _image(tf: Any, x: Any) -> Any:
    return tf.reshape(tf.concat([x, x, x], 0), [1, 3, 2, 3])


def _convolved(tf: Any, x: Any, weights: Any = None) -> Any:
    import numpy as np

    if weights is None:
        weights = np.linspace(-1, 1, 48, dtype=np.float32).reshape(2, 2, 3, 4)
    return tf.nn.conv2d(_image(tf, x), weights, 1, "SAME")


def _deep(tf: Any, x: Any) -> Any:
    import numpy as np

    weights = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 2, 3, 2)
    return tf.nn.depthwise_conv2d_native(_image(tf, x), weights, [1, 1, 1, 1], "SAME")


def _normal(tf: Any, x: Any, mean: Any = None, is_training: bool = False) -> Any:
    import numpy as np

    n = int(x.shape[3])
    of = [np.linspace(a, b, n, dtype=np.float32) for a, b in ((0.5, 2), (-1, 1), (-0.3, 0.4), (0.1, 3))]
    if is_training:
        return tf.nn.fused_batch_norm(x, of[0], of[1])[0]
    return tf.nn.fused_batch_norm(x, of[0], of[1], of[2] if mean is None else mean, of[3], is_training=False)[
        0
    ]


TABLE = Table(
    "remapping",
    (
        Pattern(
            "batch norm into a convolution",
            "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3",
            _batch_norm,
            glance=ONE_KNOWN,
            why="Each channel's factor is in the filter, so one multiplication and subtraction of every element less, "
            "and fewer nodes to trace and to compile.",
            fires=(
                lambda tf, x: _normal(tf, _convolved(tf, x)),
                lambda tf, x: _normal(tf, _deep(tf, x)),
            ),
            alone=(
                lambda tf, x: _normal(tf, _convolved(tf, x), is_training=True),
                lambda tf, x: _normal(tf, tf.nn.relu(_convolved(tf, x))),
                lambda tf, x: _normal(tf, _convolved(tf, x), tf.concat([x[0, :2], x[1, :2]], 0)),
                lambda tf, x: _normal(tf, _convolved(tf, x, tf.reshape(tf.concat([x] * 8, 0), [2, 2, 3, 4]))),
                lambda tf, x: (lambda y: tf.concat([y, _normal(tf, y)], 0))(_convolved(tf, x)),
            ),
            is_exact=False,
        ),
        Pattern(
            "product into a convolution",
            "Mul",
            _product,
            glance=ONE_KNOWN,
            why="As batch norm, in graphs that were frozen before there was a fused one.",
            fires=(
                lambda tf, x: _convolved(tf, x) * [1.0, 2.0, 3.0, 4.0],
                lambda tf, x: _deep(tf, x) * [[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]] - 1.0,
            ),
            alone=(
                lambda tf, x: _convolved(tf, x) * [[1.0], [2.0]],
                lambda tf, x: _convolved(tf, x) * tf.concat([x[0, :2], x[1, :2]], 0),
            ),
            is_exact=False,
        ),
    ),
)
