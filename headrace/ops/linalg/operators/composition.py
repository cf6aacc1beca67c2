"""LinearOperatorComposition: products of operators."""

from __future__ import annotations

import functools
import operator as arithmetic

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.batches import broadcast_shape
from headrace.ops.linalg.operators.checks import check_same_dtype, combined_name, several
from headrace.tensor_shape import TensorShape


@export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(LinearOperator):
    """Products of operators: the first one times the second, and so on.

    Args:
      operators: The operators, whose shapes must fit as those of matrices that are multiplied.
      is_non_singular: Whether the products have inverses.
      is_self_adjoint: Whether they are equal to their adjoints.
      is_positive_definite: Whether they are positive definite.
      is_square: Whether they are square.
      name: The operator's name, by default made of those of the operators.
    """

    def __init__(
        self,
        operators,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        self._operators = several(operators, "Expected a non-empty list of operators. Found: {}")
        check_same_dtype(self._operators)
        if all(each.is_non_singular for each in self._operators):
            if is_non_singular is False:
                raise ValueError("The composition of non-singular operators is always non-singular.")
            is_non_singular = True
        name = name or combined_name(self._operators, "_o_")
        parents = [parent for each in self._operators for parent in each.graph_parents]
        with name_scope(name, values=parents):
            super().__init__(
                dtype=self._operators[0].dtype,
                graph_parents=parents,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    @property
    def operators(self):
        """The operators that are multiplied."""
        return self._operators

    def _shape(self):
        first, *rest = self._operators
        inner, batch = first.domain_dimension, first.batch_shape
        for each in rest:
            inner.assert_is_compatible_with(each.range_dimension)
            inner = each.domain_dimension
        for each in rest:
            batch = broadcast_shape(batch, each.batch_shape)
        return batch.concatenate(TensorShape([first.range_dimension, inner]))

    def _shape_tensor(self):
        first, last = self._operators[0], self._operators[-1]
        matrix = NAMES["stack"]([first.range_dimension_tensor(), last.domain_dimension_tensor()])
        return NAMES["concat"]((broadcast_batch_tensor(self._operators), matrix), 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        first, *rest = self._operators if adjoint else self._operators[::-1]
        result = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for each in rest:
            result = each.matmul(result, adjoint=adjoint)
        return result

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        first, *rest = self._operators[::-1] if adjoint else self._operators
        solution = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for each in rest:
            solution = each.solve(solution, adjoint=adjoint)
        return solution

    def _determinant(self):
        return accumulated(self._operators, "determinant", arithmetic.mul)

    def _log_abs_determinant(self):
        return accumulated(self._operators, "log_abs_determinant", arithmetic.add)


def accumulated(operators, method, combine):
    """Makes the sum or product of something of each operator."""
    return functools.reduce(
        lambda so_far, each: combine(so_far, getattr(each, method)()),
        operators[1:],
        getattr(operators[0], method)(),
    )


def broadcast_batch_tensor(operators):
    """Makes the shape of the operators' broadcast batches, from tensors of zeros."""
    first, *rest = operators
    zeros = NAMES["zeros"](shape=first.batch_shape_tensor())
    for each in rest:
        zeros = zeros + NAMES["zeros"](shape=each.batch_shape_tensor())
    return NAMES["shape"](zeros)
