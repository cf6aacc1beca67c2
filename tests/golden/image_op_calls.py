"""Calls of tf.image's wrappers of ops, and gradients of those, made once with TensorFlow and again by the test."""

# ruff: noqa: E501  (a call is a line)

CALLS = """
[tf.image.resize_images(p(2, 3, 4, 1), [5, 6], method=m) for m in range(4)]
[tf.image.resize(p(3, 4, 1), [5, 6], method=m, align_corners=True) for m in ("bilinear", "nearest", "bicubic", "area")]
tf.image.resize_images(p(2, 5, 6, 1), [5, 6])
tf.image.resize_images(p(3, 4, 1, dtype="uint8"), [3, 4], name="n")
tf.image.resize_images(p(3, 4, 1, dtype="uint8"), [5, 4])
tf.image.resize_images(p(3, 4, 1), [5, 6], preserve_aspect_ratio=True)
tf.image.resize_images(p(3, None, 1), np.array([5, 6]), preserve_aspect_ratio=True)
tf.image.resize_images(p(None, None, None, None), [5, 6])
tf.image.resize_images(p(2, 3, 4, 1), p(2, dtype="int32"))
tf.image.resize_images(p(2, 3, 4, 1), (p(dtype="int32"), 7))
tf.image.resize_images(u(), [5, 6])
tf.image.resize_images(p(2, 3), [5, 6])
tf.image.resize_images(p(2, 3, 4, 1), [5, 6, 7])
tf.image.resize_images(p(2, 3, 4, 1), [5.0, 6.0])
tf.image.resize_images(p(2, 3, 4, 1), [5, 6], method=9)
[tf.compat.v2.image.resize(p(2, 3, 4, 1), [5, 6], m) for m in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")]
[tf.compat.v2.image.resize(p(3, 4, 1), [5, 6], m, antialias=True) for m in ("bilinear", "nearest", "bicubic", "area", "lanczos3")]
tf.compat.v2.image.resize(p(3, 4, 1), [3, 4])
tf.compat.v2.image.resize(p(None, None, 1), [5, 6], preserve_aspect_ratio=True, antialias=True, name="n")
tf.compat.v2.image.resize(p(2, 3, 4, 1), p(2, dtype="int32"), "lanczos3")
tf.compat.v2.image.resize(p(2, 3, 4, 1), [5, 6], method=0)
[tf.image.resize_bilinear(p(2, 3, 4, 1), [5, 6], name="a", half_pixel_centers=True), tf.image.resize_bicubic(p(2, 3, 4, 1), [5, 6], True), tf.image.resize_area(p(2, 3, 4, 1), [5, 6]), tf.image.resize_nearest_neighbor(p(2, 3, 4, 1), [5, 6])]
tf.image.resize_image_with_pad(p(2, 3, 4, 1), 5, 7)
tf.image.resize_image_with_pad(p(3, 4, 1), 3, 4, method=2, align_corners=True)
tf.image.resize_image_with_pad(p(None, None, 3), 5, 7)
tf.image.resize_image_with_pad(u(), 5, 7)
tf.image.resize_image_with_pad(p(3, 4, 1), p(dtype="int32"), 7)
tf.image.resize_image_with_pad(p(3, 4, 1), 0, 7)
tf.compat.v2.image.resize_with_pad(p(None, None, 1), 5, 7, antialias=True)
tf.image.resize_image_with_crop_or_pad(p(2, 3, 4, 1), 5, 7)
tf.image.resize_with_crop_or_pad(p(9, 8, 1), 5, 7)
tf.image.resize_image_with_crop_or_pad(p(None, None, 3), 5, 7)
tf.image.resize_image_with_crop_or_pad(p(3, 4, 1), p(dtype="int32"), p(dtype="int32"))
tf.image.resize_image_with_crop_or_pad(p(2, None, 4, 1, dtype="uint8"), 2, 9)
tf.image.resize_image_with_crop_or_pad(p(3, 4), 5, 7)
tf.image.resize_image_with_crop_or_pad(p(3, 4, 1), 5, -7)
(lambda x: tf.gradients(tf.image.resize_bilinear(x, [5, 6]), x))(p(2, 3, 4, 1))
(lambda x: tf.gradients(tf.image.resize_bilinear(x, [5, 6], half_pixel_centers=True), x))(p(2, 3, 4, 1, dtype="float16"))
(lambda x: tf.gradients(tf.image.resize_bicubic(x, [5, 6]), x))(p(2, 3, 4, 1, dtype="float64"))
(lambda x: tf.gradients(tf.image.resize_bicubic(x, [5, 6]), x))(p(2, 3, 4, 1, dtype="float16"))
(lambda x: tf.gradients(tf.image.resize_nearest_neighbor(x, [5, 6], align_corners=True), x))(p(2, 3, 4, 1))
(lambda x: tf.gradients(tf.image.resize_nearest_neighbor(x, [5, 6]), x))(p(2, None, 4, 1))
(lambda x: tf.gradients(tf.image.resize_area(x, [5, 6]), x))(p(2, 3, 4, 1))
(lambda x: tf.gradients(tf.compat.v2.image.resize(x, [5, 6], "lanczos3"), x))(p(2, 3, 4, 1))
(lambda x: tf.gradients(tf.compat.v2.image.resize(x, [5, 6], "lanczos3"), x))(p(2, 3, 4, 1, dtype="float64"))
(lambda x: tf.gradients(tf.gradients(tf.image.resize_bilinear(x, [5, 6]), x)[0], x))(p(2, 3, 4, 1))
tf.image.crop_and_resize(p(2, 3, 4, 1), p(None, 4), p(None, dtype="int32"), [5, 6], "nearest", 2, "n")
tf.image.crop_and_resize(p(2, 3, 4, 1), p(None, 4), crop_size=[5, 6], box_indices=p(None, dtype="int32"))
tf.image.crop_and_resize(p(2, 3, 4, 1), p(None, 4), [0], [5, 6], box_indices=[0])
tf.compat.v2.image.crop_and_resize(p(2, 3, 4, 1), p(None, 4), p(None, dtype="int32"), [5, 6])
(lambda x, b: tf.gradients(tf.image.crop_and_resize(x, b, [0, 1], [5, 6]), [x, b]))(p(2, 3, 4, 1), p(2, 4))
(lambda x, b: tf.gradients(tf.image.crop_and_resize(x, b, [0, 1], [5, 6], "nearest"), [x, b]))(p(None, 3, 4, 1), p(2, 4))
(lambda x, b: tf.gradients(tf.image.crop_and_resize(x, b, [0, 1], [5, 6]), b))(p(2, 3, 4, 1, dtype="uint8"), p(2, 4))
[tf.image.non_max_suppression(p(None, 4), p(None), 3), tf.image.non_max_suppression(p(None, 4), p(None), 3, 0.4, 0.1, "n")]
tf.image.non_max_suppression_padded(p(None, 4), p(None), 3, pad_to_max_output_size=True)
tf.image.non_max_suppression_with_scores(p(None, 4), p(None), 3, soft_nms_sigma=0.5)
tf.image.non_max_suppression_overlaps(p(None, None), p(None), 3)
tf.image.combined_non_max_suppression(p(2, None, 1, 4), p(2, None, 5), 4, 10, pad_per_class=True)
tf.image.non_max_suppression(p(None, 3), p(None), 3)
[tf.image.extract_glimpse(p(2, 4, 4, 3), [2, 3], p(2, 2)), tf.image.extract_glimpse(p(2, 4, 4, 3), [2, 3], p(2, 2), False, False, False, "n")]
tf.compat.v2.image.extract_glimpse(p(2, 4, 4, 3), [2, 3], p(2, 2), noise="gaussian")
[tf.image.draw_bounding_boxes(p(1, 4, 4, 3), p(1, None, 4), name="n"), tf.image.draw_bounding_boxes(p(1, 4, 4, 3), p(1, None, 4), colors=[[1.0, 0.0, 0.0]])]
[tf.compat.v2.image.draw_bounding_boxes(p(1, 4, 4, 3), p(1, None, 4), None), tf.compat.v2.image.draw_bounding_boxes(p(1, 4, 4, 3), p(1, None, 4), [[1.0, 0.0, 0.0]])]
tf.image.sample_distorted_bounding_box(p(3, dtype="int32"), p(1, None, 4))
tf.image.sample_distorted_bounding_box(p(3, dtype="int32"), p(1, None, 4), 4, 9, 0.3, [0.5, 2.0], [0.1, 0.9], 7, True, "n")
[tf.compat.v2.image.sample_distorted_bounding_box(p(3, dtype="int32"), p(1, None, 4), s) for s in (0, 5)]
[tf.image.rgb_to_hsv(p(2, 3)), tf.image.hsv_to_rgb(p(2, 3), "n")]
(lambda x: tf.gradients(tf.image.rgb_to_hsv(x), x))(p(2, 3))
(lambda x: tf.gradients(tf.image.rgb_to_hsv(x), x))(p(2, 3, dtype="float64"))
tf.extract_volume_patches(p(2, 5, 6, 7, 3), [1, 2, 3, 2, 1], [1, 1, 2, 1, 1], "SAME")
(lambda x: tf.gradients(tf.extract_volume_patches(x, [1, 2, 3, 2, 1], [1, 1, 2, 1, 1], "VALID"), x))(p(2, 5, 6, 7, 3))
(lambda x: tf.gradients(tf.extract_volume_patches(x, [1, 2, 3, 2, 1], [1, 1, 2, 1, 1], "SAME"), x))(p(None, 5, 6, 7, None))
""".strip().split("\n")
