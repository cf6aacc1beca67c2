"""Traces of matrices."""

from __future__ import annotations

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, export


@export("trace", "linalg.trace")
def trace(x, name=None):
    """Returns the sums of the diagonals of matrices.

    Args:
      x: Matrices, in the last two dimensions.
      name: The name of the sum's node.
    """
    with name_scope(name, "Trace", [x]) as scope:
        diagonal = NAMES["matrix_diag_part"](convert_to_tensor(x, name="x"))
        return NAMES["reduce_sum"](diagonal, [-1], name=scope)
