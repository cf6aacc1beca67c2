"""InputSpec: what a layer asks of the shapes and types of its inputs."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import export


@export("layers.InputSpec", "keras.layers.InputSpec")
class InputSpec:
    """Says what a layer's input must look like; None stands for "anything".

    Args:
      dtype: Its type.
      shape: Its shape, with None for dimensions that may have any size.
      ndim: Its rank.
      max_ndim: Its greatest rank.
      min_ndim: Its least rank.
      axes: A dictionary from axes to the sizes that they must have.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
    ):
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}

    def __repr__(self) -> str:
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        parts = [f"{name}={getattr(self, name)}" for name in names if getattr(self, name)]
        return f"InputSpec({', '.join(parts)})"

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that make an equal InputSpec."""
        return {
            name: getattr(self, name) for name in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """Returns the InputSpec that `get_config` described."""
        return cls(**config)


def check_inputs(input_spec: Any, inputs: list[Any], layer: str) -> None:
    """Holds a layer's inputs against its InputSpec, or list of those.

    Raises:
      ValueError: There are too few or too many inputs, or one is not as it must be.
    """
    if not input_spec:
        return
    specs = list(input_spec) if isinstance(input_spec, (list, tuple)) else [input_spec]
    if len(inputs) != len(specs):
        raise ValueError(
            f"Layer {layer} expects {len(specs)} inputs, but it received {len(inputs)} input tensors. Inputs "
            f"received: {inputs}"
        )
    for i, (x, spec) in enumerate(zip(inputs, specs, strict=True)):
        if spec is not None:
            _check(x, spec, f"Input {i} of layer {layer} is incompatible with the layer: ")


def _check(x: Any, spec: InputSpec, prefix: str) -> None:
    asks_rank = spec.ndim is not None or spec.min_ndim is not None or spec.max_ndim is not None
    rank = x.shape.ndims
    if asks_rank and rank is None:
        raise ValueError(f"{prefix}its rank is undefined, but the layer requires a defined rank.")
    if rank is None:
        return
    shape = x.shape.as_list()
    if spec.ndim is not None and rank != spec.ndim:
        raise ValueError(
            f"{prefix}expected ndim={spec.ndim}, found ndim={rank}. Full shape received: {shape}"
        )
    if spec.max_ndim is not None and rank > spec.max_ndim:
        raise ValueError(f"{prefix}expected max_ndim={spec.max_ndim}, found ndim={rank}")
    if spec.min_ndim is not None and rank < spec.min_ndim:
        raise ValueError(
            f"{prefix}: expected min_ndim={spec.min_ndim}, found ndim={rank}. Full shape received: {shape}"
        )
    if spec.dtype is not None and x.dtype.name != spec.dtype:
        raise ValueError(f"{prefix}expected dtype={spec.dtype}, found dtype={x.dtype}")
    for axis, size in spec.axes.items():
        if size is not None and shape[axis] not in (size, None):
            raise ValueError(
                f"{prefix}expected axis {axis} of input shape to have value {size} but received input with shape "
                f"{shape}"
            )
    for wanted, found in zip(spec.shape or (), shape, strict=False):
        if wanted is not None and found is not None and wanted != found:
            raise ValueError(f"{prefix}expected shape={spec.shape}, found shape={shape}")
