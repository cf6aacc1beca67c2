"""Records what TensorFlow 1.15 makes of the calls in tests/golden/raw_ops, whose rows it completes.

    python -m tests.golden.raw_seeds AREA...              # makes the calls
    scripts/oracle tests/golden/record/raw_ops.py AREA...

Calls that end the process, that last, that differ between two sessions or give much are dropped, and
of the others those are kept that show something which none before them does.
"""

import json
import os
import pathlib
import resource
import signal
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, op_def_pb2
from tensorflow.python import pywrap_tensorflow
from tensorflow.python.framework import op_def_library

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import canonical
import raw_calls
import raw_facts


def registered():
    """Returns all ops that are registered."""
    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tensorflow.TF_GetBuffer(pywrap_tensorflow.TF_GetAllOpList()))
    return ops


LIBRARY = op_def_library.OpDefLibrary()
OPS = registered()
LIBRARY.add_op_list(OPS)
DEPRECATED = {op.name: op.deprecation.version for op in OPS.op}

SIGNATURES = canonical.read("opdefs.json")
CONFIG = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
CONFIG.graph_options.optimizer_options.opt_level = -1
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True


def run(tensors):
    with tf.Session(config=CONFIG) as session:
        return session.run(tensors)


def made(op, attrs, operands, names):
    inputs = raw_calls.constants(operands, tf)
    arguments = dict(zip(names, inputs))
    arguments.update({k: raw_calls.attr(v, tf) for k, v in attrs.items()})
    make = getattr(tf.raw_ops, op, None)
    try:
        result = LIBRARY.apply_op(op, **arguments) if make is None else make(**arguments)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        result = LIBRARY.apply_op(op, **arguments)  # whose names for arguments are the op's own
    return raw_calls.flat(inputs), raw_calls.flat(result)


def same(a, b):
    return all(json.dumps(raw_calls.keep(x)) == json.dumps(raw_calls.keep(y)) for x, y in zip(a, b))


def graph_for(op):
    """Returns an empty graph that may have the op: an old one if the op is deprecated."""
    graph = tf.Graph()
    if DEPRECATED.get(op):
        old = graph_pb2.GraphDef()
        old.versions.producer = 2
        with graph.as_default():
            tf.import_graph_def(old)
    return graph


def outcome(op, attrs, operands, names):
    """Returns the rest of a row, None for a call that is dropped."""
    with graph_for(op).as_default():
        try:
            xs, ys = made(op, attrs, operands, names)
            if not ys or not isinstance(ys[0], tf.Tensor):
                return None
            values = run(ys)
            if sum(np.size(v) for v in values) > raw_calls.LARGEST or not same(values, run(ys)):
                return None
        except Exception as error:
            if any(part in str(error) for part in raw_facts.NO_FACTS):
                return None
            return [raw_calls.refusal(error)]
        kept = [[raw_calls.keep(v) for v in values]]
        xs = [x for x in xs if raw_calls.differentiable(x)]
        if not xs or not any(raw_calls.differentiable(y) for y in ys):
            return kept
        try:
            found = []
            for part in raw_calls.gradients(tf, ys, values, xs):
                numbers = iter(run([g for g in part if g is not None]))
                found.append([g if g is None else raw_calls.keep(next(numbers)) for g in part])
            return kept + [found]
        except Exception as error:
            return kept + [raw_calls.refusal(error)]


def child(rows, names, stream):
    for row in rows:
        signal.alarm(4)
        print(json.dumps(outcome(row[0], row[1], row[2], names)), file=stream, flush=True)


def completed(rows, names):
    """Completes the rows of one op in a process of its own, in another one after a death."""
    out = []
    while rows:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(writer, "w") as stream:
                child(rows, names, stream)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as stream:
            lines = stream.read().split("\n")[:-1]
        os.waitpid(pid, 0)
        found = [json.loads(line) for line in lines]
        out += [row[:3] + rest for row, rest in zip(rows, found) if rest is not None]
        if len(found) < len(rows):
            print("TensorFlow dies of", json.dumps(rows[len(found)])[:300], flush=True)
        rows = rows[len(found) + 1 :]
    return out


def main():
    for area in sys.argv[1:] or raw_calls.areas():
        table = raw_calls.rows(area)
        kept = []
        for op in sorted({row[0] for row in table}):
            names = [arg["name"] for arg in SIGNATURES[op]["inputs"]] if op in SIGNATURES else []
            mine = [row for row in table if row[0] == op]
            done = [row for row in mine if len(row) > 3]
            done += completed([row for row in mine if len(row) == 3], names)
            kept += raw_calls.chosen([row for row in done if raw_facts.is_fact(row)])
        raw_calls.write(area, kept)
        print(area, len(table), "calls,", len(kept), "kept", flush=True)


if __name__ == "__main__":
    main()
