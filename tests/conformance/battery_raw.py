"""Compares an op with what TensorFlow 1.15 gave for the calls of tests/golden/raw_ops."""

from __future__ import annotations

import collections
import functools
import sys
from typing import Any

import numpy as np

import headrace as tf
from headrace import errors
from headrace.opdef import OPS
from headrace.runtime.cluster import can_lower
from tests.conformance import battery_types, battery_values
from tests.golden import canonical, raw_facts

sys.modules.setdefault("canonical", canonical)  # as the recording script has it
from tests.golden import raw_calls  # noqa: E402

# What gradients that cancel may leave: a few roundings at 1.
NOISE = {"float16": 2e-3, "float32": 3e-7, "float64": 1e-15, "complex64": 3e-7, "complex128": 1e-15}

# Ops of which TensorFlow reads outside of the operands where their shapes do not fit. We refuse these.
LEFT = {
    "AvgPoolGrad",
    "AvgPool3DGrad",
    "BlockLSTMGrad",
    "BlockLSTMGradV2",
    "Conv3DBackpropFilter",
    "Conv3DBackpropInput",
    "FusedBatchNormGrad",
    "FusedBatchNormGradV2",
    "FusedBatchNormGradV3",
    "MaxPoolGradV2",
    "MaxPoolGradWithArgmax",
}

# Refusals by a shape rule, by a kernel while it is made, and by a kernel while it runs.
KINDS = {"ValueError", "InvalidArgumentError", "UnimplementedError", "OutOfRangeError"}


def storage(name: str) -> Any:
    """Returns the NumPy type that holds a dtype."""
    return tf.as_dtype(name).storage


@functools.cache
def table() -> dict[str, list[list[Any]]]:
    """Returns the rows of each op."""
    out = collections.defaultdict(list)
    for area in raw_calls.areas():
        for row in raw_calls.rows(area):
            if len(row) > 3 and raw_facts.is_fact(row):
                out[row[0]].append(row)
    return dict(out)


def _operands(operands: list[Any], constant: bool, feeds: dict[Any, Any]) -> list[Any]:
    out: list[Any] = []
    for operand in operands:
        if isinstance(operand, dict):
            out.append(tuple(_operands(operand["list"], constant, feeds)))
            continue
        dtype, value = tf.as_dtype(operand[0]), raw_calls.array(operand, storage)
        if constant:
            out.append(tf.constant(value, dtype))
        else:
            tensor = tf.placeholder(dtype, value.shape)
            feeds[tensor] = value
            out.append(tensor)
    return out


def _node(row: list[Any]) -> tuple[Any, list[Any]]:
    op, attrs, operands = row[:3]
    inputs = _operands(operands, True, {})
    node = OPS[op].node(*inputs, **{k: raw_calls.attr(v, tf) for k, v in attrs.items()})
    return node, raw_calls.flat(inputs)


def check(op: str, tier: str) -> list[str]:
    """Returns in what an op differs from TensorFlow on a tier."""
    wrong: list[str] = []
    good = [row for row in table()[op] if isinstance(row[3], list)]
    bad = [row for row in table()[op] if not isinstance(row[3], list)]
    if tier == "compile" and OPS[op].rule("lower") is None:
        return wrong
    for row in bad if tier == "interpret" else ():
        why = _refuses(row)
        if why:
            wrong.append(f"{shown(row)}: {why}")
    with tf.Graph().as_default(), np.errstate(all="ignore"):
        built = []
        for row in good:
            if battery_types.is_limited(op, tier, {k: raw_calls.attr(v, tf) for k, v in _types(row).items()}):
                continue
            try:
                node, xs = _node(row)
                if tier == "compile" and not can_lower(node):
                    continue
                built.append((row, node._outputs, *_gradients(row, node, xs, wrong)))
            except Exception as error:
                wrong.append(f"{shown(row)}: {battery_values.reason(error)}")
        _compare(built, tier, wrong)
    return wrong


def _types(row: list[Any]) -> dict[str, Any]:
    out = {k: v for k, v in row[1].items() if isinstance(v, dict) and "type" in v}
    for i, operand in enumerate(row[2]):
        first = operand["list"][0] if isinstance(operand, dict) and operand["list"] else operand
        if isinstance(first, list):
            out[f"operand {i}"] = {"type": first[0]}
    return out


