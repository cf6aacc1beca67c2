"""Records gradients of rows taken in branches and loops in tests/golden/row_programs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/row_programs.py`. The
programs are in tests/golden/row_programs.py. What TensorFlow itself fails at, rows of resource variables in branches
in loops without functional control flow, is left out.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import row_programs


def main():
    lines = []
    for functional in (False, True):
        if functional:
            tf.enable_control_flow_v2()
        for name in row_programs.PROGRAMS:
            for kind in row_programs.KINDS:
                try:
                    found = row_programs.facts(tf, name, kind)
                except (TypeError, tf.errors.InvalidArgumentError) as e:
                    print("left out:", name, kind, str(e).split("\n")[0], file=sys.stderr)
                    continue
                lines.append(json.dumps([name, kind, functional, *found], separators=(",", ":")))
    (GOLDEN / "row_programs.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


main()
