"""Graphs that TensorFlow 1.15 wrote with Switch, Merge and frames compute here what they compute there."""

import base64
import json
import pathlib
import zlib

import numpy as np
import pytest

import headrace as tf
from headrace import proto
from headrace.passes.loops import CONTROL_FLOW
from headrace.runtime.plan import Plan
from headrace.runtime.state import SessionState

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "v1_control_flow.json").read_text())

# Sums over a loop's iterations, of products of a few: rounding differs where XLA fuses or reorders.
RTOL, ATOL = 2e-5, 2e-6


def unpacked(row):
    dtype, shape, flat = row
    if dtype == "string":
        return np.array([v.encode() for v in flat], object).reshape(shape)
    return np.array(flat, dtype).reshape(shape)


def run(name, tier, way):
    """Imports a recorded graph one way and returns what its steps give on a tier."""
    golden = GOLDEN[name]
    meta = proto.MetaGraphDef.FromString(zlib.decompress(base64.b64decode(golden["meta_graph"])))
    with tf.Graph().as_default(), tf.Session() as session:
        session._tier = tier
        if way == "meta_graph":
            tf.train.import_meta_graph(meta)
        else:
            tf.import_graph_def(meta.graph_def, name="")
        session.run(golden["init"])
        for step in golden["steps"]:
            feed = {k: unpacked(v) for k, v in step["feed"].items()}
            yield session.run(golden["fetches"], feed), step["values"]


@pytest.mark.parametrize("tier", ["interpret", "auto", "compile"])
@pytest.mark.parametrize("name", GOLDEN)
def test_values(name, tier):
    way = "graph_def" if tier == "interpret" else "meta_graph"
    for i, (got, wanted) in enumerate(run(name, tier, way)):
        for fetch, value, want in zip(GOLDEN[name]["fetches"], got, wanted, strict=True):
            where = f"{fetch} in step {i}"
            if want is None:
                assert value is None, where
                continue
            want = unpacked(want)
            value = np.asarray(value, object if want.dtype == object else None)
            assert value.shape == want.shape, where
            if want.dtype.kind == "f":
                assert value.dtype == want.dtype, where
                np.testing.assert_allclose(value, want, RTOL, ATOL, err_msg=where)
            else:
                assert value.tolist() == want.tolist(), where


@pytest.mark.parametrize("name", GOLDEN)
def test_every_region_has_a_functional_form(name):
    golden = GOLDEN[name]
    meta = proto.MetaGraphDef.FromString(zlib.decompress(base64.b64decode(golden["meta_graph"])))
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(meta.graph_def, name="")
    elements = [graph.as_graph_element(f) for f in golden["fetches"]]
    fetches = [e for e in elements if isinstance(e, tf.Tensor)]
    targets = [e for e in elements if isinstance(e, tf.Operation)]
    feeds = [graph.get_tensor_by_name(t) for t in golden["steps"][0]["feed"]]
    kinds = {}
    for tier in ("interpret", "auto"):
        plan = Plan(SessionState(), fetches, targets, feeds, tier)
        kinds[tier] = {op.type for op in plan.ops}
    assert not kinds["auto"] & (CONTROL_FLOW | {"ControlFlowRegion"})
    assert kinds["auto"] & {"If", "StatelessIf", "While", "StatelessWhile"}
    assert "ControlFlowRegion" in kinds["interpret"]


def test_there_is_something_to_compare():
    assert len(GOLDEN) >= 25
