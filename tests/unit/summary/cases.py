"""Calls of the summary ops whose answers were recorded from TensorFlow 1.15: golden/record/summaries.py.

Runs under Python 3.7 and today's.
"""

import numpy as np


def _floats(*shape):
    return (np.arange(int(np.prod(shape))) * 0.37 - 1.5).reshape(shape).astype(np.float32)


def _image(dtype, *shape):
    return (np.arange(int(np.prod(shape))) * 7 % 251).reshape(shape).astype(dtype)


def cases():
    """Returns (name, op, operands by name, attrs) of each call."""
    out = []

    def add(name, op, attrs=None, **operands):
        out.append((name, op, operands, attrs or {}))

    half = np.float16
    nan, inf = np.nan, np.inf
    # Scalars.
    for dtype in ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "int16", "uint16"):
        add("scalar " + dtype, "ScalarSummary", tags=b"loss", values=np.array(7.25).astype(dtype))
    add("scalar double rounds", "ScalarSummary", tags=b"loss", values=np.float64(0.1))
    add("scalar double overflows", "ScalarSummary", tags=b"loss", values=np.float64(1e300))
    add("scalar nan", "ScalarSummary", tags=b"loss", values=np.float32(nan))
    add("scalar inf", "ScalarSummary", tags=b"loss", values=np.float32(-inf))
    add("scalar zero", "ScalarSummary", tags=b"loss", values=np.float32(0))
    add(
        "scalars",
        "ScalarSummary",
        tags=np.array([[b"a", b"b"]], object),
        values=np.array([[1.0, 2.0]], np.float32),
    )
    add("scalars none", "ScalarSummary", tags=np.array([], object), values=np.array([], np.float32))
    add("scalar of a vector", "ScalarSummary", tags=b"loss", values=np.zeros(2, np.float32))
    add("scalar of one", "ScalarSummary", tags=b"loss", values=np.zeros(1, np.float32))
    add(
        "scalars do not fit",
        "ScalarSummary",
        tags=np.array([b"a"], object),
        values=np.zeros((2, 3), np.float32),
    )

    # Histograms.
    def hist(name, values, **attrs):
        add("histogram " + name, "HistogramSummary", attrs, tag=b"w", values=values)

    hist("of few", np.array([-2.5, 0.0, 0.1, 0.1, 3.75], np.float32))
    hist("of many", np.random.RandomState(3).standard_normal(1000).astype(np.float32).reshape(10, 100))
    hist("of doubles", np.random.RandomState(4).standard_normal(50) * 1e5)
    hist("of halves", _floats(3, 4).astype(half))
    hist("of integers", np.arange(-5, 20, dtype=np.int32))
    hist("of bytes", np.arange(256, dtype=np.uint8))
    hist("of large integers", np.array([2**62, -(2**62), 2**53 + 1], np.int64))
    hist("of one", np.float32(0.5))
    hist("of zero", np.float32(0.0))
    hist("of zeros", np.zeros((2, 2), np.float32))
    hist("of nothing", np.zeros((0,), np.float32))
    hist("at the limits", np.array([1e-12, -1e-12, 1.1e-12, 1e20, -1e20, 1e25, -1e30, 1e-30], np.float64))
    hist("of nan", np.array([1.0, nan, inf], np.float32))
    hist("of inf", np.array([1.0, -inf], np.float32))
    hist("of half inf", np.array([1.0, inf], half))
    add("histogram of two tags", "HistogramSummary", tag=np.array([b"a", b"b"], object), values=np.float32(1))
    add(
        "histogram of a list of one tag",
        "HistogramSummary",
        tag=np.array([b"a"], object),
        values=np.float32(1),
    )

    # Images.
    def image(name, tensor, **attrs):
        add("image " + name, "ImageSummary", attrs, tag=b"im", tensor=tensor)

    image("grey bytes", _image(np.uint8, 2, 3, 4, 1))
    image("colour bytes", _image(np.uint8, 4, 3, 4, 3))
    image("alpha bytes", _image(np.uint8, 1, 3, 4, 4))
    image("only one", _image(np.uint8, 3, 3, 4, 3), max_images=1)
    image("one of one, three wanted", _image(np.uint8, 1, 3, 4, 3))
    image("positive", np.linspace(0, 3, 36).astype(np.float32).reshape(1, 3, 4, 3))
    image("positive, off zero", np.linspace(2, 3, 36).astype(np.float32).reshape(1, 3, 4, 3))
    image("signed", _floats(2, 3, 4, 3))
    image("mostly negative", -_image(np.float32, 2, 3, 4, 1))
    image(
        "each by itself", _image(np.float32, 2, 3, 4, 1) * np.array([1, 100], np.float32).reshape(2, 1, 1, 1)
    )
    image("zeros", np.zeros((1, 2, 2, 1), np.float32))
    image("tiny", np.full((1, 2, 2, 1), 1e-7, np.float32))
    image("tiny, at 1e-6", np.full((1, 2, 2, 1), 1e-6, np.float32))
    image("tiny, signed", np.array([1e-7, -1e-7, 0, 1e-8], np.float32).reshape(1, 2, 2, 1))
    image("halves", _floats(1, 3, 4, 3).astype(half))
    image("doubles", _floats(1, 3, 4, 3).astype(np.float64))
    image("double positive", np.linspace(0, 1, 16).reshape(1, 4, 4, 1))
    bad = _floats(2, 3, 4, 3)
    bad[0, 0, 1, 2] = nan
    bad[0, 2, 2, 0] = inf
    bad[1, 1, 1, 1] = -inf
    image("not finite", bad)
    image("not finite, grey", bad[..., :1] * 1)
    image("not finite, halves", bad.astype(half))
    image("not finite, alpha", np.concatenate([bad, bad[..., :1]], -1))
    image("all nan", np.full((1, 2, 2, 3), nan, np.float32))
    image("bad colour", bad, bad_color=np.array([1, 2, 3], np.uint8))
    image("bad colour grey", bad[..., :1] * 1, bad_color=np.array([9], np.uint8))
    image("bad colour short", bad, bad_color=np.array([9], np.uint8))
    image("two channels", np.zeros((1, 2, 2, 2), np.float32))
    image("five channels", np.zeros((1, 2, 2, 5), np.uint8))
    image("of rank three", np.zeros((2, 2, 3), np.float32))
    image("none", np.zeros((0, 2, 2, 3), np.float32))
    image("of no rows", np.zeros((1, 0, 2, 3), np.float32))
    add(
        "image of two tags",
        "ImageSummary",
        tag=np.array([b"a", b"b"], object),
        tensor=np.zeros((1, 1, 1, 1), np.float32),
    )

    # Sound.
    def audio(name, tensor, rate, **attrs):
        add("audio " + name, "AudioSummaryV2", attrs, tag=b"au", tensor=tensor, sample_rate=np.float32(rate))

    wave = np.sin(np.arange(12)).astype(np.float32)
    audio("mono", wave.reshape(1, 12, 1), 16000)
    audio("flat", wave.reshape(2, 6), 8000.7)
    audio("stereo", wave.reshape(2, 3, 2), 44100)
    audio("four, three wanted", wave.reshape(4, 3, 1), 100)
    audio("one wanted", wave.reshape(4, 3, 1), 100, max_outputs=1)
    audio(
        "loud",
        np.array([[-2.0, -1.0, -0.99999, 0.5, 1.0, 1.5, 3e-5, -3e-5, 1.5e-5, -1.5e-5, 4.6e-5]], np.float32),
        10,
    )
    audio("halfway", (np.array([[0.5, 1.5, 2.5, -0.5, -1.5, -2.5]]) / 32768).astype(np.float32), 10.5)
    audio("not finite", np.array([[nan, inf, -inf, 0.25]], np.float32), 10)
    audio("of rank one", wave, 10)
    audio("of rate zero", wave.reshape(1, 12, 1), 0)
    audio("of negative rate", wave.reshape(1, 12, 1), -2)
    audio("none", np.zeros((0, 3, 1), np.float32), 10)
    audio("silent", np.zeros((1, 0, 1), np.float32), 10)
    add("audio of two tags", "AudioSummaryV2", tag=np.array([b"a", b"b"], object),
        tensor=wave.reshape(1, 12, 1), sample_rate=np.float32(9))  # fmt: skip
    # Tensors.
    for dtype in ("float32", "int64", "float16", "bool", "complex64"):
        add("tensor " + dtype, "TensorSummaryV2", tag=b"t", tensor=np.array([[1, 0], [0, 1]]).astype(dtype),
            serialized_summary_metadata=b"\n\x06\n\x04text")  # fmt: skip
    add("tensor scalar", "TensorSummaryV2", tag=b"t", tensor=np.float32(3), serialized_summary_metadata=b"")
    add("tensor empty", "TensorSummaryV2", tag=b"t", tensor=np.zeros((0, 3), np.float32),
        serialized_summary_metadata=b"")  # fmt: skip
    add("tensor strings", "TensorSummaryV2", tag=b"t", tensor=np.array([b"a", b"\xff"], object),
        serialized_summary_metadata=b"\n\x06\n\x04text\x12\x04Disp\x1a\x04desc")  # fmt: skip
    add(
        "tensor bad metadata",
        "TensorSummaryV2",
        tag=b"t",
        tensor=np.float32(3),
        serialized_summary_metadata=b"\xff",
    )
    add("tensor of two tags", "TensorSummaryV2", tag=np.array([b"a", b"b"], object), tensor=np.float32(3),
        serialized_summary_metadata=b"")  # fmt: skip
    add("old tensor", "TensorSummary", {"description": "d", "labels": ["l"], "display_name": "n"},
        tensor=np.array([1, 2], np.int32))  # fmt: skip
    add("old tensor strings", "TensorSummary", {}, tensor=np.array([b"x"], object))
    # Merging.
    one = b"\n\t\n\x02s1\x15\x00\x00\x80?"
    two = b"\n\t\n\x02s2\x15\x00\x00\x00@"
    add("merge", "MergeSummary", {"N": 2}, inputs=[one, two])
    add("merge lists", "MergeSummary", {"N": 2}, inputs=[np.array([one, two], object), b""])
    add("merge duplicates", "MergeSummary", {"N": 2}, inputs=[one, one])
    add("merge garbage", "MergeSummary", {"N": 2}, inputs=[one, b"\xff\xff"])
    old = b"\n\x0f\x3a\x01n\x42\x0a\x08\x03\x12\x00\x22\x04\x01\x00\x00\x00"
    add("merge old ones", "MergeSummary", {"N": 2}, inputs=[old, old])
    add("merge one", "MergeSummary", {"N": 1}, inputs=[one])
    return out
