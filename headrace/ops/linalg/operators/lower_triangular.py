"""LinearOperatorLowerTriangular: matrices with zeros above the diagonal."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import raw
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.batches import triangular_solved
from headrace.ops.linalg.operators.checks import assert_no_zeros
from headrace.ops.linalg.operators.diagonal import check_rank
from headrace.ops.linalg.operators.parts import kept
from headrace.ops.linalg.parts import adjoint as adjoint_of
from headrace.ops.linalg.parts import product


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """Square matrices with zeros above the diagonal.

    Args:
      tril: Matrices, of shape [..., n, n], of which the lower triangles are read.
      is_non_singular: Whether they have inverses.
      is_self_adjoint: Whether they are equal to their adjoints.
      is_positive_definite: Whether they are positive definite.
      is_square: True or None.
      name: The operator's name.
    """

    def __init__(
        self,
        tril,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorLowerTriangular",
    ):
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with name_scope(name, values=[tril]):
            self._tril = kept(tril, name="tril")
            check_rank(self._tril, "tril", 2)
            super().__init__(
                dtype=self._tril.dtype,
                graph_parents=[self._tril],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    def _lower(self):
        return raw.MatrixBandPart(self._tril, np.int64(-1), np.int64(0))

    def _diagonal(self):
        return NAMES["matrix_diag_part"](self._tril)

    def _shape(self):
        return self._tril.shape

    def _shape_tensor(self):
        return NAMES["shape"](self._tril)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return product(self._lower(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return triangular_solved(self._lower(), rhs, lower=True, adjoint=adjoint)

    def _determinant(self):
        return NAMES["reduce_prod"](self._diagonal(), axis=[-1])

    def _log_abs_determinant(self):
        return NAMES["reduce_sum"](NAMES["log"](NAMES["abs"](self._diagonal())), axis=[-1])

    def _to_dense(self):
        return self._lower()

    def _assert_non_singular(self):
        return assert_no_zeros(
            self._diagonal(), message="Singular operator:  Diagonal contained zero values."
        )


@algebra.register("cholesky", LinearOperator)
def _cholesky(operator):
    return LinearOperatorLowerTriangular(
        raw.Cholesky(operator.to_dense()), is_non_singular=True, is_self_adjoint=False, is_square=True
    )
