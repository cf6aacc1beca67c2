"""Records graphs with TensorFlow 1's control flow and what they compute, in tests/golden/v1_control_flow.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/v1_control_flow.py`. The
programs are in tests/golden/v1_programs.py. A graph is kept as a MetaGraphDef, compressed.
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

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import v1_programs


def packed(value):
    """A value as [dtype, shape, values in a row]."""
    value = np.asarray(value)
    if value.dtype.kind in "OSU":
        flat = [v if isinstance(v, str) else v.decode() for v in value.ravel().tolist()]
        return ["string", list(value.shape), flat]
    return [value.dtype.name, list(value.shape), value.ravel().tolist()]


def record(program):
    with tf.Graph().as_default() as graph:
        fetches, steps = program(tf)
        init = tf.global_variables_initializer()
        meta = tf.train.export_meta_graph(strip_default_attrs=True)
        for node in meta.graph_def.node:
            node.attr.pop("_output_shapes", None)
        meta.meta_info_def.ClearField("stripped_op_list")
        meta.ClearField("asset_file_def")
        config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
        with tf.Session(graph=graph, config=config) as session:
            session.run(init)
            rows = []
            for feed in steps:
                values = session.run(fetches, feed)
                rows.append(
                    {
                        "feed": {
                            t.name: packed(np.asarray(v, t.dtype.as_numpy_dtype)) for t, v in feed.items()
                        },
                        "values": [None if v is None else packed(v) for v in values],
                    }
                )
        return {
            "init": init.name,
            "fetches": [f.name for f in fetches],
            "steps": rows,
            "meta_graph": base64.b64encode(
                zlib.compress(meta.SerializeToString(deterministic=True), 9)
            ).decode(),
        }


def main():
    names = sys.argv[1:] or list(v1_programs.PROGRAMS)
    lines = []
    for name in names:
        found = record(v1_programs.PROGRAMS[name])
        again = record(v1_programs.PROGRAMS[name])
        assert found["steps"] == again["steps"], name
        lines.append(json.dumps(name) + ": " + json.dumps(found))
    (GOLDEN / "v1_control_flow.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
