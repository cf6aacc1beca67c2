"""Pad, PadV2 and MirrorPad: a tensor with a margin around it."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.graph import Tensor
from headrace.lazy import jnp, lax
from headrace.opdef import constant_value, export, op, raw
from headrace.opdef.nodes import rank_of, shape_of
from headrace.ops.array.failing import invalid, shown
from headrace.ops.array.pack import stack

_ATTRS = """
      T: type
      Tpaddings: {int32, int64} = int32
"""

Pad = op(f"""
    Pad(input: T, paddings: Tpaddings) -> (output: T){_ATTRS}
    A tensor with zeros around it: `paddings` holds (before, after) for each dimension.
""")

PadV2 = op(f"""
    PadV2(input: T, paddings: Tpaddings, constant_values: T) -> (output: T){_ATTRS}
    A tensor with a margin of one value around it.
""")

_MIRROR = _ATTRS + '      mode: {"REFLECT", "SYMMETRIC"}\n'

MirrorPad = op(f"""
    MirrorPad(input: T, paddings: Tpaddings) -> (output: T){_MIRROR}
    A tensor with a margin around it that mirrors it, without (REFLECT) or with (SYMMETRIC) the edge itself.
""")

MirrorPadGrad = op(f"""
    MirrorPadGrad(input: T, paddings: Tpaddings) -> (output: T){_MIRROR}
    The gradient of MirrorPad: the margin folded back and added.
