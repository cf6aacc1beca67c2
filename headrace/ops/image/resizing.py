"""tf.image's functions that resize: by a method, and with padding or cropping where the aspect ratio says so."""

from __future__ import annotations

from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import constant_as_shape, convert_to_tensor, raw
from headrace.ops.image.checks import after, check_axes, demand, public
from headrace.ops.image.framing import as_batch, sizes_of


@export("image.ResizeMethod")
class ResizeMethod:
    """How `tf.image.resize_images` finds the pixels between pixels."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


@export("compat.v2.image.ResizeMethod")
class ResizeMethodV2:
    """How `tf.compat.v2.image.resize` finds the pixels between pixels."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def _op(name, public_name, what, centers=True):
    if centers:

        def resize(images, size, align_corners=False, name=None, half_pixel_centers=False):
            return getattr(raw, op_name)(
                images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
            )
    else:

        def resize(images, size, align_corners=False, name=None):
            return getattr(raw, op_name)(images, size, align_corners=align_corners, name=name)

    op_name = name
    resize.__name__ = resize.__qualname__ = public_name
    resize.__doc__ = f"""Returns images resized {what}.

    Args:
      images: [batch, height, width, channels].
      size: The new height and width.
      align_corners: Whether the corner pixels' centers stay where they are.
      name: A name for the operation.
    """ + (
        "  half_pixel_centers: Whether pixels are squares with centers, not points.\n    " if centers else ""
    )
    return export("image." + public_name)(resize)


resize_bilinear = _op("ResizeBilinear", "resize_bilinear", "with linear interpolation")
resize_nearest_neighbor = _op(
    "ResizeNearestNeighbor", "resize_nearest_neighbor", "by taking the nearest pixels"
)
resize_bicubic = _op("ResizeBicubic", "resize_bicubic", "with cubic interpolation")
resize_area = _op("ResizeArea", "resize_area", "by averaging over areas", centers=False)


def _not_implemented():
    return ValueError("Resize method is not implemented.")


def _kept_ratio(images, height, width):
    """Returns the largest size with the images' aspect ratio that fits into a known height and width."""
    _, rows, columns, _ = sizes_of(images)
    by_height = public.cast(height, "float32") / public.cast(rows, "float32")
    by_width = public.cast(width, "float32") / public.cast(columns, "float32")
    scale = public.minimum(by_height, by_width)
    scaled = [
        public.cast(public.round(scale * public.cast(size, "float32")), "int32") for size in (rows, columns)
    ]
    return convert_to_tensor(scaled, "int32", name="size")


def _static(size):
    dims = constant_as_shape(size)
    return dims[0], dims[1]


# What TensorFlow's Python looks through for constants: a size computed otherwise is not compared with the images'.
_SEEN_THROUGH = frozenset(
    "Cast Concat ConcatV2 Const Fill Pack Placeholder Range Rank Shape Size StridedSlice".split()
)


def _is_seen(size):
    op = size.op
    return op.type in _SEEN_THROUGH and (op.type == "Shape" or all(_is_seen(t) for t in op.inputs))


def _resized(images, size, resize, preserve_aspect_ratio, name, keep_equal):
    """Returns an image or images after `resize`, which takes a batch and a size.

    Raises:
      ValueError: `images` or `size` has a wrong shape or type.
    """
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        rank = images.shape.ndims
        if rank is None:
            raise ValueError("'images' contains no shape.")
        if rank not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        if rank == 3:
            images = public.expand_dims(images, 0)
        _, rows, columns, _ = images.shape.as_list()
        try:
            size = convert_to_tensor(size, "int32", name="size")
        except (TypeError, ValueError):
            raise ValueError("'size' must be a 1-D int32 Tensor") from None
        if not size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        height, width = _static(size)
        if preserve_aspect_ratio:
            size = _kept_ratio(images, height, width)
            height, width = _static(size)
        same = keep_equal and None not in (height, width) and (height, width) == (rows, columns)
        if not (same and _is_seen(size)):
            images = resize(images, size)
            images.set_shape([None, height, width, None])
        return public.squeeze(images, axis=[0]) if rank == 3 else images


