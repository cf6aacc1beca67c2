"""Calls of single ops with edge values, made once with TensorFlow for tests/golden/raw_ops and again by the tests.

A row of `raw_ops/AREA.json` is `[op, attrs, operands, outcome]`, or `[op, attrs, operands, outcome, gradients]`.

- attrs: those that no operand determines; types and shapes are `{"type": name}` and `{"shape": dims}`, a tensor
  `{"tensor": value}`.
- operands: one value per input, a list of values `{"list": values}` where the input is a list. A value is
  `[dtype, shape, flat numbers]`.
- outcome: one value per flat output; or the class of the refusal and how its message begins.
- gradients: for each float operand the first gradient, `null` where there is none, then the second ones; or the class
  of the refusal. The weights are those of `weights`.
"""

import base64
import json
import pathlib

import canonical
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent / "raw_ops"
LARGEST = 200  # elements of an output that is kept
STEM = 60  # characters of a refusal's message


def areas():
    """Returns the names of the areas."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def rows(area):
    """Returns the rows of an area."""
    return json.loads((FOLDER / (area + ".json")).read_text())


def write(area, table):
    """Writes rows, one a line."""
    lines = [json.dumps(row, separators=(",", ":"), sort_keys=True) for row in table]
    (FOLDER / (area + ".json")).write_text("[\n" + ",\n".join(lines) + "\n]\n")


def keep(value):
    """Returns an array or bytes as it is kept."""
    if isinstance(value, bytes):
        value = np.array(value, object)
    value = np.asarray(value)
    kind = value.dtype.name
    flat = value.ravel()
    if value.dtype.kind in "OSU":
        return ["string", list(value.shape), [canonical.text(v) for v in flat.tolist()]]
    if value.dtype.kind == "c":
        half = np.float32 if kind == "complex64" else np.float64
        parts = np.stack([flat.real, flat.imag], -1).astype(half)
        return [kind, list(value.shape), _shortest(parts.ravel())]
    return [kind, list(value.shape), _shortest(flat)]


def _shortest(flat):
    if flat.dtype.name == "bfloat16":
        flat = flat.astype(np.float32)
    if flat.dtype.name in ("float16", "float32"):
        return [float(str(v)) for v in flat]
    if flat.dtype.fields:  # NumPy's stand-ins for quantized types
        return [int(v[0]) for v in flat]
    return flat.tolist()


def _bytes(text):
    if text.startswith("base64:"):
        return base64.b64decode(text[7:])
    return text.encode()


def array(kept, storage):
    """Returns a kept value as an array.

    Args:
      kept: The value.
      storage: Makes a NumPy type of the name of a dtype.
    """
    kind, shape, flat = kept
    if kind == "string":
        out = np.empty(len(flat), object)
        for i, v in enumerate(flat):
            out[i] = _bytes(v)
        return out.reshape(shape)
    if kind.startswith("complex"):
        half = np.float32 if kind == "complex64" else np.float64
        return np.array(flat, half).view(kind).reshape(shape)
    if kind == "bfloat16":
        return np.array(flat, np.float32).astype(storage(kind)).reshape(shape)
    return np.array(flat, storage(kind)).reshape(shape)


def weights(shape, dtype):
    """Returns what a tensor's gradient is weighed with."""
    size = int(np.prod(shape))
    return np.round(np.cos(np.arange(size)) + 0.1, 2).reshape(shape).astype(dtype)


def attr(kept, tf):
    """Returns an attr's value."""
    if isinstance(kept, list):
        return [attr(v, tf) for v in kept]
    if isinstance(kept, dict):
        if "type" in kept:
            return tf.as_dtype(kept["type"])
        if "shape" in kept:
            return tf.TensorShape(kept["shape"])
        return array(kept["tensor"], lambda name: tf.as_dtype(name).as_numpy_dtype)
    return kept


def constants(operands, tf):
    """Returns a call's operands as constants."""
    out = []
    for operand in operands:
        if isinstance(operand, dict):
            out.append(constants(operand["list"], tf))
        else:
            dtype = tf.as_dtype(operand[0])
            out.append(tf.constant(array(operand, lambda name: tf.as_dtype(name).as_numpy_dtype), dtype))
    return out


def flat(tensors):
    """Returns nested tensors in one list."""
    if isinstance(tensors, (list, tuple)):
        return [t for part in tensors for t in flat(part)]
    return [] if tensors is None else [tensors]


def refusal(error):
    """Returns what is kept of a refusal."""
    return {"raises": type(error).__name__, "message": str(error).split("\n")[0][:STEM]}


def differentiable(tensor):
    """Whether a tensor has a gradient."""
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def gradients(tf, ys, values, xs):
    """Returns the gradients of a call's outputs, of known values, and those of the gradients.

    Returns:
      Two lists with a tensor or None for each of `xs`.
    """
    pairs = [(y, v) for y, v in zip(ys, values) if differentiable(y)]
    if not pairs:
        return [], []
    given = [tf.constant(weights(np.shape(v), y.dtype.as_numpy_dtype)) for y, v in pairs]
    first = tf.gradients([y for y, _ in pairs], xs, given)
    first = [g if g is None else tf.convert_to_tensor(g) for g in first]
    there = [g for g in first if g is not None and g.shape.is_fully_defined() and differentiable(g)]
    if not there:
        return first, []
    try:
        given = [tf.constant(weights(g.shape.as_list(), g.dtype.as_numpy_dtype)) for g in there]
        second = tf.gradients(there, xs, given)
    except LookupError:
        return first, []
    return first, [g if g is None else tf.convert_to_tensor(g) for g in second]


def features(row):
    """Returns what a row is an example of: types, attrs, sizes, ranks, values and outcomes."""
    _, attrs, operands, outcome = row[:4]
    out = {("attr", k, json.dumps(v, sort_keys=True)) for k, v in attrs.items()}
    flat = [(str(i), o) for i, o in enumerate(operands) if isinstance(o, list)]
    flat += [("list", v) for o in operands if isinstance(o, dict) for v in o["list"]]
    for i, (kind, shape, values) in flat:
        out.add(("type", i, kind))
        out.add(("rank", i, len(shape)))
        out.add(("size", i, 0 in shape, 1 in shape))
        if kind not in ("string", "bool") and values:
            out.add(("finite", i, bool(np.isfinite(values).all())))
            out.add(("large", i, any(abs(v) > 1e5 for v in values)))
            out.add(("sign", i, any(v < 0 for v in values), any(v == 0 for v in values)))
            out.add(("tie", i, len(set(values)) < len(values)))
    out.add(("outcome", json.dumps(outcome) if isinstance(outcome, dict) else len(outcome)))
    if len(row) > 4:
        out.add(("gradients", flat[0][1][0] if flat else "", isinstance(row[4], dict)))
    return out


def chosen(rows_, least=8):
    """Returns few rows of one op that have, together, every feature that some row has."""
    left = [(features(row), row) for row in rows_]
    covered, out = set(), []
    while left:
        best = max(range(len(left)), key=lambda i: len(left[i][0] - covered))
        if not left[best][0] - covered and len(out) >= least:
            break
        found, row = left.pop(best)
        covered |= found
        out.append(row)
    return sorted(out, key=json.dumps)
