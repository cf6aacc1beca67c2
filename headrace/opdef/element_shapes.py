"""Partial shapes as operands: what is known of the elements of a tensor list."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes
from headrace.opdef.convert import constant_node
from headrace.shapes import Shape


def as_operand(dims: Shape) -> Any:
    """Returns a partial shape as what an element_shape operand takes: -1 stands for what is not known."""
    if dims is None:
        return -1
    if not dims:
        # An empty list has no type of its own.
        return constant_node(np.zeros([0], np.int32), dtypes.int32)
    return [-1 if d is None else d for d in dims]
