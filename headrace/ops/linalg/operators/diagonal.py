"""LinearOperatorDiag: diagonal matrices."""

from __future__ import annotations

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.checks import assert_no_zeros, assert_real
from headrace.ops.linalg.operators.parts import kept
from headrace.ops.linalg.parts import adjoint as adjoint_of


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """Square matrices that are zero except on the diagonal.

    Args:
      diag: The diagonals, of shape [..., n].
      is_non_singular: Whether no element of them is 0.
      is_self_adjoint: Whether they are real.
      is_positive_definite: Whether their real parts are positive.
      is_square: True or None.
      name: The operator's name.
    """

    def __init__(
        self,
        diag,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorDiag",
    ):
        with name_scope(name, values=[diag]):
            self._diag = kept(diag, name="diag")
            check_rank(self._diag, "diag")
            is_self_adjoint = real_is_self_adjoint(self._diag, is_self_adjoint)
            if is_square is False:
                raise ValueError("Only square diagonal operators currently supported.")
            super().__init__(
                dtype=self._diag.dtype,
                graph_parents=[self._diag],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    @property
    def diag(self):
        """The diagonals."""
        return self._diag

    def _shape(self):
        shape = self._diag.shape
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self):
        shape = NAMES["shape"](self._diag)
        n = shape[-1]
        return NAMES["concat"]((shape, [n]), 0)

    def _factors(self, adjoint):
        return NAMES["math.conj"](self._diag) if adjoint else self._diag

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        factors = self._factors(adjoint)
        x = adjoint_of(x) if adjoint_arg else x
        return NAMES["expand_dims"](factors, -1) * x

    def _matvec(self, x, adjoint=False):
        return self._factors(adjoint) * x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        factors = self._factors(adjoint)
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return rhs * NAMES["expand_dims"](1.0 / factors, -1)

    def _determinant(self):
        return NAMES["reduce_prod"](self._diag, axis=[-1])

    def _log_abs_determinant(self):
        result = NAMES["reduce_sum"](NAMES["log"](NAMES["abs"](self._diag)), axis=[-1])
        return NAMES["cast"](result, self.dtype) if self.dtype.is_complex else result

    def _diag_part(self):
        return self._diag

    def _to_dense(self):
        return NAMES["matrix_diag"](self._diag)

    def _add_to_tensor(self, x):
        return NAMES["matrix_set_diag"](x, self._diag + NAMES["matrix_diag_part"](x))

    def _assert_non_singular(self):
        return assert_no_zeros(self._diag, message="Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self):
        if self.dtype.is_complex:
            message = (
                "Diagonal operator had diagonal entries with non-positive real part, "
                "thus was not positive definite."
            )
        else:
            message = (
                "Real diagonal operator had non-positive diagonal entries, thus was not positive definite."
            )
        return NAMES["assert_positive"](NAMES["real"](self._diag), message=message)

    def _assert_self_adjoint(self):
        return assert_real(
            self._diag,
            message=(
                "This diagonal operator contained non-zero imaginary values.  Thus it was not self-adjoint."
            ),
        )


def check_rank(value, name, least=1):
    """Raises a ValueError if a tensor is known to have too few dimensions."""
    ndims = value.shape.ndims
    if ndims is not None and ndims < least:
        noun = "dimension" if least == 1 else "dimensions"
        raise ValueError(f"Argument {name} must have at least {least} {noun}.  Found: {value}")


def real_is_self_adjoint(value, hint):
    """Returns the hint of operators that are self-adjoint if they are real.

    Raises:
      ValueError: The operator is real, and the hint says no.
    """
    if value.dtype.is_complex:
        return hint
    if hint is False:
        raise ValueError("A real diagonal operator is always self adjoint.")
    return True


@algebra.register("adjoint", LinearOperatorDiag)
def _adjoint(operator):
    diagonal = operator.diag
    if diagonal.dtype.is_complex:
        diagonal = NAMES["math.conj"](diagonal)
    return LinearOperatorDiag(diagonal, is_square=True, **algebra.hints_of(operator))


@algebra.register("inverse", LinearOperatorDiag)
def _inverse(operator):
    return LinearOperatorDiag(1.0 / operator.diag, is_square=True, **algebra.hints_of(operator))


@algebra.register("cholesky", LinearOperatorDiag)
def _cholesky(operator):
    return LinearOperatorDiag(
        NAMES["sqrt"](operator.diag),
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
        is_square=True,
    )
