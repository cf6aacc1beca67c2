"""LinearOperator: what all linear operators have in common."""

from __future__ import annotations

import abc
import contextlib

import numpy as np

from headrace import dtypes
from headrace.export import NAMES
from headrace.graph import Tensor, name_scope
from headrace.opdef import constant_node, convert_to_tensor, export, raw
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.batches import cholesky_solved, solved
from headrace.ops.linalg.operators.parts import Parts, is_kept
from headrace.ops.linalg.parts import adjoint as adjoint_of
from headrace.tensor_shape import Dimension


@export("linalg.LinearOperator")
class LinearOperator(Parts, abc.ABC):
    """A batch of matrices, of shape [..., m, n], that need not be stored.

    A subclass says how it multiplies (`_matmul`) and what shape it has (`_shape`, `_shape_tensor`); everything else
    follows from that, and a subclass overrides what it can do better (`_solve`, `_determinant`, `_diag_part` ...).

    A hint is what the caller promises of the matrices: True, False, or None if nothing is promised. Hints choose the
    algorithms; whether they hold is not checked unless an `assert_` method is asked to.

    Args:
      dtype: The type of the elements.
      graph_parents: The tensors that the operator is made from.
      is_non_singular: Whether the matrices have inverses.
      is_self_adjoint: Whether they are equal to their adjoints.
      is_positive_definite: Whether the real part of x^H A x is positive for all x but 0.
      is_square: Whether they are square.
      name: The operator's name, under which its nodes appear; by default the class's.

    Raises:
      ValueError: The hints contradict each other.
    """

    def __init__(
        self,
        dtype,
        graph_parents=None,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        self._set_graph_parents(graph_parents or [])
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        self._is_square_set_or_implied_by_hints = is_square
        self._dtype = dtypes.as_dtype(dtype).base_dtype if dtype else dtype
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._name = name or type(self).__name__

    def _set_graph_parents(self, graph_parents):
        for i, parent in enumerate(graph_parents):
            if parent is None or not (isinstance(parent, Tensor) or is_kept(parent)):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        self._graph_parents = list(graph_parents)

    @contextlib.contextmanager
    def _name_scope(self, name=None):
        """Puts nodes under the operator's name and that of a method."""
        whole = f"{self.name}/{name}" if name else self.name
        with name_scope(whole, values=[p for p in self.graph_parents if isinstance(p, Tensor)]) as scope:
            yield scope

    # -- what it is --------------------------------------------------------------------------------------------
    @property
    def dtype(self):
        """The type of the elements."""
        return self._dtype

    @property
    def name(self):
        """The name under which the operator's nodes appear."""
        return self._name

    @property
    def graph_parents(self):
        """The tensors that the operator is made from."""
        return self._graph_parents

    @property
    def is_non_singular(self):
        """Whether the matrices have inverses, as far as promised."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self):
        """Whether the matrices are equal to their adjoints, as far as promised."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self):
        """Whether the matrices are positive definite, as far as promised."""
        return self._is_positive_definite

    @property
    def is_square(self):
        """Whether the matrices are square, as far as promised or known from the shape."""
        known = self.domain_dimension == self.range_dimension
        promised = self._is_square_set_or_implied_by_hints
        if known and promised is False:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return known if promised is None else promised

    @property
    def H(self):
        """The adjoint operator."""
        return self.adjoint()

    # -- shapes ------------------------------------------------------------------------------------------------
    @abc.abstractmethod
    def _shape(self):
        """Returns the static shape."""

    @abc.abstractmethod
    def _shape_tensor(self):
        """Makes a tensor of the shape; called where the static shape does not say all."""

    @property
    def shape(self):
        """The static shape, [..., m, n]."""
        return self._shape()

    def shape_tensor(self, name="shape_tensor"):
        """Returns the shape as a tensor.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            if self.shape.is_fully_defined():
                return _constant(self.shape.as_list())
            return self._shape_tensor()

    @property
    def batch_shape(self):
        """The static shape without the last two dimensions."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        """Returns the shape without the last two dimensions as a tensor.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return _constant(self.batch_shape.as_list(), name="batch_shape")
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self):
        """How many dimensions the shape has, or None."""
        return self.shape.ndims

    def tensor_rank_tensor(self, name="tensor_rank_tensor"):
        """Returns how many dimensions the shape has as a tensor.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            if self.tensor_rank is not None:
                return _constant(self.tensor_rank)
            return NAMES["size"](self.shape_tensor())

    @property
    def domain_dimension(self):
        """How many columns the matrices have."""
        return self.shape[-1] if self.shape.ndims is not None else Dimension(None)

    def domain_dimension_tensor(self, name="domain_dimension_tensor"):
        """Returns how many columns the matrices have as a tensor.

        Args:
          name: The scope's name.
        """
        return self._dimension_tensor(self.domain_dimension, -1, name)

    @property
    def range_dimension(self):
        """How many rows the matrices have."""
        return self.shape[-2] if self.shape.ndims is not None else Dimension(None)

    def range_dimension_tensor(self, name="range_dimension_tensor"):
        """Returns how many rows the matrices have as a tensor.

        Args:
          name: The scope's name.
        """
        return self._dimension_tensor(self.range_dimension, -2, name)

    def _dimension_tensor(self, dimension, axis, name):
        with self._name_scope(name):
            if dimension.value is not None:
                return _constant(dimension.value)
            return self.shape_tensor()[axis]

    # -- checks ------------------------------------------------------------------------------------------------
    def assert_non_singular(self, name="assert_non_singular"):
        """Returns an operation that fails if a matrix is singular up to rounding.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            return self._assert_non_singular()

    def _assert_non_singular(self):
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = NAMES["svd"](self.to_dense(), compute_uv=False)
        condition = NAMES["reduce_max"](values, axis=-1) / NAMES["reduce_min"](values, axis=-1)
        return NAMES["assert_less"](
            condition,
            self._max_condition_number_to_be_non_singular(),
            message="Singular matrix up to precision epsilon.",
        )

    def _max_condition_number_to_be_non_singular(self):
        cast = NAMES["cast"]
        with name_scope("max_nonsingular_condition_number"):
            sizes = [100.0]
            sizes += [cast(self.range_dimension_tensor(), self.dtype)]
            sizes += [cast(self.domain_dimension_tensor(), self.dtype)]
            eps = np.finfo(self.dtype.storage).eps
            return 1.0 / (cast(NAMES["reduce_max"](sizes), self.dtype) * eps)

    def assert_positive_definite(self, name="assert_positive_definite"):
        """Returns an operation that fails if a matrix is not positive definite.

        Args:
          name: The scope's name.

        Raises:
          NotImplementedError: This kind of operator cannot say.
        """
        with self._name_scope(name):
            return self._assert_positive_definite()

    def _assert_positive_definite(self):
        if self.is_self_adjoint:
            # There is no Cholesky factor unless the matrix is positive definite.
            diagonal = NAMES["matrix_diag_part"](raw.Cholesky(self.to_dense()))
            return NAMES["assert_positive"](diagonal, message="Matrix was not positive definite.")
        raise NotImplementedError("assert_positive_definite is not implemented.")

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        """Returns an operation that fails if a matrix is not equal to its adjoint.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            return self._assert_self_adjoint()

    def _assert_self_adjoint(self):
        dense = self.to_dense()
        return NAMES["assert_equal"](dense, adjoint_of(dense), message="Matrix was not equal to its adjoint.")

    def _check_input_dtype(self, argument):
        if argument.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {argument.dtype} in tensor {argument}"
            )

    # -- products ----------------------------------------------------------------------------------------------
    @abc.abstractmethod
    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        """Makes the products with matrices."""

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """Returns the products of the matrices, or their adjoints, with others.

        Args:
          x: Matrices, or another operator, for which the result is an operator as well.
          adjoint: Whether the operator's adjoint is meant.
          adjoint_arg: Whether the adjoints of `x` are meant.
          name: The scope's name.

        Raises:
          ValueError: The shapes do not fit.
          TypeError: The types differ.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            _check_fit("x", right.range_dimension, left.domain_dimension)
            with self._name_scope(name):
                return algebra.matmul(left, right)
        with self._name_scope(name):
            x = convert_to_tensor(x, name="x")
            self._check_input_dtype(x)
            mine = self.range_dimension if adjoint else self.domain_dimension
            mine.assert_is_compatible_with(_dimension(x, -1 if adjoint_arg else -2))
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def matvec(self, x, adjoint=False, name="matvec"):
        """Returns the products of the matrices, or their adjoints, with vectors.

        Args:
          x: Vectors, of shape [..., n].
          adjoint: Whether the operator's adjoint is meant.
          name: The scope's name.
        """
        with self._name_scope(name):
            x = convert_to_tensor(x, name="x")
            self._check_input_dtype(x)
            mine = self.range_dimension if adjoint else self.domain_dimension
            mine.assert_is_compatible_with(_dimension(x, -1))
            return self._matvec(x, adjoint=adjoint)

    def _matvec(self, x, adjoint=False):
        columns = NAMES["expand_dims"](x, axis=-1)
        return NAMES["squeeze"](self.matmul(columns, adjoint=adjoint), axis=-1)

    # -- solutions ---------------------------------------------------------------------------------------------
    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """Returns the solutions of systems of linear equations.

        Args:
          rhs: The right-hand sides as columns, or another operator, for which the result is an operator as well.
          adjoint: Whether the operator's adjoint is meant.
          adjoint_arg: Whether the adjoints of `rhs` are meant.
          name: The scope's name.

        Raises:
          NotImplementedError: The operator is singular or not square.
          ValueError: The shapes do not fit.
        """
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        if self.is_square is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to not be square."
            )
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = rhs.adjoint() if adjoint_arg else rhs
            _check_fit("rhs", right.range_dimension, left.domain_dimension)
            with self._name_scope(name):
                return algebra.solve(left, right)
        with self._name_scope(name):
            rhs = convert_to_tensor(rhs, name="rhs")
            self._check_input_dtype(rhs)
            mine = self.range_dimension if adjoint else self.domain_dimension
            mine.assert_is_compatible_with(_dimension(rhs, -1 if adjoint_arg else -2))
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        if self.is_square is False:
            raise NotImplementedError("Solve is not yet implemented for non-square operators.")
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            return cholesky_solved(raw.Cholesky(self.to_dense()), rhs)
        return solved(self.to_dense(), rhs, adjoint=adjoint)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """Returns the solutions of systems whose right-hand sides are single vectors.

        Args:
          rhs: Vectors, of shape [..., n].
          adjoint: Whether the operator's adjoint is meant.
          name: The scope's name.
        """
        with self._name_scope(name):
            rhs = convert_to_tensor(rhs, name="rhs")
            self._check_input_dtype(rhs)
            mine = self.range_dimension if adjoint else self.domain_dimension
            mine.assert_is_compatible_with(_dimension(rhs, -1))
            return self._solvevec(rhs, adjoint=adjoint)

    def _solvevec(self, rhs, adjoint=False):
        columns = NAMES["expand_dims"](rhs, axis=-1)
        return NAMES["squeeze"](self.solve(columns, adjoint=adjoint), axis=-1)

    def _can_use_cholesky(self):
        return self.is_self_adjoint and self.is_positive_definite

    # -- numbers and diagonals ---------------------------------------------------------------------------------
    def determinant(self, name="det"):
        """Returns the determinants of the matrices.

        Args:
          name: The scope's name.

        Raises:
          NotImplementedError: The matrices are not square.
        """
        self._check_has_determinant()
        with self._name_scope(name):
            return self._determinant()

    def _check_has_determinant(self):
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    def _determinant(self):
        if self._can_use_cholesky():
            return NAMES["exp"](self.log_abs_determinant())
        return raw.MatrixDeterminant(self.to_dense())

    def log_abs_determinant(self, name="log_abs_det"):
        """Returns the logarithms of the sizes of the determinants.

        Args:
          name: The scope's name.

        Raises:
          NotImplementedError: The matrices are not square.
        """
        self._check_has_determinant()
        with self._name_scope(name):
            return self._log_abs_determinant()

    def _log_abs_determinant(self):
        if self._can_use_cholesky():
            diagonal = NAMES["matrix_diag_part"](raw.Cholesky(self.to_dense()))
            return 2 * NAMES["reduce_sum"](NAMES["log"](diagonal), axis=[-1])
        return raw.LogMatrixDeterminant(self.to_dense())[1]

    def trace(self, name="trace"):
        """Returns the sums of the diagonals.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            return self._trace()

    def _trace(self):
        return NAMES["reduce_sum"](self.diag_part(), axis=-1)

    def diag_part(self, name="diag_part"):
        """Returns the diagonals of the matrices.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            return self._diag_part()

    def _diag_part(self):
        return NAMES["matrix_diag_part"](self.to_dense())

    def to_dense(self, name="to_dense"):
        """Returns the matrices as a tensor.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            return self._to_dense()

    def _to_dense(self):
        if self.batch_shape.is_fully_defined():
            batch = self.batch_shape.as_list()
        else:
            batch = self.batch_shape_tensor()
        n = self.domain_dimension.value
        if n is None:
            n = self.domain_dimension_tensor()
        return self.matmul(NAMES["eye"](num_rows=n, batch_shape=batch, dtype=self.dtype))

    def add_to_tensor(self, x, name="add_to_tensor"):
        """Returns the matrices plus others.

        Args:
          x: The others.
          name: The scope's name.
        """
        with self._name_scope(name):
            x = convert_to_tensor(x, name="x")
            self._check_input_dtype(x)
            return self._add_to_tensor(x)

    def _add_to_tensor(self, x):
        return self.to_dense() + x

    # -- other operators ---------------------------------------------------------------------------------------
    def adjoint(self, name="adjoint"):
        """Returns the adjoint operator.

        Args:
          name: The scope's name.
        """
        if self.is_self_adjoint is True:
            return self
        with self._name_scope(name):
            return algebra.adjoint(self)

    def inverse(self, name="inverse"):
        """Returns the inverse operator.

        Args:
          name: The scope's name.

        Raises:
          ValueError: The operator is singular or not square.
        """
        if self.is_square is False:
            raise ValueError("Cannot take the Inverse: This operator represents a non square matrix.")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        with self._name_scope(name):
            return algebra.inverse(self)

    def cholesky(self, name="cholesky"):
        """Returns the operator of the lower triangular Cholesky factors.

        Args:
          name: The scope's name.

        Raises:
          ValueError: The operator is not known to be self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix."
            )
        with self._name_scope(name):
            return algebra.cholesky(self)


def _constant(value, name="Const"):
    return constant_node(np.array(value, np.int32), dtypes.int32, name=name)


def _dimension(x, axis):
    shape = x.shape
    return Dimension(None) if shape.ndims is None else shape[axis]


def _check_fit(name, found, wanted):
    if None not in (found.value, wanted.value) and found.value != wanted.value:
        raise ValueError(
            f"Operators are incompatible. Expected `{name}` to have dimension {wanted.value} but got {found.value}."
        )
