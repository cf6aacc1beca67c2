"""LinearOperatorFullMatrix: matrices that are stored."""

from __future__ import annotations

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.diagonal import check_rank
from headrace.ops.linalg.operators.parts import kept
from headrace.ops.linalg.parts import product

_ALLOWED = [dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128]


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """Matrices of any kind, stored as they are.

    Args:
      matrix: The matrices, of shape [..., m, n].
      is_non_singular: Whether they have inverses.
      is_self_adjoint: Whether they are equal to their adjoints.
      is_positive_definite: Whether they are positive definite.
      is_square: Whether they are square.
      name: The operator's name.
    """

    def __init__(
        self,
        matrix,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorFullMatrix",
    ):
        with name_scope(name, values=[matrix]):
            self._matrix = kept(matrix, name="matrix")
            check_rank(self._matrix, "matrix", 2)
            dtype = self._matrix.dtype.base_dtype
            if dtype not in _ALLOWED:
                raise TypeError(f"Argument matrix must have dtype in {_ALLOWED}.  Found: {dtype}")
            super().__init__(
                dtype=dtype,
                graph_parents=[self._matrix],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    def _shape(self):
        return self._matrix.shape

    def _shape_tensor(self):
        return NAMES["shape"](self._matrix)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return product(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self):
        return self._matrix
