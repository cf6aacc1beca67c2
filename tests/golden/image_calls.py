"""Calls of tf.image functions, made once with TensorFlow for the golden file and again by the test."""

# ruff: noqa: E501  (a call is a line)

import re

CALLS = """
[tf.image.flip_left_right(p(4, 5, 3)), tf.image.flip_up_down(p(2, 4, 5, 3))]
tf.image.flip_left_right(p(None, None, None))
tf.image.flip_up_down(p(None, None, None, 3))
tf.image.flip_left_right(u())
tf.image.flip_left_right(p(4, 5))
tf.image.random_flip_left_right(p(4, 5, 3), seed=5)
tf.image.random_flip_up_down(p(2, 4, 5, 3))
tf.image.random_flip_left_right(p(None, 4, 5, 3), seed=1)
tf.image.random_flip_up_down(u())
[tf.image.rot90(p(4, 5, 3)), tf.image.rot90(p(2, 4, 5, 3), k=2, name="r")]
tf.image.rot90(u(), p(dtype="int32"))
[tf.image.transpose(p(4, 5, 3)), tf.image.transpose_image(p(2, 4, 5, 3), name="t"), tf.image.transpose(u())]
tf.image.transpose_image(p(4, 5))
tf.image.central_crop(p(6, 5, 3), 0.5)
tf.image.central_crop(p(None, 5, 3), 0.5)
tf.image.central_crop(p(2, None, None, 3), 0.3)
tf.image.central_crop(p(2, 4, 4, 3), 1.0)
tf.image.central_crop(p(2, 4, 4, 3), 0.0)
tf.image.central_crop(p(4, 4), 0.5)
tf.image.crop_to_bounding_box(p(6, 5, 3), 1, 2, 3, 2)
tf.image.crop_to_bounding_box(p(2, None, None, 3), 1, 2, 3, 2)
tf.image.crop_to_bounding_box(u(), 1, 2, 3, 2)
tf.image.crop_to_bounding_box(p(6, 5, 3), 1, 4, 3, 2)
tf.image.crop_to_bounding_box(p(6, 5, 3), -1, 0, 3, 2)
tf.image.crop_to_bounding_box(p(6, 5, 3), 0, 0, 0, 2)
tf.image.crop_to_bounding_box(p(6, 5, 3), p(dtype="int32"), 0, 2, 2)
tf.image.crop_to_bounding_box(p(6, 5), 0, 0, 2, 2)
tf.image.pad_to_bounding_box(p(6, 5, 3), 1, 2, 13, 12)
tf.image.pad_to_bounding_box(p(2, None, None, 3), 1, 2, 13, 12)
tf.image.pad_to_bounding_box(u(), 1, 2, 13, 12)
tf.image.pad_to_bounding_box(p(6, 5, 3), 1, 2, 3, 2)
tf.image.pad_to_bounding_box(p(6, 5, 3), p(dtype="int32"), 0, 12, 12)
tf.image.per_image_standardization(p(6, 5, 3))
tf.image.per_image_standardization(p(2, None, 5, 3, dtype="uint8"))
tf.image.per_image_standardization(p(6, 5, 3, dtype="float16"))
tf.image.per_image_standardization(p(6, 5))
tf.image.adjust_brightness(p(6, 5, 3), 0.1)
tf.image.adjust_brightness(p(6, 5, 3, dtype="uint8"), 0.1)
tf.image.adjust_brightness(p(6, 5, 3, dtype="float16"), 0.1)
tf.image.random_brightness(p(6, 5, 3), 0.2, seed=3)
tf.image.random_brightness(p(6, 5, 3), -0.2)
tf.image.adjust_contrast(p(6, 5, 3), 2.0)
tf.image.adjust_contrast(p(6, 5, 3, dtype="uint8"), 2.0)
tf.image.adjust_contrast(p(6, 5, 3, dtype="float16"), 2.0)
tf.image.random_contrast(p(6, 5, 3), 0.2, 0.5, seed=3)
tf.image.random_contrast(p(6, 5, 3), 0.5, 0.2)
tf.image.random_contrast(p(6, 5, 3), -0.5, 0.2)
tf.image.adjust_gamma(p(6, 5, 3), 2.0, 3)
tf.image.adjust_gamma(p(6, 5, 3, dtype="uint8"))
tf.image.adjust_gamma(p(6, 5, 3), p())
tf.image.adjust_gamma(p(6, 5, 3), -1.0)
tf.image.adjust_hue(p(6, 5, 3), 0.1)
tf.image.adjust_hue(p(6, 5, 3, dtype="uint8"), 0.1, name="h")
tf.image.random_hue(p(6, 5, 3), 0.2, seed=3)
tf.image.random_hue(p(6, 5, 3), 0.7)
tf.image.random_hue(p(6, 5, 3), -0.7)
tf.image.adjust_saturation(p(6, 5, 3), 0.1)
tf.image.adjust_saturation(p(6, 5, 3, dtype="uint8"), 0.1, name="h")
tf.image.random_saturation(p(6, 5, 3), 0.2, 0.4, seed=3)
tf.image.random_saturation(p(6, 5, 3), 0.4, 0.2)
tf.image.random_saturation(p(6, 5, 3), -0.4, 0.2)
tf.image.adjust_jpeg_quality(p(6, 5, 3), 50)
tf.image.adjust_jpeg_quality(p(6, 5, 3, dtype="uint8"), 50, name="j")
tf.image.adjust_jpeg_quality(p(6, 5, 3, dtype="uint8"), p(dtype="int32"))
tf.image.random_jpeg_quality(p(6, 5, 3), 10, 20, seed=4)
tf.image.random_jpeg_quality(p(6, 5, 3), 20, 10)
tf.image.random_jpeg_quality(p(6, 5, 3), 20, 101)
tf.image.random_jpeg_quality(p(6, 5, 3), -1, 10)
[tf.image.convert_image_dtype(p(3, dtype=a), b) for a in "uint8 int16 float32 float16 int32".split() for b in "uint8 int16 float32 float16 int32".split()]
[tf.image.convert_image_dtype(p(3, dtype=a), b, saturate=True, name="s") for a in "uint8 int16 float32 int64".split() for b in "uint8 uint16 float64 int32".split()]
tf.image.convert_image_dtype(p(3), "string")
tf.image.convert_image_dtype(p(3, dtype="bool"), "float32")
[tf.image.rgb_to_grayscale(p(6, 5, 3)), tf.image.rgb_to_grayscale(p(2, 6, 5, 3, dtype="uint8"), name="g"), tf.image.rgb_to_grayscale(u())]
[tf.image.grayscale_to_rgb(p(6, 5, 1)), tf.image.grayscale_to_rgb(p(2, None, 5, 1, dtype="uint8"), name="g"), tf.image.grayscale_to_rgb(u())]
[tf.image.rgb_to_yiq(p(6, 5, 3)), tf.image.yiq_to_rgb(p(6, 5, 3)), tf.image.rgb_to_yuv(p(6, 5, 3)), tf.image.yuv_to_rgb(p(6, 5, 3, dtype="float16"))]
[tf.image.rgb_to_hsv(p(6, 5, 3)), tf.image.hsv_to_rgb(p(6, 5, 3), name="h")]
[tf.image.total_variation(p(6, 5, 3)), tf.image.total_variation(p(2, 6, 5, 3), name="v")]
tf.image.total_variation(p(6, 5))
tf.image.psnr(p(2, 6, 5, 3), p(2, 6, 5, 3), 1.0)
tf.image.psnr(p(2, 6, 5, 3, dtype="uint8"), p(2, 6, 5, 3, dtype="uint8"), 255, name="q")
tf.image.psnr(p(2, None, 5, 3), p(2, 6, 5, 3), p())
tf.image.psnr(p(2, 6, 5, 3), p(2, 6, 4, 3), 1.0)
tf.image.psnr(p(6, 5), p(6, 5), 1.0)
tf.image.ssim(p(2, 16, 15, 3), p(2, 16, 15, 3), 1.0)
tf.image.ssim(p(2, None, None, 3, dtype="uint8"), p(2, 16, 15, 3, dtype="uint8"), 255, filter_size=4, filter_sigma=1.0, k1=0.1, k2=0.2)
tf.image.ssim_multiscale(p(2, 20, 19, 3), p(2, 20, 19, 3), 1.0, power_factors=(0.5, 0.5), filter_size=3)
tf.image.image_gradients(p(2, 6, 5, 3))
tf.image.image_gradients(p(None, None, 5, 3))
tf.image.image_gradients(p(6, 5, 3))
tf.image.sobel_edges(p(2, 6, 5, 3))
tf.image.sobel_edges(p(None, None, 5, 3))
tf.image.is_jpeg(p(dtype="string"))
tf.io.is_jpeg("x", name="j")
tf.image.decode_image(p(dtype="string"))
tf.image.decode_image("abc", channels=3, dtype=tf.float32, name="d")
tf.image.decode_image(p(dtype="string"), channels=4)
tf.image.decode_image(p(dtype="string"), channels=1, dtype=tf.uint16)
tf.image.decode_image(p(dtype="string"), channels=2)
tf.image.decode_image(p(dtype="string"), expand_animations=False)
tf.io.decode_image(p(dtype="string"), channels=3, expand_animations=False)
[tf.image.decode_jpeg(p(dtype="string")), tf.io.decode_jpeg("x", 3, 2, name="j"), tf.image.decode_and_crop_jpeg(p(dtype="string"), [1, 2, 3, 4], channels=1)]
[tf.image.decode_png("x", 1), tf.io.decode_png("x", dtype=tf.uint16), tf.image.decode_bmp("x"), tf.io.decode_gif("x")]
[tf.image.encode_jpeg(p(2, 3, 3, dtype="uint8")), tf.image.encode_png(p(2, 3, 3, dtype="uint16"), name="e"), tf.image.extract_jpeg_shape("x", tf.int64)]
[tf.image.random_crop(p(6, 5, 3), [2, 3, 3], seed=1), tf.image.extract_patches(p(1, 6, 5, 3), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")]
""".strip().split("\n")


