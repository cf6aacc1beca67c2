"""LinearOperatorIdentity and LinearOperatorScaledIdentity: matrices that leave vectors as they are, or scale them."""

from __future__ import annotations

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import raw
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.diagonal import real_is_self_adjoint
from headrace.ops.linalg.operators.parts import kept
from headrace.ops.linalg.operators.sizes import Sized, batch_shape_argument, count_argument, same_dimensions
from headrace.ops.linalg.parts import adjoint as adjoint_of
from headrace.tensor_shape import TensorShape


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(Sized, LinearOperator):
    """Identity matrices.

    Args:
      num_rows: How many rows a matrix has.
      batch_shape: The shape of the batch of matrices, by default a single one.
      dtype: The type of the elements.
      is_non_singular: True.
      is_self_adjoint: True.
      is_positive_definite: True.
      is_square: True.
      assert_proper_shapes: Whether to check shapes while running, where they are not known before.
      name: The operator's name.
    """

    def __init__(
        self,
        num_rows,
        batch_shape=None,
        dtype=None,
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorIdentity",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            for hint, what in (
                (is_self_adjoint, "self adjoint"),
                (is_square, "square"),
                (is_non_singular, "non-singular"),
                (is_positive_definite, "positive-definite"),
            ):
                if not hint:
                    raise ValueError(f"An identity operator is always {what}.")
            super().__init__(
                dtype=dtype or dtypes.float32,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._num_rows, self._rows = count_argument(num_rows, "num_rows", assert_proper_shapes)
            self._num_columns, self._columns = self._num_rows, self._rows
            self._batch_shape_arg, self._batch = batch_shape_argument(batch_shape, assert_proper_shapes)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = adjoint_of(x) if adjoint_arg else x
        if self._assert_proper_shapes:
            x = same_dimensions(self, x)
        return self._with_batch(x)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return NAMES["ones"](self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self):
        return NAMES["zeros"](self.batch_shape_tensor(), dtype=self.dtype)

    def _trace(self):
        return traced(self)

    def _diag_part(self):
        return self._diagonal_of("ones")

    def _add_to_tensor(self, mat):
        return NAMES["matrix_set_diag"](mat, 1 + NAMES["matrix_diag_part"](mat))

    def _assert_non_singular(self):
        return raw.NoOp(name="assert_non_singular")

    def _assert_positive_definite(self):
        return raw.NoOp(name="assert_positive_definite")

    def _assert_self_adjoint(self):
        return raw.NoOp(name="assert_self_adjoint")


def traced(operator, scale=None):
    """Makes the traces of multiples of identity matrices."""
    if operator.batch_shape.is_fully_defined():
        ones = NAMES["ones"](operator.batch_shape, dtype=operator.dtype)
    else:
        ones = NAMES["ones"](operator.batch_shape_tensor(), dtype=operator.dtype)
    n = operator._least_dimension()
    if n is None:
        n = NAMES["cast"](operator._least_dimension_tensor(), operator.dtype)
    return (n if scale is None else scale * n) * ones


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(Sized, LinearOperator):
    """Multiples of identity matrices.

    Args:
      num_rows: How many rows a matrix has.
      multiplier: The factors, whose shape is that of the batch of matrices.
      is_non_singular: Whether none is 0.
      is_self_adjoint: Whether they are real.
      is_positive_definite: Whether their real parts are positive.
      is_square: True.
      assert_proper_shapes: Whether to check shapes while running, where they are not known before.
      name: The operator's name.
    """

    def __init__(
        self,
        num_rows,
        multiplier,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorScaledIdentity",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = kept(multiplier, name="multiplier")
            is_self_adjoint = real_is_self_adjoint(self._multiplier, is_self_adjoint)
            if not is_square:
                raise ValueError("A ScaledIdentity operator is always square.")
            super().__init__(
                dtype=self._multiplier.dtype.base_dtype,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._num_rows, self._rows = count_argument(num_rows, "num_rows", assert_proper_shapes)
            self._num_columns, self._columns = self._num_rows, self._rows
            cast = NAMES["cast"]
            self._size = cast(self._num_rows, self.dtype)
            self._real_size = cast(self._num_rows, self.dtype.real_dtype)

    @property
    def multiplier(self):
        """The factors."""
        return self._multiplier

    def _shape(self):
        return self._multiplier.shape.concatenate(TensorShape((self._rows, self._rows)))

    def _shape_tensor(self):
        matrix = NAMES["stack"]((self._num_rows, self._num_rows), axis=0)
        return NAMES["concat"]((NAMES["shape"](self._multiplier), matrix), 0)

    def _as_matrices(self, adjoint):
        expand = NAMES["expand_dims"]
        matrices = expand(expand(self._multiplier, -1), -1)
        return NAMES["math.conj"](matrices) if adjoint else matrices

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = adjoint_of(x) if adjoint_arg else x
        if self._assert_proper_shapes:
            x = same_dimensions(self, x)
        return x * self._as_matrices(adjoint)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        if self._assert_proper_shapes:
            rhs = same_dimensions(self, rhs)
        return rhs / self._as_matrices(adjoint)

    def _determinant(self):
        return self._multiplier**self._size

    def _log_abs_determinant(self):
        return self._real_size * NAMES["log"](NAMES["abs"](self._multiplier))

    def _trace(self):
        return traced(self, self._multiplier)

    def _diag_part(self):
        return self._diagonal_of("ones") * self._multiplier[..., None]

    def _add_to_tensor(self, mat):
        column = NAMES["expand_dims"](self._multiplier, -1)
        return NAMES["matrix_set_diag"](mat, column + NAMES["matrix_diag_part"](mat))

    def _assert_non_singular(self):
        return NAMES["assert_positive"](NAMES["abs"](self._multiplier), message="LinearOperator was singular")

    def _assert_positive_definite(self):
        return NAMES["assert_positive"](
            NAMES["real"](self._multiplier), message="LinearOperator was not positive definite."
        )

    def _assert_self_adjoint(self):
        imaginary = NAMES["imag"](self._multiplier)
        return NAMES["assert_equal"](
            NAMES["zeros_like"](imaginary), imaginary, message="LinearOperator was not self-adjoint"
        )


@algebra.register("adjoint", LinearOperatorIdentity)
def _adjoint(operator):
    return operator


@algebra.register("adjoint", LinearOperatorScaledIdentity)
def _adjoint_scaled(operator):
    multiplier = operator.multiplier
    if multiplier.dtype.is_complex:
        multiplier = NAMES["math.conj"](multiplier)
    return _scaled(operator, multiplier, **algebra.hints_of(operator))


def _scaled(operator, multiplier, **hints):
    return LinearOperatorScaledIdentity(
        num_rows=operator._num_rows, multiplier=multiplier, is_square=True, **hints
    )


@algebra.register("inverse", LinearOperatorIdentity)
def _inverse(operator):
    return operator


@algebra.register("inverse", LinearOperatorScaledIdentity)
def _inverse_scaled(operator):
    return _scaled(operator, 1.0 / operator.multiplier, **algebra.hints_of(operator))


@algebra.register("cholesky", LinearOperatorIdentity)
def _cholesky(operator):
    return LinearOperatorIdentity(
        num_rows=operator._num_rows,
        batch_shape=operator.batch_shape,
        dtype=operator.dtype,
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
        is_square=True,
    )


@algebra.register("cholesky", LinearOperatorScaledIdentity)
def _cholesky_scaled(operator):
    root = NAMES["sqrt"](operator.multiplier)
    return _scaled(operator, root, is_non_singular=True, is_self_adjoint=True, is_positive_definite=True)
