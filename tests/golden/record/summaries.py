"""Records tests/golden/summaries.json: what TensorFlow 1.15's summary ops answer on the calls of the unit tests.

Run with the oracle:  scripts/oracle tests/golden/record/summaries.py
"""

import base64
import json
import pathlib
import sys

import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "unit" / "summary"))
import cases


def answer(op, operands, attrs):
    """The serialized Summary in base64, or the error's class and first line."""
    with tf.Graph().as_default():

        def constant(value):
            if isinstance(value, list):
                return [constant(v) for v in value]
            return tf.constant(value)

        try:
            inputs = {name: constant(value) for name, value in operands.items()}
            attrs = dict(attrs)
            attrs.pop("N", None)
            if "bad_color" in attrs:
                attrs["bad_color"] = tf.make_tensor_proto(attrs["bad_color"])
            fetch = getattr(tf.raw_ops, op)(name="node", **inputs, **attrs)
            with tf.Session() as session:
                return base64.b64encode(session.run(fetch)).decode("ascii")
        except (ValueError, tf.errors.OpError) as error:
            message = error.message if isinstance(error, tf.errors.OpError) else str(error)
            return [type(error).__name__, message.split("\n")[0]]


def main():
    facts = {name: answer(op, operands, attrs) for name, op, operands, attrs in cases.cases()}
    out = ROOT / "tests" / "golden" / "summaries.json"
    lines = ",\n".join(json.dumps(name) + ":" + json.dumps(fact) for name, fact in facts.items())
    out.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
