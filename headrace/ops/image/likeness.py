"""How alike two images are, how much one varies, and where it changes."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.graph import control_dependencies, name_scope
from headrace.opdef import convert_to_tensor
from headrace.ops.image.checks import public, public_nn, rank_of
from headrace.ops.image.conversion import convert_image_dtype


@export("image.total_variation")
def total_variation(images, name=None):
    """Returns the sum of absolute differences between neighbouring pixels, a number an image.

    Args:
      images: [height, width, channels] or [batch, height, width, channels].
      name: A name scope for the nodes.

    Raises:
      ValueError: `images` has another rank.
    """
    with name_scope(name, "total_variation"):
        rank = rank_of(images)
        if rank == 3:
            down = images[1:, :, :] - images[:-1, :, :]
            across = images[:, 1:, :] - images[:, :-1, :]
            axes = None
        elif rank == 4:
            down = images[:, 1:, :, :] - images[:, :-1, :, :]
            across = images[:, :, 1:, :] - images[:, :, :-1, :]
            axes = [1, 2, 3]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        return public.reduce_sum(public.abs(down), axis=axes) + public.reduce_sum(
            public.abs(across), axis=axes
        )


def _check_alike(one, other):
    """Checks that two images, or batches of images, can be compared; returns their shapes and operations."""
    first, second = one.shape.with_rank_at_least(3), other.shape.with_rank_at_least(3)
    first[-3:].assert_is_compatible_with(second[-3:])
    if first.ndims is not None and second.ndims is not None:
        for a, b in zip(reversed(first.dims[:-3]), reversed(second.dims[:-3])):
            if not (a == 1 or b == 1 or a.is_compatible_with(b)):
                raise ValueError(f"Two images are not compatible: {first} and {second}")
    first, second = public.shape_n([one, other])
    checks = [
        public.Assert(public.greater_equal(public.size(first), 3), [first, second], summarize=10),
        public.Assert(
            public.reduce_all(public.equal(first[-3:], second[-3:])), [first, second], summarize=10
        ),
    ]
    return first, second, checks


@export("image.psnr")
def psnr(a, b, max_val, name=None):
    """Returns the ratio of peak signal to noise between images, in decibels.

    Args:
      a: Images, [..., height, width, channels].
      b: The images they are compared with.
      max_val: The largest value that a pixel can have.
      name: A name scope for the nodes.

    Returns:
      float32, a number an image.

    Raises:
      ValueError: The shapes don't fit.
    """
    with name_scope(name, "PSNR", [a, b]):
        max_val = convert_image_dtype(public.cast(max_val, a.dtype), "float32")
        a, b = convert_image_dtype(a, "float32"), convert_image_dtype(b, "float32")
        error = public.reduce_mean(public.squared_difference(a, b), [-3, -2, -1])
        ratio = public.subtract(
            20 * public.log(max_val) / public.log(10.0),
            np.float32(10 / np.log(10)) * public.log(error),
            name="psnr",
        )
        _, _, checks = _check_alike(a, b)
        with control_dependencies(checks):
            return public.identity(ratio)


def _compared(x, y, smooth, max_val, k1, k2):
    """Returns how alike luminance is, and contrast and structure together."""
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    x_mean, y_mean = smooth(x), smooth(y)
    product = x_mean * y_mean * 2.0
    squares = public.square(x_mean) + public.square(y_mean)
    luminance = (product + c1) / (squares + c1)
    product_of = smooth(x * y) * 2.0
    squares_of = smooth(public.square(x) + public.square(y))
    # The factor would make up for the bias of a variance of few samples; 1 as in the original paper.
    c2 *= 1.0
    structure = (product_of - product + c2) / (squares_of - squares + c2)
    return luminance, structure


def _bell(size, sigma):
    """Returns a bell-shaped filter [size, size, 1, 1] whose sum is 1."""
    places = public.cast(public.range(size), sigma.dtype)
    places -= public.cast(size - 1, sigma.dtype) / 2.0
    row = public.square(places)
    row *= -0.5 / public.square(sigma)
    both = public.reshape(row, shape=[1, -1]) + public.reshape(row, shape=[-1, 1])
    both = public_nn.softmax(public.reshape(both, shape=[1, -1]))
    return public.reshape(both, shape=[size, size, 1, 1])


def _by_channel(x, y, max_val, filter_size, filter_sigma, k1, k2):
    """Returns the structural similarity of each channel, and its part without luminance."""
    filter_size = public.constant(filter_size, dtype="int32")
    filter_sigma = public.constant(filter_sigma, dtype=x.dtype)
    x_shape, y_shape = public.shape_n([x, y])
    checks = [
        public.Assert(
            public.reduce_all(public.greater_equal(shape[-3:-1], filter_size)),
            [shape, filter_size],
            summarize=8,
        )
        for shape in (x_shape, y_shape)
    ]
    with control_dependencies(checks):
        x = public.identity(x)
    kernel = _bell(filter_size, filter_sigma)
    kernel = public.tile(kernel, multiples=[1, 1, x_shape[-1], 1])

    def smooth(image):
        shape = public.shape(image)
        image = public.reshape(image, shape=public.concat([[-1], shape[-3:]], 0))
        out = public_nn.depthwise_conv2d(image, kernel, strides=[1, 1, 1, 1], padding="VALID")
        return public.reshape(out, public.concat([shape[:-3], public.shape(out)[1:]], 0))

    luminance, structure = _compared(x, y, smooth, max_val, k1, k2)
    axes = public.constant([-3, -2], dtype="int32")
    return public.reduce_mean(luminance * structure, axes), public.reduce_mean(structure, axes)


def _prepared(img1, img2, max_val):
    first, second, checks = _check_alike(img1, img2)
    with control_dependencies(checks):
        img1 = public.identity(img1)
    max_val = convert_image_dtype(public.cast(max_val, img1.dtype), "float32")
    img1, img2 = convert_image_dtype(img1, "float32"), convert_image_dtype(img2, "float32")
    return img1, img2, max_val, (first, second)


@export("image.ssim")
def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """Returns the structural similarity of images: 1 for equal ones.

    Args:
      img1: Images, [..., height, width, channels].
      img2: The images they are compared with.
      max_val: The largest value that a pixel can have.
      filter_size: The size of the bell-shaped window in which statistics are taken.
      filter_sigma: Its width.
      k1: How much small luminance is made less of.
      k2: How much small contrast is made less of.

    Returns:
      float32, a number an image.

    Raises:
      ValueError: The shapes don't fit.
    """
    img1, img2, max_val, _ = _prepared(img1, img2, max_val)
    likeness, _ = _by_channel(img1, img2, max_val, filter_size, filter_sigma, k1, k2)
    return public.reduce_mean(likeness, [-1])


def _halved(images, heads, tails, divisor):
    """Returns images of half the size, filled up to an even size first, and their last axes' sizes."""
    flat = [public.reshape(x, public.concat([[-1], tail], 0)) for x, tail in zip(images, tails)]
    rest = tails[0] % divisor

    def filled():
        margins = public.pad(public.expand_dims(rest, -1), [[1, 0], [1, 0]])
        return [public.pad(x, margins, mode="SYMMETRIC") for x in flat]

    odd = public.reduce_any(public.not_equal(rest, 0))
    even = public.cond(odd, true_fn=filled, false_fn=lambda: flat)
    halves = [public_nn.avg_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID") for x in even]
    tails = [shape[1:] for shape in public.shape_n(halves)]
    images = [
        public.reshape(x, public.concat([head, tail], 0)) for x, head, tail in zip(halves, heads, tails)
    ]
    return images, tails


_POWER_FACTORS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1, img2, max_val, power_factors=_POWER_FACTORS, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03
):
    """Returns the structural similarity of images over several scales: 1 for equal ones.

    Args:
      img1: Images, [..., height, width, channels].
      img2: The images they are compared with.
      max_val: The largest value that a pixel can have.
      power_factors: What weight each scale has; every scale halves the size.
      filter_size: The size of the bell-shaped window in which statistics are taken.
      filter_sigma: Its width.
      k1: How much small luminance is made less of.
      k2: How much small contrast is made less of.

    Returns:
      float32, a number an image.

    Raises:
      ValueError: The shapes don't fit.
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        img1, img2 = convert_to_tensor(img1, name="img1"), convert_to_tensor(img2, name="img2")
        img1, img2, max_val, shapes = _prepared(img1, img2, max_val)
        images = [img1, img2]
        heads = [shape[:-3] for shape in shapes]
        tails = [shape[-3:] for shape in shapes]
        divisor = public.constant([2, 2, 1], dtype="int32")
        parts = []
        for k in range(len(power_factors)):
            with name_scope(None, f"Scale{k}", images):
                if k:
                    images, tails = _halved(images, heads, tails, divisor)
                whole, structure = _by_channel(*images, max_val, filter_size, filter_sigma, k1, k2)
                parts.append(public_nn.relu(structure))
        # Luminance counts at the last scale only.
        parts[-1] = public_nn.relu(whole)
        stacked = public.stack(parts, axis=-1)
        product = public.reduce_prod(public.pow(stacked, power_factors), [-1])
        return public.reduce_mean(product, [-1])


@export("image.image_gradients")
def image_gradients(image):
    """Returns the differences to the pixel below and to the pixel on the right, zero in the last row and column.

    Args:
      image: [batch, height, width, channels].

    Returns:
      Two tensors of the shape of `image`.

    Raises:
      ValueError: `image` has another rank.
    """
    if rank_of(image) != 4:
        raise ValueError("image_gradients expects a 4D tensor [batch_size, h, w, d], not %s.", image.shape)
    shape = public.shape(image)
    batch, height, width, depth = public.unstack(shape)
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    across = image[:, :, 1:, :] - image[:, :, :-1, :]
    down = public.concat([down, public.zeros(public.stack([batch, 1, width, depth]), image.dtype)], 1)
    down = public.reshape(down, shape)
    across = public.concat([across, public.zeros(public.stack([batch, height, 1, depth]), image.dtype)], 2)
    return down, public.reshape(across, shape)


@export("image.sobel_edges")
def sobel_edges(image):
    """Returns the slopes of each channel, downwards and to the right, by Sobel's filters.

    Args:
      image: [batch, height, width, channels].

    Returns:
      [batch, height, width, channels, 2].
    """
    static = image.shape
    shape = public.shape(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    both = np.stack([down, down.T], -1)[:, :, np.newaxis]
    filters = public.constant(both, dtype=image.dtype)
    filters = public.tile(filters, [1, 1, shape[-1], 1], name="sobel_filters")
    padded = public.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    out = public_nn.depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
    out = public.reshape(out, public.concat([shape, [2]], 0))
    out.set_shape(static.concatenate([2]))
    return out