""")


@Pad.shape
@MirrorPad.shape
def pad_shape(input, paddings, *, ctx):
    return _padded(input, paddings, ctx)


@PadV2.shape
def pad_v2_shape(input, paddings, constant_values, *, ctx):
    return _padded(input, paddings, ctx)


def _rows(input, paddings):
    """Checks the shape of `paddings` and returns the rank, None if it is not known."""
    if paddings is not None and len(paddings) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(paddings)}")
    if paddings is not None and paddings[1] not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {paddings[1]}")
    n = None if paddings is None else paddings[0]
    if n is None:
        return None if input is None else len(input)
    if input is not None and len(input) != n:
        raise ValueError(f"Shape must be rank {n} but is rank {len(input)}")
    return n


def _padded(input, paddings, ctx):
    rank = _rows(input, paddings)
    if rank is None:
        return None
    known = ctx.constant("paddings")
    if known is None:
        dims = shapes.with_rank(input, rank)
        rows = _partial_rows(ctx.op.inputs[1])
        if rows is None:
            return (None,) * rank
        return tuple(None if d is None or r is None else d + r for d, r in zip(dims, rows, strict=True))
    if (known < 0).any():
        raise ValueError("Paddings must be non-negative")
    dims = shapes.with_rank(input, rank)
    return tuple(
        None if d is None else _grown(d, int(b), int(a)) for d, (b, a) in zip(dims, known, strict=True)
    )


def _grown(size, before, after):
    """Returns a padded size.

    Raises:
      ValueError: It is none that 64 bits hold.
    """
    more = (before + after + 2**63) % 2**64 - 2**63  # as the sum of two such numbers wraps
    if more < 0 or size + more >= 2**63:
        raise ValueError(f"Dimension size overflow from adding {size} and {more}")
    return size + more


def _partial_rows(paddings):
    """Returns what each dimension grows by, None for one not known, where the paddings are packed from rows."""
    if paddings.op.type != "Pack" or paddings.op.attrs["axis"] != 0:
        return None
    out = []
    for row in paddings.op.inputs:
        value = constant_value(row)
        out.append(None if value is None or value.shape != (2,) else int(value.sum()))
    return out


def _checked(input, paddings):
    if paddings.ndim != 2 or paddings.shape[1] != 2:
        invalid(f"paddings must be a matrix with 2 columns: {shown(paddings.shape)}")
    if paddings.shape[0] != input.ndim:
        invalid(
            f"The first dimension of paddings must be the rank of inputs{shown(paddings.shape)} {shown(input.shape)}"
        )
    rows = [(int(b), int(a)) for b, a in paddings]
    for b, a in rows:
        if b < 0 or a < 0:
            invalid(f"Paddings must be non-negative: {b} {a}")
    return rows


@Pad.host
def pad_host(input, paddings):
    fill = b"" if input.dtype == object else 0
    return np.pad(input, _checked(input, paddings), constant_values=fill) if input.ndim else input


@PadV2.host
def pad_v2_host(input, paddings, constant_values):
    if constant_values.ndim:
        invalid(f"constant_values must be a scalar. Found: {shown(constant_values.shape)}")
    rows = _checked(input, paddings)
    return np.pad(input, rows, constant_values=constant_values[()]) if input.ndim else input


@Pad.lower(static="paddings")
def pad_lower(input, paddings):
    rows = _checked(input, np.asarray(paddings))
    return lax.pad(input, jnp.zeros((), input.dtype), [(b, a, 0) for b, a in rows])


@PadV2.lower(static="paddings")
def pad_v2_lower(input, paddings, constant_values):
    rows = _checked(input, np.asarray(paddings))
    return lax.pad(input, jnp.asarray(constant_values), [(b, a, 0) for b, a in rows])


def _pad_gradient(op, dy):
    x, paddings = op.inputs[0], op.inputs[1]
    before = raw.Slice(paddings, [0, 0], stack([rank_of(x), 1]))
    return raw.Slice(dy, raw.Reshape(before, [-1]), shape_of(x, out_type=paddings.dtype.base_dtype))


@Pad.grad
def pad_grad(op, dy):
    return _pad_gradient(op, dy), None


@PadV2.grad
def pad_v2_grad(op, dy):
    return _pad_gradient(op, dy), None, None


def _mirror_rows(input, paddings, mode):
    rows = _checked(input, paddings)
    for (b, a), d in zip(rows, input.shape, strict=True):
        if mode == "REFLECT" and (b >= d or a >= d):
            invalid(f"paddings must be less than the dimension size: {b}, {a} not less than {d}")
        if mode == "SYMMETRIC" and (b > d or a > d):
            invalid(f"paddings must be no greater than the dimension size: {b}, {a} greater than {d}")
    return rows


def _mirror(input, rows, mode, xp):
    return xp.pad(input, rows, mode=mode.lower()) if input.ndim else input


@MirrorPad.host
def mirror_pad_host(input, paddings, *, mode):
    return _mirror(input, _mirror_rows(input, paddings, mode), mode, np)


@MirrorPad.lower(static="paddings")
def mirror_pad_lower(input, paddings, *, mode):
    return _mirror(input, _mirror_rows(input, np.asarray(paddings), mode), mode, jnp)


@MirrorPad.grad
def mirror_pad_grad(op, dy):
    return raw.MirrorPadGrad(dy, op.inputs[1], mode=op.attrs["mode"]), None


@MirrorPadGrad.shape
def mirror_pad_grad_shape(input, paddings, *, ctx):
    rank = _rows(input, paddings)
    if rank is None:
        return None
    known = ctx.constant("paddings")
    if known is None:
        return (None,) * rank
    dims = shapes.with_rank(input, rank)
    out = []
    for d, (b, a) in zip(dims, known, strict=True):
        if b < 0 or a < 0:
            raise ValueError("Paddings must be non-negative")
        left = None if d is None else d - int(b) - int(a)
        if left is not None and left < 0:
            raise ValueError(f"Negative dimension size caused by subtracting {int(b) + int(a)} from {d}")
        out.append(left)
    return tuple(out)


def _fold_margins(dy, rows, mode, xp):
    """Folds the margins back, one dimension after the other."""
    skip = 1 if mode == "REFLECT" else 0
    for axis, (b, a) in enumerate(rows):
        dy = xp.moveaxis(dy, axis, 0)
        n = dy.shape[0] - b - a
        if max(b, a) + skip > n:
            if skip:
                invalid(f"paddings must be less than the output dimension size: {b}, {a} not less than {n}")
            invalid(f"paddings must be no greater than the output dimension size: {b}, {a} greater than {n}")
        inner, before, after = dy[b : b + n], dy[:b][::-1], dy[b + n :][::-1]
        rest = [(0, 0)] * (dy.ndim - 1)
        inner = inner + xp.pad(before, [(skip, n - skip - b), *rest]) if b else inner
        inner = inner + xp.pad(after, [(n - skip - a, skip), *rest]) if a else inner
        dy = xp.moveaxis(inner, 0, axis)
    return dy


@MirrorPadGrad.host
def mirror_pad_grad_host(input, paddings, *, mode):
    return _fold_margins(input, _checked(input, paddings), mode, np)


@MirrorPadGrad.lower(static="paddings")
def mirror_pad_grad_lower(input, paddings, *, mode):
    return _fold_margins(input, _checked(input, np.asarray(paddings)), mode, jnp)


@MirrorPadGrad.grad
def mirror_pad_grad_grad(op, dy):
    return raw.MirrorPad(dy, op.inputs[1], mode=op.attrs["mode"]), None


@Pad.cases
def pad_cases(case):
    case([[1.0, 2.0]], [[1, 0], [0, 1]], gives=[[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]])
    case(np.zeros([0], np.float32), np.array([[2, 1]], np.int64), gives=[0.0, 0.0, 0.0])
    case.shapes("[?,3];[2,2]", "[?,5]", values={"paddings": [[1, 1], [2, 0]]})
    case.shapes("?;[2,2]", "[?,?]", values={"paddings": [[1, 1], [2, 0]]})
    case.shapes("[2,3];?", "[?,?]")
    case.fails("[2,3];[2,2]", match="Paddings must be non-negative", values={"paddings": [[-1, 1], [0, 0]]})
    case.fails("[2,3];[2,3]", match="Dimension must be 2 but is 3")
    case.fails(([1.0, 2.0], [[-1, 1]]), match="Paddings must be non-negative: -1 1")


@PadV2.cases
def pad_v2_cases(case):
    case([1.0, 2.0], [[1, 1]], np.float32(7.0), gives=[7.0, 1.0, 2.0, 7.0], grad=False)
    case.shapes("[2,3];[2,2];[]", "[4,5]", values={"paddings": [[1, 1], [2, 0]]})


@MirrorPad.cases
def mirror_pad_cases(case):
    case([1.0, 2.0, 3.0], [[2, 1]], mode="REFLECT", gives=[3.0, 2.0, 1.0, 2.0, 3.0, 2.0])
    case([1.0, 2.0, 3.0], [[2, 1]], mode="SYMMETRIC", gives=[2.0, 1.0, 1.0, 2.0, 3.0, 3.0])
    case.shapes("[2,3];[2,2]", "[4,5]", values={"paddings": [[1, 1], [2, 0]]}, mode="REFLECT")
    case.fails(([1.0, 2.0], [[2, 1]]), match="paddings must be less than the dimension size: 2, 1 not less than 2",
               mode="REFLECT")  # fmt: skip


@MirrorPadGrad.cases
def mirror_pad_grad_cases(case):
    case([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [[2, 1]], mode="REFLECT", gives=[3.0, 12.0, 6.0])
    case([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [[2, 1]], mode="SYMMETRIC", gives=[5.0, 5.0, 11.0])
    case.shapes("[4,5];[2,2]", "[2,3]", values={"paddings": [[1, 1], [2, 0]]}, mode="REFLECT")


@export("pad")
def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    """Returns a tensor with a margin around it.

    Args:
      tensor: The tensor.
      paddings: How many places before and after, for each dimension.
      mode: "CONSTANT", "REFLECT" (mirrors without the edge) or "SYMMETRIC" (mirrors with the edge).
      name: The node's name.
      constant_values: The margin's value in "CONSTANT" mode.

    Raises:
      ValueError: There is no such mode.
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if isinstance(constant_values, Tensor) or np.ndim(constant_values) or constant_values != 0:
            result = raw.PadV2(tensor, paddings, constant_values, name=name)
        else:
            result = raw.Pad(tensor, paddings, name=name)
    elif mode in ("REFLECT", "SYMMETRIC"):
        result = raw.MirrorPad(tensor, paddings, mode=mode, name=name)
    else:
        raise ValueError(f"Unknown padding mode: {mode}")
    return result
