"""What the image ops promise beyond single values: noise, streams, adjoints, and what compiling must not change."""

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw
from tests.conformance import battery_values


def run(build, tier="interpret"):
    with tf.Graph().as_default():
        results = build()
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        return [np.asarray(v) for v in battery_values.run(results, {}, tier)]


def normal(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_noise_of_glimpses_is_like_the_image(noise, tier):
    images = normal(1, 2, 5, 5, 3) + np.array([0, 100], np.float32).reshape(2, 1, 1, 1)
    (out,) = run(
        lambda: tf.compat.v2.image.extract_glimpse(
            images, [60, 60], np.zeros((2, 2), np.float32), noise=noise
        ),
        tier,
    )
    for image, glimpse in zip(images, out, strict=True):
        outside = glimpse[:20]
        assert image.min() <= outside.min() and outside.max() <= image.max()
        assert outside.std() > 0.3
        # Uniform between the extremes, or around each channel's mean.
        middle = (image.min() + image.max()) / 2 if noise == "uniform" else image.mean(axis=(0, 1))
        assert np.all(np.abs(outside.mean(axis=(0, 1)) - middle) < 0.3)


def test_random_boxes_go_on_along_their_stream():
    box = np.array([[[0.2, 0.2, 0.8, 0.8]]], np.float32)
    size = np.array([200, 300, 3], np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        node = raw.SampleDistortedBoundingBox(size, box, seed=3, seed2=4, max_attempts=10)
        found = [session.run([node.begin, node.size]) for _ in range(3)]
    # Recorded from TensorFlow 1.15.
    assert [(b[:2].tolist(), s[:2].tolist()) for b, s in found] == [
        ([64, 146], [79, 102]),
        ([26, 112], [168, 171]),
        ([115, 136], [73, 84]),
    ]


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("kernel", ["lanczos3", "gaussian", "box", "triangle", "mitchellcubic"])
def test_gradient_of_scaling_is_its_adjoint(kernel, tier):
    """The sum of y * S(x) is that of x * S'(y), for a linear S."""
    x, y = normal(1, 2, 6, 7, 2), normal(2, 2, 9, 4, 2)
    scale, move = np.array([1.4, 0.6], np.float32), np.array([0.5, -0.25], np.float32)

    def build():
        image = tf.constant(x)
        scaled = raw.ScaleAndTranslate(image, [9, 4], scale, move, kernel_type=kernel)
        return [scaled, *tf.gradients(scaled, image, grad_ys=[tf.constant(y)])]

    scaled, back = run(build, tier)
    np.testing.assert_allclose(np.sum(y * scaled), np.sum(x * back), rtol=1e-4)


def test_gradient_of_hsv_is_that_of_differences():
    rgb = np.random.RandomState(4).uniform(0.1, 0.9, (40, 3)).astype(np.float32)
    weights, step = normal(5, 40, 3), np.float32(1e-3)

    def build(at):
        def inner():
            x = tf.constant(at)
            hsv = tf.image.rgb_to_hsv(x)
            return [hsv, *tf.gradients(hsv, x, grad_ys=[tf.constant(weights)])]

        return inner

    _, gradient = run(build(rgb))
    for i in range(3):
        moved = [rgb + sign * step * np.eye(3, dtype=np.float32)[i] for sign in (1, -1)]
        above, below = (run(build(at))[0] for at in moved)
        change = above - below
        change[:, 0] -= np.round(change[:, 0])  # hue is a circle
        difference = np.sum(weights * change, axis=1) / (2 * step)
        close = np.abs(difference - gradient[:, i]) < 2e-2 * np.maximum(1, np.abs(difference))
        # A difference says nothing where two colours change places.
        assert close.mean() > 0.9


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("attrs", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_even_areas_stay_as_they_are(attrs, tier):
    """So that 255 isn't 254 as an integer."""
    image = np.full((1, 7, 5, 1), 255, np.uint8)
    for build in (
        lambda: tf.image.resize_bilinear(image, [23, 31], **attrs),
        lambda: tf.image.resize_nearest_neighbor(image, [23, 31], **attrs),
    ):
        (out,) = run(build, tier)
        assert np.all(out == 255)


def test_fused_convolution_of_a_batch_is_that_of_each_image():
    images, weights = normal(1, 3, 5, 6, 2), normal(2, 3, 3, 2, 4)
    paddings = np.array([[0, 0], [1, 1], [2, 0], [0, 0]], np.int32)

    def build():
        fused = raw.FusedPadConv2D(
            images, paddings, weights, mode="REFLECT", strides=[1, 1, 1, 1], padding="VALID"
        )
        padded = tf.pad(images, paddings, "REFLECT")
        return [fused, tf.nn.conv2d(padded, weights, [1, 1, 1, 1], "VALID")]

    fused, plain = run(build)
    np.testing.assert_allclose(fused, plain, rtol=1e-5, atol=1e-5)


def test_what_crashes_tensorflow_is_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        grad = raw.ResizeBilinearGrad(np.ones((1, 2, 2, 1), np.float32), x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be of non-zero size"):
            session.run(grad, {x: np.zeros((1, 0, 2, 1), np.float32)})
        size = tf.placeholder(tf.int32)
        boxes, scores = np.zeros((2, 4), np.float32), np.zeros(2, np.float32)
        chosen = raw.NonMaxSuppressionV4(boxes, scores, size, 0.5, -1.0, pad_to_max_output_size=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="max_output_size must be >= 0"):
            session.run(chosen.selected_indices, {size: -3})
        # Boxes without area don't overlap themselves, so that TensorFlow goes on choosing them.
        unlimited = raw.NonMaxSuppressionV2(boxes, scores, size, 0.5)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="boxes without area repeat"):
            session.run(unlimited, {size: -1})
        big = raw.ResizeBilinear(np.ones((1, 2, 2, 1), np.float32), size)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating"):
            session.run(big, {size: [2**30, 2**30]})


def test_boxes_of_nan_and_infinities_are_outside():
    image = np.ones((1, 3, 3, 1), np.float32)
    boxes = np.array(
        [[np.nan, 0, 1, 1], [0, 0, np.inf, 1], [-np.inf, 0, 1, 1], [0, 0, 1e30, 1e30]], np.float32
    )
    for tier in ("interpret", "compile"):
        for method in ("bilinear", "nearest"):
            (out,) = run(
                lambda m=method: tf.image.crop_and_resize(image, boxes, [0] * 4, [2, 2], m, 7.0), tier
            )
            assert set(np.unique(out)) <= {1.0, 7.0}
            assert np.all(out[0] == 7)
