"""Records first and second gradients of nn ops in TensorFlow 1.15, in tests/golden/nn_second.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/nn_second.py`. Its CPU
kernels know channels-last images only: for the others the images are transposed there and back.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import nn_second_cases


def main():
    facts = {}
    for name, *case in nn_second_cases.cases(tf, tf.raw_ops, channels_first=False):
        facts[name] = nn_second_cases.results(tf, name, *case)
    lines = ",\n".join(json.dumps(name) + ": " + json.dumps(values) for name, values in facts.items())
    (GOLDEN / "nn_second.json").write_text("{\n" + lines + "\n}\n")


main()
