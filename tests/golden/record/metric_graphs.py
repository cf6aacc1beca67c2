"""Records the nodes that TensorFlow 1.15's metrics add, in tests/golden/metric_graphs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/metric_graphs.py`.
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
import metric_calls
import nn_calls


def main():
    tf.enable_control_flow_v2()
    facts = {}
    for call in metric_calls.CALLS:
        graph, message = nn_calls.build(tf, np, call)
        assert message is None, message
        facts[call] = metric_calls.compared(nn_calls.row(node, {}) for node in graph.get_operations())
    lines = ",\n".join(json.dumps(call) + ": " + json.dumps(rows) for call, rows in facts.items())
    (GOLDEN / "metric_graphs.json").write_text("{\n" + lines + "\n}\n")


main()
