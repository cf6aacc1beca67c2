"""Records the nodes that TensorFlow 1.15's tf.image functions add, in tests/golden/image_graphs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/image_graphs.py`. Control flow
is functional, as headrace builds it.
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
import image_calls


def main():
    tf.enable_control_flow_v2()
    facts = {}
    for call in image_calls.CALLS:
        graph, message = image_calls.build(tf, np, call)
        facts[call] = message or image_calls.nodes(tf, graph)
    lines = ",\n".join(json.dumps(call) + ": " + json.dumps(rows) for call, rows in facts.items())
    (GOLDEN / "image_graphs.json").write_text("{\n" + lines + "\n}\n")


main()
