"""Complex numbers: making them, and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.dtypes import complex64, complex128, float32, float64
from headrace.dtypes import variant as variant_dtype
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.graph.tensor import Tensor
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.math.broadcasting import reducers
from headrace.ops.math.building import after, scalar, zeros_like
from headrace.ops.math.quiet import quiet

_COMPLEX_TO_REAL = """
      T: {complex64, complex128} = DT_COMPLEX64
      Tout: {float, double} = DT_FLOAT
"""

Complex = op("""
    Complex(real: T, imag: T) -> (out: Tout)
      T: {float, double} = DT_FLOAT
      Tout: {complex64, complex128} = DT_COMPLEX64

    real + imag * i.
""", shape=shapes.broadcasted)  # fmt: skip


@Complex.host
def complex_host(real, imag, *, Tout):
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), Tout.storage)
    out.real, out.imag = real, imag
    return out


@Complex.lower
def complex_lower(real, imag, *, Tout):
    from headrace.lazy import lax

    return lax.complex(*jnp.broadcast_arrays(real, imag)).astype(Tout.storage)


@Complex.grad
def complex_grad(op, dz):
    to_real, to_imag = reducers(*op.inputs)
    real = to_real(_real(dz))
    return real, to_imag(_imag(dz))


@Complex.cases
def complex_cases(case):
    case([1.0, 2.0], [3.0, -4.0], gives=np.array([1 + 3j, 2 - 4j], np.complex64), grad=False)
    case([[1.0], [2.0]], [3.0, -4.0], grad=False)
    case.shapes("[2,1];[3]", "[2,3]")


def _real_dtype(x: Any) -> Any:
    return x.dtype.real_dtype


def _complex_dtype(x: Any) -> Any:
    return {float32: complex64, float64: complex128}[x.dtype.base_dtype]


def _join(real: Any, imag: Any, name: str | None = None) -> Any:
    return raw.Complex(real, imag, Tout=_complex_dtype(real), name=name)


def _real(x: Any, name: str | None = None) -> Any:
    return raw.Real(x, Tout=_real_dtype(x), name=name)


def _imag(x: Any, name: str | None = None) -> Any:
    return raw.Imag(x, Tout=_real_dtype(x), name=name)


def _part(name: str, host: Any, lower: Any, grad: Any, doc: str, gives: Any, operand: str = "input") -> Any:
    result = "y" if operand == "x" else "output"
    made = op(
        f"{name}({operand}: T) -> ({result}: Tout){_COMPLEX_TO_REAL}\n{doc}",
        shape=shapes.unchanged,
        grad=grad,
    )

    @made.host
    def part_host(x: Any, *, Tout: Any) -> Any:
        return np.asarray(host(x)).astype(Tout.storage)

    @made.lower
    def part_lower(x: Any, *, Tout: Any) -> Any:
        return lower(x).astype(Tout.storage)

    @made.cases
    def part_cases(case: Any) -> None:
        case(np.array([3 + 4j, -1, 2j], np.complex64), gives=gives, grad=False)
        case.shapes("[2,?]", "[2,?]", T="complex64")

    return made


def _angle_grad(op: Any, dy: Any) -> Any:
    x = op.inputs[0]
    with after(dy):
        real, imag = _real(x), _imag(x)
        inverse = raw.Reciprocal(_join(imag, real))
        return -_join(dy, scalar(0.0, dy)) * inverse


def _abs_grad(op: Any, dy: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    toward = _join(dy, zeros_like(dy)) * x
    return raw.DivNoNan(toward, _join(y, zeros_like(y)), name="div_no_nan")


_part("Real", lambda x: x.real, lambda x: jnp.real(x), lambda op, dy: _join(dy, scalar(0.0, dy)), "The real part.",
      [3.0, -1.0, 0.0])  # fmt: skip
_part("Imag", lambda x: x.imag, lambda x: jnp.imag(x), lambda op, dy: _join(scalar(0.0, dy), dy), "The imaginary part.",
      [4.0, 0.0, 2.0])  # fmt: skip
_part("Angle", np.angle, lambda x: jnp.angle(x), _angle_grad, "The argument, in (-pi, pi].",
      [0.92729522, np.pi, np.pi / 2])  # fmt: skip
_part(
    "ComplexAbs",
    quiet(np.abs),
    lambda x: jnp.abs(x),
    _abs_grad,
    "The magnitude.",
    [5.0, 1.0, 2.0],
    operand="x",
)

Conj = op("""
    Conj(input: T) -> (output: T)
      T: {complex64, complex128, variant} = DT_COMPLEX64

    The complex conjugate.
""", shape=shapes.unchanged)  # fmt: skip


@Conj.host
def conj_host(input):
    return np.conj(input)


@Conj.lower
def conj_lower(input):
    return jnp.conj(input)


@Conj.grad
def conj_grad(op, dy):
    return raw.Conj(dy)


@Conj.cases
def conj_cases(case):
    case(np.array([3 + 4j], np.complex64), gives=np.array([3 - 4j], np.complex64), grad=False)


@export("complex", "dtypes.complex")
def complex_v1(real, imag, name=None):
    """Returns real + imag * i.

    Args:
      real: The real part, float32 or float64.
      imag: The imaginary part, of the same type.
      name: The node's name.

    Raises:
      TypeError: The parts are not both float32 or both float64.
    """
    real = convert_to_tensor(real, name="real")
    imag = convert_to_tensor(imag, name="imag")
    with name_scope(name, "Complex", [real, imag]) as scope:
        types = real.dtype.base_dtype, imag.dtype.base_dtype
        if types not in ((float32, float32), (float64, float64)):
            raise TypeError(f"real and imag have incorrect types: {types[0].name} {types[1].name}")
        return _join(real, imag, scope)


@export("real", "math.real")
def real(input, name=None):
    """Returns the real part of a tensor; a real tensor as it is.

    Args:
      input: A numeric tensor.
      name: The node's name.
    """
    with name_scope(name, "Real", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        return _real(input, scope) if input.dtype.is_complex else input


@export("imag", "math.imag")
def imag(input, name=None):
    """Returns the imaginary part of a tensor; zeros for a real one.

    Args:
      input: A numeric tensor.
      name: The node's name.
    """
    with name_scope(name, "Imag", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        return _imag(input, scope) if input.dtype.is_complex else zeros_like(input)


@export("angle", "math.angle")
def angle(input, name=None):
    """Returns the argument of complex numbers, in (-pi, pi]; zeros for real ones.

    Args:
      input: A numeric tensor.
      name: The node's name.
    """
    with name_scope(name, "Angle", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if input.dtype.is_complex:
            return raw.Angle(input, Tout=_real_dtype(input), name=scope)
        return zeros_like(input)


@export("conj", "math.conj")
def conj(x, name=None):
    """Returns the complex conjugate; a real tensor as it is.

    Args:
      x: A numeric tensor.
      name: The node's name.

    Raises:
      TypeError: `x` is not numeric.
    """
    if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with name_scope(name, "Conj", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex or x.dtype.base_dtype is variant_dtype:
            return raw.Conj(x, name=scope)
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")
