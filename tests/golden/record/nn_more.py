"""Records what CTC, dilation, fractional pooling, LSTM and GRU ops compute or refuse, in tests/golden/nn_more.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/nn_more.py`.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import nn_more_cases


def main():
    facts = {}
    for name, kind, operands, attrs in nn_more_cases.cases():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            names = [a.name for a in graph._get_op_def(kind).input_arg]
            # Of unknown shape, so that it is the kernel that refuses.
            inputs = {n: tf.placeholder_with_default(v, None) for n, v in zip(names, operands)}
            try:
                found = session.run(nn_more_cases.flat(getattr(tf.raw_ops, kind)(**inputs, **attrs)))
                facts[name] = [nn_more_cases.digest(v) for v in found]
            except tf.errors.OpError as error:
                facts[name] = [type(error).__name__, error.message.split("\n")[0]]
    lines = ",\n".join(json.dumps(name) + ": " + json.dumps(values) for name, values in facts.items())
    (GOLDEN / "nn_more.json").write_text("{\n" + lines + "\n}\n")


main()
