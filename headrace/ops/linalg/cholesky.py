"""The Cholesky decomposition."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES
from headrace.lazy import jnp
from headrace.opdef import export, op, raw
from headrace.ops.linalg.parts import adjoint, invalid, product, square, widened

Cholesky = op("""
    Cholesky(input: T) -> (output: T)
      T: {double, float, half, complex64, complex128}

    The lower triangular factors of positive definite matrices, of which the lower triangles are read.
""", shape=square)  # fmt: skip


@Cholesky.host
def cholesky_host(input):
    if input.size == 0:
        return input
    try:
        return np.linalg.cholesky(widened(np, input)).astype(input.dtype)
    except np.linalg.LinAlgError:
        invalid("Cholesky decomposition was not successful. The input might not be valid.")


@Cholesky.lower
def cholesky_lower(input, *, ctx):
    if input.size == 0:
        return input
    factor = jnp.linalg.cholesky(widened(jnp, input), symmetrize_input=False)
    ctx.check(jnp.all(jnp.isfinite(factor)), "the Cholesky decomposition was not successful")
    return factor.astype(input.dtype)


@Cholesky.grad
def cholesky_grad(op, dy):
    factor = op.outputs[0]
    n = NAMES["shape"](factor)[-1]
    batch = NAMES["shape"](factor)[:-2]
    eye = NAMES["eye"](n, batch_shape=batch, dtype=factor.dtype)
    inverse = raw.MatrixTriangularSolve(factor, eye)
    middle = product(factor, dy, adjoint_a=True)
    halved = raw.Mul(0.5, NAMES["matrix_diag_part"](middle), name="mul")
    middle = NAMES["matrix_set_diag"](middle, halved)
    middle = raw.MatrixBandPart(middle, np.int64(-1), np.int64(0))
    whole = product(product(inverse, middle, adjoint_a=True), inverse)
    return raw.Mul(raw.AddV2(whole, adjoint(whole), name="add"), 0.5, name="mul")


@Cholesky.cases
def cholesky_cases(case):
    case([[4.0, 2.0], [2.0, 5.0]], gives=[[2.0, 0.0], [1.0, 2.0]], tol=1e-6, grad=False)
    x = case.normal(2, 3, 3, dtype=np.float64)
    case(x @ np.swapaxes(x, 1, 2) + np.eye(3), grad=False)
    case.shapes("[?,?,3]", "[?,3,3]")
    case.fails("[2,3]", match="must be equal, but are 2 and 3")
    case.fails(([[-1.0, 0.0], [0.0, 1.0]],), match="Cholesky decomposition was not successful.")


@export("cholesky", "linalg.cholesky")
def cholesky(input, name=None):
    """Returns the Cholesky factors of positive definite matrices.

    Args:
      input: Symmetric matrices, in the last two dimensions; the lower triangles are read.
      name: The node's name.

    Returns:
      Lower triangular matrices that times their adjoints are the input.
    """
    return raw.Cholesky(input, name=name)
