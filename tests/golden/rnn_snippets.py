"""The snippets of rnn_graphs.txt and what a graph that one built looks like; for the oracle and for the test."""

import hashlib
import re

import canonical
import numpy as np


def snippets():
    """The snippets by name."""
    content = (canonical.GOLDEN / "rnn_graphs.txt").read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)\n", content, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def text(function):
    """What a function returns, as text, or the error it raises."""
    try:
        return repr(function())
    except Exception as error:
        return "{}: {}".format(type(error).__name__, error)


def run(tf, source, core_rnn_cell):
    """Runs a snippet; returns the nodes, the bodies, the collections and what was put out."""
    out = []
    with tf.Graph().as_default() as graph:
        tf.get_variable_scope().set_use_resource(True)
        exec(source, {"tf": tf, "np": np, "out": out, "text": text, "core_rnn_cell": core_rnn_cell})
    proto = graph.as_graph_def()
    # What initializers build is tested elsewhere.
    nodes = [line(item) for item in canonical.graph_nodes(graph) if "/Initializer/" not in item[0]]
    bodies = sorted(body(function) for function in proto.library.function)
    collections = {key: names for key, names in canonical.graph_collections(graph).items() if names}
    return {"nodes": nodes, "bodies": bodies, "collections": collections, "out": [str(each) for each in out]}


def line(item):
    """A node as "name op #digest", the digest being that of its inputs, attrs, shapes and device."""
    name, op, *rest = item
    # Functions are numbered through the process.
    rest = re.sub(r'("func":"\w+?)_\d+"', r'\1_#"', canonical.dumps(rest))
    return "{} {} #{}".format(name, op, hashlib.sha256(rest.encode()).hexdigest()[:8])


def body(function):
    """A function as a text: its name, arguments and results, and a line for each node."""
    signature = function.signature
    sides = [
        ",".join("{}:{}".format(arg.name, canonical.type_name(arg.type)) for arg in args)
        for args in (signature.input_arg, signature.output_arg)
    ]
    results = sorted("{}={}".format(key, function.ret[key]) for key in function.ret)
    lines = ["{} ({}) ({}) {}".format(re.sub(r"_\d+$", "", signature.name), *sides, ",".join(results))]
    lines += [line(canonical.node(node)) for node in function.node_def]
    return "\n".join(lines)
