"""Computations of CTC, dilation, fractional pooling, LSTM and GRU ops, for the golden file and for the test."""

import numpy as np


def normal(*shape, seed=0):
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int32)


def longs(values):
    return np.array(values, np.int64)


def _ctc():
    x = normal(5, 2, 4)
    two = longs([[0, 0], [0, 1], [1, 0]])
    three = longs([[0, 0], [0, 1], [0, 2], [1, 0]])
    gaps = longs([[0, 3], [0, 7], [1, 2]])
    lengths = ints(5, 4)
    repeat = dict(preprocess_collapse_repeated=True)
    plain = dict(ctc_merge_repeated=False)
    ignore = dict(ignore_longer_outputs_than_inputs=True)
    low = np.where(x == x[0, 0, 0], -np.inf, x).astype(np.float32)
    rows = {
        "basic": (x, two, ints(0, 1, 2), lengths, {}),
        "double": (x.astype(np.float64), two, ints(0, 1, 2), lengths, {}),
        "repeated": (x, two, ints(1, 1, 2), lengths, {}),
        "repeated, not merged": (x, two, ints(1, 1, 2), lengths, plain),
        "three, not merged": (x, three, ints(1, 1, 2, 2), ints(4, 4), plain),
        "repeated, collapsed": (x, two, ints(1, 1, 2), lengths, repeat),
        "null collapsed": (x, three, ints(1, 1, 3, 2), ints(3, 4), repeat),
        "too long, ignored": (x, three, ints(1, 2, 0, 2), ints(2, 4), ignore),
        "no frames, ignored": (x, two[[0, 2]], ints(1, 2), ints(0, 4), ignore),
        "no path": (x, two, ints(1, 1, 2), ints(2, 4), {}),
        "gaps": (x, gaps, ints(0, 1, 2), lengths, {}),
        "label is the blank": (x, two, ints(0, 3, 2), lengths, {}),
        "labels beyond the blank": (x, three, ints(0, 9, 3, 2), lengths, {}),
        "minus infinity": (low, two, ints(0, 1, 2), lengths, {}),
        "far apart": (x * 100, two, ints(0, 1, 2), lengths, {}),
        "too long": (x, three, ints(1, 2, 0, 2), ints(2, 4), {}),
        "too long, collapsed": (x, two, ints(1, 1, 2), ints(1, 4), repeat),
        "no labels": (x, two[2:], ints(2), lengths, {}),
        "length too great": (x, two, ints(0, 1, 2), ints(6, 4), {}),
        "length negative": (x, two, ints(0, 1, 2), ints(-1, 4), {}),
        "label negative": (x, two, ints(0, -1, 2), lengths, {}),
        "label after null": (x, three, ints(0, 3, 1, 2), lengths, {}),
        "row too great": (x, longs([[0, 0], [0, 1], [2, 0]]), ints(0, 1, 2), lengths, {}),
        "row negative": (x, longs([[-1, 0], [0, 1], [1, 0]]), ints(0, 1, 2), lengths, {}),
        "out of order": (x, longs([[1, 0], [0, 0], [0, 1]]), ints(0, 1, 2), lengths, {}),
        "twice": (x, longs([[0, 0], [0, 0], [1, 2]]), ints(0, 1, 2), lengths, {}),
        "no batch": (x[:, :0], two[:0], ints(), ints(), {}),
    }
    for label, (*operands, attrs) in rows.items():
        yield "CTCLoss " + label, "CTCLoss", tuple(operands), attrs


def _decoders():
    y = np.round(normal(7, 3, 4, seed=4) * 2) / 2
    for merge in (False, True):
        for label, lengths in (
            ("all", (7, 7, 7)),
            ("short", (0, 3, 7)),
            ("wrong", (8, 7, 7)),
            ("few", (7, 7)),
        ):
            name = f"CTCGreedyDecoder {label} {merge}"
            yield name, "CTCGreedyDecoder", (y, ints(*lengths)), dict(merge_repeated=merge)
    yield (
        "CTCGreedyDecoder nan",
        "CTCGreedyDecoder",
        (np.where(y == 0.5, np.nan, y).astype(np.float32), ints(7, 7, 7)),
        {},
    )
    for i, (width, paths, merge, scale) in enumerate(
        (
            (1, 1, True, 2),
            (2, 2, False, 1),
            (4, 2, True, 2),
            (4, 3, False, 0.5),
            (7, 4, False, 1),
            (20, 5, True, 1),
            (3, 4, True, 1),
        )
    ):
        x = normal(9, 3, 5, seed=30 + i) * np.float32(scale)
        attrs = dict(beam_width=width, top_paths=paths, merge_repeated=merge)
        yield f"CTCBeamSearchDecoder {i}", "CTCBeamSearchDecoder", (x, ints(9, 7, 5)), attrs


