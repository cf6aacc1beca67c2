"""Print: a tensor passed on while others are written to stderr. Runs on the host only."""

from __future__ import annotations

import sys

import numpy as np

from headrace.opdef import export, op, raw
from headrace.shapes import unchanged

Print = op("""
    Print(input: T, data: U) -> (output: T)
      T: type
      U: list(type) >= 0
      message: string = ""
      first_n: int = -1
      summarize: int = 3
      stateful

    Passes `input` on and writes `data` to stderr, the first `first_n` times.
""")


@Print.shape
def print_shape(input, data):
    return unchanged(input)


def _spell(value):
    """Returns one element as TensorFlow's log shows it: as few digits as name the value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.bool_):
        return str(int(value))
    if isinstance(value, np.complexfloating):
        return f"({_spell(value.real)},{_spell(value.imag)})"
    if value.dtype.kind in "fV":
        if value.dtype == np.float64:
            short, long = f"{float(value):.15g}", f"{float(value):.17g}"
            return short if float(short) == value or value != value else long
        wide = np.float32(value)
        short, long = f"{float(wide):.6g}", f"{float(wide):.9g}"
        return short if np.float32(short) == wide or wide != wide else long
    return str(value)


def summarize_value(array, limit):
    """Returns an array's first elements in brackets, with `...` for what is left out."""
    limit = array.size if limit < 0 else limit
    flat = array.reshape(-1)
    if array.ndim == 0:
        return _spell(flat[0]) if limit else "..."
    parts = []
    done = 0

    def walk(axis):
        nonlocal done
        if done >= limit:
            return
        last = axis == array.ndim - 1
        for i in range(array.shape[axis]):
            if done >= limit:
                if last and axis:
                    parts.append("...")
                if last:
                    return
            if last:
                parts.append(" " if i else "")
                parts.append(_spell(flat[done]))
                done += 1
            elif done < limit:
                parts.append("[")
                walk(axis + 1)
                parts.append("]")

    walk(0)
    return "".join(parts) + ("..." if array.size > limit else "")


@Print.host
def print_host(input, data, *, message, first_n, summarize, ctx):
    count = ctx.op.__dict__.get("_printed", 0)
    if first_n < 0 or count < first_n:
        ctx.op.__dict__["_printed"] = count + 1
        shown = "".join(f"[{summarize_value(np.asarray(d), summarize)}]" for d in data)
        print(message + shown, file=sys.stderr, flush=True)
    return input


@Print.grad
def print_grad(op, *dys):
    return [*dys, *[None] * (len(op.inputs) - 1)]


@Print.cases
def print_cases(case):
    case([1.0, 2.0], ([1.0], np.int32(2)), message="values: ", gives=[1.0, 2.0])


@export("Print")
def print_(input_, data, message=None, first_n=None, summarize=None, name=None):
    """Returns a tensor with the value of another; a step that computes it writes tensors to stderr.

    Args:
      input_: The tensor passed on.
      data: The tensors to write.
      message: What the line begins with.
      first_n: How often to write, by default always.
      summarize: How many elements of each tensor to write; all if negative. By default 3.
      name: The node's name.
    """
    return raw.Print(input_, data, message=message, first_n=first_n, summarize=summarize, name=name)
