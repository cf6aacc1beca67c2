"""Records the nodes that TensorFlow 1.15's tf.image wrappers of ops add, in tests/golden/image_op_graphs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/image_op_graphs.py`.
Control flow
is functional, as headrace builds it.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import image_calls
import image_op_calls


def main():
    tf.compat.v1.enable_control_flow_v2()
    facts = {}
    for call in image_op_calls.CALLS:
        graph, message = image_calls.build(tf, np, call)
        facts[call] = message or image_calls.nodes(tf, graph)
    lines = ",\n".join(json.dumps(call) + ": " + json.dumps(rows) for call, rows in facts.items())
    (GOLDEN / "image_op_graphs.json").write_text("{\n" + lines + "\n}\n")


main()