_METHODS = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
    ResizeMethodV2.BILINEAR: resize_bilinear,
    ResizeMethodV2.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethodV2.BICUBIC: resize_bicubic,
    ResizeMethodV2.AREA: resize_area,
}


@export("image.resize_images", "image.resize")
def resize_images(
    images, size, method=ResizeMethod.BILINEAR, align_corners=False, preserve_aspect_ratio=False, name=None
):
    """Returns an image, or images, of another size.

    Images that have that size already are returned as they are; others are float32, but for the nearest pixel.

    Args:
      images: [batch, height, width, channels] or [height, width, channels].
      size: The new height and width.
      method: One of `tf.image.ResizeMethod`.
      align_corners: Whether the corner pixels' centers stay where they are.
      preserve_aspect_ratio: Whether only one side need have the new size, the other being smaller.
      name: A name scope for the nodes.

    Raises:
      ValueError: `images` or `size` has a wrong shape or type, or there is no such method.
    """

    def resize(batch, new_size):
        function = _METHODS.get(method)
        if function is None:
            raise _not_implemented()
        return function(batch, new_size, align_corners=align_corners)

    return _resized(images, size, resize, preserve_aspect_ratio, name, keep_equal=True)


_KERNELS = {
    ResizeMethodV2.BILINEAR: "triangle",
    ResizeMethodV2.BICUBIC: "keyscubic",
    ResizeMethodV2.LANCZOS3: "lanczos3",
    ResizeMethodV2.LANCZOS5: "lanczos5",
    ResizeMethodV2.GAUSSIAN: "gaussian",
    ResizeMethodV2.MITCHELLCUBIC: "mitchellcubic",
}
_PLAIN = {
    ResizeMethodV2.BILINEAR: resize_bilinear,
    ResizeMethodV2.BICUBIC: resize_bicubic,
}


def _scaled(batch, size, kernel, antialias):
    scale = public.cast(size, "float32") / public.cast(public.shape(batch)[1:3], "float32")
    return raw.ScaleAndTranslate(
        batch, size, scale, public.zeros([2]), kernel_type=kernel, antialias=antialias
    )


@export("compat.v2.image.resize")
def resize_images_v2(
    images, size, method=ResizeMethodV2.BILINEAR, preserve_aspect_ratio=False, antialias=False, name=None
):
    """Returns an image, or images, of another size, pixels being squares with centers.

    Args:
      images: [batch, height, width, channels] or [height, width, channels].
      size: The new height and width.
      method: One of `tf.compat.v2.image.ResizeMethod`.
      preserve_aspect_ratio: Whether only one side need have the new size, the other being smaller.
      antialias: Whether the kernel grows where images shrink; says nothing to the nearest pixel and to areas.
      name: A name scope for the nodes.

    Raises:
      ValueError: `images` or `size` has a wrong shape or type, or there is no such method.
    """

    def resize(batch, new_size):
        if method == ResizeMethodV2.NEAREST_NEIGHBOR:
            return resize_nearest_neighbor(batch, new_size, half_pixel_centers=True)
        if method == ResizeMethodV2.AREA:
            return resize_area(batch, new_size)
        if method not in _KERNELS:
            raise _not_implemented()
        if method in _PLAIN and not antialias:
            return _PLAIN[method](batch, new_size, half_pixel_centers=True)
        return _scaled(batch, new_size, _KERNELS[method], antialias)

    return _resized(images, size, resize, preserve_aspect_ratio, name, keep_equal=False)


# -- with padding and cropping ------------------------------------------------------------------------------


def _prepared(image, target_height, target_width):
    """Returns images as a batch, whether they were one, and what to check of them."""
    image, batched = as_batch(convert_to_tensor(image, name="image"))
    checks = check_axes(image)
    checks += demand(target_width > 0, "target_width must be > 0.")
    checks += demand(target_height > 0, "target_height must be > 0.")
    return image, batched, checks


