"""The optimizers' ops compute what TensorFlow 1.15 computes (recorded by tests/golden/record/training_values.py)."""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf
from headrace import errors
from headrace.opdef import OPS, raw

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import training_cases  # noqa: E402

FACTS = json.loads((GOLDEN / "training_values.json").read_text())
OPTIMIZERS = sorted(name for name in OPS if "Apply" in name and "Accumulator" not in name)
RUNS = {label: run for name in OPTIMIZERS for label, *run in training_cases.runs(OPS[name].op_def)}

# Roundings of two steps in another order of operations.
TOLERANCE = {"float32": 1e-6, "float64": 1e-14}


def test_every_run_was_recorded():
    assert sorted(FACTS) == sorted(RUNS)


def variables(states, operands, resource):
    """Returns what the op takes, a node that sets all variables, and tensors that read them."""
    taken, starts, reads = [], [], []
    for state in states:
        value = operands[state]
        if resource:
            handle = raw.VarHandleOp(dtype=value.dtype.name, shape=list(value.shape), shared_name=state)
            starts.append(raw.AssignVariableOp(handle, value))
            reads.append(raw.ReadVariableOp(handle, dtype=value.dtype.name))
        else:
            handle = raw.VariableV2(dtype=value.dtype.name, shape=list(value.shape))
            starts.append(raw.Assign(handle, value).op)
            reads.append(handle)
        taken.append(handle)
    return taken, starts, reads


TIERED = [(label, "interpret") for label in RUNS] + [
    (label, "compile") for label in RUNS if " float32 0" in label
]


@pytest.mark.parametrize(("label", "tier"), TIERED)
def test_values(label, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    states, operands, attrs = RUNS[label]
    name, dtype = label.split()[:2]
    with tf.Graph().as_default(), tf.Session() as session:
        taken, starts, reads = variables(states, operands, name.startswith("Resource"))
        rest = [tf.constant(v) for k, v in operands.items() if k not in states]
        node = OPS[name].node(*taken, *rest, **attrs)
        for each in starts:
            session.run(each)
        session.run(node)
        session.run(node)
        found = session.run(reads)
    for got, want in zip(found, FACTS[label], strict=True):
        assert got.dtype == dtype
        tolerance = TOLERANCE[dtype]
        np.testing.assert_allclose(got.ravel(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("indices", [[3, 0, 3, 1, 3, 0], [2, 1, 0], [1, 1, 1], []])
def test_rows_known_only_when_the_step_runs(indices, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    start = np.arange(8, dtype=np.float32).reshape(4, 2)
    gradient = np.linspace(-1, 1, 2 * len(indices), dtype=np.float32).reshape(-1, 2)
    var, accum = start.copy(), np.ones_like(start)
    for row, change in zip(indices, gradient, strict=True):
        accum[row] += change * change
        var[row] -= np.float32(0.5) * change / np.sqrt(accum[row])
    with tf.Graph().as_default(), tf.Session() as session:
        taken, starts, reads = variables(
            ["var", "accum"], {"var": start, "accum": np.ones_like(start)}, False
        )
        rows = tf.placeholder(tf.int32, [None])
        change = tf.placeholder(tf.float32, [None, 2])
        node = raw.SparseApplyAdagrad(*taken, 0.5, change, rows)
        session.run(starts)
        session.run(node.op, {rows: indices, change: gradient})
        found = session.run(reads)
    np.testing.assert_allclose(found[0], var, rtol=1e-6)
    np.testing.assert_allclose(found[1], accum, rtol=1e-6)


WRONG = [
    ("ApplyAdam", "m", [4, 5], "var and m do not have the same shape[4,3] [4,5]"),
    ("ApplyAdam", "lr", [2], "lr is not a scalar : [2]"),
    ("ApplyAdam", "epsilon", [2], "epsilon is not a scalar: [2]"),
    ("ApplyAdam", "grad", [5, 3], "var and grad do not have the same shape[4,3] [5,3]"),
    ("ApplyAdagradDA", "gradient_accumulator", [4, 5], "var and accum do not have the same shape[4,3] [4,5]"),
    ("ApplyFtrl", "lr", [2], "lr is not a positive scalar: [2]"),
    ("ApplyFtrl", "lr", -1.0, "lr is not a positive scalar: []"),
    ("ApplyFtrlV2", "l2_shrinkage", -1.0, "l2 shrinkage regularization strength is not a non-negative scalar: []"),
    ("ApplyFtrl", "lr_power", 0.5, "lr_power is not a non-positive scalar: []"),
    ("SparseApplyAdadelta", "accum", [4, 5], "var and accum_grad do not have the same shape[4,3] [4,5]"),
    ("SparseApplyProximalGradientDescent", "alpha", [2], "lr is not a scalar: [2]"),
    ("SparseApplyAdagrad", "grad", [6, 5], "var and grad must match in dimension 1"),
    ("SparseApplyAdagrad", "grad", [5, 3], "grad must be the same size as indices in the first dimension."),
    ("SparseApplyAdagrad", "indices", [1, 2], "indices must be one-dimensional"),
    ("SparseApplyAdagrad", "indices", np.array([0, 1, 2, 3, 4, 5]), "Index 4 at offset 4 in indices is out of range"),
    ("SparseApplyAdagrad", "indices", np.array([0, 1, 2, -1, 4, 5]), "Index -1 at offset 3 in indices is out of range"),
]  # fmt: skip


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize(
    ("name", "operand", "bad", "message"), WRONG, ids=lambda v: str(v).replace("\n", " ")
)
def test_refusals(name, operand, bad, message, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    _, states, operands, attrs = next(iter(training_cases.runs(OPS[name].op_def)))
    dtype = operands[operand].dtype
    operands[operand] = (np.ones(bad) if isinstance(bad, list) else np.asarray(bad)).astype(dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        taken = [raw.VariableV2(dtype="float32", shape=None) for _ in states]
        for variable, state in zip(taken, states, strict=True):
            session.run(raw.Assign(variable, operands[state], validate_shape=False).op)
        feeds = {tf.placeholder(v.dtype): v for k, v in operands.items() if k not in states}
        node = OPS[name].node(*taken, *feeds, **attrs)
        with pytest.raises(errors.InvalidArgumentError) as refusal:
            session.run(node, feeds)
        assert str(refusal.value).startswith(message)


def test_refusals_while_building():
    w = [raw.VariableV2(dtype="float32", shape=[4, 3]) for _ in range(3)]
    with pytest.raises(
        ValueError,
        match=r"Dimension 1 in both shapes must be equal, but are 3 and 5. Shapes are \[4,3\] and \[4,5\]\.",
    ):
        raw.ApplyMomentum(w[0], w[1], 0.1, np.ones([4, 5], np.float32), 0.9)
    with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
        raw.ApplyMomentum(w[0], w[1], [0.1], np.ones([4, 3], np.float32), 0.9)
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 4"):
        raw.SparseApplyAdagrad(w[0], w[1], 0.1, np.ones([4, 5], np.float32), [0, 1])
    with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 2"):
        raw.SparseApplyAdagrad(w[0], w[1], 0.1, np.ones([2, 3], np.float32), [[0, 1]])
