"""Records what TensorFlow 1.15's tf.image functions compute, in tests/golden/image_values.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/image_values.py`.
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
import image_value_calls


def plain(value, digits):
    if isinstance(value, list):
        return [plain(v, digits) for v in value]
    return float("%.*g" % (digits, value)) if isinstance(value, float) else value


def main():
    facts = {}
    for call in image_value_calls.CALLS:
        values = image_value_calls.run(tf, np, call)
        if not isinstance(values, str):
            values = [[v.dtype.name, plain(v.tolist(), 17 if v.dtype == np.float64 else 9)] for v in values]
        facts[call] = values
    lines = ",\n".join(json.dumps(call) + ": " + json.dumps(values) for call, values in facts.items())
    (GOLDEN / "image_values.json").write_text("{\n" + lines + "\n}\n")


main()
