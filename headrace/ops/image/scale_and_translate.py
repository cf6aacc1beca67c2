"""Scaling and moving images with a choice of kernels, with or without antialiasing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.image import interpolation
from headrace.ops.image.interpolation import Array, Taps
from headrace.ops.image.sizes import LARGE, checked_images, gradient_shape, invalid, resized, shown

_F = np.float32


def _sine(x: Array) -> Array:
    # NumPy's float32 sine is its own; the complex exponential calls the C library's, which TensorFlow uses.
    turning = np.zeros(x.shape, np.complex64)
    turning.imag = x
    return np.exp(turning).imag


def _lanczos(radius: float) -> Callable[[Array], Array]:
    r, pi = _F(radius), _F(np.pi)

    def kernel(x: Array) -> Array:
        value = r * _sine(pi * x) * _sine(pi * x / r) / (pi * pi * x * x)
        return np.where(x > r, _F(0), np.where(x <= _F(1e-3), _F(1), value))

    return kernel


def _gaussian(x: Array) -> Array:
    # Of deviation 1/2. In float64, for the correctly rounded exponential that a C library gives.
    value = np.exp((-x * x / _F(0.5)).astype(np.float64)).astype(np.float32)
    return np.where(x >= _F(1.5), _F(0), value)


def _box(x: Array) -> Array:
    return np.where(x < _F(0.5), _F(1), np.where(x == _F(0.5), _F(0.5), _F(0)))


def _triangle(x: Array) -> Array:
    return np.where(x < _F(1), _F(1) - x, _F(0))


def _keys(x: Array) -> Array:
    far = ((_F(-0.5) * x + _F(2.5)) * x - _F(4)) * x + _F(2)
    near = (_F(1.5) * x - _F(2.5)) * x * x + _F(1)
    return np.where(x >= _F(2), _F(0), np.where(x >= _F(1), far, near))


def _mitchell(x: Array) -> Array:
    far = ((_F(-7 / 18) * x + _F(2)) * x - _F(10 / 3)) * x + _F(16 / 9)
    near = (_F(7 / 6) * x - _F(2)) * x * x + _F(8 / 9)
    return np.where(x >= _F(2), _F(0), np.where(x >= _F(1), far, near))


_KERNELS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "lanczos1": (_lanczos(1), 1),
    "lanczos3": (_lanczos(3), 3),
    "lanczos5": (_lanczos(5), 5),
    "gaussian": (_gaussian, 1.5),
    "box": (_box, 0.5),
    "triangle": (_triangle, 1),
    "keyscubic": (_keys, 2),
    "mitchellcubic": (_mitchell, 2),
}


def spans(size: int, out: int, scale: Any, translation: Any, kernel_type: str, antialias: bool) -> Taps:
    """Returns the input pixels under the kernel around each output pixel, with weights that sum to 1.

    Output pixels whose centers lie outside the input have none.
    """
    kernel, radius = _KERNELS[kernel_type]
    with np.errstate(all="ignore"):
        step = _F(1) / _F(scale)
        width = max(step, _F(1)) if antialias else _F(1)
        reach = width * _F(radius)
        center = (np.arange(out).astype(np.float32) + _F(0.5)) * step + -step * _F(translation)
        inside = (center >= 0) & (center <= _F(size))
        center = np.where(inside, center, _F(0))
        # A reach beyond the whole input is as good as one that covers it; its square would overflow the integers.
        first = np.clip(np.ceil(center - reach - _F(0.5)), 0, size - 1).astype(np.int64)
        last = np.clip(np.floor(center + reach - _F(0.5)), 0, size - 1).astype(np.int64)
        count = np.where(inside, last - first + 1, 0)
        index = first[:, None] + np.arange(max(1, int(count.max(initial=1))))
        used = np.arange(index.shape[1]) < count[:, None]
        place = np.abs((index.astype(np.float32) + _F(0.5) - center[:, None]) * (_F(1) / width))
        weight = np.where(used, kernel(place), _F(0)).astype(np.float32)
        total = np.zeros(out, np.float32)
        for k in range(weight.shape[1]):
            total += weight[:, k]
        enough = np.abs(total) >= _F(1000) * np.finfo(np.float32).tiny
        weight = np.where(enough[:, None], weight * (_F(1) / total)[:, None], _F(0))
    return Taps(np.minimum(index, size - 1), weight, used & enough[:, None])


_ATTRS = """
      kernel_type: string = "lanczos3"
      antialias: bool = true
