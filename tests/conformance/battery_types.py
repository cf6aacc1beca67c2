"""Runs an op's first case with every type that its signature allows and TensorFlow has a kernel for."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import headrace as tf
from headrace.opdef import OPS
from headrace.runtime.cluster import can_lower
from headrace.runtime.kernel import is_plain
from tests.conformance import battery_nodes, battery_values
from tests.golden import canonical

KERNELS = canonical.read("kernels.json")

# What `type` stands for here where TensorFlow names no types either. Quantized types have ops of their own.
ANY = tuple(
    tf.as_dtype(name)
    for name in "float32 float64 int32 uint8 int16 int8 string complex64 int64 bool bfloat16 uint16 complex128 float16 "
    "uint32 uint64".split()
)

SLOT_OF_TIER = {"interpret": ("host", "T"), "compile": ("lower", "T")}


def is_limited(name: str, tier: str, attrs: dict[str, Any]) -> bool:
    """Whether a limit says that the tier can't do one of a node's types."""
    return bool({v for v in attrs.values() if isinstance(v, tf.DType)} & _limited(name, tier))


@functools.cache
def _limited(name: str, tier: str) -> frozenset[Any]:
    slots = SLOT_OF_TIER[tier]
    if tier == "interpret" and OPS[name].rule("host") is None:
        slots = (*slots, "lower")
    limits = battery_nodes.recorded(name).limits
    return frozenset(dtype for limit in limits if limit.slot in slots for dtype in limit.dtypes)


def has_kernel(name: str, attrs: dict[str, Any]) -> bool:
    """Whether TensorFlow has a kernel on the CPU for a node with these attrs."""
    rows = KERNELS.get(name)
    if rows is None:
        return True
    return any(all(_allows(types, attrs.get(attr, ())) for attr, types in row.items()) for row in rows)


def _allows(types: list[str], value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return all(v.base_dtype.name in types for v in values)


def variants(name: str) -> list[tuple[battery_nodes.Call, Any]]:
    """Returns the first case in every type of each type attr, the other attrs as they are; and the type."""
    first = battery_nodes.calls(name)[0]
    out = []
    for attr in OPS[name].signature.attrs.values():
        if attr.type != "type":
            continue
        allowed = ANY if attr.allowed is None else attr.allowed
        plain = [t for t in allowed if not t.is_quantized and t not in (tf.resource, tf.variant)]
        for dtype in plain or allowed:
            if has_kernel(name, first.attrs | {attr.name: dtype}):
                label = f"{name} with {attr.name}={dtype.name}"
                out.append((battery_nodes.with_types(first, {attr.name: dtype}, label), dtype))
    return out


def check(name: str) -> list[str]:
    """Returns what is wrong: a type that fails without a limit, a limit that holds no more, tiers that differ."""
    calls = variants(name)
    wrong: list[str] = []
    used: set[tuple[str, Any]] = set()
    found = {}
    for tier in battery_values.TIERS:
        if tier == "compile" and OPS[name].rule("lower") is None:
            continue
        limited = _limited(name, tier)
        good = [call for call, dtype in calls if dtype not in limited]
        found[tier] = {c.label: r for c, r in zip(good, _run(good, tier, wrong), strict=True)}
        for call, dtype in calls:
            if dtype in limited:
                used.add((tier, dtype))
                if tier == "compile" and not is_plain(dtype):
                    continue  # strings never enter a cluster
                failures: list[str] = []
                _run([call], tier, failures)
                if not failures:
                    wrong.append(f"{call.label} ({tier}) works: strike the limit")
        for dtype in limited:
            if (tier, dtype) not in used:
                wrong.append(f"a limit names {dtype.name}, which TensorFlow's {name} can't do either")
    if len(found) == 2:
        for label, interpreted in found["interpret"].items():
            compiled = found["compile"].get(label)
            if interpreted is None or compiled is None:
                continue
            for i, (a, b) in enumerate(zip(interpreted, compiled, strict=True)):
                bad = battery_values.difference(b, a, table=battery_values.TIERS_TOLERANCE, exact=True)
                if bad:
                    wrong.append(f"{label}, output {i}: the tiers differ, compiled: {bad}")
    return wrong


def _run(calls: list[battery_nodes.Call], tier: str, wrong: list[str]) -> list[Any]:
    """Runs all calls in one step, one by one if that fails; returns the outputs of each, None where it failed."""
    with tf.Graph().as_default():
        built = []
        for call in calls:
            known = battery_nodes.static_operands(call) if tier == "compile" else range(len(call.values))
            try:
                built.append((call, *call.node(known)))
            except (TypeError, ValueError) as error:
                wrong.append(f"{call.label}: {battery_values.reason(error)}")
                built.append((call, None, {}))
        fetches = [battery_values.fetchable(n) if n is not None else [] for _, n, _ in built]
        feeds = {t: v for _, _, more in built for t, v in more.items()}
        flat = None
        if all(n is not None for _, n, _ in built):
            try:
                flat = battery_values.run([t for f in fetches for t in f], feeds, tier)
            except Exception:
                flat = None  # one by one it shows which
        results: list[Any] = []
        for (call, node, mine), fetch in zip(built, fetches, strict=True):
            if flat is not None:
                results.append(flat[: len(fetch)])
                flat = flat[len(fetch) :]
            elif node is None or (tier == "compile" and not can_lower(node)):
                results.append(None)
            else:
                results.append(_one(call, fetch, mine, tier, wrong))
        for (call, *_), fetch, values in zip(built, fetches, results, strict=True):
            for tensor, value in zip(fetch, values or (), strict=values is not None):
                storage = tensor.dtype.base_dtype.storage
                dtype = getattr(value, "dtype", None)
                if not storage.hasobject and not tensor.dtype.is_quantized and dtype != storage:
                    wrong.append(
                        f"{call.label} ({tier}): {tensor.name} holds {dtype}, and is declared {storage}"
                    )
    return results


def _one(call: battery_nodes.Call, fetch: list[Any], feeds: Any, tier: str, wrong: list[str]) -> Any:
    try:
        with np.errstate(all="ignore"):
            return battery_values.run(fetch, feeds, tier)
    except Exception as error:
        wrong.append(f"{call.label} ({tier}): {battery_values.reason(error)}")
        return None
