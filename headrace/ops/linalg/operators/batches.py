"""Linear systems whose matrices and right-hand sides have batches that broadcast, which the ops don't do."""

from __future__ import annotations

import math

from headrace import shapes
from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.linalg.parts import adjoint as adjoint_of
from headrace.tensor_shape import TensorShape


def broadcast_shape(a, b):
    """Returns the shape of two broadcast shapes, as far as it is known.

    Raises:
      ValueError: They do not broadcast.
    """
    a, b = TensorShape(a), TensorShape(b)
    dims = [None if s.ndims is None else tuple(s.as_list()) for s in (a, b)]
    try:
        return TensorShape.of(shapes.broadcast(*dims))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {a} and {b}") from None


def broadcast_batches(matrices, name=None):
    """Makes matrices have the same batch.

    Args:
      matrices: Two or more batches of matrices.
      name: The scope's name.
    """
    tf = NAMES
    with name_scope(name or "broadcast_matrix_batch_dims", values=matrices):
        matrices = [convert_to_tensor(m) for m in matrices]
        batch = matrices[0].shape[:-2]
        for matrix in matrices[1:]:
            batch = broadcast_shape(batch, matrix.shape[:-2])
        if batch.is_fully_defined():
            return [
                matrix if matrix.shape[:-2] == batch else _broadcast(matrix, batch.as_list())
                for matrix in matrices
            ]
        dynamic = tf["shape"](matrices[0])[:-2]
        for matrix in matrices[1:]:
            dynamic = tf["broadcast_dynamic_shape"](dynamic, tf["shape"](matrix)[:-2])
        return [_broadcast(matrix, dynamic) for matrix in matrices]


def _broadcast(matrix, batch):
    whole = NAMES["concat"]([batch, NAMES["shape"](matrix)[-2:]], 0)
    return raw.BroadcastTo(matrix, whole)


def cholesky_solved(factor, rhs):
    """Makes the solutions of systems with a Cholesky factor."""
    with name_scope("CholeskySolveWithBroadcast", values=[factor, rhs]):
        factor, rhs = broadcast_batches([factor, rhs])
        return NAMES["cholesky_solve"](factor, rhs)


def solved(matrix, rhs, adjoint=False):
    """Makes the solutions of systems of linear equations."""
    with name_scope("MatrixSolveWithBroadcast", values=[matrix, rhs]):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, name="rhs", dtype=matrix.dtype)
        matrix, rhs, restore, adjoint = _with_fewer_dims(matrix, rhs, adjoint)
        matrix, rhs = broadcast_batches([matrix, rhs])
        return restore(raw.MatrixSolve(matrix, rhs, adjoint=adjoint))


def triangular_solved(matrix, rhs, lower=True, adjoint=False):
    """Makes the solutions of triangular systems."""
    with name_scope("MatrixTriangularSolve", values=[matrix, rhs]):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, name="rhs", dtype=matrix.dtype)
        matrix, rhs, restore, still = _with_fewer_dims(matrix, rhs, adjoint)
        # The adjoint of a lower triangular matrix is upper triangular.
        lower = lower if still == adjoint else not lower
        matrix, rhs = broadcast_batches([matrix, rhs])
        return restore(raw.MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=still))


def _with_fewer_dims(a, b, adjoint):
    """Makes columns of the batch dimensions that b has and a has not, instead of copying a for each.

    Returns:
      a, or its adjoint where that is meant; b in its new shape; a function that puts a solution in the old one; and
      whether the adjoint of the returned a is meant.
    """
    tf = NAMES
    if a._dims is None or b._dims is None or len(a._dims) >= len(b._dims):
        return a, b, lambda x: x, adjoint
    rank, extra = len(b._dims), len(b._dims) - len(a._dims)
    shape_of = tf["shape"]
    _ = (
        shape_of(b)[:extra],
        shape_of(b)[extra:],
    )  # TensorFlow makes these nodes too, and uses them for nothing
    known = (*b._dims[:extra], a._dims[-1], b._dims[-1])
    if None not in known and (known[-1] >= known[-2] or math.prod(known[:-2]) == 1):
        # Nothing is gained: the matrices are small, or not copied.
        return a, b, lambda x: x, adjoint
    if adjoint:
        a = adjoint_of(a)
    outer = shape_of(b)[:extra]
    inner = shape_of(b)[extra:]
    flipped = tf["transpose"](b, [*range(extra, rank), *range(extra)])
    flipped = tf["reshape"](flipped, tf["concat"]([inner[:-1], [-1]], 0))

    def restore(x):
        whole = tf["concat"]([shape_of(x)[:-1], [inner[-1]], outer], 0)
        return tf["transpose"](tf["reshape"](x, whole), [*range(rank - extra, rank), *range(rank - extra)])

    return a, flipped, restore, False
