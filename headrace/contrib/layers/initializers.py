"""tf.contrib.layers' initializers: random numbers scaled to the number of inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.variables.initializers.scaling import fans


@export("contrib.layers.xavier_initializer", "contrib.layers.xavier_initializer_conv2d")
def xavier_initializer(uniform: bool = True, seed: Any = None, dtype: Any = dtypes.float32) -> Any:
    """Returns Glorot's initializer, which keeps the scale of gradients about the same in all layers.

    Args:
      uniform: Whether the numbers are uniform, else normal.
      seed: The op-level seed.
      dtype: The type.
    """
    return variance_scaling_initializer(factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype)


@export("contrib.layers.variance_scaling_initializer")
def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: Any = None,
    dtype: Any = dtypes.float32,
) -> Callable[..., Any]:
    """Returns an initializer whose numbers have the variance `factor` divided by a number of connections.

    Args:
      factor: What the variance is multiplied with.
      mode: "FAN_IN" for the number of inputs, "FAN_OUT" of outputs, "FAN_AVG" for their mean.
      uniform: Whether the numbers are uniform, else normal within two deviations.
      seed: The op-level seed.
      dtype: The type.

    Raises:
      TypeError: `dtype` or `mode` is none of those.
    """
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initializer(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Any:
        if not dtypes.as_dtype(dtype).is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        inputs, outputs = fans(shape) if shape else (1.0, 1.0)
        n = {"FAN_IN": inputs, "FAN_OUT": outputs, "FAN_AVG": (inputs + outputs) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return NAMES["random_uniform"](shape, -limit, limit, dtype, seed=seed)
        # Cut at two deviations, what is left deviates less.
        deviation = math.sqrt(1.3 * factor / n)
        return NAMES["truncated_normal"](shape, 0.0, deviation, dtype, seed=seed)

    return initializer
