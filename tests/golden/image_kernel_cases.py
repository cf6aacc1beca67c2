"""Computations of image ops, made once with TensorFlow for the golden file and again by the test."""

import zlib

import numpy as np

F = np.float32


def random(seed):
    return np.random.RandomState(seed)


def normal(seed, *shape, dtype="float32", scale=1.0):
    return (random(seed).standard_normal(shape) * scale).astype(dtype)


def ints(*values):
    return np.array(values, np.int32)


MODES = ({}, {"align_corners": True}, {"half_pixel_centers": True})
SIZES = (
    ((4, 5), (7, 9)),
    ((7, 9), (4, 5)),
    ((5, 5), (5, 5)),
    ((1, 1), (3, 4)),
    ((6, 7), (1, 1)),
    ((3, 3), (2, 7)),
    ((13, 17), (29, 31)),
    ((8, 8), (16, 24)),
    ((37, 41), (12, 10)),
)
IMAGE_TYPES = "uint8 int8 int16 uint16 int32 int64 float16 float64".split()
KERNELS = "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic".split()


def resizing():
    for kind in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
        for attrs in MODES[: 2 if kind == "ResizeArea" else 3]:
            for size, out in SIZES:
                yield kind, (normal(1, 2, *size, 3, scale=10), ints(*out)), attrs
        for dtype in IMAGE_TYPES:
            yield kind, (normal(2, 2, 5, 6, 3, scale=30).astype(dtype), ints(7, 4)), {}
        odd = normal(3, 1, 4, 4, 2)
        odd[0, 1, 1, 0], odd[0, 2, 3, 1] = np.inf, np.nan
        yield kind, (odd, ints(7, 8)), {}
    for kind, types in (
        ("ResizeBilinearGrad", "float32 float64 float16"),
        ("ResizeBicubicGrad", "float32 float64"),
    ):
        for dtype in types.split():
            for attrs in MODES:
                for size, out in SIZES[::2]:
                    yield kind, (normal(4, 2, *out, 3), np.zeros((2, *size, 3), dtype)), attrs
    for dtype in "float32 float64 float16 int32 uint8 int8".split():
        for attrs in MODES:
            yield (
                "ResizeNearestNeighborGrad",
                (normal(5, 2, 7, 9, 3, dtype=dtype, scale=40), ints(4, 5)),
                attrs,
            )
    for kernel in KERNELS:
        for antialias in (True, False):
            attrs = {"kernel_type": kernel, "antialias": antialias}
            for size, out in SIZES[:2]:
                scale, move = np.array([1.5, 0.7], F), np.array([1.25, -0.5], F)
                yield "ScaleAndTranslate", (normal(6, 1, *size, 2), ints(*out), scale, move), attrs
                grads = normal(7, 1, *out, 2)
                yield "ScaleAndTranslateGrad", (grads, normal(6, 1, *size, 2), scale, move), attrs
    low, high = F(-3), F(5)
    for attrs in MODES:
        for size, out in SIZES[:3]:
            yield "QuantizedResizeBilinear", (normal(8, 1, *size, 2), ints(*out), low, high), attrs
            small = random(8).randint(0, 256, (1, *size, 2)).astype(np.uint8)
            yield "QuantizedResizeBilinear quint8", (small, ints(*out), low, high), attrs
            large = random(8).randint(-(2**31), 2**31, (1, *size, 2)).astype(np.int32)
            yield "QuantizedResizeBilinear qint32", (large, ints(*out), low, high), attrs


