"""LinearOperatorAdjoint: the adjoint of an operator."""

from __future__ import annotations

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.inversion import same_hint
from headrace.ops.linalg.parts import adjoint as adjoint_of
from headrace.tensor_shape import TensorShape


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator.

    Args:
      operator: The operator.
      is_non_singular: Whether it has an inverse.
      is_self_adjoint: Whether it is equal to its adjoint.
      is_positive_definite: Whether it is positive definite.
      is_square: Whether it is square.
      name: The operator's name, by default made of that of the other.
    """

    def __init__(
        self,
        operator,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        self._operator = operator
        hints = {}
        for hint, adjective, given in (
            ("is_square", "square", is_square),
            ("is_non_singular", "non-singular", is_non_singular),
            ("is_self_adjoint", "self-adjoint", is_self_adjoint),
            ("is_positive_definite", "positive-definite", is_positive_definite),
        ):
            message = f"An operator is {adjective} if and only if its adjoint is {adjective}."
            hints[hint] = same_hint(getattr(operator, hint), given, message)
        name = name or operator.name + "_adjoint"
        with name_scope(name, values=operator.graph_parents):
            super().__init__(dtype=operator.dtype, graph_parents=operator.graph_parents, name=name, **hints)

    @property
    def operator(self):
        """The operator whose adjoint this is."""
        return self._operator

    def _shape(self):
        shape = self._operator.shape
        if shape.ndims is None:
            return shape
        return shape[:-2].concatenate(TensorShape([shape[-1], shape[-2]]))

    def _shape_tensor(self):
        shape = self._operator.shape_tensor()
        return NAMES["concat"]([shape[:-2], [shape[-1], shape[-2]]], -1)

    def _flag(self, adjoint):
        return adjoint if self._operator.is_self_adjoint else not adjoint

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(x, adjoint=self._flag(adjoint), adjoint_arg=adjoint_arg)

    def _matvec(self, x, adjoint=False):
        return self._operator.matvec(x, adjoint=self._flag(adjoint))

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.solve(rhs, adjoint=self._flag(adjoint), adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs, adjoint=False):
        return self._operator.solvevec(rhs, adjoint=self._flag(adjoint))

    def _conjugated(self, x):
        return x if self.is_self_adjoint else NAMES["math.conj"](x)

    def _determinant(self):
        return self._conjugated(self._operator.determinant())

    def _log_abs_determinant(self):
        return self._operator.log_abs_determinant()

    def _trace(self):
        return self._conjugated(self._operator.trace())

    def _to_dense(self):
        dense = self._operator.to_dense()
        return dense if self.is_self_adjoint else adjoint_of(dense)

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()


@algebra.register("adjoint", LinearOperator)
def _adjoint(operator):
    return LinearOperatorAdjoint(operator, is_square=operator.is_square, **algebra.hints_of(operator))


@algebra.register("adjoint", LinearOperatorAdjoint)
def _adjoint_of_adjoint(operator):
    return operator.operator
