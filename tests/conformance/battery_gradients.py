"""Compares an op's gradient with finite differences, in a random direction and in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

import headrace as tf
from tests.conformance import battery_nodes, battery_values

# Central differences with this step leave errors of about its square and of rounding over it: 1e-8 in double
# precision. Operands that can't be double (a fixed float32) get the coarser pair.
STEP, TOLERANCE = 1e-5, 1e-5
COARSE_STEP, COARSE_TOLERANCE = 1e-2, 2e-2

NOTHING, CLOSE = "nothing to compare", ""


def doubled(call: battery_nodes.Call) -> battery_nodes.Call:
    """Returns the case with every float type double, and every complex one complex128, where the op allows it."""
    wider = {
        tf.float16: tf.float64,
        tf.bfloat16: tf.float64,
        tf.float32: tf.float64,
        tf.complex64: tf.complex128,
    }
    changes: dict[str, Any] = {}
    for name, attr in call.kind.signature.attrs.items():
        value = call.attrs[name]
        if attr.type == "type" and value in wider:
            if attr.allowed is None or wider[value] in attr.allowed:
                changes[name] = wider[value]
        elif attr.type == "list(type)":
            types = tuple(wider.get(v, v) for v in value)
            if attr.allowed is None or all(t in attr.allowed for t in types):
                changes[name] = types
    return battery_nodes.with_types(call, changes, call.label + " in double precision")


def _differentiable(dtype: Any) -> bool:
    return dtype.base_dtype.is_floating or dtype.base_dtype.is_complex


def _finite(value: Any) -> Any:
    """Returns an operand with something to differentiate at in the place of NaN and infinities."""
    return np.where(np.isfinite(value), value, value.dtype.type(0.5)) if value.dtype.kind in "fc" else value


def _noise(random: Any, value: Any) -> Any:
    value = np.asarray(value)
    noise = random.standard_normal(value.shape)
    if value.dtype.kind == "c":
        noise = noise + 1j * random.standard_normal(value.shape)
    return np.asarray(noise).astype(value.dtype)


def _dot(a: Any, b: Any) -> float:
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    return float(np.real(np.sum(np.conj(a.astype(wide)) * b.astype(wide))))


def check(call: battery_nodes.Call) -> str:
    """Returns what is wrong with the gradient at a case, "" if nothing is, NOTHING if there is nothing to compare.

    Where the op has a kink at the very operands, a difference means nothing: a second try moves them a little.
    """
    call = doubled(call)
    random = np.random.RandomState(19)
    call.values = [_finite(v) for v in call.values]
    found = _check(call, call.values, random)
    if found in (NOTHING, CLOSE):
        return found
    moved = [
        v + 0.03 * _noise(random, v) if _differentiable(t) else v
        for t, v in zip(call.types, call.values, strict=True)
    ]
    again = _check(call, moved, random)
    return CLOSE if again == CLOSE else found


def _check(call: battery_nodes.Call, values: list[Any], random: Any) -> str:
    with tf.Graph().as_default():
        free = [i for i, t in enumerate(call.types) if _differentiable(t) and np.size(values[i])]
        fixed = [i for i in range(len(values)) if i not in free]
        node, feeds = call.node(known=fixed)
        for tensor, i in zip(list(feeds), free, strict=True):
            feeds[tensor] = np.asarray(values[i])
        xs = list(feeds)
        sizes = call.kind.plan.sizes(call.kind.signature.outputs, node.attrs)
        # Further outputs are by-products, whose gradients TensorFlow often drops; a list is one output.
        ys = node._outputs[: (1 if sizes[0] is None else sizes[0])] if sizes else []
        ys = [y for y in ys if _differentiable(y.dtype)]
        if not xs:
            return NOTHING
        if not ys:
            return CLOSE  # integers and booleans have no gradient
        at = battery_values.run(ys, feeds, "interpret")
        at = [np.asarray(v) for v in at]
        if not all(np.all(np.isfinite(v)) for v in at) or not any(v.size for v in at):
            return NOTHING
        weights = [_noise(random, v) for v in at]
        grads = tf.gradients(
            ys, xs, grad_ys=[tf.constant(w, y.dtype.base_dtype) for w, y in zip(weights, ys, strict=True)]
        )
        moving = [(x, g) for x, g in zip(xs, grads, strict=True) if g is not None]
        if not moving:
            return CLOSE  # declared to have none
        found = battery_values.run([tf.convert_to_tensor(g) for _, g in moving], feeds, "interpret")
        directions = {}
        analytic = scale = 0.0
        for (x, _), g in zip(moving, found, strict=True):
            g, v = np.asarray(g), _noise(random, feeds[x])
            if g.shape != v.shape:
                return f"the gradient of operand {xs.index(x)} has shape {list(g.shape)}, not {list(v.shape)}"
            directions[x] = v
            analytic += _dot(g, v)
            scale += float(np.sum(np.abs(g) * np.abs(v)))
        coarse = any(
            v.dtype.itemsize * (1 if v.dtype.kind == "f" else 0.5) < 8 for v in (*feeds.values(), *at)
        )
        step = COARSE_STEP if coarse else STEP
        sides = []
        for sign in (1, -1):
            near = {x: v + sign * step * directions[x] if x in directions else v for x, v in feeds.items()}
            near = {x: np.asarray(v, np.asarray(feeds[x]).dtype) for x, v in near.items()}
            sides.append([np.asarray(v) for v in battery_values.run(ys, near, "interpret")])
    numeric = sum(
        _dot(w, a.astype(w.dtype) - b.astype(w.dtype)) for w, a, b in zip(weights, *sides, strict=True)
    )
    numeric /= 2 * step
    if not np.isfinite(numeric):
        return NOTHING
    tolerance = COARSE_TOLERANCE if coarse else TOLERANCE
    if abs(numeric - analytic) <= tolerance * max(1.0, scale, abs(numeric)):
        return CLOSE
    return f"the gradient says {analytic:.8g} and finite differences say {numeric:.8g}"
