"""Functions of nn ops whose first and second gradients are made once with TensorFlow and again by the test."""

import numpy as np


def normal(shape, seed, ties=False):
    """Returns normal numbers; with `ties` rounded so that some are equal."""
    x = np.random.RandomState(seed).standard_normal(shape)
    return (np.round(x * 2) if ties else x).astype(np.float32)


def _back(tf, function):
    """Makes a function of channels-first images of one of channels-last ones."""

    def transposed(x, *rest):
        n = len(x.shape)
        y = function(tf.transpose(x, [0, *range(2, n), 1]), *rest)
        return tf.transpose(y, [0, n - 1, *range(1, n - 1)])

    return transposed


def cases(tf, raw, channels_first):
    """Yields (name, function, shapes, options); `channels_first` says whether the library runs that layout."""

    def both(name, make, shapes, **options):
        yield name, make("last"), shapes, options
        n = len(shapes[0])
        order = [0, n - 1, *range(1, n - 1)]
        first = [tuple(shapes[0][i] for i in order), *shapes[1:]]
        function = make("first") if channels_first else _back(tf, make("last"))
        yield name + " channels first", function, first, options

    def spread(values, layout):
        return [1, *values, 1] if layout == "last" else [1, 1, *values]

    two = {"last": "NHWC", "first": "NCHW"}
    three = {"last": "NDHWC", "first": "NCDHW"}
    for label, steps, padding in (
        ("same", (1, 1), "SAME"),
        ("strided", (2, 1), "SAME"),
        ("valid", (1, 2), "VALID"),
    ):
        yield from both(
            f"conv2d {label}",
            lambda at, steps=steps, padding=padding: (
                lambda x, w: raw.Conv2D(
                    input=x, filter=w, strides=spread(steps, at), padding=padding, data_format=two[at]
                )
            ),
            [(2, 5, 6, 3), (3, 2, 3, 4)],
        )
        yield from both(
            f"pool max {label}",
            lambda at, steps=steps, padding=padding: (
                lambda x: raw.MaxPool(
                    input=x,
                    ksize=spread((2, 3), at),
                    strides=spread(steps, at),
                    padding=padding,
                    data_format=two[at],
                )
            ),
            [(2, 5, 6, 3)],
            ties=True,
        )
        yield from both(
            f"pool mean {label}",
            lambda at, steps=steps, padding=padding: (
                lambda x: raw.AvgPool(
                    value=x,
                    ksize=spread((2, 3), at),
                    strides=spread(steps, at),
                    padding=padding,
                    data_format=two[at],
                )
            ),
            [(2, 5, 6, 3)],
        )
        yield (
            f"pool argmax {label}",
            lambda x, steps=steps, padding=padding: raw.MaxPoolWithArgmax(
                input=x, ksize=[1, 2, 3, 1], strides=spread(steps, "last"), padding=padding
            )[0],
            [(2, 5, 6, 3)],
            {"ties": True},
        )
    for steps in (1, 2):
        yield from both(
            f"depthwise {steps}",
            lambda at, steps=steps: (
                lambda x, w: raw.DepthwiseConv2dNative(
                    input=x, filter=w, strides=spread((steps, steps), at), padding="SAME", data_format=two[at]
                )
            ),
            [(2, 5, 6, 3), (3, 3, 3, 2)],
        )
    yield from both(
        "conv3d",
        lambda at: (
            lambda x, w: raw.Conv3D(
                input=x, filter=w, strides=spread((1, 2, 1), at), padding="SAME", data_format=three[at]
            )
        ),
        [(1, 3, 4, 5, 2), (2, 3, 2, 2, 3)],
    )
    for kind, operand in (("MaxPool3D", "input"), ("AvgPool3D", "input")):
        yield from both(
            kind,
            lambda at, kind=kind, operand=operand: (
                lambda x: getattr(raw, kind)(
                    **{operand: x},
                    ksize=spread((2, 2, 3), at),
                    strides=spread((1, 2, 1), at),
                    padding="SAME",
                    data_format=three[at],
                )
            ),
            [(1, 3, 4, 5, 2)],
            ties=kind.startswith("Max"),
        )
    sizes, steps = [1, 2, 3, 1], [1, 2, 1, 1]
    yield (
        "pool max of tensors",
        lambda x: raw.MaxPoolV2(input=x, ksize=sizes, strides=steps, padding="SAME"),
        [(2, 5, 6, 3)],
        {},
    )
    empty = np.zeros(0, np.float32)
    mean, variance = normal((3,), 71), np.abs(normal((3,), 72)) + 0.5
    for version in ("", "V2", "V3"):
        yield from both(
            f"batch norm{version}",
            lambda at, version=version: (
                lambda x, s, o: getattr(raw, "FusedBatchNorm" + version)(
                    x=x, scale=s, offset=o, mean=empty, variance=empty, epsilon=0.01, data_format=two[at]
                )[0]
            ),
            [(2, 3, 4, 3), (3,), (3,)],
        )
        yield from both(
            f"batch norm{version} given",
            lambda at, version=version: (
                lambda x, s, o: getattr(raw, "FusedBatchNorm" + version)(
                    x=x,
                    scale=s,
                    offset=o,
                    mean=mean,
                    variance=variance,
                    epsilon=0.01,
                    is_training=False,
                    data_format=two[at],
                )[0]
            ),
            [(2, 3, 4, 3), (3,), (3,)],
        )
    yield "lrn", lambda x: raw.LRN(input=x, depth_radius=2, bias=1.5, alpha=0.3, beta=0.7), [(2, 2, 3, 7)], {}
    for kind in (
        "softmax",
        "log_softmax",
        "relu",
        "relu6",
        "elu",
        "selu",
        "leaky_relu",
        "softplus",
        "softsign",
    ):
        yield kind, getattr(tf.nn, kind), [(4, 5)], {"scale": 3}
    for kind in ("sigmoid", "tanh"):
        yield kind, getattr(tf, kind), [(4, 5)], {}
    labels = np.abs(normal((4, 5), 73))
    labels /= labels.sum(1, keepdims=True)
    yield (
        "cross entropy",
        lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=x),
        [(4, 5)],
        {},
    )
    yield (
        "cross entropy of both",
        lambda p, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=p, logits=x),
        [(4, 5), (4, 5)],
        {},
    )
    yield (
        "sparse cross entropy",
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 4, 2, 2], logits=x),
        [(4, 5)],
        {"third": True},
    )
    yield (
        "sigmoid cross entropy",
        lambda p, x: tf.nn.sigmoid_cross_entropy_with_logits(labels=p, logits=x),
        [(4, 5), (4, 5)],
        {},
    )
    yield from both(
        "bias", lambda at: lambda x, b: tf.nn.bias_add(x, b, data_format=two[at]), [(2, 3, 4, 5), (5,)]
    )
    yield "l2 loss", tf.nn.l2_loss, [(4, 5)], {}
    yield "l2 normalize", lambda x: tf.nn.l2_normalize(x, 1), [(4, 5)], {}
    yield "top k", lambda x: tf.nn.top_k(x, 2)[0], [(4, 5)], {}
    yield "moments", lambda x: tf.nn.moments(x, [0])[1], [(4, 5)], {}


