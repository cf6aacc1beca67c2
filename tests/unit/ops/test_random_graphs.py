"""The random functions add TensorFlow 1.15's nodes (recorded by tests/golden/record/random_graphs.py)."""

import json
import pathlib

import numpy as np
import pytest

import headrace as tf

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "random_graphs.json"
FACTS = json.loads(GOLDEN.read_text())


def describe(operation):
    attrs = {}
    for key, value in operation.attrs.items():
        if key == "value":
            attrs[key] = np.asarray(value).tolist()
        elif key[0] != "_":
            attrs[key] = value.name if isinstance(value, tf.DType) else value
    inputs = [tensor.name.removesuffix(":0") for tensor in operation.inputs]
    return {"name": operation.name, "op": operation.type, "input": inputs, "attr": attrs}


@pytest.mark.parametrize("fact", FACTS, ids=[f"{f['graph_seed']}-{f['call']}" for f in FACTS])
def test_nodes(fact):
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(fact["graph_seed"])
        result = eval(fact["call"], {"tf": tf, "np": np})
    assert [describe(operation) for operation in graph.get_operations()] == fact["nodes"]
    assert (result.name, result.shape.as_list()) == (fact["result"], fact["shape"])


@pytest.mark.parametrize("name", ["uniform", "stateless_uniform"])
def test_uniform_refuses(name):
    function = getattr(tf.random, name)
    seed = [[1, 2]] if "stateless" in name else []
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=r"Invalid dtype tf\.uint8"):
            function([2], *seed, dtype=tf.uint8)
        with pytest.raises(ValueError, match=r"Must specify maxval for integer dtype tf\.int32"):
            function([2], *seed, dtype=tf.int32)
