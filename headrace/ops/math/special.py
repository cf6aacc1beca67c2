"""Special functions: of the error, gamma, beta, zeta and Bessel families."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.lazy import LazyModule, jnp, lax, scipy_special
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.math.binary import broadcasting
from headrace.ops.math.broadcasting import reducers
from headrace.ops.math.building import after, scalar, zeros_like
from headrace.ops.math.unary import REAL, unary, waits
from headrace.shapes import to_text

jax_special: Any = LazyModule("jax.scipy.special")


def _wide(function: Any) -> Any:
    """Returns a function of arrays that does 16-bit floats in float32 and keeps the operands' type."""

    def run(*operands: Any) -> Any:
        dtype = operands[0].dtype
        if dtype.itemsize == 2:
            operands = tuple(x.astype(np.float32) for x in operands)
        return function(*operands).astype(dtype)

    return run


def _gamma_pole(x: Any, xp: Any) -> Any:
    return (x <= 0) & (x == xp.floor(x))


def _digamma_host(x: Any) -> Any:
    return np.where(_gamma_pole(x, np), x.dtype.type(np.inf), scipy_special.digamma(x))


def _digamma_lower(x: Any) -> Any:
    return jnp.where(_gamma_pole(x, jnp), jnp.asarray(np.inf, x.dtype), jax_special.digamma(x))


def _erf_grad(factor: float) -> Any:
    def grad(op: Any, dy: Any) -> Any:
        x = op.inputs[0]
        two_over_root_pi = scalar(factor, dy)
        scaled = dy * two_over_root_pi
        with after(dy):
            return scaled * raw.Exp(-raw.Square(x))

    return grad


def _digamma_grad(op: Any, dy: Any) -> Any:
    x = op.inputs[0]
    return dy * raw.Polygamma(scalar(1, x), x)


def _i0e_grad(op: Any, dy: Any) -> Any:
    x, y = op.inputs[0], op.outputs[0]
    derivative = raw.BesselI1e(x) - raw.Sign(x) * y
    return dy * derivative


def _i1e_grad(op: Any, dy: Any) -> Any:
    """Near 0 the formula divides by 0; the limit there is 1/2."""
    x, y = op.inputs[0], op.outputs[0]
    nothing = zeros_like(x)
    epsilon = float(np.finfo(x.dtype.storage).eps)
    safe = raw.Abs(x) > epsilon
    where_safe = raw.Select(safe, x, epsilon + nothing)
    derivative = raw.BesselI0e(where_safe) - y * (raw.Sign(where_safe) + raw.Reciprocal(where_safe))
    return dy * raw.Select(safe, derivative, 0.5 + nothing)


_ROOT = 2.0 / np.sqrt(np.pi)
unary("Erf", REAL, None, _erf_grad(_ROOT), host=_wide(lambda x: scipy_special.erf(x)),
      lower=_wide(lambda x: lax.erf(x)), doc="The error function.",
      gives={0.0: 0.0, 1.0: 0.8427008, np.inf: 1.0, np.nan: np.nan})  # fmt: skip
unary("Erfc", REAL, None, _erf_grad(-_ROOT), host=_wide(lambda x: scipy_special.erfc(x)),
      lower=_wide(lambda x: lax.erfc(x)), doc="1 - erf(x).", gives={0.0: 1.0, 30.0: 0.0})  # fmt: skip


def _lgamma_lower(x: Any) -> Any:
    # XLA's series is off by a few units of its largest term, which shows beside the zeros at 1 and 2.
    return lax.lgamma(x.astype(jnp.float64)).astype(x.dtype)


unary("Lgamma", REAL, None, waits(lambda op, dy: dy * raw.Digamma(op.inputs[0])),
      host=_wide(lambda x: np.where(np.isinf(x), np.inf, scipy_special.gammaln(x))),
      lower=_lgamma_lower,
      doc="The logarithm of |gamma(x)|.", gives={0.0: np.inf, -np.inf: np.inf, -0.5: 1.2655121, 3.0: 0.6931472},
      domain=(0.5, 3.0))  # fmt: skip
unary("Digamma", REAL, None, waits(_digamma_grad), host=_wide(_digamma_host), lower=_wide(_digamma_lower),
      doc="The derivative of lgamma.", gives={0.0: np.inf, -1.0: np.inf, 3.0: 0.9227842},
      domain=(0.5, 3.0))  # fmt: skip
