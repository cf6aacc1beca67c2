"""Records what the programs in tests/golden/control_flow_programs.py compute, in tests/golden/control_flow.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/control_flow.py`. TensorFlow
builds Switch and Merge nodes here, headrace If and While nodes: values are compared, graphs are not.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import control_flow_programs


def main():
    lines = []
    for name, program in control_flow_programs.PROGRAMS.items():
        values = control_flow_programs.run(tf, program)
        assert values == control_flow_programs.run(tf, program), name
        lines.append(json.dumps(name) + ": " + json.dumps(values))
    (GOLDEN / "control_flow.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
