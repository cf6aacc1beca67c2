"""LinearOperatorInversion: the inverse of an operator, by solving with it."""

from __future__ import annotations

from headrace.export import export
from headrace.graph import name_scope
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator


def same_hint(mine, given, message):
    """Returns a hint that holds of one operator just if it holds of another.

    Raises:
      ValueError: The two say different things.
    """
    if mine is not None and given is not None and mine != given:
        raise ValueError(message)
    return given if mine is None else mine


def _not_false(name, mine, given):
    if mine is False or given is False:
        raise ValueError(
            f"operator and supplied hints must have `{name}` equal to `True` or `None`.  Found {mine}, {given}"
        )
    return True if mine or given else None


@export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator.

    Args:
      operator: The operator, which is square and not singular.
      is_non_singular: True or None.
      is_self_adjoint: Whether it is equal to its adjoint.
      is_positive_definite: Whether it is positive definite.
      is_square: True or None.
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
        is_non_singular = _not_false("is_non_singular", operator.is_non_singular, is_non_singular)
        message = "An operator is {0} if and only if its inverse is {0}."
        is_self_adjoint = same_hint(operator.is_self_adjoint, is_self_adjoint, message.format("self-adjoint"))
        is_positive_definite = same_hint(
            operator.is_positive_definite, is_positive_definite, message.format("positive-definite")
        )
        is_square = _not_false("is_square", operator.is_square, is_square)
        name = name or operator.name + "_inv"
        with name_scope(name, values=operator.graph_parents):
            super().__init__(
                dtype=operator.dtype,
                graph_parents=operator.graph_parents,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    @property
    def operator(self):
        """The operator that is inverted."""
        return self._operator

    def _shape(self):
        return self._operator.shape

    def _shape_tensor(self):
        return self._operator.shape_tensor()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self):
        return -1.0 * self._operator.log_abs_determinant()

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()


@algebra.register("inverse", LinearOperator)
def _inverse(operator):
    return LinearOperatorInversion(operator, is_square=operator.is_square, **algebra.hints_of(operator))


@algebra.register("inverse", LinearOperatorInversion)
def _inverse_of_inverse(operator):
    return operator.operator