@export("image.resize_image_with_crop_or_pad", "image.resize_with_crop_or_pad")
def resize_image_with_crop_or_pad(image, target_height, target_width):
    """Returns an image, or images, cut down or put into a frame of zeros on both sides alike, to a new size.

    Args:
      image: [batch, height, width, channels] or [height, width, channels].
      target_height: The new height.
      target_width: The new width.

    Raises:
      ValueError: A size is not positive, or `image` has another rank.
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image, batched, checks = _prepared(image, target_height, target_width)
        image = after(checks, image)
        target_height, target_width = (
            after(checks, size) if hasattr(size, "op") else size for size in (target_height, target_width)
        )
        _, height, width, _ = sizes_of(image)
        more_width = target_width - width
        crop_left = _larger(-more_width // 2, 0)
        pad_left = _larger(more_width // 2, 0)
        more_height = target_height - height
        crop_top = _larger(-more_height // 2, 0)
        pad_top = _larger(more_height // 2, 0)
        cropped = public_image("crop_to_bounding_box")(
            image, crop_top, crop_left, _smaller(target_height, height), _smaller(target_width, width)
        )
        resized = public_image("pad_to_bounding_box")(cropped, pad_top, pad_left, target_height, target_width)
        _, rows, columns, _ = sizes_of(resized)
        checks = demand(_equal(rows, target_height), "resized height is not correct.")
        checks += demand(_equal(columns, target_width), "resized width is not correct.")
        resized = after(checks, resized)
        return resized if batched else public.squeeze(resized, axis=[0])


def public_image(name):
    """Returns a function of tf.image."""
    return getattr(public, "image." + name)


def _tensors(x, y):
    return hasattr(x, "op") or hasattr(y, "op")


def _larger(x, y):
    return public.maximum(x, y) if _tensors(x, y) else max(x, y)


def _smaller(x, y):
    return public.minimum(x, y) if _tensors(x, y) else min(x, y)


def _equal(x, y):
    return public.equal(x, y) if _tensors(x, y) else x == y


def _with_pad(image, target_height, target_width, resize):
    """Returns images resized by `resize` to fit into a new size, and centered in a frame of zeros."""
    with name_scope(None, "resize_image_with_pad", [image]):
        image, batched, checks = _prepared(image, target_height, target_width)
        image = after(checks, image)
        _, height, width, _ = sizes_of(image)
        height, width, rows, columns = (
            public.cast(size, "float64") for size in (height, width, target_height, target_width)
        )
        ratio = public.maximum(width / columns, height / rows)
        new_height, new_width = height / ratio, width / ratio
        size = [public.cast(public.floor(new), "int32") for new in (new_height, new_width)]
        margins = [(rows - new_height) / 2, (columns - new_width) / 2]
        margins = [public.floor(margin) for margin in margins]
        top, left = (public.maximum(0, public.cast(margin, "int32")) for margin in margins)
        resized = resize(image, size)
        padded = public_image("pad_to_bounding_box")(resized, top, left, target_height, target_width)
        sizes_of(padded)  # TensorFlow makes these nodes, and never reads them
        return padded if batched else public.squeeze(padded, axis=[0])


@export("image.resize_image_with_pad")
def resize_image_with_pad(
    image, target_height, target_width, method=ResizeMethod.BILINEAR, align_corners=False
):
    """Returns an image, or images, resized to fit into a new size, and put into the middle of a frame of zeros.

    Args:
      image: [batch, height, width, channels] or [height, width, channels].
      target_height: The new height, frame included.
      target_width: The new width.
      method: One of `tf.image.ResizeMethod`.
      align_corners: Whether the corner pixels' centers stay where they are.

    Raises:
      ValueError: A size is not positive, `image` has another rank, or there is no such method.
    """

    def resize(batch, size):
        return resize_images(batch, size, method, align_corners=align_corners)

    return _with_pad(image, target_height, target_width, resize)


@export("compat.v2.image.resize_with_pad")
def resize_image_with_pad_v2(
    image, target_height, target_width, method=ResizeMethodV2.BILINEAR, antialias=False
):
    """Returns an image, or images, resized to fit into a new size, and put into the middle of a frame of zeros.

    Args:
      image: [batch, height, width, channels] or [height, width, channels].
      target_height: The new height, frame included.
      target_width: The new width.
      method: One of `tf.compat.v2.image.ResizeMethod`.
      antialias: Whether the kernel grows where images shrink.

    Raises:
      ValueError: A size is not positive, `image` has another rank, or there is no such method.
    """

    def resize(batch, size):
        return resize_images_v2(batch, size, method, antialias=antialias)

    return _with_pad(image, target_height, target_width, resize)
