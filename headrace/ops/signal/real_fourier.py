"""Fourier transforms between real tensors and the half of a spectrum that determines them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes
from headrace.errors import InvalidArgumentError
from headrace.export import NAMES
from headrace.graph.default import name_scope
from headrace.lazy import jnp
from headrace.opdef import constant_as_shape, constant_node, convert_to_tensor, export, op, raw
from headrace.opdef.nodes import ones, rank_of, shape_of, zeros, zeros_like
from headrace.ops.signal.fourier import check_rank, size_of_transform
from headrace.shapes import Shape, with_rank, with_rank_at_least


def _half(n: int) -> int:
    """Returns how many frequencies determine `n` real numbers."""
    return n // 2 + 1 if n else 0


def _shape_rule(rank: int, halved: bool) -> Any:
    def rule(input: Shape, fft_length: Shape, *, ctx: Any) -> Shape:
        shape = with_rank_at_least(input, rank)
        (count,) = with_rank(fft_length, 1)
        if count not in (None, rank):
            raise ValueError(f"Dimension must be {rank} but is {count}")
        lengths = ctx.constant("fft_length")
        if shape is None:
            return None
        if lengths is None:
            return shape[:-rank] + (None,) * rank
        inner = [int(n) for n in lengths]
        if halved:
            inner[-1] = 0 if inner[-1] == 0 else int(inner[-1] / 2) + 1  # as C++ divides
        if any(n < 0 for n in inner):
            raise ValueError(
                f"Dimension size, interpreted as a signed number, must be nonnegative, got {min(inner)}"
            )
        return shape[:-rank] + tuple(inner)

    return rule


def _cropped(x: Any, fft_length: Any, rank: int, halved: bool) -> tuple[Any, list[int]]:
    """Returns the part of the operand that a transform of these lengths takes, and the lengths.

    Raises:
      InvalidArgumentError: The operand is too small, or the lengths are no lengths.
    """
    check_rank(x, rank)
    if fft_length.shape != (rank,):
        raise InvalidArgumentError(None, None, f"fft_length must have shape [{rank}]")
    lengths = [int(n) for n in fft_length]
    for i, n in enumerate(lengths):
        if n < 0:
            raise InvalidArgumentError(None, None, f"fft_length[{i}] must be at least 0, but got: {n}")
    need = lengths[:-1] + [_half(lengths[-1]) if halved else lengths[-1]]
    first = x.ndim - rank
    for axis, n in enumerate(need, first):
        if 0 < x.shape[axis] < n:  # of nothing, any length is taken: the transform is zeros
            raise InvalidArgumentError(
                None,
                None,
                f"Input dimension {axis} must have length of at least {n} but got: {x.shape[axis]}",
            )
    return x[(..., *(slice(n) for n in need))], lengths


def _real_to_complex(xp: Any, input: Any, fft_length: Any, rank: int) -> Any:
    x, lengths = _cropped(input, fft_length, rank, halved=False)
    if not x.size:
        return xp.zeros((*x.shape[: x.ndim - rank], *lengths[:-1], _half(lengths[-1])), np.complex64)
    return xp.fft.rfftn(x, axes=tuple(range(-rank, 0))).astype(np.complex64)


def _complex_to_real(xp: Any, input: Any, fft_length: Any, rank: int) -> Any:
    x, lengths = _cropped(input, fft_length, rank, halved=True)
    if not x.size:
        return xp.zeros((*x.shape[: x.ndim - rank], *lengths), np.float32)
    return xp.fft.irfftn(x, s=lengths, axes=tuple(range(-rank, 0))).astype(np.float32)


def _real_op(name: str, rank: int, compute: Any) -> Any:
    suffix = "" if rank == 1 else f"{rank}D"
    forward = name == "RFFT"
    types = ("float", "complex64") if forward else ("complex64", "float")
    what = "Fourier transform of real numbers: the half that determines the rest"
    if not forward:
        what = "inverse of RFFT: real numbers from one half of their Fourier transform"
    made = op(f"""
        {name}{suffix}(input: {types[0]}, fft_length: int32) -> (output: {types[1]})

        The {what}, over {rank} dimensions.
    """, shape=_shape_rule(rank, halved=forward))  # fmt: skip
    made.host(lambda x, lengths: compute(np, x, lengths, rank))
    made.lower(lambda x, lengths: compute(jnp, x, lengths, rank), static="fft_length")

    @made.cases
    def cases(case):
        lengths = np.array([2, 3, 4][-rank:], np.int32)
        size = [2, 2, 3, 4 if forward else 3][-rank - 1 :]
        wide = [*size[:-1], size[-1] + 3]
        x, more = case.normal(*size), case.normal(*wide)
        if not forward:
            # The gradient is of transforms of real numbers only, so it is not compared here.
            x, more = (x + 1j * x).astype(np.complex64), (more - 2j * more).astype(np.complex64)
        case(x, lengths, grad=forward)
        case(more, lengths, grad=False)
        case(np.zeros([0, *size[1:]], x.dtype), lengths)
        text = "[" + ",".join("?" for _ in size) + "]"
        values = {"fft_length": lengths}
        out = [int(n) for n in lengths[:-1]] + [3 if forward else 4]
        case.shapes(f"{text};[{rank}]", "[?," + ",".join(map(str, out)) + "]", values=values)
        case.shapes(f"{text};?", text)
        case.fails(f"{text};[{rank + 1}]", match=f"Dimension must be {rank} but is {rank + 1}")
        case.fails(f"[];[{rank}]", match=f"Shape must be at least rank {rank}")
        case.fails((x, lengths * 2), match="must have length of at least")
        case.fails((x, -lengths), match="must be at least 0|must be nonnegative")

    return made


RFFT, RFFT2D, RFFT3D = (_real_op("RFFT", rank, _real_to_complex) for rank in (1, 2, 3))
IRFFT, IRFFT2D, IRFFT3D = (_real_op("IRFFT", rank, _complex_to_real) for rank in (1, 2, 3))


# -- gradients -----------------------------------------------------------------------------------------------


def _alternating(length: Any) -> Any:
    """Returns 1, -1, 1, -1 ... as complex numbers."""
    numbers = NAMES["range"](length)
    return raw.Cast(1 - 2 * (numbers % 2), DstT=dtypes.complex64)


def _for_each_matrix(matrix: Any, like: Any) -> Any:
    """Repeats a matrix along the leading dimensions of a tensor."""
    shape = NAMES["concat"]([ones([rank_of(like) - 2], dtypes.int32), shape_of(matrix)], 0)
    spread = raw.Reshape(matrix, shape)
    return raw.Tile(spread, NAMES["concat"]([shape_of(like)[:-2], [1, 1]], 0))


def _twice_counted_1d(dy: Any, is_even: Any, shape: Any) -> Any:
    """Returns what the ends of the half spectrum add; every other frequency stands for two."""
    return dy[..., 0:1] + (is_even * dy[..., -1:]) * _alternating(shape[-1])


def _twice_counted_2d(dy: Any, is_even: Any, shape: Any) -> Any:
    matmul = NAMES["matmul"]
    first = dy[..., 0:1]
    rows = shape[-2]
    row = NAMES["tile"](NAMES["expand_dims"](NAMES["range"](rows), 0), [rows, 1])
    products = row * NAMES["transpose"](row, [1, 0])
    numbers = raw.Cast(products, DstT=dtypes.complex64)
    angles = (-2j * np.pi) * numbers / raw.Cast(rows, DstT=dtypes.complex64)
    matrix = _for_each_matrix(raw.Exp(angles), first)
    from_first = matmul(matrix, raw.Conj(first))
    from_last = matmul(matrix, raw.Conj(dy[..., -1:]))
    columns = shape[-1]
    repeated = raw.Tile(from_last, NAMES["concat"]([ones([rank_of(dy) - 1], dtypes.int32), [columns]], 0))
    return from_first + is_even * (repeated * _alternating(columns))


def _forward_gradient(rank: int, twice_counted: Any) -> Any:
    def grad(op: Any, dy: Any) -> Any:
        x, fft_length = op.inputs
        shape = shape_of(x)
        is_even = raw.Cast(1 - fft_length[-1] % 2, DstT=dtypes.complex64)
        extra = twice_counted(dy, is_even, shape)
        size = raw.Cast(size_of_transform(x, rank), DstT=dtypes.float32)
        inverse = PUBLIC["irfft", rank](dy, fft_length)
        return 0.5 * (inverse * size + raw.Real(extra)), None

    return grad


def _inverse_gradient(rank: int) -> Any:
    def grad(op: Any, dy: Any) -> Any:
        x, fft_length = op.inputs
        is_odd = raw.FloorMod(fft_length[-1], 2)
        inner = shape_of(x)[-1] - 2 + is_odd
        twice = 2.0 * ones([inner])
        weights = NAMES["concat"]([[1.0], twice, ones([1 - is_odd])], 0)
        share = raw.Reciprocal(raw.Cast(size_of_transform(dy, rank), DstT=dtypes.float32))
        spectrum = PUBLIC["rfft", rank](dy, fft_length)
        return spectrum * raw.Cast(share * weights, DstT=dtypes.complex64), None

    return grad


RFFT.grad(_forward_gradient(1, _twice_counted_1d))
RFFT2D.grad(_forward_gradient(2, _twice_counted_2d))
IRFFT.grad(_inverse_gradient(1))
IRFFT2D.grad(_inverse_gradient(2))


# -- public functions ----------------------------------------------------------------------------------------


def _own_length(x: Any, rank: int, inverse: bool) -> Any:
    """Returns the lengths of a transform of all of the operand."""
    dims = None if x._dims is None else x._dims[-rank:]
    if dims is not None and None not in dims:
        lengths = list(dims)
        if inverse and lengths:
            lengths[-1] = max(0, 2 * (lengths[-1] - 1))
        return constant_node(np.array(lengths, np.int32), dtypes.int32)
    lengths = shape_of(x)[-rank:]
    if inverse:
        parts = NAMES["unstack"](lengths)
        parts[-1] = raw.Maximum(0, 2 * (parts[-1] - 1))
        return NAMES["stack"](parts)
    return lengths


def _padded(x: Any, fft_length: Any, rank: int, inverse: bool) -> Any:
    """Returns the operand with zeros behind, at least as large as the transform asks for."""
    wanted = constant_as_shape(fft_length)
    dims = None if x._dims is None else x._dims[-rank:]
    if wanted is not None and None not in wanted and dims is not None and None not in dims:
        need = list(wanted)
        if inverse and need[-1]:
            need[-1] = need[-1] // 2 + 1
        if all(d >= n for d, n in zip(dims, need, strict=False)):
            return x
        lack = [max(n - d, 0) for d, n in zip(dims, need, strict=False)]  # the op refuses other numbers
        return raw.Pad(x, [[0, 0]] * (len(x._dims) - rank) + [[0, n] for n in lack])
    concat = NAMES["concat"]
    x_rank = rank_of(x)
    inner = shape_of(x)[-rank:]
    outer = zeros([raw.Maximum(0, x_rank - rank)], dtype=dtypes.int32)
    if inverse:
        fft_length = concat([fft_length[:-1], fft_length[-1:] // 2 + 1], 0)
    lacking = raw.Maximum(0, fft_length - inner)
    behind = concat([outer, lacking], 0)
    return raw.Pad(x, NAMES["stack"]([zeros_like(behind), behind], axis=1))


PUBLIC: dict[tuple[str, int], Any] = {}
"""The public functions by kind and rank."""


def _public(kind: str, rank: int, what: str) -> None:
    inverse = kind == "irfft"
    suffix = "" if rank == 1 else f"{rank}d"
    public_name, op_name = kind + suffix, kind.upper() + suffix.upper()

    def function(input_tensor, fft_length=None, name=None):
        with name_scope(name, public_name, [input_tensor, fft_length]) as name:
            x = convert_to_tensor(input_tensor, dtypes.complex64 if inverse else dtypes.float32)
            if x._dims is not None and len(x._dims) < rank:
                raise ValueError(f"Shape {x.shape} must have rank at least {rank}")
            if fft_length is None:
                fft_length = _own_length(x, rank, inverse)
            else:
                fft_length = convert_to_tensor(fft_length, dtypes.int32)
            x = _padded(x, fft_length, rank, inverse)
            return getattr(raw, op_name)(x, fft_length, name=name)

    function.__name__ = function.__qualname__ = public_name
    function.__doc__ = f"""Returns {what}.

    Args:
      input_tensor: A tensor of {"complex64" if inverse else "float32"}.
      fft_length: The sizes of the transform, by default the operand's; what is missing of the operand is taken as
        zero, what is beyond is left out.
      name: The node's name.
    """
    PUBLIC[kind, rank] = function
    export(f"signal.{public_name}", f"spectral.{public_name}")(function)


for _rank, _words in ((1, "dimension"), (2, "two dimensions"), (3, "three dimensions")):
    _public("rfft", _rank, f"one half of the Fourier transform of real numbers along the last {_words}")
    _public(
        "irfft", _rank, f"the real numbers of which this is one half of the Fourier transform (last {_words})"
    )