unary("BesselI0e", REAL, None, waits(_i0e_grad), host=_wide(lambda x: scipy_special.i0e(x)),
      lower=_wide(lambda x: jax_special.i0e(x)), doc="exp(-|x|) * I0(x), I0 being a Bessel function.",
      gives={0.0: 1.0}, domain=(0.5, 2.0))  # fmt: skip
unary("BesselI1e", REAL, None, waits(_i1e_grad), host=_wide(lambda x: scipy_special.i1e(x)),
      lower=_wide(lambda x: jax_special.i1e(x)), doc="exp(-|x|) * I1(x), I1 being a Bessel function.",
      gives={0.0: 0.0}, domain=(0.5, 2.0))  # fmt: skip


def _of_two(name: str, operands: str, host: Any, lower: Any, grad: Any, doc: str, gives: Any) -> None:
    a, b = operands.split()
    made = op(f"{name}({a}: T, {b}: T) -> (z: T)\n  T: {{float, double}}\n\n{doc}", shape=shapes.broadcasted)
    if grad is not None:
        made.declare("grad", grad)
    made.declare("host", broadcasting(_wide(host)))
    made.declare("lower", _wide(lower))

    def cases(case: Any) -> None:
        if gives:
            x, y, z = zip(*gives, strict=True)
            case(list(x), list(y), gives=list(z), grad=False, tol=2e-6)
        low, high = (2.0, 4.0) if name in ("Zeta", "Polygamma") else (0.5, 2.0)
        case(
            np.float64(2.0 if name == "Polygamma" else 1.5),
            case.uniform(2, 3, low=low, high=high, dtype=np.float64),
        )
        case.shapes("[2,1];[3]", "[2,3]")

    made.declare("cases", cases)


def _zeta_edges(xp: Any, x: Any, q: Any, inside: Any) -> Any:
    """Returns Hurwitz' zeta function where `inside` has it, and what the kernel gives elsewhere."""
    whole, pole = x == xp.floor(x), (q <= 0) & (q == xp.floor(q))
    endless = xp.where(q == 1, 1.0, xp.where(q < 1, np.inf, np.nan))
    proper = (x < np.inf) & (q < np.inf) & ((q > 0) | whole)
    value = xp.where(proper, inside(xp.where(proper & (x > 1), x, 2), xp.where(proper & ~pole, q, 1)), np.nan)
    value = xp.where(x == np.inf, xp.where(q < np.inf, endless, np.nan), value)
    value = xp.where(pole, np.inf, value)
    return xp.where(x == 1, np.inf, xp.where(x < 1, np.nan, value)).astype(x.dtype)


def _zeta_host(x: Any, q: Any) -> Any:
    def inside(x: Any, q: Any) -> Any:
        # The kernel's series is a multiple of its first term, and so nothing where that is.
        lost = (q > 0) & (q**-x < np.finfo(x.dtype).tiny)
        return np.where(lost, 0, scipy_special.zeta(x, q))

    return _zeta_edges(np, x, q, inside)


def _zeta_lower(x: Any, q: Any) -> Any:
    def inside(x: Any, q: Any) -> Any:
        # Of a large power the first term is all there is, and the products in XLA's series are NaN.
        return jnp.where((x > 1000) & (q > 0), q**-x, lax.zeta(jnp.minimum(x, 1000), q))

    return _zeta_edges(jnp, *jnp.broadcast_arrays(x, q), inside)


def _polygamma_host(a: Any, x: Any) -> Any:
    # As the kernel has it: (-1) ** (a + 1) * a! * zeta(a + 1, x).
    with np.errstate(all="ignore"):
        sign = np.where(np.isinf(a), 1.0, np.where(a % 2 == 1, 1.0, -1.0))
        value = sign * np.exp(scipy_special.gammaln(a + 1)) * _zeta_host(*np.broadcast_arrays(a + 1, x))
        value = np.where(a == 0, _digamma_host(x), np.where(a == np.floor(a), value, np.nan))
    return value.astype(a.dtype)


def _polygamma_lower(a: Any, x: Any) -> Any:
    a, x = jnp.broadcast_arrays(a, x)
    sign = jnp.where(jnp.isinf(a), 1.0, jnp.where(a % 2 == 1, 1.0, -1.0))
    value = sign * jnp.exp(lax.lgamma(a + 1)) * _zeta_lower(a + 1, x)
    return jnp.where(a == 0, _digamma_lower(x), jnp.where(a == jnp.floor(a), value, np.nan))


