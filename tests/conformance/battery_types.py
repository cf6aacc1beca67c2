"""Runs an op's first case with every type that its signature allows."""

from __future__ import annotations

import functools
from typing import Any

import headrace as tf
from headrace.opdef import OPS
from headrace.runtime.cluster import can_lower
from tests.conformance import battery_nodes, battery_values

# What `type` without a list of types stands for here. Handles and quantized types have ops of their own.
ANY = (
    tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.string, tf.complex64, tf.int64, tf.bool,
    tf.bfloat16, tf.uint16, tf.complex128, tf.float16, tf.uint32, tf.uint64,
)  # fmt: skip

SLOT_OF_TIER = {"interpret": ("host", "T"), "compile": ("lower", "T")}


def is_limited(name: str, tier: str, attrs: dict[str, Any]) -> bool:
    """Whether a limit says that the tier can't do one of a node's types."""
    types = {v for v in attrs.values() if isinstance(v, tf.DType)}
    return any(types & _limited(name, tier))


@functools.cache
def _limited(name: str, tier: str) -> frozenset[Any]:
    slots = SLOT_OF_TIER[tier]
    if tier == "interpret" and OPS[name].rule("host") is None:
        slots = (*slots, "lower")
    limits = battery_nodes.recorded(name).limits
    return frozenset(dtype for limit in limits if limit.slot in slots for dtype in limit.dtypes)


def variants(name: str) -> list[battery_nodes.Call]:
    """Returns the first case in every type of each type attr, the other attrs as they are."""
    first = battery_nodes.calls(name)[0]
    out = []
    for attr in OPS[name].signature.attrs.values():
        if attr.type != "type":
            continue
        allowed = ANY if attr.allowed is None else attr.allowed
        plain = [t for t in allowed if not t.is_quantized and t not in (tf.resource, tf.variant)]
        for dtype in plain or allowed:
            label = f"{name} with {attr.name}={dtype.name}"
            call = battery_nodes.with_types(first, {attr.name: dtype}, label)
            call.case_types = (attr.name, dtype)  # type: ignore[attr-defined]
            out.append(call)
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
        good = [c for c in calls if c.case_types[1] not in limited]  # type: ignore[attr-defined]
        results = _run(good, tier, wrong)
        found[tier] = {c.label: r for c, r in zip(good, results, strict=True)}
        for call in calls:
            dtype = call.case_types[1]  # type: ignore[attr-defined]
            if dtype in limited:
                used.add((tier, dtype))
                failures: list[str] = []
                _run([call], tier, failures)
                if not failures:
                    wrong.append(f"{call.label} ({tier}) works: strike the limit")
    for tier in found:
        for dtype in _limited(name, tier):
            if (tier, dtype) not in used:
                wrong.append(f"a limit names {dtype.name}, which no type attr of {name} allows")
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
                flat = None
        results: list[Any] = []
        for (call, node, mine), fetch in zip(built, fetches, strict=True):
            if flat is not None:
                results.append(flat[: len(fetch)])
                flat = flat[len(fetch) :]
            elif node is None or (tier == "compile" and not can_lower(node)):
                results.append(None)
            else:
                try:
                    results.append(battery_values.run(fetch, mine, tier))
                except Exception as error:
                    wrong.append(f"{call.label} ({tier}): {battery_values.reason(error)}")
                    results.append(None)
        for (call, node, _), fetch, values in zip(built, fetches, results, strict=True):
            if values is None:
                continue
            for tensor, value in zip(fetch, values, strict=True):
                storage = tensor.dtype.base_dtype.storage
                dtype = getattr(value, "dtype", None)
                if not storage.hasobject and dtype != storage:
                    wrong.append(
                        f"{call.label} ({tier}): {tensor.name} holds {dtype}, and is declared {storage}"
                    )
    return results
