"""Records which nodes TensorFlow runs under options for its optimizers: tests/golden/optimizer_programs.py.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/optimizers.py`.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import optimizer_programs as programs


def watched(options):
    tf.reset_default_graph()
    fetch, feed = programs.build(tf)
    metadata = tf.RunMetadata()
    traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(config=programs.config(tf, options)) as session:
        session.run(fetch, feed, options=traced, run_metadata=metadata)
    ran = set()
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            # A label is `name = Type(inputs)`. What was folded, or has taken over what follows, keeps its name.
            name, _, what = node.timeline_label.partition(" = ")
            if not what.startswith(("Const", "_Fused")):
                ran.add(name)
    return [name for name in programs.WATCHED if name in ran]


def main():
    lines = [json.dumps(label) + ": " + json.dumps(watched(o)) for label, o in programs.OPTIONS.items()]
    (GOLDEN / "optimizers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
