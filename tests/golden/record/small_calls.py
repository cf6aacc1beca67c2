"""Records what TensorFlow 1.15's ops on strings and messages give, in tests/golden/small_calls.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/small_calls.py`.
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
import small_calls


def main():
    facts = {call: small_calls.run(tf, tf.raw_ops, np, call) for call in small_calls.CALLS}
    lines = ",\n".join(json.dumps(call) + ": " + json.dumps(value) for call, value in facts.items())
    (GOLDEN / "small_calls.json").write_text("{\n" + lines + "\n}\n")


main()
