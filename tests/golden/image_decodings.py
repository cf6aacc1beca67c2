"""What is asked of the image files in image_files.py, by name of the op; run by TensorFlow and by the test."""

import base64
import zlib

import image_files
import numpy as np


def image(height, width, channels):
    """Returns a smooth image with a little noise."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    values = 128 + 90 * np.sin(x / (3.0 + c) + y / (6.0 - c) + c) + (x * 7919 + y * 104729 + c * 31) % 23
    return values.clip(0, 255).astype(np.uint8)


ENCODINGS = {
    "plain": ((21, 19, 3), {}),
    "grey": ((9, 7, 1), {}),
    "full": ((9, 7, 3), {"chroma_downsampling": False, "quality": 80}),
    "progressive": ((17, 13, 3), {"progressive": True, "optimize_size": True, "quality": 60}),
    "rough": ((9, 7, 3), {"quality": 0, "density_unit": "cm", "x_density": 11, "y_density": -5}),
    "said": ((2, 2, 3), {"quality": 100, "xmp_metadata": "hello", "format": "rgb"}),
}


def decodings(jpegs):
    """Yields the op, the file and its name, and attrs."""
    for name, file in sorted(image_files.pngs().items()):
        for channels in (0, 1, 3, 4):
            for dtype in ("uint8", "uint16"):
                yield "DecodePng", name, file, {"channels": channels, "dtype": dtype}
    for name, file in sorted(image_files.gifs().items()):
        yield "DecodeGif", name, file, {}
        yield "DecodeJpeg", name, file, {}
    for name, file in sorted(image_files.bmps().items()):
        for channels in (1, 3, 4):
            yield "DecodeBmp", name, file, {"channels": channels}
    for name, file in sorted(jpegs.items()):
        small = len(file) < 500 and name not in ("said", "rough")
        for channels in (0, 1, 3):
            for ratio in (1, 2, 8) if small else (1, 4):
                for fancy in (True, False):
                    for method in ("", "INTEGER_ACCURATE"):
                        attrs = {
                            "channels": channels,
                            "ratio": ratio,
                            "fancy_upscaling": fancy,
                            "dct_method": method,
                        }
                        yield "DecodeJpeg", name, file, attrs
        yield "ExtractJpegShape", name, file, {"output_type": "int64"}
    for name, file in sorted(image_files.damaged(jpegs["plain"]).items()):
        yield "DecodeJpeg", name, file, {}
        yield "DecodeJpeg", name, file, {"acceptable_fraction": 0.5}
        yield "DecodeJpeg", name, file, {"acceptable_fraction": 0.5, "fancy_upscaling": False, "channels": 1}
        yield "DecodeJpeg", name, file, {"acceptable_fraction": 0.9}
        yield "ExtractJpegShape", name, file, {}
    for window in ([0, 0, 9, 7], [2, 1, 3, 4], [8, 6, 1, 1], [0, 0, 10, 7], [-1, 0, 2, 2], [0, 0, 0, 5]):
        for name in ("grey", "full"):
            yield "DecodeAndCropJpeg", name, jpegs[name], {"crop_window": window}
    for window in (
        [0, 0, 21, 19],
        [3, 5, 10, 9],
        [0, 16, 5, 2],
        [0, 0, 9, 10],
        [2, 0, 6, 2],
        [1, 1, 4, 4],
        [4, 16, 9, 3],
    ):
        yield "DecodeAndCropJpeg", "plain", jpegs["plain"], {"crop_window": window}
    for window in ([0, 0, 9, 8], [1, 3, 4, 5], [2, 2, 3, 2]):
        yield "DecodeAndCropJpeg", "half", jpegs["half"], {"crop_window": window}
    others = {
        "grey PNG": image_files.pngs()["grey8"],
        "GIF": image_files.gifs()["two"],
        "JPEG": jpegs["grey"],
    }
    others.update({"junk": b"a\"'\\\n\0\xff", "nothing": b""})
    for name, file in sorted(others.items()):
        yield "DecodeJpeg", name, file, {}
        yield "DecodeJpeg", name, file, {"channels": 1}
        yield "DecodePng", name, file, {"channels": 4}
        yield "DecodePng", name, file, {"dtype": "uint16"}
        yield "DecodeGif", name, file, {}
    for attrs in ({"channels": 2}, {"channels": 4}, {"ratio": 3}, {"dct_method": "FASTEST"}):
        yield "DecodeJpeg", "plain", jpegs["plain"], attrs


def run(tf, ops, session, op, file, attrs):
    """Returns what an op gives, in a form that JSON can hold."""
    attrs = dict(attrs)
    window = attrs.pop("crop_window", None)
    operands = {} if window is None else {"crop_window": tf.constant(window)}
    contents = tf.constant(file)
    try:
        value = session.run(getattr(ops, op)(contents=contents, **operands, **attrs))
    except tf.errors.OpError as e:
        return "%s: %s" % (type(e).__name__, e.message.split("\n")[0])
    if value.size > 100000:
        raise AssertionError("too large")
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 9)).decode()
    return [value.dtype.name, list(value.shape), data]
