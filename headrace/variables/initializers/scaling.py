"""Initializers of random numbers, and those that scale them to the number of inputs and outputs."""

from __future__ import annotations

import math
from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.variables.initializers.basic import Initializer, floating

# The deviation of standard normal numbers cut off at two deviations.
_CUT_DEVIATION = 0.87962566103423978


@export("random_uniform_initializer", "initializers.random_uniform")
class RandomUniform(Initializer):
    """Makes numbers uniformly distributed over a range.

    Args:
      minval: The lower end.
      maxval: The upper end, 1 by default for floats.
      seed: The op-level seed.
      dtype: The type where the call gives none.
    """

    def __init__(self, minval: Any = 0, maxval: Any = None, seed: Any = None, dtype: Any = dtypes.float32):
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self.dtype if dtype is None else dtype
        return NAMES["random_uniform"](shape, self.minval, self.maxval, dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed, "dtype": self.dtype.name}


class _Normal(Initializer):
    _function = ""

    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: Any = None, dtype: Any = dtypes.float32):
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self.dtype if dtype is None else dtype
        return NAMES[self._function](shape, self.mean, self.stddev, dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


@export("random_normal_initializer", "initializers.random_normal")
class RandomNormal(_Normal):
    """Makes normal numbers.

    Args:
      mean: Their mean.
      stddev: Their deviation.
      seed: The op-level seed.
      dtype: The type where the call gives none.
    """

    _function = "random_normal"


@export("truncated_normal_initializer", "initializers.truncated_normal")
class TruncatedNormal(_Normal):
    """Makes normal numbers within two deviations of the mean.

    Args:
      mean: Their mean.
      stddev: Their deviation before the cut.
      seed: The op-level seed.
      dtype: The type where the call gives none.
    """

    _function = "truncated_normal"


@export("uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling")
class UniformUnitScaling(Initializer):
    """Makes uniform numbers that keep the scale of a layer's inputs.

    Args:
      factor: What the range is multiplied with.
      seed: The op-level seed.
      dtype: The type where the call gives none.
    """

    def __init__(self, factor: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32):
        self.factor = factor
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        full = shape if partition_info is None else partition_info.full_shape
        inputs = max(1.0, float(math.prod(int(d) for d in full[:-1])))
        end = math.sqrt(3 / inputs) * self.factor
        return NAMES["random_uniform"](
            shape, -end, end, self.dtype if dtype is None else dtype, seed=self.seed
        )

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


def fans(shape: Any) -> tuple[float, float]:
    """Returns how many inputs and outputs a weight of this shape connects."""
    dims = [int(d) for d in shape]
    if not dims:
        return 1.0, 1.0
    if len(dims) == 1:
        return float(dims[0]), float(dims[0])
    field = math.prod(dims[:-2])
    return float(dims[-2] * field), float(dims[-1] * field)


@export("variance_scaling_initializer", "initializers.variance_scaling", "keras.initializers.VarianceScaling")
class VarianceScaling(Initializer):
    """Makes random numbers whose variance is `scale` divided by the number of inputs, outputs, or their mean.

    Args:
      scale: A positive number.
      mode: "fan_in", "fan_out" or "fan_avg".
      distribution: "truncated_normal" (also called "normal"), "untruncated_normal" or "uniform".
      seed: The op-level seed.
      dtype: The type where the call gives none.

    Raises:
      ValueError: An argument is none of those.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: Any = None,
        dtype: Any = dtypes.float32,
    ):
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Invalid `mode` argument:", mode)
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Invalid `distribution` argument:", distribution)
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dtype = self.dtype if dtype is None else dtype
        inputs, outputs = fans(shape if partition_info is None else partition_info.full_shape)
        n = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2.0}[self.mode]
        scale = self.scale / max(1.0, n)
        if self.distribution in ("normal", "truncated_normal"):
            stddev = math.sqrt(scale) / _CUT_DEVIATION
            return NAMES["truncated_normal"](shape, 0.0, stddev, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return NAMES["random_normal"](shape, 0.0, math.sqrt(scale), dtype, seed=self.seed)
        end = math.sqrt(3.0 * scale)
        return NAMES["random_uniform"](shape, -end, end, dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


@export("glorot_uniform_initializer", "initializers.glorot_uniform", "keras.initializers.glorot_uniform")
class GlorotUniform(VarianceScaling):
    """Makes Glorot's uniform numbers: variance 2 / (inputs + outputs).

    Args:
      seed: The op-level seed.
      dtype: The type where the call gives none.
    """

    def __init__(self, seed: Any = None, dtype: Any = dtypes.float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


@export("glorot_normal_initializer", "initializers.glorot_normal", "keras.initializers.glorot_normal")
class GlorotNormal(VarianceScaling):
    """Makes Glorot's normal numbers: variance 2 / (inputs + outputs), cut at two deviations.

    Args:
      seed: The op-level seed.
      dtype: The type where the call gives none.
    """

    def __init__(self, seed: Any = None, dtype: Any = dtypes.float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


@export("initializers.lecun_normal", "keras.initializers.lecun_normal")
def lecun_normal(seed: Any = None) -> VarianceScaling:
    """Returns an initializer of normal numbers of variance 1 / inputs, cut at two deviations."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("initializers.lecun_uniform", "keras.initializers.lecun_uniform")
def lecun_uniform(seed: Any = None) -> VarianceScaling:
    """Returns an initializer of uniform numbers of variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("initializers.he_normal", "keras.initializers.he_normal")
def he_normal(seed: Any = None) -> VarianceScaling:
    """Returns an initializer of normal numbers of variance 2 / inputs, cut at two deviations."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("initializers.he_uniform", "keras.initializers.he_uniform")
def he_uniform(seed: Any = None) -> VarianceScaling:
    """Returns an initializer of uniform numbers of variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
