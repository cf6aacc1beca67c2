"""Calls with malformed operands, made once with TensorFlow for malformed.json and again by the tests.

`malformed.txt` holds one a line: its name and Python source that may use `tf`, every op as a function of `r`, files
with absurd headers (`PNG`, `BMP`, `JPEG`) and `T(value, dtype, shape=None)`: an operand. Each call is made twice:
with constants, and with operands of which nothing is known while building.

An outcome is "value"; "dies", where the process ended or hung; or the class of the refusal and how its message begins.
"""

import base64
import json
import pathlib
import re
import struct
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STEM = 60  # characters of a refusal's message
_STORAGE = {"quint8": "uint8", "qint32": "int32", "qint8": "int8"}

JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQEBLAEsAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoK"
    "CgoKBggLDAsKDAkKCgr/2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoK"
    "CgoKCgoKCgr/wAARCAAEAAQDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUF"
    "BAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW"
    "V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi"
    "4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAEC"
    "AxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVm"
    "Z2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq"
    "8vP09fb3+Pn6/9oADAMBAAIRAxEAPwD+f+iiigD/2Q=="
)


def calls():
    """Returns the sources by name."""
    lines = (HERE / "malformed.txt").read_text().split("\n")
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def outcomes():
    """Returns what TensorFlow made of each call: with constants, and with unknown operands."""
    return json.loads((HERE / "malformed.json").read_text())


def png(width, height):
    """Returns a PNG file that says it is so large and holds a few bytes."""

    def chunk(kind, content):
        summed = struct.pack(">I", zlib.crc32(kind + content) & 0xFFFFFFFF)
        return struct.pack(">I", len(content)) + kind + content + summed

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 7)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def bmp(width, height, bits):
    """Returns a BMP file that says it is so large and holds a few bytes."""
    sizes = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 60, 0, 0, 54) + sizes + b"\0" * 6


def _names(tf, raw, unknown):
    def operand(value, dtype, shape=None):
        kind = tf.as_dtype(dtype)
        if dtype == "string":
            array = np.array(value, object)
        else:
            array = np.array(value, _STORAGE.get(dtype) or kind.as_numpy_dtype)
        if shape is not None and 0 in shape:
            array = np.zeros(shape, array.dtype)
        elif shape is not None:
            array = np.broadcast_to(array.reshape(-1)[0] if array.size == 1 else array.reshape(shape), shape)
        tensor = tf.bitcast(tf.constant(array), kind) if dtype in _STORAGE else tf.constant(array, kind)
        return tf.placeholder_with_default(tensor, None) if unknown else tensor

    return {"T": operand, "tf": tf, "np": np, "r": raw, "PNG": png, "BMP": bmp, "JPEG": JPEG}


def outcome(tf, raw, source, unknown, around):
    """Makes a call.

    Args:
      tf: The TensorFlow that makes it.
      raw: Every op as a function.
      source: The call.
      unknown: Whether nothing is known of its operands while building.
      around: A context manager to run in.

    Raises:
      Exception: What no caller of TensorFlow expects: errors of Python while it runs.
    """
    with tf.Graph().as_default():
        try:
            fetched = eval(source, _names(tf, raw, unknown))
        except (ValueError, TypeError, NotImplementedError) as error:
            return _refusal(error, str(error))
        except tf.errors.OpError as error:
            return _refusal(error, error.message)
        with tf.Session() as session, around():
            try:
                session.run(fetched)
            except tf.errors.OpError as error:
                return _refusal(error, error.message)
    return "value"


def _refusal(error, message):
    first = re.split(r"\n|\t| \[\[", message.strip())[0]
    first = re.sub(r" \(defined at [^)]*\)", "", first)
    return {"raises": type(error).__name__, "message": " ".join(first.split())[:STEM]}
