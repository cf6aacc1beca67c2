"""Records what the optimizers' ops compute in TensorFlow 1.15, in tests/golden/training_values.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/training_values.py`. Each run
applies the op twice and keeps the variable and its slots.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_registry

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import training_cases


def results(op_def, states, operands, attrs):
    with tf.Graph().as_default(), tf.Session() as session:
        resource = op_def.name.startswith("Resource")
        made = {s: tf.Variable(operands[s], name=s, use_resource=resource) for s in states}
        inputs = {
            n: (made[n].handle if resource else made[n]._ref()) if n in made else tf.constant(v)
            for n, v in operands.items()
        }
        op = getattr(tf.raw_ops, op_def.name)(**inputs, **attrs)
        session.run(tf.global_variables_initializer())
        session.run(op)
        session.run(op)
        return [session.run(made[s]).ravel().tolist() for s in states]


def main():
    facts = {}
    for name, op_def in sorted(op_def_registry.get_registered_ops().items()):
        if "Apply" in name and "Accumulator" not in name:
            for label, *run in training_cases.runs(op_def):
                facts[label] = results(op_def, *run)
    lines = ",\n".join(json.dumps(label) + ": " + json.dumps(values) for label, values in facts.items())
    (GOLDEN / "training_values.json").write_text("{\n" + lines + "\n}\n")


main()