"""

ScaleAndTranslate = op(f"""
    ScaleAndTranslate(images: T, size: int32, scale: float, translation: float) -> (resized_images: float)
      T: {{int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}}{_ATTRS}
    Images scaled and then moved (height first), seen through a window of `size`.
""")  # fmt: skip


@ScaleAndTranslate.shape
def scale_and_translate_shape(images, size, scale, translation, *, ctx):
    return resized(images, size, ctx)


def _pair(values):
    values = np.asarray(values)
    if values.ndim != 1:
        raise invalid(f"t must be 1-dimensional{shown(values.shape)}")
    if values.shape != (2,):
        raise invalid(f"t must have two elements{shown(values.shape)}")
    return values


def _tables(shape, size, scale, translation, kernel_type, antialias):
    """Returns the spans of rows and columns.

    Raises:
      InvalidArgumentError: There is no such kernel, or a scale is not positive.
    """
    scale, translation = _pair(scale), _pair(translation)
    if not (scale > 0).all():
        raise invalid("Scale must be greater than zero.")
    return tuple(
        spans(shape[i + 1], size[i], scale[i], translation[i], kernel_type, antialias) for i in range(2)
    )


def _check_kernel(kernel_type):
    if kernel_type not in _KERNELS:
        raise invalid(f"Unrecognized kernel type: {kernel_type}")


@ScaleAndTranslate.host(small=True)
def scale_and_translate_host(images, size, scale, translation, *, kernel_type, antialias):
    _check_kernel(kernel_type)
    size = checked_images(images.shape, size, what="output_shape_t")
    rows, columns = _tables(images.shape, size, scale, translation, kernel_type, antialias)
    if (
        images.shape[0] * images.shape[3] * (rows.index.size * images.shape[2] + size[0] * columns.index.size)
        > LARGE
    ):
        return NotImplemented
    with np.errstate(all="ignore"):
        down = interpolation.summed(images.astype(np.float32), 1, rows)
        return interpolation.summed(down, 2, columns)


@ScaleAndTranslate.lower(static="size scale translation")
def scale_and_translate_lower(images, size, scale, translation, *, kernel_type, antialias):
    _check_kernel(kernel_type)
    size = checked_images(images.shape, size, what="output_shape_t")
    rows, columns = _tables(images.shape, size, scale, translation, kernel_type, antialias)
    return _lowered(images.astype(jnp.float32), rows, columns)


def _lowered(images, rows, columns):
    down = interpolation.apart(interpolation.lowered(images, 1, rows))
    return interpolation.apart(interpolation.lowered(down, 2, columns))


@ScaleAndTranslate.grad
def scale_and_translate_grad(op, dy):
    """Fails, as in TensorFlow, for images of another type than float32."""
    image, _, scale, translation = op.inputs
    attrs = {name: op.attrs[name] for name in ("kernel_type", "antialias")}
    return raw.ScaleAndTranslateGrad(dy, image, scale, translation, **attrs), None, None, None


_PAIR = np.array([1.4, 0.6], np.float32)
_MOVE = np.array([0.5, -0.25], np.float32)


def _size(height, width):
    return np.array([height, width], np.int32)


@ScaleAndTranslate.cases
def scale_and_translate_cases(case):
    # The gradient can't be compared in double precision: TensorFlow has it of float32 images only.
    row = np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1)
    ones = np.ones(2, np.float32)
    case(row, _size(1, 4), ones, np.array([0, 1], np.float32), kernel_type="triangle",
         grad=False, gives=np.array([0, 0, 1, 2]).reshape(1, 1, 4, 1))  # fmt: skip
    case(row, _size(1, 2), np.array([1, 0.5], np.float32), 0 * ones, kernel_type="box",
         grad=False, gives=np.array([0.5, 2.5]).reshape(1, 1, 2, 1))  # fmt: skip
    for kernel in _KERNELS:
        case(case.normal(2, 5, 6, 3), _size(7, 4), _PAIR, _MOVE, kernel_type=kernel, grad=False)
    case(case.normal(2, 5, 6, 3), _size(7, 4), _PAIR, _MOVE, antialias=False, grad=False)
    case(case.normal(1, 5, 90, 1), _size(5, 3), np.array([1, 1 / 30], np.float32), 0 * ones, grad=False)
    case.shapes("[2,?,5,3];[2];[2];[2]", "[2,?,?,3]")
    case.fails("[4,4,1];[2];[2];[2]", match="Shape must be rank 4 but is rank 3")
    case.fails((row, _size(1, 4), 0 * ones, ones), match="Scale must be greater than zero")
    case.fails((row, _size(1, 4), ones, np.ones(3, np.float32)), match=r"t must have two elements\[3\]")
    case.fails((row, _size(1, 4), ones, ones), kernel_type="sinc", match="Unrecognized kernel type: sinc")


ScaleAndTranslateGrad = op(f"""
    ScaleAndTranslateGrad(grads: T, original_image: T, scale: float, translation: float) -> (output: T)
      T: {{float}}{_ATTRS}
    The gradient of ScaleAndTranslate by its images.
