"""`tf.linalg.tridiagonal_solve` and `tridiagonal_matmul`: diagonals given in three ways."""

from __future__ import annotations

from headrace import shapes
from headrace.export import NAMES
from headrace.opdef import convert_to_tensor, export, raw
from headrace.tensor_shape import TensorShape


def _dims(x):
    """Returns the partial shape of a tensor or an array."""
    return x._dims if hasattr(x, "_dims") else tuple(x.shape)


def _rank(x):
    dims = _dims(x)
    if dims is None:
        raise ValueError("Cannot take the length of shape with unknown rank.")
    return len(dims)


def _size_of_square(diagonals):
    """Returns how many rows square matrices have, and their rank."""
    dims = _dims(diagonals)
    if dims is None or len(dims) < 2 or dims[-2:] == (None, None):
        raise ValueError('The size of the matrix needs to be known for diagonals_format="matrix"')
    rows, columns = dims[-2:]
    if None not in (rows, columns) and rows != columns:
        raise ValueError(f"Expected last two dimensions of diagonals to be same, got {columns} and {rows}")
    return rows or columns, len(dims)


def _gathered(flipped, places, batch):
    """Takes elements out of matrices whose axes are all in reverse order, and puts the axes right again.

    Args:
      flipped: The matrices.
      places: The (column, row) of each element.
      batch: How many dimensions the result has.
    """
    return NAMES["transpose"](NAMES["gather_nd"](flipped, places), list(range(batch))[::-1])


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals,
    rhs,
    diagonals_format="compact",
    transpose_rhs=False,
    conjugate_rhs=False,
    name=None,
    partial_pivoting=True,
):
    """Returns the solutions of systems of linear equations of which only three diagonals are not zero.

    Args:
      diagonals: With the format `compact`, a tensor of shape [..., 3, m] of the diagonals above, on and below the
        main one, in which the last element above and the first below count for nothing; with `sequence`, these three
        one by one; with `matrix`, the matrices.
      rhs: The right-hand sides, of shape [..., m] or, as columns, [..., m, k].
      diagonals_format: `compact`, `sequence` or `matrix`.
      transpose_rhs: Whether the right-hand sides, and the solutions, stand in rows. Means nothing for vectors.
      conjugate_rhs: Whether the conjugates of the right-hand sides are meant.
      name: The node's name.
      partial_pivoting: Whether rows are exchanged for stability.

    Raises:
      ValueError: The shapes do not fit, or there is no such format.
    """
    if diagonals_format == "compact":
        compact = diagonals
    elif diagonals_format == "sequence":
        compact = _stacked(diagonals)
    elif diagonals_format == "matrix":
        m, rank = _size_of_square(diagonals)
        # An element that does not exist is taken to be one that does, and is ignored.
        places = [[[1, 0], [0, 0], [0, 0]]]
        places += [[[i + 1, i], [i, i], [i - 1, i]] for i in range(1, m - 1)]
        places += [[[0, 0], [m - 1, m - 1], [m - 2, m - 1]]]
        flipped = NAMES["transpose"](diagonals, list(range(rank))[::-1])
        compact = _gathered(flipped, places, rank)
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    rank, rhs_rank = _rank(compact), _rank(rhs)
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if rhs_rank not in (rank - 1, rank):
        raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {rhs_rank}")
    dims, rhs_dims = _dims(compact), _dims(rhs)
    if dims[-2] not in (None, 3):
        raise ValueError(f"Expected 3 diagonals got {dims[-2]}")
    vectors = rhs_rank == rank - 1
    batch = rhs_dims[:-1] if vectors else rhs_dims[:-2]
    if not shapes.compatible(dims[:-2], batch):
        raise ValueError(
            f"Batch shapes {TensorShape.of(dims[:-2])} and {TensorShape.of(batch)} are incompatible"
        )
    if vectors:
        rhs = NAMES["math.conj"](rhs) if conjugate_rhs else rhs
        rhs = NAMES["expand_dims"](rhs, -1)
    elif transpose_rhs:
        rhs = NAMES["matrix_transpose"](rhs, conjugate=conjugate_rhs)
    elif conjugate_rhs:
        rhs = NAMES["math.conj"](rhs)
    sizes = _dims(compact)[-1], _dims(rhs)[-2]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(
            f"Expected number of left-hand sided and right-hand sides to be equal, got {sizes[0]} and {sizes[1]}"
        )
    solution = raw.TridiagonalSolve(compact, rhs, partial_pivoting=partial_pivoting, name=name)
    if vectors:
        return NAMES["squeeze"](solution, -1)
    return NAMES["matrix_transpose"](solution) if transpose_rhs else solution


def _stacked(diagonals):
    """Makes one tensor of a sequence of three diagonals, after shorter ones are padded."""
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError("Expected diagonals to be a sequence of length 3.")
    upper, main, lower = (x if hasattr(x, "shape") else convert_to_tensor(x) for x in diagonals)
    known = [_dims(x) for x in (lower, main, upper)]
    batches = [None if d is None else d[:-1] for d in known]
    if not (shapes.compatible(batches[0], batches[1]) and shapes.compatible(batches[2], batches[1])):
        raise ValueError(
            "Tensors representing the three diagonals must have the same shape,except for the last dimension, got "
            + ", ".join(str(TensorShape.of(d)) for d in known)
        )
    m = known[1][-1] if known[1] is not None else None
    lower = _padded(lower, m, "subdiagonal", [1, 0])
    upper = _padded(upper, m, "superdiagonal", [0, 1])
    return NAMES["stack"]([upper, main, lower], axis=-2)


def _padded(diagonal, m, name, padding):
    dims = _dims(diagonal)
    n = dims[-1] if dims is not None else None
    if not n or not m or n == m:
        return diagonal
    if n == m - 1:
        return NAMES["pad"](diagonal, [[0, 0] for _ in dims[:-1]] + [padding])
    raise ValueError(f"Expected {name} to be have length {m} or {m - 1}, got {n}.")


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """Returns the products of matrices, of which only three diagonals are not zero, and others.

    Args:
      diagonals: With the format `compact`, a tensor of shape [..., 3, m] of the diagonals above, on and below the
        main one, in which the last element above and the first below count for nothing; with `sequence`, these three
        one by one; with `matrix`, the matrices.
      rhs: The other matrices, of shape [..., m, k].
      diagonals_format: `compact`, `sequence` or `matrix`.
      name: The node's name.

    Raises:
      ValueError: The shapes do not fit, or there is no such format.
    """
    if diagonals_format == "compact":
        diagonals = diagonals if hasattr(diagonals, "shape") else convert_to_tensor(diagonals)
        upper, main, lower = (diagonals[..., i, :] for i in range(3))
    elif diagonals_format == "sequence":
        upper, main, lower = diagonals
    elif diagonals_format == "matrix":
        m, rank = _size_of_square(diagonals)
        main = NAMES["linalg.diag_part"](diagonals)
        flipped = NAMES["transpose"](diagonals, list(range(rank))[::-1])
        upper = _gathered(flipped, [[i + 1, i] for i in range(m - 1)] + [[0, 0]], rank - 1)
        lower = _gathered(flipped, [[0, 0]] + [[i - 1, i] for i in range(1, m)], rank - 1)
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    upper, main, lower = (NAMES["expand_dims"](x, -2) for x in (upper, main, lower))
    return raw.TridiagonalMatMul(upper, main, lower, rhs, name=name)
