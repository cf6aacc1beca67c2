"""Records what streaming metrics of TensorFlow 1.15 give over three steps, in tests/golden/metric_values.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/metric_values.py`.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import metric_cases


def main():
    lines = [json.dumps(c) + ": " + json.dumps(metric_cases.run(tf, c)) for c in metric_cases.CALLS]
    (GOLDEN / "metric_values.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