def cropping():
    boxes = (random(2).random_sample((7, 4)) * 1.6 - 0.3).astype(F)
    boxes[:3] = [[0, 0, 1, 1], [1, 1, 0, 0], [0.5] * 4]
    index = random(3).randint(0, 3, 7).astype(np.int32)
    for dtype in ("float32", *IMAGE_TYPES):
        image = (random(1).random_sample((3, 7, 9, 2)) * 100).astype(dtype)
        for method in ("bilinear", "nearest"):
            attrs = {"method": method, "extrapolation_value": -3.5}
            yield "CropAndResize", (image, boxes, index, ints(4, 5)), attrs
    image = (random(1).random_sample((3, 7, 9, 2)) * 100).astype(F)
    for size in ((1, 1), (1, 6), (7, 9), (13, 1)):
        grads = normal(4, 7, *size, 2)
        yield "CropAndResize", (image, boxes, index, ints(*size)), {}
        yield "CropAndResizeGradBoxes", (grads, image, boxes, index), {}
        for method in ("bilinear", "nearest"):
            for dtype in (1, 2, 19):
                attrs = {"method": method, "T": dtype}
                yield "CropAndResizeGradImage", (grads, boxes, index, ints(3, 7, 9, 2)), attrs
    for centered in (True, False):
        for normalized in (True, False):
            for size in ((3, 4), (10, 12), (1, 1)):
                attrs = {
                    "centered": centered,
                    "normalized": normalized,
                    "uniform_noise": False,
                    "noise": "zero",
                }
                places = np.array([[0.5, -0.3], [2.5, 1.5], [-1, 8.7]], F)
                yield "ExtractGlimpse", (image, ints(*size), places), attrs


def some_boxes(seed, count, grid):
    corner, extent = random(seed).random_sample((2, count, 2)) * 2
    boxes = np.concatenate([corner, corner + extent + 0.2], axis=1)
    boxes[::3] = boxes[::3][:, [2, 3, 0, 1]]
    return (np.round(boxes * 4) / 4 if grid else boxes).astype(F)


def suppressing():
    for count in (1, 5, 20, 60):
        for grid in (False, True):
            boxes, scores = some_boxes(count, count, grid), random(count).random_sample(count)
            scores = (np.round(scores * 3) / 3 if grid else scores).astype(F)
            for size in (0, 4, 99):
                size = np.int32(size)
                yield "NonMaxSuppression", (boxes, scores, size), {"iou_threshold": 0.4}
                yield "NonMaxSuppressionV2", (boxes, scores, size, F(0.3)), {}
                yield "NonMaxSuppressionV3", (boxes, scores, size, F(0.5), F(-np.inf)), {}
                half = [v.astype(np.float16) for v in (boxes, scores, F(0.5), F(0.1))]
                padded = {"pad_to_max_output_size": True}
                yield "NonMaxSuppressionV4", (*half[:2], size, *half[2:]), padded
                for sigma in (0.0, 0.5):
                    yield "NonMaxSuppressionV5", (boxes, scores, size, F(0.5), F(0.1), F(sigma)), {}
                overlaps = random(count).random_sample((count, count)).astype(F)
                yield "NonMaxSuppressionWithOverlaps", (overlaps, scores, size, F(0.5), F(0.2)), {}
    for count in (7, 30):
        for grid in (False, True):
            boxes = np.stack([some_boxes(c, count, grid) / 4 for c in range(4)], axis=1)[None]
            scores = random(9).random_sample((1, count, 4))
            scores = (np.round(scores * 4) / 4 if grid else scores).astype(F)
            for each, total in ((3, 5), (50, 100)):
                for attrs in ({}, {"pad_per_class": True, "clip_boxes": False}):
                    sizes = np.int32(each), np.int32(total)
                    yield "CombinedNonMaxSuppression", (boxes, scores, *sizes, F(0.3), F(0.2)), attrs


