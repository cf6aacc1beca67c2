"""The part of tf.contrib.layers that programs use without its layers: regularizers, initializers and flatten."""

from headrace.contrib.layers import flattening, initializers, regularizers
