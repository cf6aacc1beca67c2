"""Image files are decoded and encoded as TensorFlow 1.15 does it, byte for byte.

Recorded by tests/golden/record/image_files.py.
"""

import base64
import json
import pathlib
import resource
import sys
import zlib

import numpy as np
import pytest

import headrace as tf
from headrace.formats import gif, jpeg, png
from headrace.opdef import raw

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import image_decodings  # noqa: E402
import image_files  # noqa: E402

FACTS = json.loads((GOLDEN / "image_files.json").read_text())
JPEGS = {name: base64.b64decode(text) for name, text in FACTS["jpegs"].items()}
ASKED = list(image_decodings.decodings(JPEGS))


def pixels(result):
    dtype, shape, data = result
    return np.frombuffer(zlib.decompress(base64.b64decode(data)), dtype).reshape(shape)


def test_every_decoding_was_recorded():
    assert [fact[:3] for fact in FACTS["decodings"]] == [[op, name, attrs] for op, name, _, attrs in ASKED]


@pytest.mark.parametrize("op", sorted({op for op, *_ in ASKED}))
def test_decodings(op):
    for (kind, name, file, attrs), (*_, expected) in zip(ASKED, FACTS["decodings"]):
        if kind != op:
            continue
        with tf.Graph().as_default(), tf.Session() as session:
            got = image_decodings.run(tf, raw, session, op, file, attrs)
        if isinstance(expected, str) or isinstance(got, str):
            assert got == expected, (name, attrs)
        else:
            assert got[:2] == expected[:2], (name, attrs)
            np.testing.assert_array_equal(pixels(got), pixels(expected), str((name, attrs)))


@pytest.mark.parametrize("name", image_decodings.ENCODINGS)
def test_jpeg_files_are_the_same(name):
    size, attrs = image_decodings.ENCODINGS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        file = session.run(raw.EncodeJpeg(image=image_decodings.image(*size), **attrs))
    assert file == JPEGS[name]


@pytest.mark.parametrize("key", FACTS["pngs"])
def test_png_files_are_the_same(key):
    kind, channels, compression = key.split()
    image = image_decodings.image(5, 6, int(channels))
    if kind == "uint16":
        image = image.astype(np.uint16) * 211
    with tf.Graph().as_default(), tf.Session() as session:
        file = session.run(tf.image.encode_png(tf.constant(image), int(compression)))
    assert base64.b64encode(file).decode() == FACTS["pngs"][key]
    np.testing.assert_array_equal(png.decode(file, wide=kind == "uint16"), image)


def test_a_large_png_file_is_cut_into_chunks():
    noise = np.random.RandomState(0).randint(0, 256, (90, 70, 3)).astype(np.uint8)
    file = png.encode(noise)
    assert file.count(b"IDAT") == 3
    np.testing.assert_array_equal(png.decode(file), noise)


# A small file that says it is enormous: refused, and not after its pixels were allocated.
ENORMOUS = {
    "png": lambda: png.decode(image_files.png(10**6, 10**6, 8, 6, [b"\0"])),
    "wide png": lambda: png.decode(image_files.png(10**6, 10**6, 16, 6, [b"\0"])),
    "gif": lambda: gif.decode(image_files.gif(9, 9, [(0, 0, 65535, 65535, [0, 1], None, 0, b"")])),
    "jpeg": lambda: jpeg.decode(image_files.damaged(JPEGS["plain"])["huge"]),
}


@pytest.mark.parametrize("kind", ENORMOUS)
def test_small_files_take_little_memory(kind):
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), hard))
    try:
        with pytest.raises(ValueError):
            ENORMOUS[kind]()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_many_frames_of_a_large_canvas_are_refused():
    size = 1500
    rows = b"\2" + _long_codes(size * size) + b"\0"
    screen = b"GIF89a" + bytes(4) + b"\x81\0\0" + bytes(range(12))
    large = b"," + bytes(4) + size.to_bytes(2, "little") * 2 + b"\0" + rows
    small = b"," + bytes(4) + b"\1\0\1\0\0\2\2\x44\1\0"
    assert gif.decode(screen + large + small + b";").shape == (2, size, size, 3)
    with pytest.raises(IndexError, match="9001 frames of 1500 x 1500 pixels"):
        gif.decode(screen + large + small * 9000 + b";")


def _long_codes(count):
    """Packs that many pixels of colour 0 as densely as the format allows."""
    value = at = 0
    width, longest, left = 3, 0, count

    def put(code):
        nonlocal value, at
        value |= code << at
        at += width

    put(4)
    next_code = 6
    put(0)
    left -= 1
    while left > 0:
        longest += 1
        code = next_code if longest > 0 else 0
        length = longest + 1
        if length > left:
            put(0 if left == 1 else 6 + left - 2)
            left = 0
            break
        put(code)
        left -= length
        next_code += 1
        if next_code == 1 << width and width < 12:
            width += 1
        if next_code == 4095:
            put(4)
            width, longest, next_code = 3, 0, 6
            if left:
                put(0)
                left -= 1
    put(5)
    data = value.to_bytes((at + 7) // 8, "little")
    return b"".join(bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255))
