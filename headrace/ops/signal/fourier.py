"""Fourier transforms of complex tensors along their last one, two or three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dtypes import as_dtype
from headrace.errors import InvalidArgumentError
from headrace.export import NAMES
from headrace.graph.default import name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.nodes import shape_of
from headrace.shapes import unchanged_min_rank


def transform(xp: Any, function: str, x: Any, rank: int) -> Any:
    """Returns an n-dimensional transform along the last `rank` dimensions, in the operand's precision.

    Args:
      xp: The array namespace.
      function: `fftn` or `ifftn`.
      x: A complex array.
      rank: How many dimensions.
    """
    if not x.size:
        return x
    # JAX would read axes of None as all axes.
    return getattr(xp.fft, function)(x, axes=tuple(range(-rank, 0))).astype(x.dtype)


def check_rank(x: Any, rank: int) -> None:
    """Checks the rank that only the step knows.

    Raises:
      InvalidArgumentError: The operand has too few dimensions.
    """
    if x.ndim < rank:
        shown = "[" + ",".join(map(str, x.shape)) + "]"
        raise InvalidArgumentError(None, None, f"Input must have rank of at least {rank} but got: {shown}")


def size_of_transform(x: Any, rank: int) -> Any:
    """Returns the number of elements of one transform, as a node."""
    return NAMES["reduce_prod"](shape_of(x)[-rank:])


def _complex_op(name: str, function: str, rank: int) -> Any:
    suffix = "" if rank == 1 else f"{rank}D"
    words = f"last {rank} dimensions" if rank > 1 else "last dimension"
    kind = "Fourier" if function == "fftn" else "inverse Fourier"
    made = op(f"""
        {name}{suffix}(input: Tcomplex) -> (output: Tcomplex)
          Tcomplex: {{complex64, complex128}} = complex64

        The discrete {kind} transform along the {words}.
    """, shape=unchanged_min_rank(rank))  # fmt: skip

    @made.host
    def host(input):
        check_rank(input, rank)
        return transform(np, function, input, rank)

    @made.lower
    def lower(input):
        check_rank(input, rank)
        return transform(jnp, function, input, rank)

    @made.cases
    def cases(case):
        shape = (2, 2, 3, 4)[-rank - 1 :]
        numbers = case.normal(*shape) + 1j * case.normal(*shape)
        case(numbers.astype(np.complex64))
        case(np.zeros((3, 0, 2, 2), np.complex64), gives=np.zeros((3, 0, 2, 2), np.complex64))
        ones = np.ones((1,) * rank, np.complex128)
        case(ones * (2 + 1j), gives=ones * (2 + 1j))
        case.shapes("[?,2,3,4]", "[?,2,3,4]")
        case.shapes("?", "?")
        case.fails("[]", match=f"Shape must be at least rank {rank} but is rank 0")

    return made


FFT, FFT2D, FFT3D = (_complex_op("FFT", "fftn", rank) for rank in (1, 2, 3))
IFFT, IFFT2D, IFFT3D = (_complex_op("IFFT", "ifftn", rank) for rank in (1, 2, 3))


def _forward_gradient(inverse: str, rank: int) -> Any:
    def grad(op: Any, dy: Any) -> Any:
        size = raw.Cast(size_of_transform(dy, rank), DstT=dy.dtype)
        return getattr(raw, inverse)(dy) * size

    return grad


def _inverse_gradient(forward: str, rank: int) -> Any:
    def grad(op: Any, dy: Any) -> Any:
        real = as_dtype("float32" if dy.dtype.name == "complex64" else "float64")
        size = raw.Cast(size_of_transform(dy, rank), DstT=real)
        share = raw.Cast(1.0 / size, DstT=dy.dtype)
        return getattr(raw, forward)(dy) * share

    return grad


for _rank, _forward, _inverse in ((1, FFT, IFFT), (2, FFT2D, IFFT2D), (3, FFT3D, IFFT3D)):
    _forward.grad(_forward_gradient(_inverse.name, _rank))
    _inverse.grad(_inverse_gradient(_forward.name, _rank))


def _early_op(name: str, function: str, rank: int) -> None:
    """Declares the first version of an op, which graphs of today may not hold."""
    made = op(f"""
        Batch{name}(input: complex64) -> (output: complex64)
          deprecated 15

        The first version of {name}.
    """)  # fmt: skip

    @made.host
    def host(input):
        check_rank(input, rank)
        return transform(np, function, input, rank)

    @made.lower
    def lower(input):
        check_rank(input, rank)
        return transform(jnp, function, input, rank)

    @made.cases
    def cases(case):
        numbers = np.arange(8, dtype=np.complex64).reshape(2, 2, 2)
        case(numbers, gives=transform(np, function, numbers, rank))


for _rank, _suffix in ((1, ""), (2, "2D"), (3, "3D")):
    _early_op("FFT" + _suffix, "fftn", _rank)
    _early_op("IFFT" + _suffix, "ifftn", _rank)


def _public(op_name: str, what: str) -> None:
    name = op_name.lower()

    def function(input, name=None):
        return getattr(raw, op_name)(input, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Returns the discrete {what}.

    Args:
      input: A tensor of complex64 or complex128.
      name: The node's name.
    """
    export(name, f"signal.{name}", f"spectral.{name}")(function)


for _rank, _words in ((1, "dimension"), (2, "two dimensions"), (3, "three dimensions")):
    _suffix = "" if _rank == 1 else f"{_rank}D"
    _public("FFT" + _suffix, f"Fourier transform along the last {_words}")
    _public("IFFT" + _suffix, f"inverse Fourier transform along the last {_words}")


def _shifted(x: Any, axes: Any, name: str, inverse: bool) -> Any:
    def amount(axis: Any) -> Any:
        half = int(x.shape[axis]) // 2
        return -half if inverse else half

    if axes is None:
        axes = tuple(range(x.shape.ndims))
        shift: Any = [amount(axis) for axis in axes]
    elif isinstance(axes, int):
        shift = amount(axes)
    else:
        shift = [amount(axis) for axis in axes]
    return raw.Roll(x, shift, axes, name=name)


@export("signal.fftshift")
def fftshift(x, axes=None, name=None):
    """Moves the frequency zero to the middle.

    Args:
      x: A tensor whose sizes are known along `axes`.
      axes: The dimensions, by default all.
      name: The node's name.
    """
    with name_scope(name, "fftshift") as name:
        return _shifted(convert_to_tensor(x), axes, name, inverse=False)


@export("signal.ifftshift")
def ifftshift(x, axes=None, name=None):
    """Moves the frequency zero from the middle to the front: the inverse of `fftshift`.

    Args:
      x: A tensor whose sizes are known along `axes`.
      axes: The dimensions, by default all.
      name: The node's name.
    """
    with name_scope(name, "ifftshift") as name:
        return _shifted(convert_to_tensor(x), axes, name, inverse=True)