def colours():
    for shape in ((3,), (2, 5, 7, 3)):
        for dtype in ("float32", "float64"):
            image = random(1).random_sample(shape).astype(dtype)
            yield "RGBToHSV", (image,), {}
            yield "RGBToHSV", (image * 255,), {}
            yield "HSVToRGB", (image,), {}
            yield "HSVToRGB", (image * 3 - 1,), {}
    edges = np.array([[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.25], [0.25, 0.5, 0.5], [1, 0, 0], [0, 1, 1], [-1, 0.5, 2],
                      [np.nan, 0, 1], [0, np.inf, 1]], F)  # fmt: skip
    yield "RGBToHSV", (edges,), {}
    for image in (edges.reshape(3, 3, 3), random(2).random_sample((2, 5, 7, 3)).astype(F)):
        for amount in (0.0, 0.1, -0.3, 1.0, 2.0):
            yield "AdjustHue", (image, F(amount)), {}
            yield "AdjustSaturation", (image, F(amount)), {}
    for size in ((5, 7), (1, 1), (16, 16), (33, 47)):
        for depth in (1, 3):
            yield "AdjustContrastv2", (normal(3, 2, *size, depth), F(0.5)), {}
    for depth in (1, 3, 4):
        image = random(1).random_sample((2, 11, 14, depth)).astype(F)
        boxes = np.sort(random(2).random_sample((2, 5, 2, 2)) * 1.6 - 0.3, axis=2).reshape(2, 5, 4).astype(F)
        yield "DrawBoundingBoxes", (image, boxes), {}
        yield "DrawBoundingBoxesV2", (image, boxes, random(3).random_sample((3, 4)).astype(F)), {}


def sampling():
    for seed in range(1, 9):
        boxes = np.sort(random(seed).random_sample((2, 3, 2, 2)), axis=2).reshape(2, 3, 4).astype(F)
        size = ints(random(seed).randint(1, 300), random(seed + 1).randint(1, 300), 3)
        for covered in (0.1, 0.9):
            for area in ((0.05, 1.0), (0.5, 0.6)):
                attrs = {"seed": seed, "seed2": 7, "area_range": area, "max_attempts": (100, 3)[seed % 2]}
                first = {"min_object_covered": covered, **attrs}
                yield "SampleDistortedBoundingBox", (size, boxes), first
                yield "SampleDistortedBoundingBoxV2", (size, boxes, F(covered)), attrs


def patches():
    for dtype in ("float32", "uint8"):
        volume = normal(1, 2, 4, 6, 5, 3, scale=20).astype(dtype)
        for kernel, strides in (([1, 2, 3, 2, 1], [1, 1, 2, 3, 1]), ([1, 3, 1, 3, 1], [1, 1, 1, 1, 1])):
            for padding in ("SAME", "VALID"):
                attrs = {"ksizes": kernel, "strides": strides, "padding": padding}
                yield "ExtractVolumePatches", (volume,), attrs
    margins = ints(0, 0, 1, 2, 3, 0, 0, 0).reshape(4, 2)
    for dtype in ("float32", "float64"):
        image, weights = normal(1, 1, 6, 7, 3, dtype=dtype), normal(2, 3, 2, 3, 4, dtype=dtype)
        for mode in ("REFLECT", "SYMMETRIC"):
            attrs = {"mode": mode, "strides": [1, 2, 2, 1], "padding": "SAME"}
            yield "FusedPadConv2D", (image, margins, weights), attrs
            yield "FusedResizeAndPadConv2D", (image, ints(9, 5), margins, weights), attrs


# What hangs on a math library's sine or exponential, or is a sum in an order of its own.
INEXACT = ("lanczos", "gaussian", "Fused", "V5")


def cases():
    """Yields (name, op, the first operand's quantized type or "", operands, attrs)."""
    seen = {}
    for group in (resizing, cropping, suppressing, colours, sampling, patches):
        for kind, operands, attrs in group():
            kind, _, quantized = kind.partition(" ")
            number = seen[kind] = seen.get(kind, 0) + 1
            mark = attrs.get("kernel_type", "")
            yield f"{kind} {number} {mark}{quantized}".strip(), kind, quantized, operands, attrs


def digest(value):
    """Returns dtype, shape, a checksum of the bytes, and some elements in between."""
    value = np.ascontiguousarray(value)
    flat = value.reshape(-1)
    some = flat[:: max(1, flat.size // 9)].astype(np.float64)
    numbers = [float(f"{v:.8g}") if np.isfinite(v) else str(v) for v in some]
    # NaN has many spellings, and zero two.
    plain = (
        np.where(np.isnan(flat), flat.dtype.type(np.nan), flat + flat.dtype.type(0))
        if value.dtype.kind == "f"
        else flat
    )
    return [value.dtype.name, list(value.shape), zlib.crc32(plain.tobytes()), numbers]
