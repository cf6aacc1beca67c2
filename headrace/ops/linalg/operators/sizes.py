"""Sizes that operators without elements are given: numbers of rows and batch shapes, checked."""

from __future__ import annotations

import numpy as np

from headrace import dtypes
from headrace.export import NAMES
from headrace.graph import colocate_with, control_dependencies
from headrace.opdef import constant_value, convert_to_tensor, raw
from headrace.ops.linalg.operators.batches import broadcast_shape
from headrace.tensor_shape import TensorShape


def _after(checks, tensor):
    """Makes a tensor wait for checks."""
    with control_dependencies(checks), colocate_with(tensor):
        return raw.Identity(tensor, name="control_dependency")


def _shape_tensor(shape, name):
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    dtype = dtypes.int32 if isinstance(shape, (list, tuple)) and not shape else None
    return convert_to_tensor(shape, dtype=dtype, name=name)


def count_argument(value, name, assert_proper):
    """Returns a number of rows or columns as a tensor, and as a number where it is known.

    Raises:
      TypeError: It is not an integer.
      ValueError: It is not a scalar, or negative.
    """
    tensor = _shape_tensor(value, name)
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {tensor}")
    known = constant_value(tensor)
    if known is None:
        if assert_proper:
            checks = [
                NAMES["assert_rank"](tensor, 0, message=f"Argument {name} must be a 0-D Tensor."),
                NAMES["assert_non_negative"](tensor, message=f"Argument {name} must be non-negative."),
            ]
            tensor = _after(checks, tensor)
        return tensor, None
    if np.ndim(known) != 0:
        raise ValueError(f"Argument {name} must be a 0-D Tensor.  Found: {known}")
    if known < 0:
        raise ValueError(f"Argument {name} must be non-negative.  Found: {known}")
    return tensor, int(known)


def batch_shape_argument(value, assert_proper):
    """Returns a batch shape as a tensor and as a list where it is known; None and an empty list if none was given.

    Raises:
      TypeError: It does not hold integers.
      ValueError: It is not a vector, or a size is negative.
    """
    if value is None:
        return None, []
    tensor = _shape_tensor(value, "batch_shape_arg")
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument batch_shape must be integer type.  Found: {tensor}")
    known = constant_value(tensor)
    if known is None:
        if assert_proper:
            checks = [
                NAMES["assert_rank"](tensor, 1, message="Argument batch_shape must be a 1-D Tensor."),
                NAMES["assert_non_negative"](tensor, message="Argument batch_shape must be non-negative."),
            ]
            tensor = _after(checks, tensor)
        return tensor, None
    if np.ndim(known) != 1:
        raise ValueError(f"Argument batch_shape must be a 1-D Tensor.  Found: {known}")
    if np.any(known < 0):
        raise ValueError(f"Argument batch_shape must be non-negative.  Found:{known}")
    return tensor, [int(d) for d in known]


def same_dimensions(operator, x):
    """Makes matrices wait for the check that they fit an operator."""
    check = NAMES["assert_equal"](
        NAMES["shape"](x)[-2],
        operator.domain_dimension_tensor(),
        message=("Dimensions are not compatible.  shape[-2] of argument to be the same as this operator"),
    )
    return _after([check], x)


class Sized:
    """The shapes of operators that are given numbers of rows and columns and a batch shape."""

    def _shape(self):
        matrix = TensorShape((self._rows, self._columns))
        return TensorShape(self._batch).concatenate(matrix)

    def _shape_tensor(self):
        matrix = NAMES["stack"]((self._num_rows, self._num_columns), axis=0)
        if self._batch_shape_arg is None:
            return matrix
        return NAMES["concat"]((self._batch_shape_arg, matrix), 0)

    def _with_batch(self, x):
        """Makes matrices have at least the operator's batch."""
        if self._batch_shape_arg is None:
            return x
        special = self.batch_shape.concatenate(TensorShape([1, 1]))
        whole = broadcast_shape(x.shape, special)
        if special.is_fully_defined():
            if whole.is_fully_defined() and whole == x.shape:
                return x
            return x + NAMES["zeros"](special, dtype=self.dtype)
        shape = NAMES["concat"]((self.batch_shape_tensor(), [1, 1]), 0)
        return x + NAMES["zeros"](shape, dtype=self.dtype)

    def _least_dimension(self):
        domain, range_ = self.domain_dimension.value, self.range_dimension.value
        return None if domain is None or range_ is None else min(domain, range_)

    def _least_dimension_tensor(self):
        return NAMES["reduce_min"](self.shape_tensor()[-2:])

    def _diagonal_of(self, fill):
        """Makes diagonals of zeros or ones."""
        if self.shape.is_fully_defined():
            shape = [*self.batch_shape.as_list(), self._least_dimension()]
        else:
            batch = self.batch_shape_tensor()
            shape = NAMES["concat"]((batch, [self._least_dimension_tensor()]), 0)
        return NAMES[fill](shape, dtype=self.dtype)
