"""Recorded cases with other shapes, values and attrs: an op's rules must agree on each, or all refuse it."""

from __future__ import annotations

import contextlib
import functools
import resource
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import headrace as tf
from headrace import errors, shapes
from headrace.opdef import OPS
from tests.conformance import battery_nodes, battery_types, battery_values

SIZES = (0, 1, 2, 3, 5)
FLOATS = (0.0, -0.0, 1.0, -1.5, 0.25, 3.0, 1e30, np.inf, -np.inf, np.nan)
WHOLES = (0, 1, 2, 3, 5, -1, -2, 127)

# What building a node may raise, and what running it may.
BUILDING = (ValueError, TypeError, errors.OpError)


# Ops whose rules may disagree, and why.
EXEMPT = {
    "AccumulateNV2": "TensorFlow believes its attr about the shape",
    "DebugIdentity": "behind a gate that is shut it gives nothing, whatever the static shape says",
    "DebugNanCount": "the same",
    "DebugNumericSummary": "the same",
    "ExtractGlimpse": "the noise around the image is random, and of another generator in each tier",
}


# Ops, by the beginning of their names, whose rules may differ on infinities, NaN and huge numbers, and why.
MODERATE = {
    "Betainc": "XLA's continued fraction does not converge for parameters like 1e30",
    "ResizeBilinear": "interpolation is a product of matrices, where 0 * inf is NaN, or picks pixels, where 0 is none",
    "ResizeBicubic": "the same",
    "ResizeArea": "the same",
    "ScaleAndTranslate": "the same",
    "CropAndResize": "the same",
}


def candidates() -> list[str]:
    """Names of the ops whose cases are calls without handles, references or lists of tensors."""
    out = []
    for name in sorted(OPS):
        if (
            name not in EXEMPT
            and battery_nodes.recorded(name).calls
            and not any(
                arg.is_ref or arg.dtype in (tf.resource, tf.variant) for arg in OPS[name].signature.inputs
            )
        ):
            out.append(name)
    return out


@st.composite
def changed(draw: Any, name: str) -> battery_nodes.Call:
    """A recorded call, changed once or twice."""
    call = draw(st.sampled_from(battery_nodes.calls(name)))
    call = replace(call, values=list(call.values), attrs=dict(call.attrs))
    for _ in range(draw(st.integers(1, 2))):
        kinds = ["dim", "size", "values", "rank"] if call.values else []
        if any(_can_be_huge(v) for v in call.values):
            kinds.append("huge")
        if _free_attrs(call):
            kinds.append("attr")
        if len(_variants(name)) > 1:
            kinds.append("type")
        if not kinds:
            break
        _CHANGES[draw(st.sampled_from(kinds))](draw, call)
    if ".linalg" in call.kind.module:
        _make_regular(call)
    return call


def _make_regular(call: battery_nodes.Call) -> None:
    """Gives matrices that were made larger numbers of their own; rows that are repeated make them singular."""
    for i, value in enumerate(call.values):
        if (
            np.ndim(value) > 1
            and value.dtype.kind in "fc"
            and np.size(value) != np.size(call.case.operands[i])
        ):
            numbers = np.random.default_rng(value.size).normal(size=value.shape)
            call.values[i] = numbers.astype(value.dtype)


def _resized(value: Any, shape: Any) -> Any:
    value = np.asarray(value)
    if value.size == 0 or 0 in shape:
        filler = b"" if value.dtype == object else 0
        return np.full(shape, filler, value.dtype)
    return np.resize(value, shape)


def _change_dim(draw: Any, call: battery_nodes.Call) -> None:
    """One size becomes another wherever it stands."""
    sizes = sorted({d for v in call.values for d in np.shape(v)})
    if not sizes:
        return
    old, new = draw(st.sampled_from(sizes)), draw(st.sampled_from(SIZES))
    for i, v in enumerate(call.values):
        if old in np.shape(v):
            call.values[i] = _resized(v, tuple(new if d == old else d for d in np.shape(v)))


def _change_size(draw: Any, call: battery_nodes.Call) -> None:
    """One dimension of one operand changes."""
    i = draw(st.integers(0, len(call.values) - 1))
    shape = list(np.shape(call.values[i]))
    if shape:
        shape[draw(st.integers(0, len(shape) - 1))] = draw(st.sampled_from(SIZES))
        call.values[i] = _resized(call.values[i], tuple(shape))


