"""The class of initializers, and those that need no random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.opdef import raw


class Initializer:
    """Makes the initial value of a variable; called with a shape."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that make an equal initializer, as plain values."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns the initializer that `get_config` described."""
        return cls(**config)


def floating(dtype: Any) -> Any:
    """Returns the DType of a floating point type.

    Raises:
      ValueError: It is another type.
    """
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found}.")
    return found


@export("zeros_initializer", "initializers.zeros", "keras.initializers.Zeros", "keras.initializers.zeros")
class Zeros(Initializer):
    """Makes zeros.

    Args:
      dtype: The type where the call gives none.
    """

    def __init__(self, dtype: Any = dtypes.float32):
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return NAMES["zeros"](shape, self.dtype if dtype is None else dtype)

    def get_config(self) -> dict[str, Any]:
        return {"dtype": self.dtype.name}


@export("ones_initializer", "initializers.ones", "keras.initializers.Ones", "keras.initializers.ones")
class Ones(Initializer):
    """Makes ones.

    Args:
      dtype: The type where the call gives none.
    """

    def __init__(self, dtype: Any = dtypes.float32):
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return NAMES["ones"](shape, self.dtype if dtype is None else dtype)

    def get_config(self) -> dict[str, Any]:
        return {"dtype": self.dtype.name}


@export(
    "constant_initializer",
    "initializers.constant",
    "keras.initializers.Constant",
    "keras.initializers.constant",
)
class Constant(Initializer):
    """Makes a given value; a shorter one's last element is repeated.

    Args:
      value: A number, a list, or an array.
      dtype: The type where the call gives none.
      verify_shape: Refuses a value of another shape.

    Raises:
      TypeError: `value` is none of those.
    """

    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or tuple of values, or "
                "numpy.ndarray)."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: Any = None
    ) -> Any:
        return NAMES["constant"](
            self.value,
            dtype=self.dtype if dtype is None else dtype,
            shape=shape,
            verify_shape=self._verify_shape if verify_shape is None else verify_shape,
        )

    def get_config(self) -> dict[str, Any]:
        return {"value": self.value, "dtype": self.dtype.name}


@export("initializers.identity", "keras.initializers.Identity", "keras.initializers.identity")
class Identity(Initializer):
    """Makes an identity matrix.

    Args:
      gain: What it is multiplied with.
      dtype: The type where the call gives none.
    """

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32):
        self.gain = gain
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        full = shape if partition_info is None else partition_info.full_shape
        if len(full) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        rows, columns = (int(d) for d in full)
        dtype = self.dtype if dtype is None else dtype
        made = NAMES["eye"](rows, None if columns == rows else columns, dtype=dtype)
        if partition_info is not None:
            made = raw.Slice(made, partition_info.var_offset, shape)
        return raw.Mul(self.gain, made, name="mul")

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "dtype": self.dtype.name}
