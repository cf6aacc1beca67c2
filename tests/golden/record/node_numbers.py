"""Records how many nodes TensorFlow has made at points of the programs in tests/golden/node_number_programs.py.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/node_numbers.py`.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import node_number_programs


def main():
    lines = []
    for name, program in node_number_programs.PROGRAMS.items():
        lines.append(json.dumps(name) + ": " + json.dumps(node_number_programs.run(tf, program)))
    (GOLDEN / "node_numbers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
