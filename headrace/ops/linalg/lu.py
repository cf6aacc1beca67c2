"""Lu: a matrix with its rows in another order as a lower triangular one times an upper triangular one."""

from __future__ import annotations

import numpy as np

from headrace import dtypes
from headrace.lazy import jax, jnp, lax
from headrace.opdef import export, op, raw
from headrace.ops.linalg.parts import batch_of, check_matrices, eliminated, invalid, square, widened

Lu = op("""
    Lu(input: T) -> (lu: T, p: output_idx_type)
      T: {double, float, half, complex64, complex128}
      output_idx_type: {int32, int64} = int32

    The LU decomposition of matrices: L (its ones left out) and U in one matrix, and the order of the rows.
""")


@Lu.shape
def lu_shape(input):
    shape = square(input)
    return [None, None] if shape is None else [shape, shape[:-1]]


@Lu.host
def lu_host(input, *, output_idx_type):
    check_matrices(input)
    work = np.array(widened(np, input))
    orders = np.empty(work.shape[:-1], output_idx_type.storage)
    with np.errstate(all="ignore"):
        for one, order in zip(batch_of(work), batch_of(orders[..., None, :]), strict=True):
            found = eliminated(one)
            if found is None:
                invalid("Input is not invertible.")
            order[:] = found
    return work.astype(input.dtype), orders


def _eliminated_by_modulus(matrix):
    """Factors one complex matrix; LAPACK would choose pivots by |re| + |im|, TensorFlow chooses by the modulus."""
    n = matrix.shape[-1]

    def step(i, state):
        work, order = state
        size = jnp.where(jnp.arange(n) >= i, jnp.abs(work[:, i]), -1)
        pivot = jnp.argmax(size)
        swap = jnp.arange(n).at[i].set(pivot).at[pivot].set(i)
        work, order = work[swap], order[swap]
        below = jnp.arange(n) > i
        factors = jnp.where(below, work[:, i] / work[i, i], 0)
        work = work - jnp.outer(factors, jnp.where(jnp.arange(n) > i, work[i], 0))
        return work.at[:, i].set(jnp.where(below, factors, work[:, i])), order

    return lax.fori_loop(0, n, step, (matrix, jnp.arange(n)))


@Lu.lower
def lu_lower(input, *, output_idx_type, ctx):
    check_matrices(input)
    work = widened(jnp, input)
    if input.size == 0:
        return input, jnp.zeros(input.shape[:-1], output_idx_type.storage)
    if jnp.iscomplexobj(work):
        n = work.shape[-1]
        lu, order = jax.vmap(_eliminated_by_modulus)(work.reshape(-1, n, n))
        lu, order = lu.reshape(work.shape), order.reshape(work.shape[:-1])
    else:
        lu, _, order = lax.linalg.lu(work)
    pivots = jnp.diagonal(lu, axis1=-2, axis2=-1)
    ctx.check(jnp.all(jnp.abs(pivots) > 0), "a matrix is not invertible")
    return lu.astype(input.dtype), order.astype(output_idx_type.storage)


@Lu.cases
def lu_cases(case):
    x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]]
    lu = [[7, 8, 10], [1 / 7, 6 / 7, 11 / 7], [4 / 7, 0.5, -0.5]]
    case(x, gives=(np.array(lu, np.float32), np.array([2, 0, 1], np.int32)), tol=1e-5)
    case(x, output_idx_type=dtypes.int64)
    case(case.normal(2, 4, 4, dtype=np.float64))
    # The modulus decides between rows, not the sum of the parts' sizes.
    case(
        np.array([[1, 2, 1], [3 + 3j, 1, 2], [5, 2, 1]], np.complex64),
        gives=(
            np.array([[5, 2, 1], [0.2, 1.6, 0.8], [0.6 + 0.6j, -0.125 - 0.75j, 1.5]], np.complex64),
            np.array([2, 0, 1], np.int32),
        ),
        tol=1e-5,
    )
    case(np.zeros((2, 0, 0), np.float32))
    case.shapes("[4,?,3]", "[4,3,3];[4,3]")
    case.fails("[3,2]", match="must be equal, but are 3 and 2")
    case.fails("[3]", match="at least rank 2")
    case.fails((np.ones((3, 3), np.float32),), match="Input is not invertible.")


@export("linalg.lu")
def lu(input, output_idx_type=dtypes.int32, name=None):
    """Returns the LU decomposition of matrices, with rows exchanged.

    Args:
      input: Square matrices, in the last two dimensions.
      output_idx_type: The type of the row numbers, int32 or int64.
      name: The node's name.

    Returns:
      A named tuple of `lu`, which holds L below the diagonal and U, and `p`, the order in which L times U has the
      input's rows.
    """
    return raw.Lu(input, output_idx_type=output_idx_type, name=name)