def _images():
    x, w = normal(2, 5, 6, 2), normal(2, 3, 2, seed=1)
    unit = dict(strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME")
    rows = (
        ("same", x, w, unit, (2, 5, 6, 2)),
        ("valid", x, w, dict(unit, padding="VALID", strides=[1, 2, 1, 1]), (2, 2, 4, 2)),
        ("rates", x, w, dict(unit, rates=[1, 2, 2, 1], strides=[1, 1, 2, 1]), (2, 5, 3, 2)),
        ("ties", x * 0, w * 0, dict(unit, strides=[1, 2, 2, 1]), (2, 3, 3, 2)),
        ("nan", np.where(x == x[0, 1, 1, 0], np.nan, x).astype(np.float32), w, unit, (2, 5, 6, 2)),
        ("ints", (x * 5).astype(np.int32), (w * 5).astype(np.int32), unit, (2, 5, 6, 2)),
    )
    for label, x, w, attrs, outputs in rows:
        dy = (normal(*outputs, seed=2) * 5).astype(x.dtype)
        yield "Dilation2D " + label, "Dilation2D", (x, w), attrs
        yield "Dilation2DBackpropInput " + label, "Dilation2DBackpropInput", (x, w, dy), attrs
        yield "Dilation2DBackpropFilter " + label, "Dilation2DBackpropFilter", (x, w, dy), attrs
    image = np.arange(2 * 10 * 13 * 2).reshape(2, 10, 13, 2) * 7 % 31
    for kind in ("FractionalMaxPool", "FractionalAvgPool"):
        for dtype in (np.float32, np.int32):
            for overlapping in (False, True):
                for pseudo in (False, True):
                    for seed, ratios in ((3, (1.6, 1.4)), (0, (2.0, 1.7))):
                        attrs = dict(
                            pooling_ratio=[1.0, *ratios, 1.0], overlapping=overlapping, pseudo_random=pseudo,
                            deterministic=True, seed=seed, seed2=5,
                        )  # fmt: skip
                        name = f"{kind} {np.dtype(dtype).name} {overlapping} {pseudo} {seed}"
                        yield name, kind, (image.astype(dtype),), attrs
    places = longs([0, 2, 3, 5, 7, 9, 10]), longs([0, 2, 4, 5, 7, 8, 9, 11, 13])
    dy = np.random.RandomState(5).randint(1, 9, (2, 6, 8, 2))
    for dtype in (np.float32, np.int32):
        for overlapping in (False, True):
            label = f"{np.dtype(dtype).name} {overlapping}"
            operands = (image.astype(dtype), dy.astype(dtype), dy.astype(dtype), *places)
            attrs = dict(overlapping=overlapping)
            yield "FractionalMaxPoolGrad " + label, "FractionalMaxPoolGrad", operands, attrs
            operands = (longs(image.shape), dy.astype(dtype), *places)
            yield "FractionalAvgPoolGrad " + label, "FractionalAvgPoolGrad", operands, attrs
    rows = np.array([[3, 1, 2, 2], [9, -1, 5, 4]])
    for dtype in (np.float32, np.float64, np.int32, np.uint8, np.float16):
        for n, reverse in ((0, False), (2, True)):
            yield (
                f"NthElement {np.dtype(dtype).name} {n}",
                "NthElement",
                (rows.astype(dtype), np.int32(n)),
                dict(reverse=reverse),
            )


def _cells():
    weights = (
        normal(7, 16, seed=3), normal(4, seed=4), normal(4, seed=5), normal(4, seed=6), normal(16, seed=7),
    )  # fmt: skip
    cells, h = normal(2, 4, seed=1), normal(2, 4, seed=2)
    rows = (
        ("plain", {}),
        ("peephole", dict(use_peephole=True)),
        ("clip", dict(cell_clip=0.5, forget_bias=0.0)),
        ("no clip", dict(cell_clip=0.0)),
    )
    for label, attrs in rows:
        yield "LSTMBlockCell " + label, "LSTMBlockCell", (normal(2, 3), cells, h, *weights), attrs
        x = normal(4, 2, 3)
        yield "BlockLSTM " + label, "BlockLSTM", (np.int64(4), x, cells, h, *weights), attrs
        second = {k: v for k, v in attrs.items() if k != "forget_bias"}
        yield "BlockLSTMV2 " + label, "BlockLSTMV2", (np.int64(4), x, cells, h, *weights), second
    for peephole in (False, True):
        gates = [np.abs(normal(2, 4, seed=8 + i)) / 3 for i in range(8)]
        operands = (normal(2, 3), cells, h, *weights, *gates)
        yield f"LSTMBlockCellGrad {peephole}", "LSTMBlockCellGrad", operands, dict(use_peephole=peephole)
        gates = [np.abs(normal(4, 2, 4, seed=8 + i)) / 3 for i in range(9)]
        for length in (4, 2):
            operands = (np.int64(length), normal(4, 2, 3), cells, h, *weights, *gates)
            for kind in ("BlockLSTMGrad", "BlockLSTMGradV2"):
                yield f"{kind} {peephole} {length}", kind, operands, dict(use_peephole=peephole)
    operands = (
        normal(2, 3),
        h,
        normal(7, 8, seed=3),
        normal(7, 4, seed=4),
        normal(8, seed=5),
        normal(4, seed=6),
    )
    yield "GRUBlockCell", "GRUBlockCell", operands, {}
    gates = [np.abs(normal(2, 4, seed=8 + i)) / 3 for i in range(4)]
    yield "GRUBlockCellGrad", "GRUBlockCellGrad", (*operands, *gates), {}


def cases():
    """Yields (name, op, operands, attrs)."""
    yield from _ctc()
    yield from _decoders()
    yield from _images()
    yield from _cells()


def flat(result):
    """Returns the tensors of an op's results as one list."""
    if not isinstance(result, (list, tuple)):
        return [result]
    return [tensor for part in result for tensor in flat(part)]


def digest(array):
    """Returns type, shape, the sum of squares and up to 32 elements."""
    array = np.asarray(array)
    plain = array.reshape(-1).astype(np.float64)
    step = max(1, plain.size // 32)
    return [
        array.dtype.name, list(array.shape), repr(float((plain * plain).sum())),
        [repr(round(float(v), 6)) for v in plain[::step]],
    ]  # fmt: skip