def _igamma_host(a: Any, x: Any) -> Any:
    value = np.where((a > 0) & (x >= 0) & (a < np.inf), scipy_special.gammainc(a, x), np.nan)
    return np.where((x == 0) | ((a == np.inf) & (x > 0) & (x < 1)), 0.0, value)


def _igamma_lower(a: Any, x: Any) -> Any:
    value = jnp.where((a > 0) & (x >= 0) & (a < np.inf), lax.igamma(*jnp.broadcast_arrays(a, x)), np.nan)
    value = jnp.where((x == 0) | ((a == np.inf) & (x > 0) & (x < 1)), 0.0, value)
    return jnp.where((x == np.inf) & (a > 0) & (a < np.inf), 1.0, value)


def _igammac_edges(xp: Any, a: Any, x: Any, value: Any) -> Any:
    value = xp.where(a == np.inf, xp.where(x < 1, 1.0, np.nan), value)
    value = xp.where(x == 0, 1.0, xp.where(x == np.inf, 0.0, value))
    return xp.where((a > 0) & (x >= 0), value, np.nan)


def _igamma_by_x(a: Any, x: Any) -> Any:
    return raw.Exp(-x + (a - 1) * raw.Log(x) - raw.Lgamma(a))


def _igamma_grad(op: Any, dz: Any) -> Any:
    a, x = op.inputs
    to_a, to_x = reducers(a, x)
    with after(dz):
        by_a = raw.IgammaGradA(a, x)
        by_x = _igamma_by_x(a, x)
        return to_a(by_a * dz), to_x(by_x * dz)


def _igammac_grad(op: Any, dz: Any) -> Any:
    da, dx = _igamma_grad(op, dz)
    return -da, -dx


def _polygamma_grad(op: Any, dz: Any) -> Any:
    n, x = op.inputs
    _, to_x = reducers(n, x)
    with after(dz):
        return None, to_x(raw.Polygamma(n + 1, x) * dz)


def _zeta_grad(op: Any, dz: Any) -> Any:
    x, q = op.inputs
    _, to_q = reducers(x, q)
    with after(dz):
        return None, to_q(-x * raw.Zeta(x + 1, q) * dz)


_of_two("Polygamma", "a x", _polygamma_host, _polygamma_lower, _polygamma_grad, "The a-th derivative of digamma at x.",
        [(0.0, 1.0, -0.5772157), (1.0, 2.0, 0.6449341), (1.5, 3.0, np.nan)])  # fmt: skip
_of_two("Zeta", "x q", _zeta_host, _zeta_lower, _zeta_grad, "The sum of (q + n) ** -x over n = 0, 1 ...",
        [(2.0, 1.0, 1.644934), (1.0, 1.0, np.inf), (0.5, 1.0, np.nan)])  # fmt: skip
_of_two("Igamma", "a x", _igamma_host, _igamma_lower, _igamma_grad,
        "The lower regularized incomplete gamma function.", [(1.0, 1.0, 0.6321205), (2.0, 3.0, 0.8008517)])  # fmt: skip
_of_two("Igammac", "a x", lambda a, x: _igammac_edges(np, a, x, scipy_special.gammaincc(a, x)),
        lambda a, x: _igammac_edges(jnp, a, x, lax.igammac(*jnp.broadcast_arrays(a, x))), _igammac_grad,
        "The upper regularized incomplete gamma function.", [(1.0, 1.0, 0.3678795), (2.0, 3.0, 0.1991483)])  # fmt: skip

IgammaGradA = op("""
    IgammaGradA(a: T, x: T) -> (z: T)
      T: {float, double}

    The derivative of Igamma with respect to a.
""", shape=shapes.broadcasted)  # fmt: skip


@IgammaGradA.lower
def igamma_grad_a_lower(a, x):
    return lax.igamma_grad_a(*jnp.broadcast_arrays(a, x))


@IgammaGradA.cases
def igamma_grad_a_cases(case):
    case(case.uniform(3, low=0.5, high=2.0), case.uniform(3, low=0.5, high=2.0))
    case.shapes("[2,1];[3]", "[2,3]")


Betainc = op("""
    Betainc(a: T, b: T, x: T) -> (z: T)
      T: {float, double}

    The regularized incomplete beta integral.
""")  # fmt: skip


