"""Records the graphs and values of the programs in tests/golden/function_programs.py, in tests/golden/functions.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/functions.py`. Graphs are those
that TensorFlow builds with control flow v2.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import canonical
import function_programs


def main():
    tf.enable_control_flow_v2()
    lines = []
    for name, program in function_programs.PROGRAMS.items():
        graph, fetches, feed = function_programs.build(tf, function, program)
        found = function_programs.facts(graph, canonical)
        found["values"] = function_programs.values(tf, graph, fetches, feed)
        lines.append(json.dumps(name) + ": " + json.dumps(found, sort_keys=True, separators=(",", ":")))
    (GOLDEN / "functions.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
