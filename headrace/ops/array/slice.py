"""Slice: a box of a tensor, by where it begins and how large it is."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import export, op, raw
from headrace.opdef.nodes import rank_of, shape_of
from headrace.ops.array.pack import stack

Slice = op("""
    Slice(input: T, begin: Index, size: Index) -> (output: T)
      T: type
      Index: {int32, int64}

    The box of a tensor that begins at `begin` and has the shape `size`; a size of -1 runs to the end.
""")


@Slice.shape
def slice_shape(input, begin, size, *, ctx):
    for s in (begin, size):
        if s is not None and len(s) != 1:
            raise ValueError(f"Shape must be rank 1 but is rank {len(s)}")
    count = shapes.merge(begin, size)
    n = None if count is None else count[0]
    if n is not None:
        input = shapes.with_rank(input, n)
    sizes = ctx.as_shape("size")
    if n is None and sizes is not None:
        input = shapes.with_rank(input, len(sizes))
    if input is None:
        return None
    if sizes is None:
        return (None,) * len(input)
    first = ctx.as_shape("begin")
    exact = ctx.constant("size")
    if first is None or exact is None:
        # -1 means the rest of a dimension, whose length depends on where it begins.
        return sizes
    out = []
    for d, b, s in zip(input, first, exact.tolist(), strict=True):
        if s == -1:
            out.append(None if d is None or b is None else d - b)
            if out[-1] is not None and out[-1] < 0:
                raise ValueError(f"Negative dimension size caused by subtracting {b} from {d}")
        else:
            out.append(s)
    return tuple(out)


def _box(shape, begin, size):
    rank = len(shape)
    if np.ndim(begin) != 1 or np.ndim(size) != 1 or len(begin) != rank or len(size) != rank:
        raise errors.InvalidArgumentError(
            None, None, f"Expected begin and size arguments to be 1-D tensors of size {rank}, but got shapes "
            f"{_shown(np.shape(begin))} and {_shown(np.shape(size))} instead."
        )  # fmt: skip
    out = []
    for i, (d, b, s) in enumerate(zip(shape, begin, size, strict=True)):
        b, s = int(b), int(s)
        if s == -1:
            s = d - b
        if d == 0:
            if not (b == 0 and s == 0):
                raise errors.InvalidArgumentError(
                    None, None, f"Expected begin[{i}] == 0 (got {b}) and size[{i}] == 0 (got {s}) when "
                    f"input.dim_size({i}) == 0"
                )  # fmt: skip
        elif not 0 <= b <= d:
            raise errors.InvalidArgumentError(None, None, f"Expected begin[{i}] in [0, {d}], but got {b}")
        elif not (0 <= s and b + s <= d):
            raise errors.InvalidArgumentError(None, None, f"Expected size[{i}] in [0, {d - b}], but got {s}")
        out.append((b, s))
    return out


def _shown(shape):
    return "[" + ",".join(map(str, shape)) + "]"


@Slice.host
def slice_host(input, begin, size):
    return input[tuple(slice(b, b + s) for b, s in _box(input.shape, begin, size))]


@Slice.lower(static="begin size")
def slice_lower(input, begin, size):
    return input[tuple(slice(b, b + s) for b, s in _box(input.shape, begin, size))]


@Slice.grad
def slice_grad(op, dy):
    # Zeros before and after: as many as the box left out.
    x, begin = op.inputs[0], op.inputs[1]
    rank = rank_of(x)
    size = shape_of(op.outputs[0])
    column = stack([rank, 1])
    before = raw.Reshape(begin, column)
    after = raw.Reshape(raw.Sub(raw.Sub(shape_of(x), size, name="sub"), begin, name="sub"), column)
    return raw.Pad(dy, raw.ConcatV2([before, after], 1, name="concat")), None, None


@Slice.cases
def slice_cases(case):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    case(x, [0, 1], [1, 2], gives=x[:1, 1:])
    case(x, [0, 1], [-1, -1], gives=x[:, 1:])
    case(x, np.array([2, 0], np.int64), np.array([0, 3], np.int64), gives=np.zeros([0, 3], np.float32))
    case.shapes("[?,3];[2];[2]", "[?,2]", values={"begin": [0, 1], "size": [-1, 2]})
    case.shapes("[2,3];[2];[2]", "[?,?]")
    case.shapes("[2,3];[2];[2]", "[?,?]", values={"size": [-1, -1]})
    case.shapes("[2,3];?;[2]", "[?,1]", values={"size": [-1, 1]})
    case.fails(
        "[2,3];[1];[1]", match="Shape must be rank 1 but is rank 2", values={"begin": [0], "size": [1]}
    )
    case.fails((x, [0, 1], [1, 3]), match=r"Expected size\[1\] in \[0, 2\], but got 3")
    case.fails((x, [3, 1], [1, 1]), match=r"Expected begin\[0\] in \[0, 2\], but got 3")


@export("slice")
def slice_(input_, begin, size, name=None):
    """Returns the box of a tensor that begins at `begin` and has the shape `size`.

    Args:
      input_: The tensor.
      begin: Where the box begins along each dimension.
      size: How large it is along each dimension; -1 is all the rest.
      name: The node's name.
    """
    return raw.Slice(input_, begin, size, name=name)
