"""LinearOperatorToeplitz: matrices whose diagonals are constant."""

from __future__ import annotations

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.batches import broadcast_shape
from headrace.ops.linalg.operators.circulant import LinearOperatorCirculant, as_complex
from headrace.ops.linalg.operators.diagonal import check_rank
from headrace.ops.linalg.parts import adjoint as adjoint_of


@export("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(LinearOperator):
    """Square matrices whose diagonals are constant, as corners of circulant ones of twice the size.

    Args:
      col: The first columns, of shape [..., n].
      row: The first rows, of shape [..., n]; their first elements are ignored.
      is_non_singular: Whether the matrices have inverses.
      is_self_adjoint: Whether they are equal to their adjoints.
      is_positive_definite: Whether they are positive definite.
      is_square: True or None.
      name: The operator's name.
    """

    def __init__(
        self,
        col,
        row,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorToeplitz",
    ):
        with name_scope(name, values=[row, col]):
            self._row = convert_to_tensor(row, name="row")
            self._col = convert_to_tensor(col, name="col")
            for value, what in ((self._row, "row"), (self._col, "col")):
                check_rank(value, what)
            sizes = [x.shape[-1].value for x in (self._row, self._col) if x.shape.ndims is not None]
            if len(sizes) == 2 and None not in sizes and sizes[0] != sizes[1]:
                raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")
            if is_square is False:
                raise ValueError("Only square Toeplitz operators currently supported.")
            super().__init__(
                dtype=self._row.dtype,
                graph_parents=[self._row, self._col],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )
            column = NAMES["concat"](
                [
                    self._col,
                    NAMES["zeros_like"](self._col[..., 0:1]),
                    NAMES["reverse"](self._row[..., 1:], axis=[-1]),
                ],
                axis=-1,
            )
            self._circulant = LinearOperatorCirculant(
                raw.FFT(as_complex(column)), input_output_dtype=self._row.dtype
            )

    @property
    def col(self):
        """The first columns."""
        return self._col

    @property
    def row(self):
        """The first rows."""
        return self._row

    def _shape(self):
        shape = broadcast_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self):
        shape = NAMES["broadcast_dynamic_shape"](NAMES["shape"](self._row), NAMES["shape"](self._col))
        n = shape[-1]
        return NAMES["concat"]((shape, [n]), 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = adjoint_of(x) if adjoint_arg else x
        taller = NAMES["concat"]([x, NAMES["zeros_like"](x)], axis=-2)
        result = self._circulant.matmul(taller, adjoint=adjoint)
        return NAMES["cast"](result[..., : self.domain_dimension_tensor(), :], self.dtype)

    def _assert_self_adjoint(self):
        return NAMES["assert_equal"](
            self._row,
            self._col,
            message="row and col are not the same, and so this operator is not self-adjoint.",
        )

    def _trace(self):
        n = NAMES["cast"](self.domain_dimension_tensor(), self.dtype)
        return n * self._col[..., 0]

    def _diag_part(self):
        element = self._col[..., 0:1]
        return element * NAMES["ones"]([self.domain_dimension_tensor()], dtype=self.dtype)