def gradients(tf, function, shapes, options):
    """Returns the value, the first and the second gradients in given directions; None where there is none."""
    ties, scale = options.get("ties", False), options.get("scale", 1)
    xs = [tf.constant(normal(s, i, ties) * np.float32(scale)) for i, s in enumerate(shapes)]
    y = function(*xs)
    dy = tf.constant(normal([int(n) for n in y.shape], 11))
    first = tf.gradients(y, xs, dy)
    found = [g for g in first if g is not None]
    seeds = [tf.constant(normal([int(n) for n in g.shape], 21 + i)) for i, g in enumerate(found)]
    try:
        second = tf.gradients(found, [dy, *xs], seeds)
    except LookupError as error:
        second = [str(error)]
    return [y, *first, *second]


def results(tf, name, function, shapes, options):
    """Returns digests of what `gradients` gives, or what was refused."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = gradients(tf, function, shapes, options)
        out = []
        for tensor in found:
            if tensor is None or isinstance(tensor, str):
                out.append(tensor)
                continue
            try:
                out.append(digest(session.run(tensor)))
            except tf.errors.OpError as error:
                out.append("refused: " + str(error.message).split("\n")[0])
        return out


def digest(array):
    """Returns shape, sum of squares and up to 24 elements."""
    flat = np.asarray(array, np.float64).reshape(-1)
    step = max(1, flat.size // 24)
    return [list(np.shape(array)), float((flat * flat).sum()), [round(float(v), 6) for v in flat[::step]]]
