"""Records what TensorFlow 1.15 makes of the calls in tests/golden/topics/*.txt, in JSON files beside them.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/topics.py [TOPIC ...]`.
Each call that runs has a process of its own, since some kernels end the process on bad values; such a call must not
stand among the calls.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import topics
from tensorflow.python.ops import gen_clustering_ops


class Raw:
    """Ops as functions: those of tf.raw_ops, and some that have no public name."""

    KMC2ChainInitialization = staticmethod(gen_clustering_ops.kmc2_chain_initialization)
    KmeansPlusPlusInitialization = staticmethod(gen_clustering_ops.kmeans_plus_plus_initialization)
    NearestNeighbors = staticmethod(gen_clustering_ops.nearest_neighbors)

    def __getattr__(self, name):
        return getattr(tf.raw_ops, name)


RAW = Raw()


def alone(mark, source):
    """Makes a call in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with os.fdopen(writer, "w") as stream:
            json.dump(topics.outcome(tf, RAW, mark, source), stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    if not text:
        raise SystemExit("TensorFlow dies of " + source)
    return json.loads(text)


def main():
    tf.enable_control_flow_v2()
    for topic in sys.argv[1:] or topics.topics():
        rows = []
        for mark, source in topics.calls(topic):
            found = topics.outcome(tf, RAW, mark, source) if mark == "n" else alone(mark, source)
            refused = isinstance(found, dict)
            if refused != (mark in "ec"):
                print("%s: %s: %s gives %s" % (topic, mark, source, found))
            rows.append(json.dumps(found, sort_keys=True))
        (topics.FOLDER / (topic + ".json")).write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
