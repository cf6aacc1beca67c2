"""Eigenvalues and eigenvectors of symmetric matrices."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES
from headrace.graph import control_dependencies
from headrace.lazy import jnp
from headrace.opdef import export, op, raw
from headrace.ops.linalg.parts import adjoint, check_matrices, invalid, product, square, widened

SelfAdjointEigV2 = op("""
    SelfAdjointEigV2(input: T) -> (e: T, v: T)
      compute_v: bool = true
      T: {double, float, half, complex64, complex128}

    The eigenvalues of symmetric matrices, in ascending order, and their eigenvectors as columns.
""")


@SelfAdjointEigV2.shape
def self_adjoint_eig_shape(input, *, compute_v):
    shape = square(input)
    if shape is None:
        return [None, None if compute_v else (0,)]
    return [shape[:-1], shape if compute_v else (0,)]


@SelfAdjointEigV2.host
def self_adjoint_eig_host(input, *, compute_v):
    check_matrices(input)
    work = widened(np, input)
    failed = "Self-adjoint eigen decomposition was not successful. The input might not be valid."
    if np.isnan(work).any():
        invalid(failed)
    try:
        if compute_v:
            values, vectors = np.linalg.eigh(work)
            return values.astype(input.dtype), vectors.astype(input.dtype)
        return np.linalg.eigvalsh(work).astype(input.dtype), np.zeros(0, input.dtype)
    except np.linalg.LinAlgError:
        invalid(failed)


@SelfAdjointEigV2.lower
def self_adjoint_eig_lower(input, *, compute_v, ctx):
    check_matrices(input)
    work = widened(jnp, input)
    if input.size == 0:
        vectors = jnp.zeros(input.shape if compute_v else (0,), input.dtype)
        return jnp.zeros(input.shape[:-1], input.dtype), vectors
    ctx.check(~jnp.isnan(work).any(), "an eigendecomposition was not successful")
    if compute_v:
        values, vectors = jnp.linalg.eigh(work, symmetrize_input=False)
        return values.astype(input.dtype), vectors.astype(input.dtype)
    values = jnp.linalg.eigh(work, symmetrize_input=False)[0]
    return values.astype(input.dtype), jnp.zeros(0, input.dtype)


@SelfAdjointEigV2.grad
def self_adjoint_eig_grad(op, de, dv):
    values = op.outputs[0]
    with control_dependencies([de, dv]):
        if op.attrs["compute_v"]:
            vectors = op.outputs[1]
            gaps = NAMES["expand_dims"](values, -2) - NAMES["expand_dims"](values, -1)
            gaps = NAMES["matrix_set_diag"](raw.Reciprocal(gaps), NAMES["zeros_like"](values))
            inner = NAMES["matrix_diag"](de)
            inner = inner + gaps * product(vectors, dv, adjoint_a=True)
        else:
            _, vectors = raw.SelfAdjointEigV2(op.inputs[0])
            inner = NAMES["matrix_diag"](de)
        whole = product(vectors, product(inner, vectors, adjoint_b=True))
        # The matrix is symmetric, and of it the lower triangle is read.
        whole = whole + adjoint(whole)
        low = raw.MatrixBandPart(whole, np.int64(-1), np.int64(0))
        halved = 0.5 * NAMES["matrix_diag_part"](low)
        return NAMES["matrix_set_diag"](low, halved)


@SelfAdjointEigV2.cases
def self_adjoint_eig_cases(case):
    case(
        np.diag([1.0, 3.0]).astype(np.float32),
        compute_v=False,
        gives=([1.0, 3.0], np.zeros(0, np.float32)),
        tol=1e-6,
        grad=False,
    )
    x = case.normal(2, 3, 3, dtype=np.float64)
    case(x + np.swapaxes(x, 1, 2), compute_v=False, grad=False)
    case.shapes("[4,?,3]", "[4,3];[4,3,3]")
    case.shapes("[4,?,3]", "[4,3];[0]", compute_v=False)
    case.fails("[2,3]", match="must be equal, but are 2 and 3")


@export("self_adjoint_eig", "linalg.eigh")
def self_adjoint_eig(tensor, name=None):
    """Returns the eigenvalues of symmetric matrices, in ascending order, and their eigenvectors as columns.

    Args:
      tensor: Symmetric matrices, in the last two dimensions; the lower triangles are read.
      name: The node's name.
    """
    e, v = raw.SelfAdjointEigV2(tensor, compute_v=True, name=name)
    return e, v


@export("self_adjoint_eigvals", "linalg.eigvalsh")
def self_adjoint_eigvals(tensor, name=None):
    """Returns the eigenvalues of symmetric matrices, in ascending order.

    Args:
      tensor: Symmetric matrices, in the last two dimensions; the lower triangles are read.
      name: The node's name.
    """
    e, _ = raw.SelfAdjointEigV2(tensor, compute_v=False, name=name)
    return e
