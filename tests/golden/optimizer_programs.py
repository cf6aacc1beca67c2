"""A program that TensorFlow's optimizers make smaller, and what a ConfigProto may tell them.

Plain TensorFlow 1, for the recorder and for the test.
"""

import numpy as np

# Nodes that are gone when an optimizer has been at work.
WATCHED = ("folded", "again", "normal")

OPTIONS = {
    "nothing": {},
    "L0": {"opt_level": -1},
    "no grappler": {"disable_meta_optimizer": True},
    "L0, no grappler": {"opt_level": -1, "disable_meta_optimizer": True},
    "L0, no grappler, merging": {
        "opt_level": -1,
        "disable_meta_optimizer": True,
        "do_common_subexpression_elimination": True,
    },
    "L0, no grappler, folding": {
        "opt_level": -1,
        "disable_meta_optimizer": True,
        "do_constant_folding": True,
    },
    "no folding": {"constant_folding": 2},
    "no arithmetic": {"arithmetic_optimization": 2},
    "L0, no folding": {"opt_level": -1, "constant_folding": 2},
    "L0, no arithmetic": {"opt_level": -1, "arithmetic_optimization": 2},
    "L0, no folding, no arithmetic": {
        "opt_level": -1,
        "constant_folding": 2,
        "arithmetic_optimization": 2,
        "dependency_optimization": 2,
    },
    "L0, all on": {
        "opt_level": -1,
        "constant_folding": 1,
        "arithmetic_optimization": 1,
        "dependency_optimization": 1,
        "remapping": 1,
    },
    "L0, only folding": {"opt_level": -1, "optimizers": ["constfold"]},
    "L0, only arithmetic": {"opt_level": -1, "optimizers": ["arithmetic"]},
    "L0, only dependencies": {"opt_level": -1, "optimizers": ["dependency"]},
    "L0, in large graphs": {"opt_level": -1, "min_graph_nodes": 1000},
    "in large graphs": {"min_graph_nodes": 1000},
    "L0, in all graphs": {"opt_level": -1, "min_graph_nodes": -1},
}


def config(tf, options):
    """Returns a ConfigProto with some options, each where it belongs."""
    made = tf.ConfigProto()
    older, grappler = made.graph_options.optimizer_options, made.graph_options.rewrite_options
    for name, value in options.items():
        if name == "optimizers":
            grappler.optimizers.extend(value)
        else:
            setattr(older if name.startswith(("opt_level", "do_")) else grappler, name, value)
    return made


def build(tf):
    """Returns what to fetch and what to feed."""
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    factor = tf.sqrt(tf.constant([1.0, 2.0, 3.0]), name="folded")
    y = tf.tanh(x * factor, name="first") - tf.tanh(x * factor, name="again")
    y = tf.exp(y)
    image = tf.reshape(tf.concat([y, tf.abs(y)], 0), [1, 2, 2, 3])
    image = tf.nn.conv2d(image, np.ones([2, 2, 3, 4], np.float32), [1, 1, 1, 1], "SAME", name="conv")
    ones = np.ones(4, np.float32)
    image, _, _ = tf.nn.fused_batch_norm(image, ones, ones, ones, ones, is_training=False, name="normal")
    return tf.nn.softmax(image, name="last"), {x: [[1, 2, 3], [4, 5, 6]]}
