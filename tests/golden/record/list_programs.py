"""Records the graphs and values of the programs in tests/golden/list_programs.py, in tests/golden/list_programs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/list_programs.py`. Graphs are
those that TensorFlow builds with control flow v2; values must be the same with Switch, Merge and frames.
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
import canonical
import list_programs

# What TensorFlow can't do with frames: zeros of strings, and second derivatives of loops and arrays.
ONLY_V2 = ("strings", "second_derivative_of_map", "second_derivative_of_scan", "second_derivative_of_array")


def main():
    lines = []
    for name, program in {**list_programs.PROGRAMS, **list_programs.VALUES_ONLY}.items():
        tf.disable_control_flow_v2()
        old = list_programs.values(tf, *list_programs.build(tf, program)) if name not in ONLY_V2 else None
        tf.enable_control_flow_v2()
        graph, fetches, feed = list_programs.build(tf, program)
        found = list_programs.facts(graph, canonical) if name in list_programs.PROGRAMS else {}
        found["values"] = list_programs.values(tf, graph, fetches, feed)
        for a, b in zip(found["values"], old or ()):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=name)
        lines.append(json.dumps(name) + ": " + json.dumps(found, sort_keys=True, separators=(",", ":")))
    (GOLDEN / "list_programs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
