"""LinearOperatorLowRankUpdate: an operator plus one of low rank."""

from __future__ import annotations

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import raw
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.batches import broadcast_shape, cholesky_solved, solved
from headrace.ops.linalg.operators.diagonal import LinearOperatorDiag
from headrace.ops.linalg.operators.identity import LinearOperatorIdentity
from headrace.ops.linalg.operators.parts import kept
from headrace.ops.linalg.parts import product


@export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D V^H, of an operator L and matrices U, V with few columns; D is diagonal.

    Systems are solved by the Woodbury matrix identity, determinants found by the matrix determinant lemma.

    Args:
      base_operator: L.
      u: U, of shape [..., n, k].
      diag_update: The diagonals of D, of shape [..., k]; by default ones.
      v: V, by default U.
      is_diag_update_positive: Whether D is positive.
      is_non_singular: Whether the sums have inverses.
      is_self_adjoint: Whether they are equal to their adjoints.
      is_positive_definite: Whether they are positive definite.
      is_square: Whether they are square.
      name: The operator's name.
    """

    def __init__(
        self,
        base_operator,
        u,
        diag_update=None,
        v=None,
        is_diag_update_positive=None,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorLowRankUpdate",
    ):
        dtype = base_operator.dtype
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive.  However, user set "
                    "'is_diag_update_positive' to False."
                )
            is_diag_update_positive = True
        self._use_cholesky = bool(
            base_operator.is_positive_definite
            and base_operator.is_self_adjoint
            and is_diag_update_positive
            and v is None
        )
        if base_operator.is_self_adjoint and v is None and not dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is self-adjoint, this must "
                    "be a self-adjoint operator."
                )
            is_self_adjoint = True
        if self._use_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        with name_scope(name, values=[*base_operator.graph_parents, u, diag_update, v]):
            self._u = kept(u, name="u")
            self._v = self._u if v is None else kept(v, name="v")
            self._diag_update = None if diag_update is None else kept(diag_update, name="diag_update")
            self._base_operator = base_operator
            parents = [*base_operator.graph_parents, self._u, self._diag_update, self._v]
            super().__init__(
                dtype=dtype,
                graph_parents=[parent for parent in parents if parent is not None],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._is_diag_update_positive = is_diag_update_positive
            self._diag_operator = self._made_diag_operator()
            self._check_shapes()

    def _made_diag_operator(self):
        if self._diag_update is not None:
            return LinearOperatorDiag(self._diag_update, is_positive_definite=self._is_diag_update_positive)
        shape = self._u.shape
        k = None if shape.ndims is None else shape[-1].value
        if k is None:
            k = NAMES["shape"](self._u)[-1]
        return LinearOperatorIdentity(num_rows=k, dtype=self.dtype)

    def _check_shapes(self):
        uv = broadcast_shape(self._u.shape, self._v.shape)
        if uv.ndims is None:
            return
        broadcast_shape(self._base_operator.batch_shape, uv[:-2])
        self._base_operator.domain_dimension.assert_is_compatible_with(uv[-2])
        if self._diag_update is not None and self._diag_update.shape.ndims is not None:
            uv[-1].assert_is_compatible_with(self._diag_update.shape[-1])
            broadcast_shape(uv[:-2], self._diag_update.shape[:-1])

    @property
    def u(self):
        """U."""
        return self._u

    @property
    def v(self):
        """V."""
        return self._v

    @property
    def diag_update(self):
        """The diagonals of D, or None."""
        return self._diag_update

    @property
    def is_diag_update_positive(self):
        """Whether D is positive, as far as promised."""
        return self._is_diag_update_positive

    @property
    def diag_operator(self):
        """D."""
        return self._diag_operator

    @property
    def base_operator(self):
        """L."""
        return self._base_operator

    def _shape(self):
        batch = broadcast_shape(self._base_operator.batch_shape, self._u.shape[:-2])
        return batch.concatenate(self._base_operator.shape[-2:])

    def _shape_tensor(self):
        batch = NAMES["broadcast_dynamic_shape"](
            self._base_operator.batch_shape_tensor(), NAMES["shape"](self._u)[:-2]
        )
        return NAMES["concat"]([batch, self._base_operator.shape_tensor()[-2:]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        leading = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = product(v, x, adjoint_a=True, adjoint_b=adjoint_arg)
        inner = self._diag_operator.matmul(inner, adjoint=adjoint)
        return leading + product(u, inner)

    def _determinant(self):
        if self.is_positive_definite:
            return NAMES["exp"](self.log_abs_determinant())
        inner = raw.MatrixDeterminant(self._capacitance())
        diagonal = self._diag_operator.determinant()
        base = self._base_operator.determinant()
        return inner * diagonal * base

    def _log_abs_determinant(self):
        tf = NAMES
        diagonal = self._diag_operator.log_abs_determinant()
        base = self._base_operator.log_abs_determinant()
        if self._use_cholesky:
            factor = raw.Cholesky(self._capacitance())
            inner = 2 * tf["reduce_sum"](tf["log"](tf["matrix_diag_part"](factor)), axis=[-1])
        else:
            inner = tf["log"](tf["abs"](raw.MatrixDeterminant(self._capacitance())))
            inner = tf["cast"](inner, self.dtype) if self.dtype.is_complex else inner
        return inner + diagonal + base

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        base = self._base_operator
        first = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = product(v, first, adjoint_a=True)
        capacitance = self._capacitance()
        if self._use_cholesky:
            inner = cholesky_solved(raw.Cholesky(capacitance), inner)
        else:
            inner = solved(capacitance, inner, adjoint=adjoint)
        return first - base.solve(product(u, inner), adjoint=adjoint)

    def _capacitance(self):
        """Makes D^-1 + V^H L^-1 U."""
        inner = product(self._v, self._base_operator.solve(self._u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)