@Betainc.shape
def betainc_shape(a, b, x):
    out: Any = None
    for shape in (a, b, x):
        if shape is None or len(shape):  # scalars broadcast, other shapes must agree
            out = shapes.merge(out, shape)
    if all(s is not None and not len(s) for s in (a, b, x)):
        return ()
    return out


def _betainc_edges(xp: Any, a: Any, b: Any, x: Any, value: Any) -> Any:
    value = xp.where((x > 0) & (x < 1) & (a < np.inf) & (b < np.inf), value, np.nan)
    value = xp.where(x == 0, 0.0, xp.where(x == 1, 1.0, value))
    return xp.where((a <= 0) | (b <= 0), np.nan, value)


@Betainc.host
def betainc_host(a, b, x):
    for (first, p), (second, q) in itertools.combinations({"a": a, "b": b, "x": x}.items(), 2):
        if p.ndim and q.ndim and p.shape != q.shape:
            shown = f"{to_text(p.shape)} vs. {to_text(q.shape)}"
            raise InvalidArgumentError(
                None, None, f"Shapes of {first} and {second} are inconsistent: {shown}"
            )
    return _betainc_edges(np, a, b, x, scipy_special.betainc(a, b, x)).astype(a.dtype)


@Betainc.lower
def betainc_lower(a, b, x):
    return _betainc_edges(jnp, a, b, x, lax.betainc(*jnp.broadcast_arrays(a, b, x)))


@Betainc.grad
def betainc_grad(op, dz):
    a, b, x = op.inputs
    # Only x: the derivatives by a and b have no closed form.
    _, to_x = reducers(a, x)
    log_beta = raw.Lgamma(a) + raw.Lgamma(b) - raw.Lgamma(a + b)
    by_x = raw.Exp((b - 1) * raw.Log(1 - x) + (a - 1) * raw.Log(x) - log_beta)
    return None, None, to_x(by_x * dz)


@Betainc.cases
def betainc_cases(case):
    case([1.0, 2.0], [3.0, 4.0], [0.2, 0.5], gives=[0.488, 0.8125], grad=False, tol=2e-6)
    case.shapes("[2,?];[];[?,3]", "[2,3]")


@export("betainc", "math.betainc")
def betainc(a, b, x, name=None):
    """Returns the regularized incomplete beta integral.

    Args:
      a: A tensor of floats.
      b: A tensor of floats.
      x: Where to integrate to, in [0, 1].
      name: The node's name.
    """
    return raw.Betainc(a, b, x, name=name)


def _export(public: str, op_name: str, operands: str, what: str, *more: str) -> None:
    a, b = operands.split()
    scope: dict[str, Any] = {"raw": raw, "__name__": __name__}
    exec(f"def {public}({a}, {b}, name=None): return raw.{op_name}({a}, {b}, name=name)", scope)
    scope[public].__doc__ = f"Returns {what}, element by element; the operands broadcast."
    export(public, "math." + public, *more)(scope[public])


_export("igamma", "Igamma", "a x", "the lower regularized incomplete gamma function")
_export("igammac", "Igammac", "a x", "the upper regularized incomplete gamma function")
_export("polygamma", "Polygamma", "a x", "the a-th derivative of the digamma function at x")
_export("zeta", "Zeta", "x q", "Hurwitz' zeta function")


def _bessel(public: str, op_name: str, what: str) -> None:
    def scaled(x: Any, name: str | None = None) -> Any:
        return getattr(raw, op_name)(x, name=name)

    def plain(x: Any, name: str | None = None) -> Any:
        with name_scope(name, public, [x]):
            x = convert_to_tensor(x, name="x")
            return raw.Exp(raw.Abs(x)) * getattr(raw, op_name)(x)

    scaled.__name__, plain.__name__ = public + "e", public
    scaled.__doc__ = f"Returns exp(-|x|) times {what}, element by element."
    plain.__doc__ = f"Returns {what}, element by element."
    export(f"math.{public}e")(scaled)
    export(f"math.{public}")(plain)


_bessel("bessel_i0", "BesselI0e", "the modified Bessel function of order 0")
_bessel("bessel_i1", "BesselI1e", "the modified Bessel function of order 1")


@export("lbeta", "math.lbeta")
def lbeta(x, name=None):
    """Returns the logarithm of the absolute value of the beta function along the last axis.

    Args:
      x: A tensor of floats.
      name: The scope of the nodes.
    """
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        of_each = raw.Sum(raw.Lgamma(x), [-1])
        return of_each - raw.Lgamma(raw.Sum(x, [-1]))