""")  # fmt: skip


@ScaleAndTranslateGrad.shape
def scale_and_translate_grad_shape(grads, original_image, scale, translation):
    return original_image


def _grad_tables(grads, original_image, scale, translation, kernel_type, antialias):
    _check_kernel(kernel_type)
    shape = gradient_shape(grads.shape, original_image.shape)
    if grads.size == 0:
        return shape, None, None
    rows, columns = _tables(shape, grads.shape[1:3], scale, translation, kernel_type, antialias)
    return shape, interpolation.transposed(rows, shape[1]), interpolation.transposed(columns, shape[2])


@ScaleAndTranslateGrad.host(small=True)
def scale_and_translate_grad_host(grads, original_image, scale, translation, *, kernel_type, antialias):
    shape, rows, columns = _grad_tables(grads, original_image, scale, translation, kernel_type, antialias)
    if rows is None:
        return np.zeros(shape, grads.dtype)
    if shape[0] * shape[3] * (rows.index.size * grads.shape[2] + shape[1] * columns.index.size) > LARGE:
        return NotImplemented
    with np.errstate(all="ignore"):
        return interpolation.summed(interpolation.summed(grads, 1, rows), 2, columns)


@ScaleAndTranslateGrad.lower(static="scale translation")
def scale_and_translate_grad_lower(grads, original_image, scale, translation, *, kernel_type, antialias):
    shape, rows, columns = _grad_tables(grads, original_image, scale, translation, kernel_type, antialias)
    if rows is None:
        return jnp.zeros(shape, grads.dtype)
    return _lowered(grads, rows, columns)


@ScaleAndTranslateGrad.cases
def scale_and_translate_grad_cases(case):
    for kernel in _KERNELS:
        case(case.normal(2, 7, 4, 3), case.normal(2, 5, 6, 3), _PAIR, _MOVE, kernel_type=kernel)
    case(case.normal(2, 7, 4, 3), case.normal(2, 5, 6, 3), _PAIR, _MOVE, antialias=False)
    far = np.full(2, 100, np.float32)
    case(case.normal(1, 2, 2, 1), case.normal(1, 3, 3, 1), _PAIR, far, gives=np.zeros((1, 3, 3, 1)))
    case.shapes("[2,?,5,3];[2,7,8,3];[2];[2]", "[2,7,8,3]")
    case.fails((case.normal(2, 2, 1), case.normal(1, 3, 3, 1), _PAIR, _MOVE),
               match=r"input_grad must be 4-dimensional\[2,2,1\]")  # fmt: skip
