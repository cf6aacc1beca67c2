"""Records what nn ops compute in TensorFlow 1.15, in tests/golden/nn_values.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/nn_values.py`. Of a large
output only a few numbers are kept: its shape, its sum, the sum of its squares, and every so many elements.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import nn_cases


def main():
    facts = {}
    for name, kind, operands, attrs in nn_cases.cases():
        with tf.Graph().as_default(), tf.Session() as session:
            op = getattr(tf.raw_ops, kind)
            names = [a.name for a in tf.get_default_graph()._get_op_def(kind).input_arg]
            inputs = {n: tf.constant(v) for n, v in zip(names, operands)}
            result = op(**inputs, **attrs)
            results = result if isinstance(result, tuple) else (result,)
            facts[name] = [nn_cases.digest(v) for v in session.run(list(results))]
    lines = ",\n".join(json.dumps(name) + ": " + json.dumps(values) for name, values in facts.items())
    (GOLDEN / "nn_values.json").write_text("{\n" + lines + "\n}\n")


main()
