"""Calls by topic give what they give under TensorFlow 1.15 (tests/golden/topics, recorded by record/topics.py)."""

import functools
import json
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw
from tests.golden import canonical

sys.modules.setdefault("canonical", canonical)  # as the recording script has it
from tests.golden import topics  # noqa: E402

# Of each element and of the largest of its array: kernels sum in another order, and their special functions are
# others. Values of other types, and those marked with r, must be equal.
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 4e-6,
    "complex64": 4e-6,
    "float64": 1e-9,
    "complex128": 1e-9,
}

# Streams are compiled in test_philox.py and by the conformance battery; here there are too many to compile.
TIERS = {"v": ("interpret", "compile"), "r": ("interpret", "compile")}


@functools.cache
def facts(topic):
    return json.loads((topics.FOLDER / f"{topic}.json").read_text())


CASES = [
    pytest.param(topic, i, mark, source, id=f"{topic}-{mark}-{source}")
    for topic in topics.topics()
    for i, (mark, source) in enumerate(topics.calls(topic))
]


def test_every_call_is_recorded():
    for topic in topics.topics():
        assert len(facts(topic)) == len(topics.calls(topic)), f"record {topic} again"


def different_nodes(source, got, want):
    """Says which node is not TensorFlow's."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        eval(source, topics.names(tf, raw))
    nodes = canonical.graph_nodes(graph)
    for node, mine, theirs in zip(nodes, got, want, strict=False):
        if mine != theirs:
            return f"{node} where TensorFlow has {theirs}; {len(got)} nodes where it has {len(want)}"
    return f"{len(got)} nodes where TensorFlow has {len(want)}"


def difference(got, want, exact):
    """What is wrong with a value, or the empty string."""
    if got is None or want is None:
        return "" if got is want else f"{got} where TensorFlow gives {want}"
    if got[:2] != want[:2]:
        return f"{got[:2]} where TensorFlow gives {want[:2]}"
    a, b = topics.array(got), topics.array(want)
    tolerance = 0.0 if exact else TOLERANCE.get(want[0], 0.0)
    if not tolerance:
        close = (a == b) | ((a != a) & (b != b))
    else:
        finite = np.abs(b[np.isfinite(b)])
        largest = float(finite.max()) if finite.size else 0.0
        close = np.isclose(a, b, rtol=tolerance, atol=tolerance * largest, equal_nan=True)
    if np.all(close):
        return ""
    at = tuple(int(i) for i in np.argwhere(~np.asarray(close))[0]) if b.ndim else ()
    return f"at {list(at)} {a[at]!r} where TensorFlow gives {b[at]!r}"


@pytest.mark.usefixtures("functional_control_flow")  # as when they were recorded
@pytest.mark.parametrize(("topic", "i", "mark", "source"), CASES)
def test_call(topic, i, mark, source):
    want = facts(topic)[i]
    for tier in TIERS.get(mark, ("interpret",)):
        got = topics.outcome(
            tf, raw, mark, source, lambda session, tier=tier: setattr(session, "_tier", tier)
        )
        if mark in "ec":
            assert isinstance(got, dict), "nothing is refused"
            assert got["raises"] == want["raises"], got
            if mark == "e":
                assert topics.stem(got) == topics.stem(want)
            continue
        assert not isinstance(got, dict), got
        if mark == "n":
            assert got == want, different_nodes(source, got, want)
            continue
        if mark == "s":
            assert got == want
            continue
        assert len(got) == len(want)
        for k, (a, b) in enumerate(zip(got, want, strict=True)):
            wrong = difference(a, b, mark == "r")
            assert not wrong, f"{tier}, result {k}: {wrong}"