def _refuses(row: list[Any]) -> str:
    want = row[3]["raises"]
    with tf.Graph().as_default(), np.errstate(all="ignore"):
        try:
            node, _ = _node(row)
            got = battery_values.run(list(node._outputs), {}, "interpret")
        except Exception as error:
            found = type(error).__name__
            if found == want or {found, want} <= KINDS:
                return ""
            return f"raises {battery_values.reason(error)}, where TensorFlow raises {row[3]}"
        return f"gives {[raw_calls.keep(v) for v in got]}, where TensorFlow raises {row[3]}"[:300]


def _gradients(row: list[Any], node: Any, xs: list[Any], wrong: list[str]) -> tuple[list[Any], list[Any]]:
    """Returns the gradients that are to be compared, and what they should be."""
    if len(row) < 5:
        return [], []
    xs = [x for x in xs if raw_calls.differentiable(x)]
    values = [np.zeros(0) if v is None else raw_calls.array(v, storage) for v in row[3]]
    try:
        found = raw_calls.gradients(tf, node._outputs, values, xs)
    except Exception as error:
        if not isinstance(row[4], dict) or type(error).__name__ != row[4]["raises"]:
            wrong.append(f"{shown(row)}: gradients raise {battery_values.reason(error)}, not {row[4]}"[:400])
        return [], []
    if isinstance(row[4], dict):
        if row[4]["raises"] == "LookupError":
            wrong.append(f"{shown(row)}: has a gradient, where TensorFlow raises {row[4]}")
        return [], []
    tensors, wants = [], []
    for part, wanted in zip(found, row[4]):
        if row[0].startswith("FusedBatchNorm"):
            part = [None if w is None else g for g, w in zip(part, wanted, strict=True)]
        if [g is None for g in part] != [w is None for w in wanted]:
            wrong.append(f"{shown(row)}: gradients {part}, where TensorFlow has {wanted}"[:400])
            return [], []
        tensors += [g for g in part if g is not None]
        wants += [w for w in wanted if w is not None]
    return tensors, wants


def _compare(built: list[Any], tier: str, wrong: list[str]) -> None:
    flat = None
    try:
        flat = battery_values.run([t for _, ys, gs, _ in built for t in (*ys, *gs)], {}, tier)
    except Exception:
        flat = None  # one by one it shows which
    for row, ys, gs, wants in built:
        if flat is not None:
            values, flat = flat[: len(ys) + len(gs)], flat[len(ys) + len(gs) :]
        else:
            try:
                values = battery_values.run([*ys, *gs], {}, tier)
            except Exception as error:
                if row[0] not in LEFT or not isinstance(error, errors.InvalidArgumentError):
                    wrong.append(f"{shown(row)} ({tier}): {battery_values.reason(error)}")
                continue
        for i, (value, want) in enumerate(zip(values, [*row[3], *wants])):
            if want is None:
                continue
            what = f"output {i}" if i < len(ys) else f"gradient {i - len(ys)}"
            want = raw_calls.array(want, storage)
            if want.dtype.kind == "c" and value.shape == want.shape:
                # Libraries differ in which complex infinities and NaN there are.
                value, want = (np.where(np.isfinite(want), v, 0).astype(want.dtype) for v in (value, want))
            bad = battery_values.difference(value, want, exact=True)
            is_gradient = i >= len(ys) or row[0].startswith("FusedBatchNormGrad")
            if bad and is_gradient and value.shape == want.shape and value.dtype == want.dtype:
                with np.errstate(all="ignore"):
                    close = np.abs(value - want) <= NOISE.get(value.dtype.name, 0.0)
                    bad = "" if np.all(close | (value == want) | (value != value) & (want != want)) else bad
            if bad:
                wrong.append(f"{shown(row)} ({tier}): {what}: {bad}")
                break


def shown(row: list[Any]) -> str:
    """Returns a row's call in short."""
    operands = [o if isinstance(o, dict) else f"{o[0]}{o[1]} {str(o[2])[:60]}" for o in row[2]]
    attrs = {k: v["type"] if isinstance(v, dict) and "type" in v else v for k, v in row[1].items()}
    return f"{row[0]} {attrs} {operands}"[:260]
