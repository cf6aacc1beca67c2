"""Records gradients of branches and loops, graphs and values, in tests/golden/branch_programs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/branch_programs.py`. The
programs are in tests/golden/branch_programs.py.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import branch_programs
import canonical
import list_programs


def main():
    tf.enable_control_flow_v2()
    lines = []
    for name, program in branch_programs.PROGRAMS.items():
        graph = tf.Graph()
        with graph.as_default():
            fetches = program(tf)
        found = list_programs.facts(graph, canonical)
        found["values"] = branch_programs.values(tf, graph, fetches)
        lines.append(json.dumps(name) + ": " + json.dumps(found, sort_keys=True, separators=(",", ":")))
    (GOLDEN / "branch_programs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
