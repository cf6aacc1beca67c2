"""What ops on sparse tensors ask of the three parts, in the words of TensorFlow's kernels.

The functions look at shapes alone, so that lower rules can call them too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.opdef.strings import invalid
from headrace.shapes import to_text


def shown(array: Any) -> str:
    """Returns how an array's shape is written."""
    return to_text(tuple(array.shape))


def check_parts(indices: Any, values: Any, shape: Any, where: str = "", shape_word: str = "shape") -> None:
    """Checks that a sparse tensor's parts are a matrix and two vectors; `values` may be None.

    Raises:
      InvalidArgumentError: One is not; `where` ends the sentence.
    """
    if indices.ndim != 2:
        invalid(f"Input indices should be a matrix but received shape {shown(indices)}{where}")
    if values is not None and values.ndim != 1:
        invalid(f"Input values should be a vector but received shape {shown(values)}{where}")
    if shape.ndim != 1:
        invalid(f"Input {shape_word} should be a vector but received shape {shown(shape)}{where}")


def check_prefixed(prefix: str, indices: Any, values: Any, shape: Any) -> None:
    """Does the same as check_parts for ops whose operands are called `sp_indices` or `a_indices`."""
    if indices.ndim != 2:
        invalid(f"Input {prefix}_indices should be a matrix but received shape: {shown(indices)}")
    if values.ndim != 1 or shape.ndim != 1:
        invalid(
            f"Inputs {prefix}_values and {prefix}_shape should be vectors but received shapes: {shown(values)} and "
            f"{shown(shape)}"
        )


def check_counts(indices: Any, values: Any, shape: Any) -> None:
    """Checks that there is a value for each coordinate, and an index for each dimension, none of negative size.

    Raises:
      InvalidArgumentError: It is not so.
    """
    if indices.shape[0] != values.shape[0]:
        invalid(
            "indices and values rows (indexing dimension) must match. "
            f"(indices = {indices.shape[0]}, values = {values.shape[0]})"
        )
    if indices.shape[1] != shape.shape[0]:
        invalid("Order length must be SparseTensor rank.")
    check_sizes(shape)


def check_sizes(shape: Any) -> None:
    """Checks that no size of a dense shape is negative.

    Raises:
      InvalidArgumentError: One is.
    """
    if isinstance(shape, np.ndarray) and (shape < 0).any():
        invalid(f"Dimension {int(shape.min())} must be >= 0")


def check_gradient(gradient: Any, indices: Any, name: str) -> None:
    """Checks that a gradient by values is a vector of as many as there are rows in the coordinates `name`.

    Raises:
      InvalidArgumentError: It is not.
    """
    if gradient.ndim != 1:
        invalid(f"Input backprop_val_grad should be a vector but received shape: {shown(gradient)}")
    if len(gradient) != len(indices):
        invalid(
            f"# elements of backprop_val_grad and # rows of {name} should match (#nnz of sum): got {len(gradient)} and "
            f"{len(indices)}"
        )


def check_pair(a: Any, b: Any, prefixes: str = "") -> None:
    """Checks the parts of the two sparse tensors that are added or compared, each (indices, values, shape).

    Raises:
      InvalidArgumentError: They are no sparse tensors, or of different shapes.
    """
    if a[0].ndim != 2 or b[0].ndim != 2:
        if prefixes:
            invalid(
                f"Inputs a_indices and b_indices should be matrices but received shapes: {shown(a[0])}, {shown(b[0])}"
            )
        invalid(f"Input indices should be matrices but received shapes: {shown(a[0])} and {shown(b[0])}")
    if a[1].ndim != 1 or b[1].ndim != 1:
        what = "Inputs a_values and b_values" if prefixes else "Input values"
        invalid(f"{what} should be vectors but received shapes: {shown(a[1])} and {shown(b[1])}")
    if len(a[0]) != len(a[1]) or len(b[0]) != len(b[1]):
        invalid(
            f"Expected {len(a[0])} and {len(b[0])} non-empty input values, got {len(a[1])} and {len(b[1])}"
        )
    if a[2].ndim != 1 or b[2].ndim != 1:
        invalid(f"Input shapes should be a vector but received shapes {shown(a[2])} and {shown(b[2])}")
    if len(a[2]) != len(b[2]):
        left, right = (" ".join(map(str, s.tolist())) for s in (a[2], b[2]))
        invalid(f"Operands do not have the same ranks; got shapes: {left} and {right}")
    for i, (x, y) in enumerate(zip(a[2].tolist(), b[2].tolist(), strict=True)):
        if x != y:
            invalid(f"Operands' shapes do not match: got {x} and {y} for dimension {i}")
    if a[0].shape[1] != len(a[2]) or b[0].shape[1] != len(b[2]):
        # TensorFlow reads beside the coordinates.
        invalid("Order length must be SparseTensor rank.")
