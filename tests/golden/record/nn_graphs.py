"""Records the nodes that TensorFlow 1.15's tf.nn functions and their gradients add, in tests/golden/nn_graphs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/nn_graphs.py`.
The calls are Python source, so that the test can make the same ones; `p(*shape)` is a placeholder, and `grad(f, *xs)`
asks for the first and the second gradients of `f(*xs)`.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import nn_calls


def describe(node):
    attrs = {}
    for key, value in sorted(node.node_def.attr.items()):
        found = node.get_attr(key)
        if key == "value":
            found = tf.make_ndarray(value.tensor).tolist()
        attrs[key] = nn_calls.plain(found)
    return nn_calls.row(node, attrs)


def main():
    facts = {}
    for call in nn_calls.CALLS:
        graph, message = nn_calls.build(tf, np, call)
        facts[call] = message or [describe(node) for node in graph.get_operations()]
    lines = ",\n".join(json.dumps(call) + ": " + json.dumps(rows) for call, rows in facts.items())
    (GOLDEN / "nn_graphs.json").write_text("{\n" + lines + "\n}\n")


main()
