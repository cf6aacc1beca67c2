"""LinearOperatorHouseholder: reflections."""

from __future__ import annotations

from headrace import errors
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import raw
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.diagonal import check_rank
from headrace.ops.linalg.operators.parts import kept
from headrace.ops.linalg.parts import adjoint as adjoint_of
from headrace.ops.linalg.parts import product


@export("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(LinearOperator):
    """Reflections at the planes through the origin that are orthogonal to vectors.

    Args:
      reflection_axis: The vectors, of shape [..., n]; they need not have length 1.
      is_non_singular: True or None.
      is_self_adjoint: True or None.
      is_positive_definite: False or None.
      is_square: True or None.
      name: The operator's name.
    """

    def __init__(
        self,
        reflection_axis,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorHouseholder",
    ):
        with name_scope(name, values=[reflection_axis]):
            self._reflection_axis = kept(reflection_axis, name="reflection_axis")
            check_rank(self._reflection_axis, "reflection_axis")
            if is_self_adjoint is False:
                raise ValueError("A Householder operator is always self adjoint.")
            if is_positive_definite is True:
                raise ValueError("A Householder operator is always non-positive definite.")
            if is_square is False:
                raise ValueError("A Householder operator is always square.")
            super().__init__(
                dtype=self._reflection_axis.dtype,
                graph_parents=[self._reflection_axis],
                is_non_singular=is_non_singular,
                is_self_adjoint=True,
                is_positive_definite=False,
                is_square=True,
                name=name,
            )

    @property
    def reflection_axis(self):
        """The vectors that the planes are orthogonal to."""
        return self._reflection_axis

    def _shape(self):
        shape = self._reflection_axis.shape
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self):
        shape = NAMES["shape"](self._reflection_axis)
        n = shape[-1]
        return NAMES["concat"]((shape, [n]), 0)

    def _unit(self):
        return self._reflection_axis / NAMES["norm"](self._reflection_axis, axis=-1, keepdims=True)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = adjoint_of(x) if adjoint_arg else x
        column = self._unit()[..., None]
        along = product(column, x, adjoint_a=True)
        return x - 2 * column * along

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self):
        return -NAMES["ones"](shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self):
        return NAMES["zeros"](shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _trace(self):
        n = NAMES["cast"](self.domain_dimension_tensor() - 2, self.dtype)
        return n * NAMES["ones"](shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _diag_part(self):
        unit = self._unit()
        return 1.0 - 2 * unit * NAMES["math.conj"](unit)

    def _to_dense(self):
        column = self._unit()[..., None]
        matrix = -2 * product(column, column, adjoint_b=True)
        return NAMES["matrix_set_diag"](matrix, 1.0 + NAMES["matrix_diag_part"](matrix))

    def _assert_non_singular(self):
        return raw.NoOp(name="assert_non_singular")

    def _assert_positive_definite(self):
        raise errors.InvalidArgumentError(
            None, None, "Householder operators are always non-positive definite."
        )

    def _assert_self_adjoint(self):
        return raw.NoOp(name="assert_self_adjoint")


@algebra.register("adjoint", LinearOperatorHouseholder)
def _adjoint(operator):
    return operator


@algebra.register("inverse", LinearOperatorHouseholder)
def _inverse(operator):
    return operator
