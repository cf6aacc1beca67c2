"""Calls of tf.image functions on small images, whose values TensorFlow gave for the golden file.

`a(*shape)` is an array of floats from 0 to 1, `i(*shape)` one of bytes; `f(array)` is fed where the static shape is
unknown, and `g(y, x)` is the gradient of the sum of y.
"""

# ruff: noqa: E501  (a call is a line)

CALLS = """
tf.image.flip_left_right(i(2, 3, 1))
tf.image.flip_up_down(f(i(1, 2, 3, 1)))
tf.image.random_flip_left_right(i(2, 3, 1), seed=1)
tf.image.random_flip_left_right(i(2, 3, 1), seed=2)
tf.image.random_flip_up_down(a(5, 3, 2, 1), seed=3)
tf.image.random_flip_up_down(i(5, 3, 2, 1), seed=3)
[tf.image.rot90(i(2, 3, 1), k) for k in (-1, 0, 1, 2, 3, 4)]
[tf.image.rot90(f(i(2, 2, 3, 1)), f(np.int32(k))) for k in (1, 2, 3)]
[tf.image.transpose(i(2, 3, 1)), tf.image.transpose(i(1, 2, 3, 2))]
[tf.image.central_crop(i(7, 6, 1), x) for x in (0.1, 0.34, 0.5, 0.9)]
[tf.image.central_crop(p(i(2, 7, 6, 1), [None] * 4), x) for x in (0.1, 0.34, 0.5, 0.9)]
tf.image.crop_to_bounding_box(i(5, 4, 2), 1, 2, 3, 1)
tf.image.crop_to_bounding_box(f(i(5, 4, 2)), 1, 2, 3, 1)
tf.image.crop_to_bounding_box(p(i(1, 5, 4, 2), [None] * 4), 1, 2, 3, 1)
tf.image.crop_to_bounding_box(f(i(5, 4, 2)), 1, 2, 3, 3)
tf.image.crop_to_bounding_box(p(i(5, 4, 2), [None] * 3), f(np.int32(-1)), 2, 3, 1)
tf.image.pad_to_bounding_box(i(2, 3, 1), 1, 2, 4, 6)
tf.image.pad_to_bounding_box(f(a(2, 3, 1)), 1, 2, 4, 6)
tf.image.pad_to_bounding_box(f(a(2, 3, 1)), 1, 2, 4, 4)
tf.image.flip_left_right(p(i(0, 2, 1), [None] * 3))
tf.image.per_image_standardization(a(3, 4, 2))
tf.image.per_image_standardization(i(2, 3, 4, 2))
tf.image.per_image_standardization(np.ones([3, 4, 2], np.float32))
tf.image.per_image_standardization(a(3, 4, 2).astype(np.float16))
[tf.image.adjust_brightness(x, 0.3) for x in (a(2, 3, 1), i(2, 3, 1), a(2, 3, 1).astype(np.float16))]
tf.image.random_brightness(a(2, 3, 1), 0.3, seed=5)
[tf.image.adjust_contrast(x, 1.7) for x in (a(2, 3, 2), i(2, 3, 2))]
tf.image.random_contrast(a(2, 3, 2), 0.3, 0.7, seed=5)
[tf.image.adjust_gamma(x, 0.7, 1.2) for x in (a(2, 3, 1), i(2, 3, 1))]
tf.image.adjust_gamma(a(2, 3, 1), f(np.float32(-1)))
[tf.image.adjust_hue(x, 0.3) for x in (a(2, 3, 3), i(2, 3, 3))]
tf.image.random_hue(a(2, 3, 3), 0.3, seed=5)
[tf.image.adjust_saturation(x, 0.3) for x in (a(2, 3, 3), i(2, 3, 3))]
tf.image.random_saturation(a(2, 3, 3), 0.3, 2.0, seed=5)
[tf.image.adjust_jpeg_quality(x, 40) for x in (a(5, 4, 3), i(5, 4, 1))]
[tf.image.adjust_jpeg_quality(i(5, 4, 1), f(np.int32(q))) for q in (-3, 1, 100, 300)]
tf.image.random_jpeg_quality(i(5, 4, 3), 10, 90, seed=5)
[tf.image.convert_image_dtype(i(5), t) for t in (tf.int8, tf.int16, tf.uint16, tf.int32, tf.float16, tf.float32, tf.float64)]
[tf.image.convert_image_dtype(np.array([-3.0, -0.1, 0.0, 0.4999, 0.5, 1.0, 1.5], t), tf.uint8, saturate=True) for t in (np.float16, np.float32, np.float64)]
[tf.image.convert_image_dtype(np.array([0.0, 0.4999, 0.5, 1.0], np.float32), t) for t in (tf.int8, tf.int16, tf.uint8, tf.uint16)]
[tf.image.convert_image_dtype(np.array([-300, -1, 0, 1, 2 ** 15 - 1], np.int16), t) for t in (tf.uint8, tf.int8, tf.float32)]
tf.image.convert_image_dtype(np.array([-300, -1, 0, 2 ** 31 - 1], np.int32), tf.uint8, saturate=True)
[tf.image.rgb_to_grayscale(x) for x in (a(2, 3, 3), i(2, 3, 3), f(a(2, 3, 3)))]
[tf.image.grayscale_to_rgb(x) for x in (tf.constant(a(2, 3, 1)), f(i(2, 2, 3, 1)))]
tf.image.grayscale_to_rgb(f(a(2, 3, 2)))
[t(a(2, 3, 3)) for t in (tf.image.rgb_to_yiq, tf.image.yiq_to_rgb, tf.image.rgb_to_yuv, tf.image.yuv_to_rgb)]
[tf.image.rgb_to_hsv(a(2, 3, 3)), tf.image.hsv_to_rgb(a(2, 3, 3))]
[tf.image.total_variation(tf.constant(a(3, 4, 2))), tf.image.total_variation(tf.constant(a(2, 3, 4, 2)))]
[tf.image.psnr(a(2, 3, 4, 1), b(2, 3, 4, 1), 1.0), tf.image.psnr(i(3, 4, 1), i(3, 4, 1), 255)]
tf.image.psnr(i(2, 3, 4, 1), i(1, 3, 4, 1)[:, :, ::-1], 255)
tf.image.psnr(f(i(2, 3, 4, 1)), f(i(2, 3, 1, 1)), 255)
[tf.image.ssim(tf.constant(a(2, 14, 13, 2)), tf.constant(b(2, 14, 13, 2)), 1.0), tf.image.ssim(tf.constant(i(12, 13, 1)), tf.constant(i(12, 13, 1)), 255)]
tf.image.ssim(tf.constant(i(12, 9, 1)), f(i(12, 9, 1)), 255, filter_size=4, filter_sigma=0.7, k1=0.1, k2=0.2)
tf.image.ssim(p(i(4, 9, 1), [None, None, 1]), p(i(4, 9, 1), [None, None, 1]), 255)
tf.image.ssim_multiscale(tf.constant(a(1, 30, 27, 2)), tf.constant(b(1, 30, 27, 2)), 1.0, power_factors=(0.4, 0.6))
tf.image.ssim_multiscale(p(a(2, 25, 29, 1), [None] * 4), p(b(2, 25, 29, 1), [None] * 4), 1.0, power_factors=(0.4, 0.6), filter_size=5)
tf.image.image_gradients(tf.constant(a(1, 3, 4, 2)))
tf.image.sobel_edges(tf.constant(a(1, 4, 3, 2)))
[tf.image.is_jpeg(x) for x in (b"", b"\\xff\\xd8\\xff", b"\\xff\\xd8\\xfe", [b"\\xff\\xd8\\xff1", b""])]
g(tf.image.per_image_standardization, a(3, 4, 2))
g(lambda x: tf.image.ssim(x, tf.constant(b(12, 12, 1)), 1.0), a(12, 12, 1))
g(tf.image.total_variation, a(3, 4, 2))
g(lambda x: tf.image.psnr(x, tf.constant(b(3, 4, 1)), 1.0), a(3, 4, 1))
g(tf.image.sobel_edges, a(1, 4, 3, 2))
g(lambda x: tf.image.rot90(x, 3) * a(2, 2, 1), a(2, 2, 1))
g(lambda x: tf.image.random_flip_left_right(x, seed=2) * a(2, 3, 1), a(2, 3, 1))
g(lambda x: tf.image.pad_to_bounding_box(tf.image.central_crop(x, 0.5), 1, 1, 4, 4) * a(4, 4, 1), a(4, 5, 1))
g(tf.image.rgb_to_grayscale, a(2, 1, 3))
g(lambda x: tf.image.adjust_gamma(x, 2.0), a(2, 3, 1))
""".strip().split("\n")


def run(tf, np, call):
    """Makes the call in a new graph and runs it; returns arrays, or the refusal as text."""
    feeds = {}

    def array(seed, shape):
        return np.random.RandomState(seed).uniform(0, 1, shape)

    def p(value, shape):
        tensor = tf.placeholder(value.dtype, shape)
        feeds[tensor] = value
        return tensor

    def g(function, x):
        x = tf.constant(x)
        return tf.gradients(tf.reduce_sum(function(x)), x)

    names = {
        "tf": tf,
        "np": np,
        "a": lambda *shape: array(1, shape).astype(np.float32),
        "b": lambda *shape: array(2, shape).astype(np.float32),
        "i": lambda *shape: (array(1, shape) * 256).astype(np.uint8),
        "f": lambda value: p(
            value, [None] * value.ndim if value.ndim in (0, 3) and value.size > 99 else None
        ),
        "p": p,
        "g": g,
    }
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        fetches = eval(call, names)
        with tf.Session() as session:
            try:
                values = session.run(fetches, feeds)
            except tf.errors.OpError as e:
                return "%s: %s" % (type(e).__name__, e.message.split("\n")[0])
    return [np.asarray(v) for v in (values if isinstance(values, (list, tuple)) else [values])]
