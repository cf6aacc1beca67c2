"""The pooling layers: greatest and mean elements of windows over one, two or three axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export, export_value
from headrace.layers.base import Layer
from headrace.layers.convolutional import one_an_axis, padding_of
from headrace.layers.core import layout
from headrace.layers.input_spec import InputSpec
from headrace.opdef import raw


class _Pooling(Layer):
    """Pools windows; subclasses say over how many axes and with which op.

    Args:
      pool_size: The window's size: one number, or one for each axis.
      strides: Its steps, given in the same way.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      name: The layer's name.
      **kwargs: What `Layer` takes.
    """

    _axes = 0
    _op = ""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        if strides is None:
            strides = pool_size
        self.pool_size = one_an_axis(pool_size, self._axes, "pool_size")
        self.strides = one_an_axis(strides, self._axes, "strides")
        self.padding = padding_of(padding)
        self.data_format = layout(data_format)
        self.input_spec = InputSpec(ndim=self._axes + 2)

    def _pool(self, inputs: Any, size: tuple[int, ...], strides: tuple[int, ...], data_format: str) -> Any:
        first = data_format.startswith("NC")
        return getattr(raw, self._op)(
            inputs,
            ksize=[1, 1, *size] if first else [1, *size, 1],
            strides=[1, 1, *strides] if first else [1, *strides, 1],
            padding=self.padding.upper(),
            data_format=data_format,
        )

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        return self._pool(inputs, self.pool_size, self.strides, "NCHW" if first else "NHWC")


class _Pooling1D(_Pooling):
    _axes = 1

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        extra = 3 if first else 2
        x = NAMES["expand_dims"](inputs, extra)
        if first:
            x = NAMES["transpose"](x, (0, 2, 3, 1))
        x = self._pool(x, (*self.pool_size, 1), (*self.strides, 1), "NHWC")
        if first:
            x = NAMES["transpose"](x, (0, 3, 1, 2))
        return NAMES["squeeze"](x, extra)


class _Pooling3D(_Pooling):
    _axes = 3

    def call(self, inputs: Any) -> Any:
        if self.data_format == "channels_last":
            return self._pool(inputs, self.pool_size, self.strides, "NDHWC")
        # There is no kernel for the other layout.
        x = NAMES["transpose"](inputs, (0, 2, 3, 4, 1))
        x = self._pool(x, self.pool_size, self.strides, "NDHWC")
        return NAMES["transpose"](x, (0, 4, 1, 2, 3))


@export("layers.MaxPooling1D")
class MaxPooling1D(_Pooling1D):
    __doc__ = (_Pooling.__doc__ or "").replace("Pools windows; subclasses say over how many axes and with which op.",
                                               "Takes the greatest element of windows over sequences.")  # fmt: skip
    _op = "MaxPool"


@export("layers.AveragePooling1D")
class AveragePooling1D(_Pooling1D):
    __doc__ = (_Pooling.__doc__ or "").replace("Pools windows; subclasses say over how many axes and with which op.",
                                               "Takes the mean of windows over sequences.")  # fmt: skip
    _op = "AvgPool"


@export("layers.MaxPooling2D")
class MaxPooling2D(_Pooling):
    __doc__ = (_Pooling.__doc__ or "").replace("Pools windows; subclasses say over how many axes and with which op.",
                                               "Takes the greatest element of windows over images.")  # fmt: skip
    _axes = 2
    _op = "MaxPool"


@export("layers.AveragePooling2D")
class AveragePooling2D(_Pooling):
    __doc__ = (_Pooling.__doc__ or "").replace("Pools windows; subclasses say over how many axes and with which op.",
                                               "Takes the mean of windows over images.")  # fmt: skip
    _axes = 2
    _op = "AvgPool"


@export("layers.MaxPooling3D")
class MaxPooling3D(_Pooling3D):
    __doc__ = (_Pooling.__doc__ or "").replace("Pools windows; subclasses say over how many axes and with which op.",
                                               "Takes the greatest element of windows over volumes.")  # fmt: skip
    _op = "MaxPool3D"


@export("layers.AveragePooling3D")
class AveragePooling3D(_Pooling3D):
    __doc__ = (_Pooling.__doc__ or "").replace("Pools windows; subclasses say over how many axes and with which op.",
                                               "Takes the mean of windows over volumes.")  # fmt: skip
    _op = "AvgPool3D"


def _function(kind: type[_Pooling], name: str, what: str) -> Callable[..., Any]:
    def pool(
        inputs: Any,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> Any:
        return kind(pool_size, strides, padding=padding, data_format=data_format, name=name).apply(inputs)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""Takes the {what}.

    Args:
      inputs: A tensor, batch first.
      pool_size: The window's size: one number, or one for each axis.
      strides: Its steps, given in the same way.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      name: The layer's name.
    """
    export_value("layers." + name, pool)
    return pool


max_pooling1d = _function(MaxPooling1D, "max_pooling1d", "greatest element of windows over sequences")
average_pooling1d = _function(AveragePooling1D, "average_pooling1d", "mean of windows over sequences")
max_pooling2d = _function(MaxPooling2D, "max_pooling2d", "greatest element of windows over images")
average_pooling2d = _function(AveragePooling2D, "average_pooling2d", "mean of windows over images")
max_pooling3d = _function(MaxPooling3D, "max_pooling3d", "greatest element of windows over volumes")
average_pooling3d = _function(AveragePooling3D, "average_pooling3d", "mean of windows over volumes")
