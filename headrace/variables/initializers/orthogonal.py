"""Initializers that make orthogonal matrices, and convolution kernels that keep norms."""

from __future__ import annotations

import math
from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import raw
from headrace.variables.initializers.basic import Initializer, floating


def _rotation(dims: Any, dtype: Any, seed: Any) -> Any:
    """Returns a random matrix with orthonormal columns, each equally likely."""
    numbers = NAMES["random_normal"](dims, dtype=dtype, seed=seed)
    q, r = raw.Qr(numbers, full_matrices=False)
    # Without the signs of R's diagonal the matrices would not all be equally likely.
    return raw.Mul(q, raw.Sign(raw.DiagPart(r)), name="mul")


@export("orthogonal_initializer", "initializers.orthogonal", "keras.initializers.Orthogonal",
        "keras.initializers.orthogonal")  # fmt: skip
class Orthogonal(Initializer):
    """Makes a matrix with orthonormal rows or columns, whichever are fewer; more dimensions are laid flat to two.

    Args:
      gain: What the matrix is multiplied with.
      seed: The op-level seed.
      dtype: The type where the call gives none.
    """

    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32):
        self.gain = gain
        self.dtype = floating(dtype)
        self.seed = seed

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self.dtype if dtype is None else dtype
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        dims = [int(d) for d in shape]
        rows, columns = math.prod(dims[:-1]), dims[-1]
        q = _rotation([max(rows, columns), min(rows, columns)], dtype, self.seed)
        if rows < columns:
            with name_scope("matrix_transpose"):
                q = raw.Transpose(q, [1, 0], name="transpose")
        return raw.Mul(self.gain, raw.Reshape(q, dims), name="mul")

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class ConvolutionDeltaOrthogonal(Initializer):
    """Makes a convolution kernel that is zero but for an orthogonal matrix in the middle.

    Args:
      gain: The kernel changes norms by this.
      seed: The op-level seed.
      dtype: The type where the call gives none.
    """

    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32):
        self.gain = gain
        self.dtype = floating(dtype)
        self.seed = seed

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self.dtype if dtype is None else dtype
        if not 3 <= len(shape) <= 5:
            raise ValueError(
                "The tensor to initialize must be at least three-dimensional and at most five-dimensional"
            )
        dims = [int(d) for d in shape]
        if dims[-2] > dims[-1]:
            raise ValueError("In_filters cannot be greater than out_filters.")
        q = _rotation([dims[-1], dims[-1]], dtype, self.seed)
        q = q[: dims[-2], :]
        q = raw.Mul(q, NAMES["cast"](self.gain, dtype=dtype), name="mul")
        middle = [(d - 1) // 2 for d in dims[:-2]]
        return raw.ScatterNd([middle], raw.ExpandDims(q, 0), dims)

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


convolutional_delta_orthogonal = ConvolutionDeltaOrthogonal
