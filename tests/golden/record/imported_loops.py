"""Records models with loops, and how they train after their import, in tests/golden/imported_loops.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/imported_loops.py`. The
programs are in tests/golden/imported_loop_programs.py. A graph is kept as a MetaGraphDef, compressed.
Where TensorFlow fails after the import (`refused`), what is recorded are the gradients of the graph as it was built.
"""

import base64
import json
import os
import pathlib
import sys
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow import contrib

tf.contrib = contrib
GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import imported_loop_programs as programs


def packed(value):
    value = np.asarray(value)
    flat = [float("%.8g" % v) if value.dtype.kind == "f" else v for v in value.ravel().tolist()]
    return [value.dtype.name, list(value.shape), flat]


def trained(loss, steps):
    """Returns what steps of training give."""
    fetches, train = programs.trained(tf, loss)
    config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    rows = []
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        for feed in steps:
            values = session.run(fetches, feed)
            session.run(train, feed)
            rows.append(
                {
                    "feed": {k: packed(v) for k, v in feed.items()},
                    "values": [packed(v) for v in values],
                }
            )
    return rows


def record(program):
    with tf.Graph().as_default():
        loss, steps = program(tf)
        steps = [{t.name: np.asarray(v, t.dtype.as_numpy_dtype) for t, v in feed.items()} for feed in steps]
        meta = tf.train.export_meta_graph(strip_default_attrs=True)
    for node in meta.graph_def.node:
        node.attr.pop("_output_shapes", None)
    meta.meta_info_def.ClearField("stripped_op_list")
    meta.ClearField("asset_file_def")
    try:
        with tf.Graph().as_default():
            tf.train.import_meta_graph(meta)
            rows, refused = trained(loss.name, steps), ""
    except (AttributeError, ValueError, TypeError) as e:
        refused = "%s: %s" % (type(e).__name__, e)
        with tf.Graph().as_default():
            rows = trained(program(tf)[0].name, steps)
    return {
        "loss": loss.name,
        "refused": refused,
        "steps": rows,
        "meta_graph": base64.b64encode(zlib.compress(meta.SerializeToString(deterministic=True), 9)).decode(),
    }


def main():
    lines = []
    for name, program in programs.PROGRAMS.items():
        found = record(program)
        assert found["steps"] == record(program)["steps"], name
        lines.append(json.dumps(name) + ": " + json.dumps(found))
    (GOLDEN / "imported_loops.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
