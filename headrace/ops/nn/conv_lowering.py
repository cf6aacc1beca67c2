"""How convolutions and their gradients are written for XLA: as matrix products wherever they are one.

XLA's CPU convolutions stay well behind its matrix products, above all in the gradients. A window of one
element, and a window that covers the whole image, are matrix products.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.blas import transposed_lower
from headrace.errors import InvalidArgumentError
from headrace.lazy import jax, jnp, lax
from headrace.native import products as native
from headrace.ops.nn.windows import channel_axis, kernel_places, paddings, spatial, spatial_axes
from headrace.shapes import with_rank

_KERNEL = {4: "HWIO", 5: "DHWIO"}


def sizes_shape(sizes: Any, rank: int, name: str, ctx: Any) -> Any:
    """Returns the static shape that an operand holds which says the shape of an input or of a filter."""
    (n,) = with_rank(sizes, 1)
    if n is not None:
        with_rank((None,) * n, rank)
    return with_rank(ctx.as_shape(name), rank)


def check_sizes(label: str, name: str, sizes: Any, rank: int) -> None:
    """Checks the operand `name`, `input_sizes` or `filter_sizes`, of a gradient.

    Raises:
      InvalidArgumentError: It is not the shape of anything.
    """
    sizes = np.asarray(sizes)
    if sizes.ndim != 1:
        text = f"{label}: {name} input must be 1-dim, not {sizes.ndim}"
    elif (sizes < 0).any():
        text = f"Dimension {int(sizes.min())} must be >= 0"
    elif len(sizes) != rank:
        text = f"{label}: {name.partition('_')[0]} must be {rank}-dimensional"
    else:
        return
    raise InvalidArgumentError(None, None, text)


class Convolution:
    """One convolution's geometry: strides, dilations and paddings along the spatial axes, for known shapes."""

    def __init__(
        self,
        input_shape: Any,
        filter_shape: Any,
        *,
        strides: Any,
        padding: str,
        data_format: str,
        dilations: Any,
        explicit_paddings: Any = (),
    ):
        self.layout = data_format
        self.axes = spatial_axes(data_format)
        self.strides = spatial(strides, data_format)
        self.dilations = spatial(dilations, data_format)
        for s in self.strides:
            if s < 1:
                raise InvalidArgumentError(None, None, f"Stride must be > 0, but got {s}")
        for d in self.dilations:
            if d < 1:
                raise InvalidArgumentError(None, None, f"Dilation rate must be >= 1, but got {d}")
        self.input_shape = tuple(int(d) for d in input_shape)
        self.filter_shape = tuple(int(d) for d in filter_shape)
        self.kernel = self.filter_shape[:-2]
        if 0 in self.kernel:
            raise InvalidArgumentError(None, None, f"filter must not be empty: {list(self.filter_shape)}")
        self.sizes = tuple(self.input_shape[i] for i in self.axes)
        explicit = [explicit_paddings[2 * i : 2 * i + 2] for i in self.axes] if explicit_paddings else ()
        self.pads = paddings(self.sizes, self.kernel, self.strides, self.dilations, padding, explicit)
        self.groups = self.input_shape[channel_axis(data_format)] // max(1, self.filter_shape[-2])
        spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        self.outputs = kernel_places(self.sizes, spans, self.strides, self.pads)

    @property
    def output_shape(self) -> tuple[int, ...]:
        shape = list(self.input_shape)
        for i, n in zip(self.axes, self.outputs, strict=True):
            shape[i] = n
        shape[channel_axis(self.layout)] = self.filter_shape[-1]
        return tuple(shape)

    @property
    def is_pointwise(self) -> bool:
        """Whether the window is one element and nothing is padded: a product with a matrix at every place."""
        return self.groups == 1 and math.prod(self.kernel) == 1 and not any(map(any, self.pads))

    @property
    def is_whole(self) -> bool:
        """Whether the window is the whole image: one product for each image."""
        return (
            self.groups == 1
            and self.kernel == self.sizes
            and not any(map(any, self.pads))
            and set(self.dilations) == {1}
            and self.layout[-1] == "C"
        )

    @property
    def is_seldom_met(self) -> bool:
        """Whether most of the filter meets no output at an element of the input: as wide a filter as the image.

        The native library's gradient of the input looks at all of the filter for each element.
        """
        seen = math.prod(n * s for n, s in zip(self.outputs, self.strides, strict=True))
        return self.groups == 1 and math.prod(self.sizes) > 2 * seen

    @property
    def _is_thin(self) -> bool:
        """Whether sums have so few terms that XLA is as quick: gathering them takes the time."""
        return self.filter_shape[-2] < 8 and math.prod(self.filter_shape[:-1]) < 27  # 3x3, three channels

    def _is_native(self, x: Any) -> bool:
        channels = self.input_shape[channel_axis(self.layout)]
        dtype = x.dtype if x.dtype.itemsize >= 4 else np.float32
        return native.takes_convolution(dtype, self.kernel, channels, self.filter_shape[-1], self.groups)

    def _is_pointwise_native(self, x: Any) -> bool:
        """Whether the native library takes the places that are visited from where they are.

        As a product they would be reshaped before, and XLA computes what is reshaped a second time for other users.
        """
        return not self._is_thin and self._is_native(x) and native.takes_steps(self.strides)

    def _native(self, which: str, shape: Any, a: Any, b: Any) -> Any:
        """Calls the native library, which takes and gives channels last."""
        is_image = which != "_filter_gradient"
        result = native.convolution(
            which,
            self._last(shape) if is_image else shape,
            a,
            b,
            groups=self.groups,
            strides=self.strides,
            dilations=self.dilations,
            before=[a for a, _ in self.pads],
        )
        return self._back(result) if is_image else result

    def apply(self, x: Any, w: Any) -> Any:
        """Returns the convolution of `x` with `w`."""
        if 0 in self.output_shape or 0 in self.input_shape or 0 in self.filter_shape:
            return jnp.zeros(self.output_shape, x.dtype)
        if self.is_pointwise and not self._is_pointwise_native(x):
            return self._pointwise(x, w)
        if self.is_whole:
            flat = matmul(x.reshape(self.input_shape[0], -1), w.reshape(-1, self.filter_shape[-1]))
            return flat.reshape(self.output_shape)
        if self._is_native(x) and not self._is_thin:
            return in_float32(
                lambda x, w: self._native("", self.output_shape, self._channels_last(x), w), x, w
            )
        if self.groups == 1 and any(n < k for n, k in zip(self.sizes, self.kernel, strict=True)):
            return self._by_places(x, w)
        return self._general(x, w)

    def _general(self, x: Any, w: Any) -> Any:
        return in_float32(
            lambda x, w: lax.conv_general_dilated(
                x,
                w,
                self.strides,
                self.pads,
                rhs_dilation=self.dilations,
                dimension_numbers=(self.layout, _KERNEL[w.ndim], self.layout),
                feature_group_count=self.groups,
            ),
            x,
            w,
        )

    # -- windows larger than the image --------------------------------------------------------------------
    # XLA's CPU convolutions fall back to plain loops, a hundred times slower, where what they slide the window over is
    # smaller than the window.

    def _by_places(self, x: Any, w: Any) -> Any:
        """Returns the convolution as a product of the filter with the pixels that it meets at each place."""
        x = self._channels_last(x)
        config = [(0, 0, 0), *((a, b, 0) for a, b in self.pads), (0, 0, 0)]
        x = lax.pad(x, jnp.zeros((), x.dtype), config)
        parts = []
        for at in np.ndindex(*self.kernel):
            index = [slice(None)] * x.ndim
            for i, (k, d, s, n) in enumerate(
                zip(at, self.dilations, self.strides, self.outputs, strict=True), start=1
            ):
                index[i] = slice(k * d, k * d + (n - 1) * s + 1, s)
            parts.append(x[tuple(index)])
        seen = jnp.concatenate(parts, axis=-1)
        y = matmul(seen.reshape(-1, seen.shape[-1]), w.reshape(-1, self.filter_shape[-1]))
        return self._back(y.reshape(*seen.shape[:-1], self.filter_shape[-1]))

    def _folded(self, w: Any, dy: Any) -> Any:
        """Returns the gradient of the input as the sum of what each element of the window adds to it."""
        dy = self._channels_last(dy)
        filters = w.reshape(-1, self.filter_shape[-1])
        parts = matmul(dy.reshape(-1, dy.shape[-1]), filters, turn_b=True)
        parts = parts.reshape(*dy.shape[:-1], *self.kernel, self.filter_shape[-2])
        rank = len(self.kernel)
        # Along an axis where the window stands at one place only, its elements are the image's.
        whole = [
            n == 1 and d == 1 and k == m + a + b
            for n, k, d, m, (a, b) in zip(
                self.outputs, self.kernel, self.dilations, self.sizes, self.pads, strict=True
            )
        ]
        steps = [1 if is_whole else k for k, is_whole in zip(self.kernel, whole, strict=True)]
        total: Any = None
        for at in np.ndindex(*steps):
            index: list[Any] = [slice(None)]
            config = [(0, 0, 0)]
            for k, d, s, n, m, (a, b), is_whole in zip(
                at, self.dilations, self.strides, self.outputs, self.sizes, self.pads, whole, strict=True
            ):
                index.append(0 if is_whole else slice(None))
                before = k * d
                config.append(
                    (0, 0, 0) if is_whole else (before, m + a + b - before - ((n - 1) * s + 1), s - 1)
                )
            index += [slice(None) if is_whole else k for k, is_whole in zip(at, whole, strict=True)]
            part = parts[tuple(index)]
            # Axes of the window that are taken whole stand behind the places; they belong in their order.
            order = [i for i, is_whole in enumerate(whole) if not is_whole]
            order += [i for i, is_whole in enumerate(whole) if is_whole]
            part = jnp.moveaxis(part, [1 + j for j in range(rank)], [1 + i for i in order])
            part = lax.pad(part, jnp.zeros((), part.dtype), [*config, (0, 0, 0)])
            total = part if total is None else total + part
        index = [slice(None), *(slice(a, a + m) for m, (a, _) in zip(self.sizes, self.pads, strict=True))]
        return self._back(total[tuple(index)])

    # -- windows of one element ---------------------------------------------------------------------------

    def _picked(self, x: Any) -> Any:
        """Returns the places that a strided window of one element visits, channels last."""
        index = [slice(None)] * x.ndim
        for i, s in zip(self.axes, self.strides, strict=True):
            index[i] = slice(None, None, s)
        return self._channels_last(x[tuple(index)])

    def _channels_last(self, x: Any) -> Any:
        c = channel_axis(self.layout)
        return x if c == x.ndim - 1 else jnp.moveaxis(x, c, -1)

    def _last(self, shape: Any) -> tuple[int, ...]:
        c = channel_axis(self.layout)
        return (*shape[:c], *shape[c + 1 :], shape[c])

    def _back(self, x: Any) -> Any:
        c = channel_axis(self.layout)
        return x if c == x.ndim - 1 else jnp.moveaxis(x, -1, c)

    def _pointwise(self, x: Any, w: Any) -> Any:
        x = self._picked(x)
        y = matmul(x.reshape(-1, x.shape[-1]), w.reshape(self.filter_shape[-2:]))
        return self._back(y.reshape(*x.shape[:-1], self.filter_shape[-1]))

    # -- gradients ----------------------------------------------------------------------------------------

    def input_gradient(self, w: Any, dy: Any) -> Any:
        """Returns the gradient with respect to the input."""
        if dy.size == 0 or w.size == 0 or 0 in self.input_shape:
            return jnp.zeros(self.input_shape, dy.dtype)
        if self.is_pointwise and not self._is_pointwise_native(dy):
            last = self._channels_last(dy)
            dx = matmul(last.reshape(-1, last.shape[-1]), w.reshape(self.filter_shape[-2:]), turn_b=True)
            dx = self._back(dx.reshape(*last.shape[:-1], self.filter_shape[-2]))
            return self._spread(dx)
        if self.is_whole:
            dx = matmul(dy.reshape(dy.shape[0], -1), w.reshape(-1, self.filter_shape[-1]), turn_b=True)
            return dx.reshape(self.input_shape)
        if self._is_native(dy) and native.takes_steps(self.strides) and not self.is_seldom_met:
            return in_float32(
                lambda w, dy: self._native("_input_gradient", self.input_shape, w, self._channels_last(dy)),
                w,
                dy,
            )
        if self.groups == 1 and any(n < k for n, k in zip(self.outputs, self.kernel, strict=True)):
            return in_float32(self._folded, w, dy)
        return in_float32(
            lambda w, dy: jax.linear_transpose(
                lambda x: self._general(x, w), jax.ShapeDtypeStruct(self.input_shape, dy.dtype)
            )(dy)[0],
            w,
            dy,
        )

    def _spread(self, dx: Any) -> Any:
        """Puts zeros where a strided window of one element never was."""
        if set(self.strides) == {1}:
            return dx
        config = [(0, 0, 0)] * dx.ndim
        for i, s, n, m in zip(self.axes, self.strides, self.outputs, self.sizes, strict=True):
            config[i] = (0, m - ((n - 1) * s + 1), s - 1)
        return lax.pad(dx, jnp.zeros((), dx.dtype), config)

    def filter_gradient(self, x: Any, dy: Any) -> Any:
        """Returns the gradient with respect to the filter."""
        if dy.size == 0 or x.size == 0 or 0 in self.filter_shape:
            return jnp.zeros(self.filter_shape, dy.dtype)
        if self.is_pointwise and not self._is_pointwise_native(x):
            x, dy = self._picked(x), self._channels_last(dy)
            rows = x.reshape(-1, x.shape[-1]), dy.reshape(-1, dy.shape[-1])
            return in_float32(transposed_lower, *rows).reshape(self.filter_shape)
        if self.is_whole:
            rows = x.reshape(x.shape[0], -1), dy.reshape(dy.shape[0], -1)
            dw = in_float32(transposed_lower, *rows)
            return dw.reshape(self.filter_shape)
        if self._is_native(x):
            x, dy = self._channels_last(x), self._channels_last(dy)
            return in_float32(lambda x, dy: self._native("_filter_gradient", self.filter_shape, x, dy), x, dy)
        return in_float32(
            lambda x, dy: jax.linear_transpose(
                lambda w: self._general(x, w), jax.ShapeDtypeStruct(self.filter_shape, dy.dtype)
            )(dy)[0],
            x,
            dy,
        )


def in_float32(compute: Any, *operands: Any) -> Any:
    """Runs `compute` on float32 where the operands are narrower, and rounds its result once."""
    dtype = operands[0].dtype
    if dtype.itemsize >= 4:
        return compute(*operands)
    return compute(*(v.astype(jnp.float32) for v in operands)).astype(dtype)


def matmul(a: Any, b: Any, turn_b: bool = False) -> Any:
    """Returns the product of two matrices, summed in float32 where the operands are narrower."""

    def compute(a: Any, b: Any) -> Any:
        found = native.product(a, b, turn_b=turn_b)
        return jnp.matmul(a, b.T if turn_b else b) if found is None else found

    return in_float32(compute, a, b)
