"""tf.contrib: each part loads on its first touch."""
