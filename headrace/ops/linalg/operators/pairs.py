"""Products and quotients of pairs of operators that are operators of the same kinds."""

from __future__ import annotations

from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.circulant import LinearOperatorCirculant
from headrace.ops.linalg.operators.composition import LinearOperatorComposition
from headrace.ops.linalg.operators.diagonal import LinearOperatorDiag
from headrace.ops.linalg.operators.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from headrace.ops.linalg.operators.inversion import LinearOperatorInversion
from headrace.ops.linalg.operators.lower_triangular import LinearOperatorLowerTriangular
from headrace.ops.linalg.operators.zeros import LinearOperatorZeros


# -- products ------------------------------------------------------------------------------------------------
@algebra.register("matmul", LinearOperator, LinearOperator)
def _composed(a, b):
    is_square = (True if a.is_square and b.is_square else None) if a.is_square is not False else None
    return LinearOperatorComposition(
        operators=[a, b],
        is_non_singular=algebra.non_singular_hint(a, b),
        is_square=is_square,
    )


@algebra.register("matmul", LinearOperatorIdentity, LinearOperator)
def _identity_left(a, b):
    del a
    return b


@algebra.register("matmul", LinearOperator, LinearOperatorIdentity)
@algebra.register("matmul", LinearOperatorIdentity, LinearOperatorIdentity)
def _identity_right(a, b):
    del b
    return a


@algebra.register("matmul", LinearOperatorZeros, LinearOperator)
@algebra.register("matmul", LinearOperatorZeros, LinearOperatorIdentity)
@algebra.register("matmul", LinearOperatorZeros, LinearOperatorZeros)
def _zeros_left(a, b):
    del b
    if not (a.is_square):
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported."
        )
    return a


@algebra.register("matmul", LinearOperator, LinearOperatorZeros)
@algebra.register("matmul", LinearOperatorIdentity, LinearOperatorZeros)
def _zeros_right(a, b):
    if not (a.is_square and b.is_square):
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported."
        )
    return b


@algebra.register("matmul", LinearOperatorDiag, LinearOperatorDiag)
def _diagonals(a, b):
    return LinearOperatorDiag(diag=a.diag * b.diag, **algebra.product_hints(a, b))


@algebra.register("matmul", LinearOperatorDiag, LinearOperatorScaledIdentity)
def _diagonal_scaled(a, b):
    return LinearOperatorDiag(diag=a.diag * b.multiplier, **algebra.product_hints(a, b))


@algebra.register("matmul", LinearOperatorScaledIdentity, LinearOperatorDiag)
def _scaled_diagonal(a, b):
    return LinearOperatorDiag(diag=b.diag * a.multiplier, **algebra.product_hints(a, b))


def _triangular(tril, a, b):
    return LinearOperatorLowerTriangular(
        tril=tril, is_non_singular=algebra.non_singular_hint(a, b), is_square=True
    )


@algebra.register("matmul", LinearOperatorDiag, LinearOperatorLowerTriangular)
def _diagonal_triangular(a, b):
    return _triangular(a.diag[..., None] * b.to_dense(), a, b)


@algebra.register("matmul", LinearOperatorLowerTriangular, LinearOperatorDiag)
def _triangular_diagonal(a, b):
    return _triangular(a.to_dense() * b.diag, a, b)


def _circulant(spectrum, a, b):
    return LinearOperatorCirculant(spectrum=spectrum, **algebra.product_hints(a, b))


@algebra.register("matmul", LinearOperatorCirculant, LinearOperatorCirculant)
def _circulants(a, b):
    return _circulant(a.spectrum * b.spectrum, a, b)


# -- quotients -----------------------------------------------------------------------------------------------
@algebra.register("solve", LinearOperator, LinearOperator)
def _inverse_composed(a, b):
    is_square = True if a.is_square and b.is_square else None
    return LinearOperatorComposition(
        operators=[LinearOperatorInversion(a), b],
        is_non_singular=algebra.non_singular_hint(a, b),
        is_square=is_square,
    )


@algebra.register("solve", LinearOperatorIdentity, LinearOperator)
def _by_identity(a, b):
    del a
    return b


@algebra.register("solve", LinearOperatorDiag, LinearOperatorDiag)
def _diagonals_divided(a, b):
    return LinearOperatorDiag(diag=b.diag / a.diag, **algebra.product_hints(a, b))


@algebra.register("solve", LinearOperatorDiag, LinearOperatorScaledIdentity)
def _scaled_by_diagonal(a, b):
    return LinearOperatorDiag(diag=b.multiplier / a.diag, **algebra.product_hints(a, b))


@algebra.register("solve", LinearOperatorScaledIdentity, LinearOperatorDiag)
def _diagonal_by_scaled(a, b):
    return LinearOperatorDiag(diag=b.diag / a.multiplier, **algebra.product_hints(a, b))


@algebra.register("solve", LinearOperatorDiag, LinearOperatorLowerTriangular)
def _triangular_by_diagonal(a, b):
    return _triangular(b.to_dense() / a.diag[..., None], a, b)


@algebra.register("solve", LinearOperatorCirculant, LinearOperatorCirculant)
def _circulants_divided(a, b):
    return _circulant(b.spectrum / a.spectrum, a, b)
