"""Makes the calls of tests/golden/raw_ops out of the ops' recorded cases; the oracle then says what they give.

`python -m tests.golden.raw_seeds [AREA ...]` writes them; `record/raw_ops.py` completes them.

Of each op: its first cases, in every type that has a kernel, empty, of size 1, with NaN, infinities, the largest and
smallest integers, zeros and ties, and with every other value of its attrs.
"""

from __future__ import annotations

import json
import pathlib
import random
import sys
from dataclasses import replace
from typing import Any

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

import headrace as tf  # noqa: E402
from headrace import shapes  # noqa: E402
from headrace.opdef import OPS  # noqa: E402
from tests.conformance import battery_nodes, battery_types  # noqa: E402
from tests.golden import raw_calls  # noqa: E402

AREAS = ("array", "math", "nn", "linalg", "random", "signal")
SIZE = 40  # elements of an operand
PER_OP = 60

# What these give is not determined, or is not a value; or TensorFlow has no public function for them, and a topic has
# their calls.
LEFT_OUT = {
    "KMC2ChainInitialization",
    "KmeansPlusPlusInitialization",
    "NearestNeighbors",
    "Empty",
    "Const",
    "HostConst",
    "ParallelConcat",
    "_ParallelConcatStart",
    "Timestamp",
    "PrintV2",
    "Print",
}


def names(area: str) -> list[str]:
    """Returns the ops of an area whose cases are calls of tensors."""
    out = []
    for name, op in sorted(OPS.items()):
        if not op.module.startswith(f"headrace.ops.{area}.") or name in LEFT_OUT:
            continue
        if not battery_nodes.recorded(name).calls:
            continue
        arguments = (*op.signature.inputs, *op.signature.outputs)
        if any(a.is_ref or a.dtype in (tf.resource, tf.variant) for a in arguments):
            continue
        out.append(name)
    return out


def calls(name: str) -> list[list[Any]]:
    """Returns the rows [op, attrs, operands] of an op."""
    out: dict[str, list[Any]] = {}

    def add(call: battery_nodes.Call) -> None:
        if any(np.size(v) > SIZE for v in call.values) or not battery_types.has_kernel(name, call.attrs):
            return
        try:
            made = row(call)
        except TypeError:
            return
        out.setdefault(json.dumps(made), made)

    seeds = [c for c in battery_nodes.calls(name) if all(np.size(v) <= SIZE for v in c.values)]
    if not seeds:
        return []
    for call in seeds[:4]:
        add(call)
    for call, _ in battery_types.variants(name):
        add(call)
        for changed in _edges(call)[:2]:
            add(changed)
    for call in seeds[:2]:
        for changed in (*_edges(call), *_attrs(call), *_sizes(call)):
            add(changed)
    chance = random.Random(name)
    pool = list(out.values())
    if len(pool) > PER_OP:
        pool = pool[:8] + chance.sample(pool[8:], PER_OP - 8)
    return pool


def row(call: battery_nodes.Call) -> list[Any]:
    """Returns a call as a row."""
    operands: list[Any] = []
    plan = call.kind.plan
    kept = []
    for dtype, value in zip(call.types, call.values, strict=True):
        value = np.asarray(value, dtype.storage)
        one = raw_calls.keep(value)
        one[0] = dtype.name
        kept.append(one)
    for arg, n in zip(plan.signature.inputs, plan.sizes(plan.signature.inputs, call.attrs), strict=True):
        if arg.is_list:
            operands.append({"list": kept[:n]})
            kept = kept[n:]
        else:
            operands.append(kept.pop(0))
    attrs = {k: _attr(v, call.kind.signature.attrs[k].type) for k, v in call.given_attrs().items()}
    if attrs.get("seed") == 0 and attrs.get("seed2") == 0:
        attrs["seed"], attrs["seed2"] = 7, 3
    return [call.kind.name, attrs, operands]


def _attr(value: Any, kind: str) -> Any:
    if kind.startswith("list"):
        return [_attr(v, kind[5:-1]) for v in value]
    if kind == "type":
        return {"type": value.name}
    if kind == "shape":
        return {"shape": None if value is None else [None if d in (None, -1) else int(d) for d in value]}
    if kind in ("func", "tensor"):
        raise TypeError(kind)
    if isinstance(value, bytes):
        return value.decode()
    return value


