"""Records the nodes that TensorFlow 1.15's random functions add, in tests/golden/random_graphs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/random_graphs.py`.
The calls are Python source, so that the test can make the same ones.
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

CALLS = """
tf.random_uniform([2, 3])
tf.random.uniform([])
tf.random_uniform((2,), -1, 1.5, tf.float16, seed=4, name="u")
tf.random_uniform(tf.TensorShape([2, 3]), maxval=2.0)
tf.random_uniform([tf.Dimension(2), np.int64(3)])
tf.random_uniform([2**33, 0])
tf.random_uniform(np.array([2, 3]), 0, 10, tf.int32, seed=9)
tf.random_uniform(tf.constant([2, 3], tf.int64), tf.constant(0, tf.int64), 10, tf.int64, seed=9, name="q")
tf.random_uniform([2], tf.constant(1.0), tf.constant(2.0))
tf.random_normal([2], 1.0, 2.0, tf.float64, seed=3)
tf.random.normal((), name="z")
tf.truncated_normal([2], stddev=0.5)
tf.random.shuffle([1, 2, 3], seed=2)
tf.random_shuffle(tf.constant([1, 2, 3]), name="s")
tf.multinomial([[1.0, 2.0]], 5, output_dtype=tf.int32)
tf.multinomial(tf.constant([[1.0, 2.0]]), tf.constant(5), seed=4, name="m")
tf.random.categorical(tf.constant([[1.0, 2.0]], tf.float64), 5)
tf.random_poisson([1.0, 2.0], [3], seed=1)
tf.random.poisson(tf.constant([1.0, 2.0], tf.float64), [], tf.int32)
tf.random.stateless_uniform([2], [1, 2])
tf.random.stateless_uniform([2], tf.constant([1, 2]), minval=0, maxval=7, dtype=tf.int32)
tf.random.stateless_normal([2], seed=(1, 2), name="n")
tf.random.stateless_truncated_normal([2], [1, 2], dtype=tf.float64)
tf.random.stateless_categorical([[1.0, 2.0]], tf.constant(5), [1, 2], dtype=tf.int32, name="c")
tf.random.stateless_multinomial([[1.0, 2.0]], 5, [1, 2])
tf.random_gamma([4], [1.0, 2.0], beta=[3.0, 4.0], seed=1)
tf.random.gamma([], tf.constant([1.0, 2.0], tf.float64), dtype=tf.float64)
""".strip().split("\n")


def describe(node):
    attrs = {}
    for key, value in node.attr.items():
        if key == "value":
            attrs[key] = tf.make_ndarray(value.tensor).tolist()
        elif key[0] != "_":
            attrs[key] = tf.as_dtype(value.type).name if value.type else value.i
    return {"name": node.name, "op": node.op, "input": list(node.input), "attr": attrs}


def main():
    rows = []
    for graph_seed in (None, 5):
        for call in CALLS:
            with tf.Graph().as_default() as graph:
                tf.set_random_seed(graph_seed)
                result = eval(call, {"tf": tf, "np": np})
                nodes = [describe(node) for node in graph.as_graph_def().node]
            shape = result.shape.as_list()
            fact = {
                "call": call,
                "graph_seed": graph_seed,
                "result": result.name,
                "shape": shape,
                "nodes": nodes,
            }
            rows.append(json.dumps(fact, sort_keys=True))
    out = pathlib.Path(__file__).resolve().parent.parent / "random_graphs.json"
    out.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