def _change_values(draw: Any, call: battery_nodes.Call) -> None:
    i = draw(st.integers(0, len(call.values) - 1))
    value = np.asarray(call.values[i])
    if value.size == 0 or value.dtype == object or value.dtype.kind == "b":
        return
    pool = WHOLES if value.dtype.kind in "iu" else FLOATS
    if ".linalg" in call.kind.module or call.kind.name.startswith(tuple(MODERATE)):
        # What LAPACK and XLA's own decompositions make of NaN and infinity nobody has said.
        pool = [v for v in pool if np.isfinite(v) and abs(v) < 1e10]
    picked = draw(st.lists(st.sampled_from(pool), min_size=min(value.size, 4), max_size=min(value.size, 8)))
    with np.errstate(all="ignore"):
        call.values[i] = np.resize(np.array(picked).astype(value.dtype), value.shape)


@functools.cache
def _variants(name: str) -> list[Any]:
    return battery_types.variants(name)


def _can_be_huge(value: Any) -> bool:
    """Whether an operand could be sizes, of which an absurd one is refused and not tried.

    What an int32 can hold alone is a lot of memory, and not too much of it.
    """
    dtype = np.asarray(value).dtype
    return 0 < np.size(value) <= 8 and (dtype == np.int64 or (dtype == np.int32 and np.size(value) > 1))


def _change_huge(draw: Any, call: battery_nodes.Call) -> None:
    i = draw(st.sampled_from([i for i, v in enumerate(call.values) if _can_be_huge(v)]))
    value = np.array(call.values[i])
    if value.dtype == np.int32:
        value[...] = draw(st.sampled_from((2**31 - 1, -(2**31))))
    else:
        at = draw(st.integers(0, value.size - 1))
        value.reshape(-1)[at] = draw(st.sampled_from((2**40, 2**62, 2**63 - 1, -(2**40), -(2**63))))
    call.values[i] = value


def _change_type(draw: Any, call: battery_nodes.Call) -> None:
    """One type attr becomes another type that TensorFlow has a kernel for."""
    other, _ = draw(st.sampled_from(_variants(call.kind.name)))
    changes = {
        k: v
        for k, v in other.attrs.items()
        if call.kind.signature.attrs[k].type == "type" and call.attrs[k] != v
    }
    if changes:
        made = battery_nodes.with_types(call, changes, call.label)
        call.types, call.values, call.attrs = made.types, made.values, made.attrs
        call.case = replace(call.case, tol=None)  # it was for the type it had


def _change_rank(draw: Any, call: battery_nodes.Call) -> None:
    i = draw(st.integers(0, len(call.values) - 1))
    shape = np.shape(call.values[i])
    if shape and draw(st.booleans()):
        call.values[i] = _resized(call.values[i], shape[1:])
    else:
        call.values[i] = _resized(call.values[i], (1, *shape))


def _free_attrs(call: battery_nodes.Call) -> list[Any]:
    inferred = call.kind.plan.inferred
    return [
        a
        for a in call.kind.signature.attrs.values()
        if a.name not in inferred
        and a.name in call.attrs
        and a.type in ("int", "bool", "float", "list(int)", "string")
    ]


def _change_attr(draw: Any, call: battery_nodes.Call) -> None:
    attr = draw(st.sampled_from(_free_attrs(call)))
    value = call.attrs[attr.name]
    if attr.type == "bool":
        call.attrs[attr.name] = not value
    elif attr.type == "int":
        call.attrs[attr.name] = draw(st.sampled_from((-1, 0, 1, 2, 3)))
    elif attr.type == "float":
        call.attrs[attr.name] = draw(st.sampled_from((-1.0, 0.0, 0.5, 2.0)))
    elif attr.type == "list(int)" and value:
        changed = list(value)
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.sampled_from((0, 1, 2, 3, -1)))
        call.attrs[attr.name] = tuple(changed)
    elif attr.type == "string" and attr.allowed:
        call.attrs[attr.name] = draw(st.sampled_from(list(attr.allowed)))


_CHANGES = {
    "dim": _change_dim,
    "size": _change_size,
    "values": _change_values,
    "huge": _change_huge,
    "type": _change_type,
    "rank": _change_rank,
    "attr": _change_attr,
}


