"""What programs use of tf.contrib.layers beside its layers: regularizers, initializers, flatten, recompute_grad."""

from headrace.contrib.layers import flattening, initializers, recompute, regularizers
