"""LinearOperatorZeros: matrices of zeros."""

from __future__ import annotations

from headrace import dtypes, errors
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import raw
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.sizes import Sized, batch_shape_argument, count_argument, same_dimensions
from headrace.ops.linalg.parts import adjoint as adjoint_of


@export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(Sized, LinearOperator):
    """Matrices of zeros.

    Args:
      num_rows: How many rows a matrix has.
      num_columns: How many columns, by default as many as rows.
      batch_shape: The shape of the batch of matrices, by default a single one.
      dtype: The type of the elements.
      is_non_singular: False.
      is_self_adjoint: Whether the matrices are square.
      is_positive_definite: False.
      is_square: Whether the matrices are square.
      assert_proper_shapes: Whether to check shapes while running, where they are not known before.
      name: The operator's name.
    """

    def __init__(
        self,
        num_rows,
        num_columns=None,
        batch_shape=None,
        dtype=None,
        is_non_singular=False,
        is_self_adjoint=True,
        is_positive_definite=False,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorZeros",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            if not is_self_adjoint and is_square:
                raise ValueError("A zero operator is always self adjoint.")
            if is_non_singular:
                raise ValueError("A zero operator is always singular.")
            if is_positive_definite:
                raise ValueError("A zero operator is always not positive-definite.")
            super().__init__(
                dtype=dtype or dtypes.float32,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._num_rows, self._rows = count_argument(num_rows, "num_rows", assert_proper_shapes)
            columns = num_rows if num_columns is None else num_columns
            self._num_columns, self._columns = count_argument(columns, "num_columns", assert_proper_shapes)
            self._batch_shape_arg, self._batch = batch_shape_argument(batch_shape, assert_proper_shapes)
            if is_square and None not in (self._rows, self._columns) and self._rows != self._columns:
                raise ValueError(
                    f"LinearOperatorZeros initialized as is_square=True, but got num_rows({self._rows}) != "
                    f"num_columns({self._columns})"
                )

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        shape_of, concat = NAMES["shape"], NAMES["concat"]
        if self._assert_proper_shapes:
            x = adjoint_of(x) if adjoint_arg else x
            x = same_dimensions(self, x)
            adjoint_arg = False
        if self.is_square:
            if adjoint_arg:
                batch = shape_of(x)[:-2]
                shape = concat([batch, [shape_of(x)[-1], shape_of(x)[-2]]], 0)
            else:
                shape = shape_of(x)
        else:
            given = shape_of(x)
            rows = self._num_columns if adjoint else self._num_rows
            columns = given[-2] if adjoint_arg else given[-1]
            shape = concat([given[:-2], [rows, columns]], 0)
        return self._with_batch(NAMES["zeros"](shape, dtype=x.dtype))

    def _batch_of_zeros(self):
        if self.batch_shape.is_fully_defined():
            return NAMES["zeros"](self.batch_shape, dtype=self.dtype)
        return NAMES["zeros"](self.batch_shape_tensor(), dtype=self.dtype)

    def _determinant(self):
        return self._batch_of_zeros()

    def _trace(self):
        return self._batch_of_zeros()

    def _diag_part(self):
        return self._diagonal_of("zeros")

    def _add_to_tensor(self, mat):
        return self._with_batch(mat)

    def _assert_non_singular(self):
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self):
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self):
        return raw.NoOp(name="assert_self_adjoint")