def build(tf, np, call):
    """Makes the call in a new graph; returns the graph and, if it was refused, the error."""
    graph = tf.Graph()

    def p(*shape, dtype="float32"):
        return tf.placeholder(dtype, shape, name="p")

    def u(dtype="float32"):
        return tf.placeholder(dtype, name="u")

    with graph.as_default():
        tf.set_random_seed(7)
        try:
            eval(call, {"tf": tf, "np": np, "p": p, "u": u})
        except Exception as e:
            return graph, f"{type(e).__name__}: {e}"
    return graph, None


def nodes(tf, graph):
    """Returns the nodes of a graph and of its functions as lines; numbers in functions' names are left out."""
    shapes = {
        op.name: ", ".join(str(t.shape) for t in op.outputs)
        for op in graph.get_operations()
        if op.type != "Const"
    }
    proto = graph.as_graph_def()
    rows = [_row(tf, node, shapes.get(node.name)) for node in proto.node]
    functions = [
        ["function " + _name(function.signature.name)]
        + ["  " + _row(tf, node, None) for node in function.node_def]
        for function in proto.library.function
    ]
    return rows + [row for function in sorted(functions) for row in function]


def _name(function):
    return re.sub(r"_\d+(_rewritten)?$", "", re.sub(r"^(__inference_|__forward_|__backward_)", "", function))


def _row(tf, node, shape):
    attrs = []
    for key in sorted(node.attr):
        value = node.attr[key]
        kind = value.WhichOneof("value")
        if key in ("shape", "_output_shapes", "output_shapes") or kind is None:
            continue
        if kind == "tensor":
            said = repr(tf.make_ndarray(value.tensor).tolist())
            said = said if len(said) < 200 else said[:190] + "..."
        elif kind == "func":
            said = _name(value.func.name)
        elif kind == "type":
            said = tf.as_dtype(value.type).name
        elif kind == "list":
            said = str([tf.as_dtype(t).name for t in value.list.type] or list(value.list.i))
        else:
            said = str(getattr(value, kind))
        attrs.append(f"{key}={said}")
    inputs = ", ".join(node.input)
    return f"{node.op} {node.name}({inputs}) {' '.join(attrs)}" + (
        f" -> {shape}" if shape is not None else ""
    )
