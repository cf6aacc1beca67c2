"""PrintV2 and tf.print: values written to a stream when the graph runs."""

from __future__ import annotations

import pprint
import random
import sys

from headrace.graph import Tensor
from headrace.graph.sparse_tensor import SparseTensor
from headrace.graph.structure import flatten, is_nested, pack_like
from headrace.graph.tensor import is_dense_tensor_like
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.strings import invalid
from headrace.platform import tf_logging

PrintV2 = op("""
    PrintV2(input: string) -> ()
      output_stream: string = "stderr"
      end: string = "\\n"
      stateful

    Writes a string to a stream: stdout, stderr, log(info), log(warning), log(error), or file:// and a path.
""")  # fmt: skip


_OUTPUTS = ("stdout", "stderr", "log(info)", "log(warning)", "log(error)")


@PrintV2.shape
def print_v2_shape(input):
    if input != ():
        raise ValueError(f"input must be a scalar, but has rank: {-1 if input is None else len(input)}")
    return []


@PrintV2.host
def print_v2_host(input, *, output_stream, end):
    if not (output_stream in _OUTPUTS or output_stream.startswith("file://")):
        invalid(f"Unknown output stream: {output_stream}, Valid streams are: {' '.join(_OUTPUTS)}")
    text = bytes(input[()]).decode("utf-8", "backslashreplace")
    if output_stream.startswith("file://"):
        with open(output_stream.removeprefix("file://"), "a", encoding="utf-8") as file:
            file.write(text + end)
    elif output_stream.startswith("log("):
        level = output_stream.removeprefix("log(").removesuffix(")")
        getattr(tf_logging, level)("%s", text)
    else:
        stream = sys.stdout if output_stream == "stdout" else sys.stderr
        stream.write(text + end)
        stream.flush()
    return ()


@PrintV2.cases
def print_v2_cases(case):
    @case.program
    def writes(step):
        step(raw.PrintV2("fine", output_stream="stdout", end=""))


_STREAMS = "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error"


def _stream_name(stream):
    """Returns the attr that stands for an output stream.

    Raises:
      ValueError: It is none that can be written to.
    """
    # What the names stand for may have been replaced since, by a test that captures output.
    if stream is sys.stdout or stream is sys.__stdout__:
        return "stdout"
    if stream is sys.stderr or stream is sys.__stderr__:
        return "stderr"
    for level in ("info", "warning", "error"):
        if stream is getattr(tf_logging, level) or (level == "warning" and stream is tf_logging.warn):
            return f"log({level})"
    for name, number in (
        ("info", tf_logging.INFO),
        ("warning", tf_logging.WARN),
        ("error", tf_logging.ERROR),
    ):
        if type(stream) is int and stream == number and stream > 3:
            return f"log({name})"
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    raise ValueError(
        f"Unsupported output stream, logging level, or file.{stream}. Supported streams are {_STREAMS}. File needs to "
        "be in the form of 'file://<filepath>'."
    )


class _Hole:
    """Stands for a tensor in a structure that is printed as Python does."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text


def _placeholder(texts):
    """Returns what stands for a tensor in a template: `{}`, with digits where the text itself has that."""
    found, digits = "{}", random.Random(5)
    while any(found in text for text in texts):
        found += str(digits.randint(0, 9))
    return found


@export("print", "python.ops.logging_ops.print_v2")
def print_v2(*inputs, **kwargs):
    """Writes values when the graph runs; returns the operation that does.

    Tensors are shown with their first and last elements in each dimension, other values as Python shows them.

    Args:
      *inputs: Tensors, other values, and nested structures of both.
      **kwargs: `output_stream` (sys.stderr by default; sys.stdout, tf.logging.info, tf.logging.warning,
        tf.logging.error, or "file://" and a path), `summarize` (how many elements at each end of a dimension, 3 by
        default, -1 for all), `sep` (between inputs, a space), `end` (after the last, a new line) and `name`.

    Raises:
      ValueError: There is another keyword, or the stream can't be written to.
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    sep = kwargs.pop("sep", " ")
    end = kwargs.pop("end", "\n")
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    stream = _stream_name(stream)
    first = inputs[0] if len(inputs) == 1 else None
    if isinstance(first, Tensor) and first.dtype.base_dtype.name == "string" and first._dims == ():
        text = first
    else:
        format_name = name + "_format" if name else None
        text = _formatted(inputs, sep, 3 if summarize is None else summarize, format_name)
    return raw.PrintV2(text, output_stream=stream, end=end, name=name)


def _formatted(inputs, sep, summarize, name):
    hole = _placeholder([v for value in inputs for v in flatten(value) if isinstance(v, str)])
    templates, tensors = [], []
    for value in inputs:
        if isinstance(value, str):
            templates.append(value)
            continue
        leaves = []
        for leaf in flatten(value):
            if is_dense_tensor_like(leaf):
                tensors.append(convert_to_tensor(leaf))
                leaves.append(_Hole(hole))
            elif isinstance(leaf, SparseTensor):
                tensors.extend([leaf.indices, leaf.values, leaf.dense_shape])
                leaves.append(f"SparseTensor(indices={hole}, values={hole}, shape={hole})")
            else:
                leaves.append(leaf)
        shown = pack_like(value, leaves) if is_nested(value) else leaves[0]
        templates.append(pprint.pformat(shown))
    return raw.StringFormat(
        tensors, template=sep.join(templates), placeholder=hole, summarize=summarize, name=name
    )