def _with(call: battery_nodes.Call, i: int, value: Any) -> battery_nodes.Call:
    values = list(call.values)
    values[i] = value
    return replace(call, values=values, attrs=dict(call.attrs))


def _edges(call: battery_nodes.Call) -> list[battery_nodes.Call]:
    """Other values of the same shapes."""
    out = []
    for i, value in enumerate(call.values):
        value = np.asarray(value)
        if not value.size or value.dtype == object or value.dtype.kind == "b":
            continue
        kind = value.dtype.kind
        pools: list[list[Any]] = []
        if kind in "iu":
            info = np.iinfo(value.dtype)
            pools = [[info.max, info.min, -1, 0, 2], [0], [1], [-1], [-2, 3, -3]]
            pools = [[v for v in p if info.min <= v <= info.max] for p in pools]
        elif ".linalg" in call.kind.module or ".signal" in call.kind.module:
            pools = [[0.0], [1.0], [-2.0, 1.0, 1.0, 3.0, 0.5]]
        else:
            pools = [
                [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5],
                [0.0, -0.0],
                [-1.0, 2.5, -2.5, 0.5, -0.5, 7.0],
                [1.0],
                [1e30, -1e30, 1e-30],
            ]
        for pool in pools:
            if pool:
                with np.errstate(all="ignore"):
                    out.append(_with(call, i, np.resize(np.array(pool).astype(value.dtype), value.shape)))
    return out


def _resized(value: Any, shape: Any) -> Any:
    value = np.asarray(value)
    if value.size == 0 or 0 in shape:
        return np.full(shape, b"" if value.dtype == object else 0, value.dtype)
    return np.resize(value, shape)


def _sizes(call: battery_nodes.Call) -> list[battery_nodes.Call]:
    """Other shapes: a size that becomes 0 or 1 everywhere or in one operand, ranks that change."""
    out = []
    for old in sorted({d for v in call.values for d in np.shape(v)}):
        for new in (0, 1):
            changed = replace(call, values=list(call.values), attrs=dict(call.attrs))
            for i, v in enumerate(call.values):
                changed.values[i] = _resized(v, tuple(new if d == old else d for d in np.shape(v)))
            out.append(changed)
    for i, value in enumerate(call.values):
        shape = np.shape(value)
        out.append(_with(call, i, _resized(value, (1, *shape))))
        if shape:
            out.append(_with(call, i, _resized(value, shape[1:])))
            for at in range(len(shape)):
                for new in (0, 1, 3):
                    if shape[at] != new:
                        out.append(_with(call, i, _resized(value, (*shape[:at], new, *shape[at + 1 :]))))
    return out


def _attrs(call: battery_nodes.Call) -> list[battery_nodes.Call]:
    """Every other value of each attr, one at a time."""
    out = []
    inferred = call.kind.plan.inferred
    for attr in call.kind.signature.attrs.values():
        if attr.name in inferred or attr.name not in call.attrs:
            continue
        value = call.attrs[attr.name]
        others: list[Any] = []
        if attr.type == "bool":
            others = [not value]
        elif attr.type == "int":
            others = [v for v in (-1, 0, 1, 2, 3) if v != value]
        elif attr.type == "float":
            others = [v for v in (-1.0, 0.0, 0.5, 2.0) if v != value]
        elif attr.type == "string" and attr.allowed:
            others = [v for v in attr.allowed if v != value]
        elif attr.type == "list(int)" and value:
            others = [
                (*value[:i], new, *value[i + 1 :])
                for i in range(len(value))
                for new in (0, 1, 2, -1)
                if new != value[i]
            ]
        elif attr.type == "shape" and value:
            others = [None, shapes.as_shape([None] * len(value)) if hasattr(shapes, "as_shape") else None]
        out += [replace(call, values=list(call.values), attrs=call.attrs | {attr.name: v}) for v in others]
    return out


def main() -> None:
    """Writes the calls of the areas that are named, by default of all."""
    raw_calls.FOLDER.mkdir(exist_ok=True)
    for area in sys.argv[1:] or AREAS:
        table = [r for name in names(area) for r in calls(name)]
        raw_calls.write(area, table)
        print(area, len(names(area)), "ops,", len(table), "calls")


if __name__ == "__main__":
    main()
