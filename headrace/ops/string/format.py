"""Text with tensors put in."""

from __future__ import annotations

import numpy as np

from headrace.graph.tensor import Tensor
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.strings import attr_text

StringFormat = op("""
    StringFormat(inputs: T) -> (output: string)
      T: list(type) >= 0
      template: string = "%s"
      placeholder: string = "%s"
      summarize: int = 3

    A template with the tensors written at its placeholders.
""")  # fmt: skip


def _element(value):
    if isinstance(value, bytes):
        return '"' + _escaped(value) + '"'
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, np.complexfloating) or getattr(value, "dtype", np.dtype(bool)).name == "bfloat16":
        return "?"
    if isinstance(value, (np.floating, float)):
        # As few digits as tell the number from its neighbours; half is written as float32.
        wide = np.float64 if isinstance(value, (np.float64, float)) else np.float32
        short, long = (15, 17) if wide is np.float64 else (6, 9)
        text = f"{float(value):.{short}g}"
        return text if wide(text) == wide(value) or value != value else f"{float(value):.{long}g}"
    return str(value)


def _escaped(value):
    named = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return "".join(named.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in value)


def summary(array, limit):
    """Returns how a tensor is written: of each axis at most `limit` elements at both ends, all if it is negative."""
    array = np.asarray(array)
    if array.ndim == 0:
        value = array[()]
        if isinstance(value, bytes):
            return value.decode("utf-8", "surrogateescape")
        text = _element(value)
        return "[?]" if text == "?" else text
    return _rows(array, limit, 0)


def _rows(array, limit, depth):
    n = array.shape[0]
    cut = 0 <= limit and n > 2 * limit
    places = [*range(limit), *range(n - limit, n)] if cut else list(range(n))
    if array.ndim == 1:
        texts = [_element(array[i]) for i in places]
        between = " "
    else:
        texts = [_rows(array[i], limit, depth + 1) for i in places]
        between = "\n" * (array.ndim - 1) + " " * (depth + 1)
    if cut:
        texts.insert(limit, "...")
    return "[" + between.join(texts) + "]"


@StringFormat.shape
def string_format_shape(inputs, *, template, placeholder):
    count = len(attr_text(template).split(attr_text(placeholder))) - 1
    if count != len(inputs):
        raise ValueError(f"num placeholders in template and num inputs must match: {count} vs. {len(inputs)}")
    return ()


@StringFormat.host
def string_format_host(inputs, *, template, placeholder, summarize):
    pieces = attr_text(template).split(attr_text(placeholder))
    out = pieces[0]
    for x, piece in zip(inputs, pieces[1:], strict=True):
        out += summary(x, summarize) + piece
    return np.array(out.encode("utf-8", "surrogateescape"), object)


@StringFormat.cases
def string_format_cases(case):
    def gives(text):
        return np.array(text.encode(), object)

    case((np.arange(1, 9, dtype=np.int32), np.float32(1.5)), template="a {} b {}", placeholder="{}",
         gives=gives("a [1 2 3 ... 6 7 8] b 1.5"))  # fmt: skip
    case((np.array([b"wheel", b""], object),), template="x %s", gives=gives('x ["wheel" ""]'))
    case((np.array([1.23456789, 123456789.0, 1 / 3, 0.1], np.float32),), summarize=-1,
         gives=gives("[1.23456788 123456792 0.333333343 0.1]"))  # fmt: skip
    case((np.array([1 / 3, 0.1]), np.float16(0.1), np.complex64(1j)), template="%s %s %s",
         gives=gives("[0.33333333333333331 0.1] 0.0999755859 [?]"))  # fmt: skip
    case((np.arange(8.0).reshape(2, 2, 2),), summarize=-1,
         gives=gives("[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]"))  # fmt: skip


@export("strings.format")
def string_format(template, inputs, placeholder="{}", summarize=3, name=None):
    """Returns a template with tensors written at its placeholders.

    Args:
      template: The text.
      inputs: A tensor, or a list of as many tensors as there are placeholders.
      placeholder: What to replace in the template.
      summarize: How many elements of each axis are written at both ends; -1 for all.
      name: The node's name.

    Raises:
      ValueError: There are more or fewer placeholders than tensors.
    """
    if isinstance(inputs, Tensor) or not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    count = template.count(placeholder)
    if count != len(inputs):
        raise ValueError(
            f"{count} placeholder(s) in template does not match {len(inputs)} tensor(s) provided as input"
        )
    inputs = [convert_to_tensor(x) for x in inputs]
    return raw.StringFormat(
        inputs, template=template, placeholder=placeholder, summarize=summarize, name=name
    )
