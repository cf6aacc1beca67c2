"""get_variable with every initializer of TensorFlow 1.15, seeded by the graph."""

import numpy as np


def build(tf):
    tf.set_random_seed(17)
    initializers = {
        "zeros": tf.zeros_initializer(),
        "ones": tf.ones_initializer(),
        "constant": tf.constant_initializer(0.25),
        "constant_array": tf.constant_initializer(np.arange(16.0).reshape(4, 4)),
        "uniform": tf.random_uniform_initializer(-2.0, 3.0),
        "uniform_seeded": tf.random_uniform_initializer(seed=5),
        "normal": tf.random_normal_initializer(1.0, 0.5),
        "truncated": tf.truncated_normal_initializer(stddev=0.1),
        "unit_scaling": tf.uniform_unit_scaling_initializer(1.5),
        "scaling": tf.variance_scaling_initializer(),
        "scaling_uniform": tf.variance_scaling_initializer(2.0, "fan_avg", "uniform"),
        "scaling_untruncated": tf.variance_scaling_initializer(2.0, "fan_out", "untruncated_normal"),
        "orthogonal": tf.orthogonal_initializer(gain=1.5),
        "glorot_uniform": tf.glorot_uniform_initializer(),
        "glorot_normal": tf.glorot_normal_initializer(seed=3),
        "lecun_normal": tf.initializers.lecun_normal(),
        "lecun_uniform": tf.initializers.lecun_uniform(),
        "he_normal": tf.initializers.he_normal(),
        "he_uniform": tf.initializers.he_uniform(),
        "identity": tf.initializers.identity(2.0),
        "default": None,
    }
    made = {}
    for name, initializer in initializers.items():
        made[name] = tf.get_variable(name, [4, 4], initializer=initializer)
    made["conv_kernel"] = tf.get_variable("conv_kernel", [3, 3, 2, 4])
    made["integer"] = tf.get_variable("integer", [3], tf.int32)
    made["init"] = tf.global_variables_initializer()
    # The QR factorisation is only fixed up to rounding; what it must keep is orthogonality.
    made["orthogonal"] = tf.matmul(made["orthogonal"], made["orthogonal"], transpose_a=True)
    return made
