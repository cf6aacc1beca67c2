"""LinearOperatorBlockDiag: operators side by side along the diagonal."""

from __future__ import annotations

import operator as arithmetic

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.batches import broadcast_batches, broadcast_shape
from headrace.ops.linalg.operators.checks import check_same_dtype, combined_name, several
from headrace.ops.linalg.operators.composition import accumulated, broadcast_batch_tensor
from headrace.tensor_shape import TensorShape


@export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(LinearOperator):
    """Square matrices that consist of other operators along the diagonal, and zeros.

    Args:
      operators: The operators along the diagonal, which are square.
      is_non_singular: Whether all have inverses.
      is_self_adjoint: Whether all are equal to their adjoints.
      is_positive_definite: Whether all are positive definite.
      is_square: True.
      name: The operator's name, by default made of those of the operators.
    """

    def __init__(
        self,
        operators,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        name=None,
    ):
        self._operators = several(operators, "Expected a non-empty list of operators. Found: {}")
        check_same_dtype(self._operators)
        is_non_singular = shared(
            self._operators, "is_non_singular", is_non_singular, "direct sum", "non-singular"
        )
        is_self_adjoint = shared(
            self._operators, "is_self_adjoint", is_self_adjoint, "direct sum", "self-adjoint"
        )
        is_positive_definite = shared(
            self._operators, "is_positive_definite", is_positive_definite, "direct sum", "positive definite"
        )
        if not (is_square and all(each.is_square for each in self._operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")
        name = name or combined_name(self._operators, "_ds_")
        parents = [parent for each in self._operators for parent in each.graph_parents]
        with name_scope(name, values=parents):
            super().__init__(
                dtype=self._operators[0].dtype,
                graph_parents=parents,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    @property
    def operators(self):
        """The operators along the diagonal."""
        return self._operators

    def _shape(self):
        first, *rest = self._operators
        n, batch = first.domain_dimension, first.batch_shape
        for each in rest:
            n = n + each.domain_dimension
            batch = broadcast_shape(batch, each.batch_shape)
        return batch.concatenate(TensorShape([n, n]))

    def _shape_tensor(self):
        first, *rest = self._operators
        columns, rows = first.domain_dimension_tensor(), first.range_dimension_tensor()
        for each in rest:
            columns = columns + each.domain_dimension_tensor()
            rows = rows + each.range_dimension_tensor()
        matrix = NAMES["stack"]([columns, rows])
        return NAMES["concat"]((broadcast_batch_tensor(self._operators), matrix), 0)

    def _split(self, x, axis):
        sizes = [each.domain_dimension.value for each in self._operators]
        if None in sizes:
            sizes = [each.domain_dimension_tensor() for each in self._operators]
        return NAMES["split"](x, sizes, axis=axis)

    def _by_blocks(self, method, x, adjoint, adjoint_arg):
        blocks = self._split(x, -1 if adjoint_arg else -2)
        results = [
            getattr(each, method)(block, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for each, block in zip(self._operators, blocks, strict=True)
        ]
        return NAMES["concat"](broadcast_batches(results), axis=-2)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._by_blocks("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._by_blocks("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self):
        return accumulated(self._operators, "determinant", arithmetic.mul)

    def _log_abs_determinant(self):
        return accumulated(self._operators, "log_abs_determinant", arithmetic.add)

    def _trace(self):
        return accumulated(self._operators, "trace", arithmetic.add)

    def _diag_part(self):
        columns = [each.diag_part()[..., None] for each in self._operators]
        return NAMES["squeeze"](NAMES["concat"](broadcast_batches(columns), axis=-2), axis=-1)

    def _to_dense(self):
        tf = NAMES
        before, rows = 0, []
        for block in broadcast_batches([each.to_dense() for each in self._operators]):
            batch_and_rows = tf["shape"](block)[:-1]
            left = tf["zeros"](tf["concat"]([batch_and_rows, [before]], axis=-1), dtype=block.dtype)
            before = before + tf["shape"](block)[-1]
            rest = self.domain_dimension_tensor() - before
            right = tf["zeros"](tf["concat"]([batch_and_rows, [rest]], axis=-1), dtype=block.dtype)
            rows.append(tf["concat"]([left, block, right], axis=-1))
        whole = tf["concat"](rows, axis=-2)
        whole.set_shape(self.shape)
        return whole

    def _assert_non_singular(self):
        return NAMES["group"](*[each.assert_non_singular() for each in self._operators])

    def _assert_self_adjoint(self):
        return NAMES["group"](*[each.assert_self_adjoint() for each in self._operators])

    def _assert_positive_definite(self):
        return NAMES["group"](*[each.assert_positive_definite() for each in self._operators])


def shared(operators, hint, given, what, adjective):
    """Returns a hint that holds of something if it holds of all its operators.

    Raises:
      ValueError: It holds of all, and the caller says that it does not hold.
    """
    if all(getattr(each, hint) for each in operators):
        if given is False:
            raise ValueError(f"The {what} of {adjective} operators is always {adjective}.")
        return True
    return given


@algebra.register("adjoint", LinearOperatorBlockDiag)
def _adjoint(operator):
    return LinearOperatorBlockDiag(
        [each.adjoint() for each in operator.operators], is_square=True, **algebra.hints_of(operator)
    )


@algebra.register("inverse", LinearOperatorBlockDiag)
def _inverse(operator):
    hints = algebra.hints_of(operator)
    return LinearOperatorBlockDiag([each.inverse() for each in operator.operators], is_square=True, **hints)


@algebra.register("cholesky", LinearOperatorBlockDiag)
def _cholesky(operator):
    factors = [each.cholesky() for each in operator.operators]
    return LinearOperatorBlockDiag(factors, is_non_singular=True, is_self_adjoint=False, is_square=True)