@contextlib.contextmanager
def bounded_memory() -> Iterator[None]:
    """Refuses memory beyond a few gigabytes more than there are, so that absurd sizes fail and swap nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as f:
        pages = int(f.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (4 << 30), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def disagreement(call: battery_nodes.Call) -> str:
    """Returns in what an op's rules disagree on a call, the empty string if they agree or all refuse it."""
    name = call.kind.name
    static: Any = None
    with tf.Graph().as_default():
        try:
            node, _ = call.node(range(len(call.values)) if _is_small(call) else ())
            static = [t._dims for t in battery_values.fetchable(node)]
        except BUILDING as error:
            refused = f"building refuses it ({battery_values.reason(error)})"
        except Exception as error:
            return f"building breaks: {battery_values.reason(error)}"
    found = {}
    for tier in battery_values.TIERS:
        if tier == "compile" and OPS[name].rule("lower") is None:
            continue
        if battery_types.is_limited(name, tier, call.attrs):
            continue
        outcome = _outcome(call, tier)
        if outcome is None:
            return ""
        if isinstance(outcome, str) and outcome.startswith("!"):
            return f"{tier}: {outcome[1:]}"
        found[tier] = outcome
    if static is None:
        for tier, outcome in found.items():
            if not isinstance(outcome, str):
                return f"{refused}, and {tier} gives {_shown(outcome)}"
        return ""
    refusals = {tier: o for tier, o in found.items() if isinstance(o, str)}
    if refusals:
        gives = {tier: o for tier, o in found.items() if not isinstance(o, str)}
        if gives:
            return f"{refusals}, and {list(gives)} gives {_shown(next(iter(gives.values())))}"
        return ""
    for tier, outcome in found.items():
        for dims, value in zip(static, outcome, strict=True):
            if not shapes.compatible(dims, np.shape(value)):
                return f"{tier} gives shape {list(np.shape(value))}, and the static shape is {shapes.to_text(dims)}"
    if len(found) == 2:
        for i, (a, b) in enumerate(zip(*found.values(), strict=True)):
            if ".linalg" in call.kind.module and not _is_finite(a, b):
                # Which numbers a singular matrix spoils depends on the order of a decomposition's steps.
                continue
            bad = battery_values.difference(
                b, a, _tolerance(call), battery_values.TIERS_TOLERANCE, exact=True
            )
            if bad:
                return f"output {i}, compiled: {bad}"
    return ""


def _tolerance(call: battery_nodes.Call) -> Any:
    """Returns the recorded tolerance, or that of the least precise operand, of which a result can be no better."""
    if call.case.tol is not None:
        return call.case.tol
    table = battery_values.TIERS_TOLERANCE
    known = [table[t.name] for t in call.types if t.name in table]
    return max(known) if known else None


def _is_finite(*values: Any) -> bool:
    return all(np.isfinite(v).all() for v in values if v.dtype.kind in "fc")


def _is_small(call: battery_nodes.Call) -> bool:
    return all(np.size(v) < 1000 for v in call.values)


def _outcome(call: battery_nodes.Call, tier: str) -> Any:
    """Returns the outputs of a call whose shapes are not known while building, or why it is refused."""
    known = battery_nodes.static_operands(call) if tier == "compile" else ()
    with tf.Graph().as_default(), np.errstate(all="ignore"):
        for unknown in ([None] * len(call.values), [(None,) * len(s) for s in call.shapes], None):
            try:
                node, feeds = call.node(known, unknown)
                break
            except BUILDING:
                pass  # the op asks for more to be known of shapes
            except Exception as error:
                return f"!building breaks: {battery_values.reason(error)}"
        else:
            return None
        try:
            return battery_values.run(battery_values.fetchable(node), feeds, tier)
        except battery_values.FellBack as error:
            return battery_values.reason(error)
        except errors.OpError as error:
            if isinstance(error, errors.UnknownError) or (
                isinstance(error, errors.InternalError) and "rule gave" in error.message
            ):
                return f"!{battery_values.reason(error)}"
            return battery_values.reason(error)
        except Exception as error:
            return f"!breaks: {battery_values.reason(error)}"


def _shown(values: Any) -> str:
    return str([np.asarray(v).tolist() for v in values])[:120]
