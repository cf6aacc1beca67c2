"""LinearOperatorKronecker: Kronecker products of operators."""

from __future__ import annotations

import operator as arithmetic

from headrace import errors
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.batches import broadcast_shape
from headrace.ops.linalg.operators.block_diagonal import shared
from headrace.ops.linalg.operators.checks import check_same_dtype, combined_name, several
from headrace.ops.linalg.operators.composition import accumulated
from headrace.ops.linalg.parts import adjoint as adjoint_of
from headrace.tensor_shape import TensorShape


def _as_vectors(x):
    """Makes a vector of the columns of each matrix, one below the other."""
    flat = NAMES["matrix_transpose"](x)
    return NAMES["reshape"](flat, NAMES["concat"]((NAMES["shape"](x)[:-2], [-1]), 0))


def _as_columns(y, count):
    """Makes a matrix of each vector, with `count` columns."""
    shape = NAMES["shape"](y)
    return NAMES["matrix_transpose"](NAMES["reshape"](y, NAMES["concat"]((shape[:-1], [count, -1]), 0)))


def _last_first(x):
    rank = NAMES["rank"](x)
    return NAMES["transpose"](x, NAMES["concat"]([[rank - 1], NAMES["range"](0, rank - 1)], 0))


def _first_last(x):
    rank = NAMES["rank"](x)
    return NAMES["transpose"](x, NAMES["concat"]([NAMES["range"](1, rank), [0]], 0))


@export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(LinearOperator):
    """Kronecker products: every element of the first operator times the whole of the second, and so on.

    Args:
      operators: The operators.
      is_non_singular: Whether all have inverses.
      is_self_adjoint: Whether all are equal to their adjoints.
      is_positive_definite: Whether all are positive definite.
      is_square: Whether the products are square.
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
        self._operators = several(operators, "Expected a list of >=1 operators. Found: {}")
        check_same_dtype(self._operators)
        what = "Kronecker product"
        is_non_singular = shared(self._operators, "is_non_singular", is_non_singular, what, "non-singular")
        is_self_adjoint = shared(self._operators, "is_self_adjoint", is_self_adjoint, what, "self-adjoint")
        is_positive_definite = shared(
            self._operators, "is_positive_definite", is_positive_definite, what, "positive-definite"
        )
        name = name or combined_name(self._operators, "_x_")
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
        m, n, batch = first.range_dimension, first.domain_dimension, first.batch_shape
        for each in rest:
            m, n = m * each.range_dimension, n * each.domain_dimension
            batch = broadcast_shape(batch, each.batch_shape)
        return batch.concatenate(TensorShape([m, n]))

    def _shape_tensor(self):
        n = accumulated(self._operators, "domain_dimension_tensor", arithmetic.mul)
        m = accumulated(self._operators, "range_dimension_tensor", arithmetic.mul)
        first, *rest = self._operators
        batch = first.batch_shape_tensor()
        for each in rest:
            batch = NAMES["broadcast_dynamic_shape"](batch, each.batch_shape_tensor())
        return NAMES["concat"]((batch, [m, n]), 0)

    def _applied(self, x, method, on_vectors, adjoint, adjoint_arg):
        """Applies the operators one after another, each to the axis of x that belongs to it."""
        tf = NAMES
        x = adjoint_of(x) if adjoint_arg else x
        # The operators' batch joins that of x.
        ones = tf["concat"]([tf["ones_like"](self.batch_shape_tensor()), [1, 1]], 0)
        x = x + tf["zeros"](ones, dtype=x.dtype)
        y = _last_first(x)[None, ...]
        for each in self._operators[:-1]:
            if adjoint:
                count = each.range_dimension_tensor()
            else:
                count = each.domain_dimension_tensor()
            y = tf["matrix_transpose"](_as_columns(y, count))
            y = tf["matrix_transpose"](getattr(each, method)(y, adjoint=adjoint))
            y = _as_vectors(_first_last(y))
        y = _first_last(getattr(self._operators[-1], on_vectors)(_last_first(y), adjoint=adjoint))
        y = _first_last(_as_vectors(y))
        if x.shape.is_fully_defined():
            taller = (method == "matmul") != adjoint
            rows = self.range_dimension if taller else self.domain_dimension
            batch = broadcast_shape(x.shape[:-2], self.batch_shape)
            y.set_shape(batch.concatenate(TensorShape([rows, x.shape[-1]])))
        return y

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._applied(x, "matmul", "matvec", adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._applied(rhs, "solve", "solvevec", adjoint, adjoint_arg)

    def _determinant(self):
        n = self.domain_dimension_tensor()
        result = 1.0
        for each in self._operators:
            part = each.determinant()
            power = NAMES["cast"](n / each.domain_dimension_tensor(), self.dtype)
            result = result * part**power
        return result

    def _log_abs_determinant(self):
        n = self.domain_dimension_tensor()
        result = 0.0
        for each in self._operators:
            part = each.log_abs_determinant()
            power = NAMES["cast"](n / each.domain_dimension_tensor(), self.dtype)
            result = result + part * power
        return result

    def _trace(self):
        result = 1.0
        for each in self._operators:
            result = result * each.trace()
        return result

    def _diag_part(self):
        tf = NAMES
        diagonal = self._operators[0].diag_part()
        for each in self._operators[1:]:
            diagonal = diagonal[..., :, None]
            diagonal = diagonal * each.diag_part()[..., None, :]
            shape = tf["concat"]([tf["shape"](diagonal)[:-2], [-1]], 0)
            diagonal = tf["reshape"](diagonal, shape)
        if self.range_dimension > self.domain_dimension:
            least = self.domain_dimension
        else:
            least = self.range_dimension
        diagonal.set_shape(self.batch_shape.concatenate(least))
        return diagonal

    def _to_dense(self):
        tf = NAMES
        whole = self._operators[0].to_dense()
        for each in self._operators[1:]:
            whole = whole[..., :, None, :, None]
            whole = whole * each.to_dense()[..., None, :, None, :]
            shape_of = tf["shape"]
            batch = shape_of(whole)[:-4]
            rows = shape_of(whole)[-4] * shape_of(whole)[-3]
            columns = shape_of(whole)[-2] * shape_of(whole)[-1]
            whole = tf["reshape"](whole, tf["concat"]([batch, [rows, columns]], 0))
        whole.set_shape(self.shape)
        return whole

    def _check_factors(self, what):
        if not all(each.is_square for each in self._operators):
            raise errors.InvalidArgumentError(
                None, None, f"All Kronecker factors must be square for the product to be {what}."
            )

    def _assert_non_singular(self):
        self._check_factors("invertible")
        return NAMES["group"](*[each.assert_non_singular() for each in self._operators])

    def _assert_self_adjoint(self):
        self._check_factors("self adjoint")
        return NAMES["group"](*[each.assert_self_adjoint() for each in self._operators])


@algebra.register("adjoint", LinearOperatorKronecker)
def _adjoint(operator):
    return LinearOperatorKronecker(
        [each.adjoint() for each in operator.operators],
        is_square=operator.is_square,
        **algebra.hints_of(operator),
    )


@algebra.register("inverse", LinearOperatorKronecker)
def _inverse(operator):
    return LinearOperatorKronecker(
        [each.inverse() for each in operator.operators], is_square=True, **algebra.hints_of(operator)
    )


@algebra.register("cholesky", LinearOperatorKronecker)
def _cholesky(operator):
    factors = [each.cholesky() for each in operator.operators]
    return LinearOperatorKronecker(factors, is_non_singular=True, is_self_adjoint=False, is_square=True)
