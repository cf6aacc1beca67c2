"""Records what image ops compute in TensorFlow 1.15, in tests/golden/image_kernels.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/image_kernels.py`. Of an
output its type, shape, a checksum and some elements are kept.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import image_kernel_cases


def main():
    facts = {}
    for name, kind, quantized, operands, attrs in image_kernel_cases.cases():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            names = [a.name for a in graph._get_op_def(kind).input_arg]
            inputs = [tf.constant(v) for v in operands]
            if quantized:
                inputs[0] = tf.bitcast(inputs[0], quantized)
            result = getattr(tf.raw_ops, kind)(**dict(zip(names, inputs)), **attrs)
            results = list(result) if isinstance(result, tuple) else [result]
            if quantized:
                results[0] = tf.bitcast(results[0], operands[0].dtype.name)
            facts[name] = [image_kernel_cases.digest(v) for v in session.run(results)]
    lines = ",\n".join(json.dumps(name) + ": " + json.dumps(values) for name, values in facts.items())
    (GOLDEN / "image_kernels.json").write_text("{\n" + lines + "\n}\n")


main()
