"""How a program of this folder is found, built and run, the same under the oracle and under headrace."""

import contextlib
import importlib.util
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent
TRAINING_STEPS = 50


def names(kind):
    """The names of the programs of a kind: "graphs" or "training"."""
    return sorted(path.stem for path in (FOLDER / kind).glob("*.py"))


def load(kind, name):
    """The module of one program."""
    spec = importlib.util.spec_from_file_location(
        f"programs_{kind}_{name}", str(FOLDER / kind / f"{name}.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(tf, module):
    """Builds a program in a graph of its own; returns the graph and its dict of fetches."""
    graph = tf.Graph()
    with graph.as_default():
        fetches = module.build(tf)
    return graph, fetches


@contextlib.contextmanager
def session(tf, graph):
    """A session on one thread, so that the oracle sums in the same order every time."""
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with tf.Session(graph=graph, config=config) as sess:
        yield sess


def run_graph_program(tf, graph, fetches, module):
    """What a graph program's tensors hold after "init" and, where it trains, after "train" ran twice.

    Returns:
      A dict from "first" and "trained" to dicts from fetch name to NumPy array.
    """
    tensors = {key: fetch for key, fetch in fetches.items() if not is_operation(fetch)}
    feed = feeds(module)
    results = {}
    if not tensors:
        return results
    with session(tf, graph) as sess:
        if "init" in fetches:
            sess.run(fetches["init"])
        results["first"] = sess.run(tensors, feed)
        if "train" in fetches:
            sess.run(fetches["train"], feed)
            sess.run(fetches["train"], feed)
            results["trained"] = sess.run(tensors, feed)
    return results


def train_program(tf, module, steps=TRAINING_STEPS):
    """Builds and trains a training program; returns the losses of its steps as Python floats."""
    graph, fetches = build(tf, module)
    losses = []
    batches = module.batches()
    with session(tf, graph) as sess:
        sess.run(fetches["init"])
        for _ in range(steps):
            loss, _ = sess.run([fetches["loss"], fetches["train"]], next(batches))
            losses.append(float(loss))
    return losses


def feeds(module):
    """The feed dict of a graph program, empty where it feeds nothing."""
    return module.feeds() if hasattr(module, "feeds") else {}


def is_operation(fetch):
    """True for an operation, which is run for its effects and has no value."""
    return not hasattr(fetch, "dtype")
