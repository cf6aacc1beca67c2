"""RandomCrop, which graphs had before crops were made of other ops; see `tf.random_crop`."""

from __future__ import annotations

import numpy as np

from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.opdef import op
from headrace.ops.random import philox
from headrace.shapes import to_text, with_rank

RandomCrop = op("""
    RandomCrop(image: T, size: int64) -> (output: T)
      T: {uint8, int8, int16, int32, int64, float, double}
      seed: int = 0
      seed2: int = 0
      stateful, deprecated 8

    A block of this height and width at a random place of an image.
""", grad=None)  # fmt: skip


@RandomCrop.shape
def random_crop_shape(image, size, *, ctx):
    _, _, channels = with_rank(image, 3)
    (length,) = with_rank(size, 1)
    if length not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {length}")
    height, width = ctx.as_shape("size") or (None, None)
    return (height, width, channels)


@RandomCrop.host
def random_crop_host(image, size, *, ctx):
    if image.ndim != 3:
        raise InvalidArgumentError(None, None, f"input must be 3-dimensional{to_text(image.shape)}")
    if size.shape != (2,):
        raise InvalidArgumentError(None, None, f"shape_t must have two elements{to_text(size.shape)}")
    sizes = [int(d) for d in size]
    for what, whole, part in zip(("height", "width"), image.shape, sizes, strict=False):
        if part < 0:
            raise InvalidArgumentError(None, None, f"target_{what} must be >= 0, got {part}")
        if whole < part:
            raise FailedPreconditionError(
                None, None, f"{what} must be >= target_{what}: {what} = {whole}, target_{what} = {part}"
            )
    # The column is drawn before the row.
    left, top = (
        int(word) % (whole - part + 1)
        for word, whole, part in zip(
            philox.words(*ctx.random(1), 2), image.shape[1::-1], sizes[::-1], strict=True
        )
    )
    return np.ascontiguousarray(image[top : top + sizes[0], left : left + sizes[1]])


@RandomCrop.cases
def random_crop_cases(case):
    image = np.arange(1200, dtype=np.float32).reshape(20, 30, 2)
    seeds = {"seed": 5, "seed2": 6}
    case(image, np.array([7, 9], np.int64), **seeds, gives=image[11:18, 13:22])
    case(image, np.array([20, 30], np.int64), **seeds, gives=image)
    case(image, np.array([0, 3], np.int64), **seeds, gives=np.zeros((0, 3, 2)))
    case.shapes("[?,5,3];[2]", "[?,?,3]", T="float")
    case.fails("[4,4];[2]", match="must be rank 3 but is rank 2", T="float")
    case.fails((image, np.array([21, 3], np.int64)), match="height must be >= target_height: height = 20",
               raises=FailedPreconditionError)  # fmt: skip
