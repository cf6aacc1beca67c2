"""Computations of nn ops, made once with TensorFlow for the golden file and again by the test."""

import numpy as np


def ints(*values):
    return np.array(values, np.int32)


CONV = (
    ((2, 7, 9, 3), (3, 2, 3, 4), dict(strides=[1, 1, 1, 1], padding="SAME")),
    ((2, 7, 9, 3), (3, 2, 3, 4), dict(strides=[1, 2, 2, 1], padding="SAME")),
    ((2, 7, 9, 3), (3, 2, 3, 4), dict(strides=[1, 3, 2, 1], padding="VALID")),
    ((2, 7, 9, 3), (1, 1, 3, 4), dict(strides=[1, 1, 1, 1], padding="VALID")),
    ((2, 7, 9, 3), (1, 1, 3, 4), dict(strides=[1, 2, 3, 1], padding="SAME")),
    ((2, 4, 5, 3), (4, 5, 3, 2), dict(strides=[1, 1, 1, 1], padding="VALID")),
    ((2, 6, 6, 2), (2, 2, 2, 3), dict(strides=[1, 3, 3, 1], padding="VALID")),
)
DILATED = ((2, 9, 9, 2), (3, 2, 2, 3), dict(strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 3, 1]))
DEPTHWISE = (
    ((2, 7, 9, 3), (3, 3, 3, 2), dict(strides=[1, 1, 1, 1], padding="SAME")),
    ((2, 7, 9, 3), (3, 2, 3, 1), dict(strides=[1, 2, 2, 1], padding="VALID")),
)
CONV3D = (
    ((1, 4, 5, 6, 2), (2, 3, 2, 2, 3), dict(strides=[1, 1, 2, 1, 1], padding="SAME")),
    ((1, 4, 5, 6, 2), (2, 3, 2, 2, 3), dict(strides=[1, 2, 2, 2, 1], padding="VALID")),
)
POOLS = (
    ((2, 7, 9, 3), dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")),
    ((2, 7, 9, 3), dict(ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="VALID")),
    ((2, 7, 9, 3), dict(ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME")),
    ((2, 7, 9, 3), dict(ksize=[1, 2, 2, 1], strides=[1, 3, 3, 1], padding="VALID")),
    ((1, 12, 12, 2), dict(ksize=[1, 9, 9, 1], strides=[1, 2, 2, 1], padding="SAME")),
    ((2, 5, 5, 2), dict(ksize=[1, 5, 5, 1], strides=[1, 5, 5, 1], padding="VALID")),
)
POOLS3D = (((1, 4, 5, 6, 2), dict(ksize=[1, 2, 3, 2, 1], strides=[1, 2, 1, 2, 1], padding="SAME")),)


def operand(spec, i):
    """Returns the array that a spec stands for; normal numbers come from the seed `i`."""
    if isinstance(spec, np.ndarray):
        return spec
    return np.random.RandomState(i).standard_normal(spec).astype(np.float32)


def rounded(spec, i):
    """Returns small integers as floats, so that there are ties."""
    return np.round(operand(spec, i) * 2)


def out_shape(size, window, attrs, axis):
    stride, dilation = attrs["strides"][axis], attrs.get("dilations", [1] * 9)[axis]
    if attrs["padding"] == "SAME":
        return -(-size // stride)
    return (size - (window - 1) * dilation - 1) // stride + 1


def cases():
    """Yields (name, op, operands, attrs)."""
    for kind, back_input, back_filter, rows in (
        ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", CONV),
        (
            "DepthwiseConv2dNative",
            "DepthwiseConv2dNativeBackpropInput",
            "DepthwiseConv2dNativeBackpropFilter",
            DEPTHWISE,
        ),
        ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", CONV3D),
    ):
        for i, (x, w, attrs) in enumerate(rows):
            space = [out_shape(x[a], w[a - 1], attrs, a) for a in range(1, len(x) - 1)]
            channels = w[-1] * w[-2] if kind.startswith("Depthwise") else w[-1]
            dy = (x[0], *space, channels)
            yield f"{kind} {i}", kind, (operand(x, 1), operand(w, 2)), attrs
            yield f"{back_input} {i}", back_input, (ints(*x), operand(w, 2), operand(dy, 3)), attrs
            yield f"{back_filter} {i}", back_filter, (operand(x, 1), ints(*w), operand(dy, 3)), attrs
    x, w, attrs = DILATED
    yield "Conv2D dilated", "Conv2D", (operand(x, 1), operand(w, 2)), attrs
    explicit = dict(strides=[1, 2, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 2, 1, 0, 3, 0, 0])
    yield "Conv2D explicit", "Conv2D", (operand((2, 7, 9, 3), 1), operand((3, 2, 3, 4), 2)), explicit
    for dimensions, rows in (("", POOLS), ("3D", POOLS3D)):
        for i, (x, attrs) in enumerate(rows):
            dy = (x[0], *(out_shape(x[a], attrs["ksize"][a], attrs, a) for a in range(1, len(x) - 1)), x[-1])
            for label, make in (("", operand), (" ties", rounded)):
                images = make(x, 1)
                greatest = maxima(images, attrs)
                yield f"MaxPool{dimensions} {i}{label}", "MaxPool" + dimensions, (images,), attrs
                yield (
                    f"MaxPool{dimensions}Grad {i}{label}",
                    f"MaxPool{dimensions}Grad",
                    (images, greatest, operand(dy, 3)),
                    attrs,
                )
                if not dimensions:
                    yield (
                        f"MaxPoolGradGrad {i}{label}",
                        "MaxPoolGradGrad",
                        (images, greatest, operand(x, 4)),
                        attrs,
                    )
                    yield f"MaxPoolWithArgmax {i}{label}", "MaxPoolWithArgmax", (images,), attrs
            yield f"AvgPool{dimensions} {i}", "AvgPool" + dimensions, (operand(x, 1),), attrs
            yield (
                f"AvgPool{dimensions}Grad {i}",
                f"AvgPool{dimensions}Grad",
                (ints(*x), operand(dy, 3)),
                attrs,
            )
    yield "LRN", "LRN", (operand((2, 2, 3, 9), 1),), dict(depth_radius=2, bias=1.5, alpha=0.3, beta=0.7)
    x = operand((2, 3, 4, 3), 1)
    scale, offset, none = operand((3,), 2), operand((3,), 3), np.zeros(0, np.float32)
    yield "FusedBatchNorm", "FusedBatchNorm", (x, scale, offset, none, none), dict(epsilon=0.01)
    mean, variance = operand((3,), 4), np.abs(operand((3,), 5))
    for training in (True, False):
        attrs = dict(epsilon=0.01, is_training=training)
        yield (
            f"FusedBatchNormGrad {training}",
            "FusedBatchNormGrad",
            (operand(x.shape, 6), x, scale, mean, variance),
            attrs,
        )
    logits = operand((4, 5), 1) * 3
    yield "Softmax", "Softmax", (logits,), {}
    yield "LogSoftmax", "LogSoftmax", (logits,), {}
    yield (
        "SoftmaxCrossEntropyWithLogits",
        "SoftmaxCrossEntropyWithLogits",
        (logits, np.abs(operand((4, 5), 2))),
        {},
    )
    yield (
        "SparseSoftmaxCrossEntropyWithLogits",
        "SparseSoftmaxCrossEntropyWithLogits",
        (logits, ints(0, 4, 2, 2)),
        {},
    )
    for kind in "Relu Relu6 Elu Selu LeakyRelu Softplus Softsign".split():
        yield kind, kind, (logits,), {}
        yield kind + "Grad", kind + "Grad", (operand((4, 5), 2), logits), {}
    yield "TopKV2", "TopKV2", (rounded((3, 4, 9), 1), np.int32(5)), {}


def maxima(x, attrs):
    """Returns the greatest element of every window, in NumPy."""
    rank = x.ndim
    pads = []
    for a in range(rank):
        n, k, s = x.shape[a], attrs["ksize"][a], attrs["strides"][a]
        total = max(0, (-(-n // s) - 1) * s + k - n) if attrs["padding"] == "SAME" else 0
        pads.append((total // 2, total - total // 2))
    padded = np.pad(x, pads, mode="constant", constant_values=-np.inf)
    outs = [(padded.shape[a] - attrs["ksize"][a]) // attrs["strides"][a] + 1 for a in range(rank)]
    out = np.empty(outs, np.float32)
    for index in np.ndindex(*outs):
        window = tuple(
            slice(i * s, i * s + k)
            for i, s, k in zip(index, attrs["strides"], attrs["ksize"])  # noqa: B905
        )
        out[index] = padded[window].max()
    return out


def digest(array):
    """Returns the facts of an output that are compared: type, shape, two sums, and every so many elements."""
    array = np.asarray(array)
    flat = array.reshape(-1)
    wide = flat.astype(np.float64)
    step = max(1, flat.size // 24)
    return [
        array.dtype.name,
        list(array.shape),
        float(np.float32(wide.sum())),
        float(np.float32((wide * wide).sum())),
        [float(np.float32(v)) for v in flat[::step]],
    ]
