"""TridiagonalSolve and TridiagonalMatMul."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, shapes
from headrace.export import NAMES
from headrace.lazy import jnp, lax
from headrace.opdef import constant_node, op, raw
from headrace.ops.linalg.parts import invalid

_TYPES = "T: {double, float, complex64, complex128}"

TridiagonalSolve = op(f"""
    TridiagonalSolve(diagonals: T, rhs: T) -> (output: T)
      partial_pivoting: bool = true
      {_TYPES}

    The solutions of systems of which only three diagonals are not zero: above the main one, it, and below it.
""")

TridiagonalMatMul = op(f"""
    TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> (output: T)
      {_TYPES}

    The products of matrices, of which only three diagonals are not zero, and others.
""")


@TridiagonalSolve.shape
def tridiagonal_solve_shape(diagonals, rhs):
    diagonals, rhs = shapes.with_rank_at_least(diagonals, 2), shapes.with_rank_at_least(rhs, 2)
    if diagonals is not None and rhs is not None:
        shapes.merge(diagonals[:-2], rhs[:-2])
    if diagonals is not None and diagonals[-2] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {diagonals[-2]}")
    if diagonals is not None and rhs is not None:
        shapes.merge_dim(diagonals[-1], rhs[-2])
    return rhs


def _check_solve(diagonals, rhs):
    for operand in (diagonals, rhs):
        if operand.ndim < 2:
            invalid(f"Input tensor must have rank >= 2, got {operand.ndim}")
    if diagonals.shape[-2] != 3:
        invalid(f"Expected diagonals to be provided as a matrix with 3 rows, got {diagonals.shape[-2]} rows.")
    if diagonals.shape[:-2] != rhs.shape[:-2]:
        invalid("All input tensors must have the same outer dimensions.")
    if diagonals.shape[-1] != rhs.shape[-2]:
        invalid(
            "Expected the same number of left-hand sides and right-hand sides, got "
            f"{diagonals.shape[-1]} and {rhs.shape[-2]}."
        )


def _step(xp, row, below, pivoting):
    """Eliminates the first element of the row below, after an exchange if that one is larger.

    A row is its elements on and right of its first column, and its right-hand sides.

    Returns:
      What is left of the row below, and the row of the upper triangle.
    """
    (d, u, r), (l, d2, u2, r2) = row, below
    none = xp.zeros_like(u)
    first, second = (d, u, none, r), (l, d2, u2, r2)
    if pivoting:
        swap = xp.abs(l) > xp.abs(d)
        pairs = [
            (xp.where(s, b, a), xp.where(s, a, b))
            for s, a, b in zip((swap, swap, swap, swap[..., None]), first, second, strict=True)
        ]
        first, second = zip(*pairs, strict=True)
    factor = second[0] / first[0]
    left = (
        second[1] - factor * first[1],
        second[2] - factor * first[2],
        second[3] - factor[..., None] * first[3],
    )
    return left, first


def _back(later, row):
    """Solves for one unknown from the two after it."""
    x1, x2 = later
    p, u, u2, r = row
    x = (r - u[..., None] * x1 - u2[..., None] * x2) / p[..., None]
    return (x, x1), x


def _rows(xp, diagonals, rhs):
    """Returns the first row, and the others along a leading axis."""
    upper, main, lower = (diagonals[..., i, :] for i in range(3))
    edge = xp.zeros_like(main[..., :1])
    upper = xp.concatenate([upper[..., :-1], edge], -1)
    first = (main[..., 0], upper[..., 0], rhs[..., 0, :])
    others = (
        *(xp.moveaxis(x[..., 1:], -1, 0) for x in (lower, main, upper)),
        xp.moveaxis(rhs[..., 1:, :], -2, 0),
    )
    return first, others


@TridiagonalSolve.host
def tridiagonal_solve_host(diagonals, rhs, *, partial_pivoting):
    _check_solve(diagonals, rhs)
    if rhs.size == 0:
        return rhs
    n = diagonals.shape[-1]
    with np.errstate(all="ignore"):
        row, others = _rows(np, diagonals, rhs)
        upper = []
        for i in range(n - 1):
            row, done = _step(np, row, [x[i] for x in others], partial_pivoting)
            upper.append(done)
        upper.append((row[0], row[1], np.zeros_like(row[1]), row[2]))
        if any(np.any(p == 0) for p, *_ in upper):
            if n == 1:
                invalid("The matrix is not invertible: it is a scalar with value zero.")
            if partial_pivoting:
                invalid("The matrix is not invertible.")
            invalid(
                "The matrix is either not invertible, or requires pivoting. Try setting partial_pivoting = True."
            )
        later = (np.zeros_like(row[2]), np.zeros_like(row[2]))
        out = np.empty_like(rhs)
        for i in range(n - 1, -1, -1):
            later, out[..., i, :] = _back(later, upper[i])
    return out


@TridiagonalSolve.lower
def tridiagonal_solve_lower(diagonals, rhs, *, partial_pivoting, ctx):
    _check_solve(diagonals, rhs)
    if rhs.size == 0:
        return rhs
    first, others = _rows(jnp, jnp.asarray(diagonals), jnp.asarray(rhs))
    last, upper = lax.scan(lambda row, below: _step(jnp, row, below, partial_pivoting), first, others)
    last = (last[0], last[1], jnp.zeros_like(last[1]), last[2])
    ctx.check(jnp.all(upper[0] != 0) & jnp.all(last[0] != 0), "a matrix is not invertible")
    none = jnp.zeros_like(last[3])
    later, end = _back((none, none), last)
    _, out = lax.scan(_back, later, upper, reverse=True)
    return jnp.moveaxis(jnp.concatenate([out, end[None]]), 0, -2)


def _pads(rank, shifts, zeros=None):
    """Makes the paddings of a tensor: none along the batch, then `shifts`."""
    if zeros is None:
        zeros = NAMES["zeros"]([rank - 2, 2], dtype=dtypes.int32)
    return NAMES["concat"]([zeros, constant_node(np.array(shifts, np.int32))], 0)


@TridiagonalSolve.grad
def tridiagonal_solve_grad(op, dy):
    diagonals, x, pivoting = op.inputs[0], op.outputs[0], op.attrs["partial_pivoting"]
    to_rhs = raw.TridiagonalSolve(_transposed(diagonals), dy, partial_pivoting=pivoting)
    return -_products(to_rhs, x), to_rhs


def _transposed(diagonals):
    """Makes the diagonals of the transposes."""
    main = diagonals[..., 1, :]
    concat, dims = NAMES["concat"], diagonals._dims
    if shapes.is_full(dims):
        zero = NAMES["zeros"]([*dims[:-2], 1], dtype=diagonals.dtype)
        upper = concat([diagonals[..., 2, 1:], zero], -1)
        lower = concat([zero, diagonals[..., 0, :-1]], -1)
    else:
        rank = NAMES["rank"](diagonals)
        zeros = NAMES["zeros"]([rank - 2, 2], dtype=dtypes.int32)
        pads = _pads(rank, [[0, 1]], zeros)
        upper = raw.Pad(diagonals[..., 2, 1:], pads)
        pads = _pads(rank, [[1, 0]], zeros)
        lower = raw.Pad(diagonals[..., 0, :-1], pads)
    return NAMES["stack"]([upper, main, lower], axis=-2)


def _products(a, b):
    """Makes the three diagonals of a times the transpose of b."""
    concat, dims, total = NAMES["concat"], b._dims, NAMES["reduce_sum"]
    main = total(a * b, -1)
    if shapes.is_full(dims):
        zero = NAMES["zeros"]([*dims[:-2], 1, dims[-1]], dtype=b.dtype)
        upper = total(a * concat([b[..., 1:, :], zero], -2), -1)
        lower = total(a * concat([zero, b[..., :-1, :]], -2), -1)
    else:
        rank = NAMES["rank"](b)
        zeros = NAMES["zeros"]([rank - 2, 2], dtype=dtypes.int32)
        pads = _pads(rank, [[0, 1], [0, 0]], zeros)
        upper = total(a * raw.Pad(b[..., 1:, :], pads), -1)
        pads = _pads(rank, [[1, 0], [0, 0]], zeros)
        lower = total(a * raw.Pad(b[..., :-1, :], pads), -1)
    return NAMES["stack"]([upper, main, lower], axis=-2)


@TridiagonalMatMul.shape
def tridiagonal_mat_mul_shape(superdiag, maindiag, subdiag, rhs):
    superdiag, maindiag, subdiag, rhs = (
        shapes.with_rank_at_least(x, 2) for x in (superdiag, maindiag, subdiag, rhs)
    )
    batch = None
    for operand in (superdiag, maindiag, subdiag, rhs):
        if operand is not None:
            batch = shapes.merge(batch, operand[:-2])
    columns = None if rhs is None else (1, rhs[-2])
    row = columns
    for operand in (superdiag, maindiag, subdiag):
        if operand is not None:
            row = shapes.merge(operand[-2:], row)
    return rhs


def _check_product(superdiag, maindiag, subdiag, rhs):
    for operand in (superdiag, maindiag, subdiag, rhs):
        if operand.ndim < 2:
            invalid(f"Input tensor must have rank >= 2, got {operand.ndim}")
    for name, diagonal in (("super", superdiag), ("main", maindiag), ("sub", subdiag)):
        if diagonal.shape[-2:] != (1, rhs.shape[-2]):
            invalid(f"Invalid {name}diagonal shape.")
        if diagonal.shape[:-2] != rhs.shape[:-2]:
            invalid("All input tensors must have the same outer dimensions.")


def _multiplied(xp, superdiag, maindiag, subdiag, rhs):
    upper, main, lower = (xp.swapaxes(x, -1, -2) for x in (superdiag, maindiag, subdiag))
    edge = xp.zeros_like(rhs[..., :1, :])
    above = xp.concatenate([upper[..., :-1, :] * rhs[..., 1:, :], edge], -2)
    below = xp.concatenate([edge, lower[..., 1:, :] * rhs[..., :-1, :]], -2)
    return main * rhs + above + below


@TridiagonalMatMul.host
def tridiagonal_mat_mul_host(superdiag, maindiag, subdiag, rhs):
    _check_product(superdiag, maindiag, subdiag, rhs)
    if rhs.size == 0:
        return rhs
    with np.errstate(all="ignore"):
        return _multiplied(np, superdiag, maindiag, subdiag, rhs)


@TridiagonalMatMul.lower
def tridiagonal_mat_mul_lower(superdiag, maindiag, subdiag, rhs):
    _check_product(superdiag, maindiag, subdiag, rhs)
    return rhs if rhs.size == 0 else _multiplied(jnp, superdiag, maindiag, subdiag, rhs)


def _up(x):
    """Moves the rows up by one."""
    pads = _pads(NAMES["rank"](x), [[0, 1], [0, 0]])
    return raw.Pad(x[..., 1:, :], pads)


def _down(x):
    """Moves the rows down by one."""
    pads = _pads(NAMES["rank"](x), [[1, 0], [0, 0]])
    return raw.Pad(x[..., :-1, :], pads)


@TridiagonalMatMul.grad
def tridiagonal_mat_mul_grad(op, dy):
    upper, main, lower = (NAMES["matrix_transpose"](x, conjugate=True) for x in op.inputs[:3])
    rhs = NAMES["math.conj"](op.inputs[3])
    total, expand = NAMES["reduce_sum"], NAMES["expand_dims"]
    to_upper = total(_up(rhs) * dy, -1)
    to_main = total(rhs * dy, -1)
    to_lower = total(_down(rhs) * dy, -1)
    to_rhs = _down(upper * dy) + main * dy + _up(lower * dy)
    return expand(to_upper, -2), expand(to_main, -2), expand(to_lower, -2), to_rhs


@TridiagonalSolve.cases
def tridiagonal_solve_cases(case):
    diagonals = np.array([[1.0, 2.0, 9.0], [4.0, 5.0, 6.0], [9.0, 7.0, 8.0]])
    rhs = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    solution = np.linalg.solve(np.array([[4.0, 1, 0], [7, 5, 2], [0, 8, 6]]), rhs)
    case(diagonals, rhs, gives=solution, tol=1e-12)
    case(diagonals, rhs, gives=solution, tol=1e-12, partial_pivoting=False)
    # A zero on the main diagonal needs an exchange of rows.
    case([[1.0, 9.0], [0.0, 6.0], [9.0, 7.0]], [[1.0], [3.0]], gives=[[-3 / 7], [1.0]], tol=1e-5)
    case([[9.0], [4.0], [9.0]], [[2.0]], gives=[[0.5]])
    spread = case.normal(2, 3, 4, dtype=np.float64) + 4 * np.array([[0.0], [1.0], [0.0]])
    case(spread, case.normal(2, 4, 2, dtype=np.float64))
    case(case.normal(3, 6, dtype=np.float64), case.normal(6, 2, dtype=np.float64), grad=False)
    case(np.zeros((3, 0), np.float32), np.zeros((0, 2), np.float32), grad=False)
    case.shapes("[?,3,?];[4,?,2]", "[4,?,2]")
    case.fails("[2,3];[3,1]", match="Dimension must be 3 but is 2")
    case.fails("[3,3];[2,1]", match="must be equal, but are 3 and 2")
    case.fails("[3,3];[3]", match="at least rank 2 but is rank 1")
    none = np.zeros((3, 3), np.float32)
    case.fails((none, np.ones((3, 1), np.float32)), match="The matrix is not invertible.")
    case.fails((none, np.ones((3, 1), np.float32)), match="or requires pivoting", partial_pivoting=False)
    case.fails((none[:, :1], np.ones((1, 1), np.float32)), match="it is a scalar with value zero")


@TridiagonalMatMul.cases
def tridiagonal_mat_mul_cases(case):
    upper, main, lower = [[1.0, 2.0, 9.0]], [[1.0, 2.0, 3.0]], [[9.0, 1.0, 2.0]]
    rhs = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    case(upper, main, lower, rhs, gives=[[4.0, 6.0], [17.0, 22.0], [21.0, 26.0]])
    case(*(case.normal(2, 1, 4, dtype=np.float64) for _ in range(3)), case.normal(2, 4, 3, dtype=np.float64))
    case([[9.0]], [[4.0]], [[9.0]], [[1.0, 2.0]], gives=[[4.0, 8.0]])
    case(*[np.zeros((1, 0), np.float32)] * 3, np.zeros((0, 2), np.float32), grad=False)
    case.shapes("[?,1,?];[?,1,?];[?,1,3];[4,?,2]", "[4,?,2]")
    case.fails("[1,2];[1,3];[1,3];[3,2]", match=r"Dimension 1 in both shapes must be equal, but are 2 and 3")
    case.fails("[3];[3];[3];[3,2]", match="at least rank 2 but is rank 1")
    case.fails(
        "[2,1,3];[2,1,3];[2,1,3];[1,3,2]", match="Dimension 0 in both shapes must be equal, but are 2 and 1"
    )
