"""Fractional pooling: windows of two sizes in a random order, so that images shrink by any ratio.

The op draws where windows begin, and then pools; its gradient gets those places as operands. All of it runs on the
host: how many windows there are is known, how large each is is not.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from headrace.errors import InvalidArgumentError, UnimplementedError
from headrace.export import export
from headrace.opdef import op, raw
from headrace.ops.random import philox
from headrace.ops.random.candidates import Draws
from headrace.shapes import to_text, with_rank

_TYPES = "T: {float, double, int32, int64}"
_ATTRS = f"""
      pooling_ratio: list(float) >= 4
      pseudo_random: bool = false
      overlapping: bool = false
      deterministic: bool = false
      seed: int = 0
      seed2: int = 0
      {_TYPES}
"""
_PLACES = "row_pooling_sequence: int64, col_pooling_sequence: int64"


def _invalid(message):
    return InvalidArgumentError(None, None, message)


def _size(n, ratio):
    return None if n is None else math.floor(np.float32(n) / np.float32(ratio))


def _shape(value, *, pooling_ratio):
    if len(pooling_ratio) != 4:
        raise ValueError("pooling_ratio field must specify 4 dimensions")
    n, rows, columns, depth = with_rank(value, 4)
    if min(pooling_ratio) <= 0:
        raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {min(pooling_ratio)}")
    for i, ratio in ((1, pooling_ratio[1]), (2, pooling_ratio[2])):
        if not math.isfinite(ratio):
            raise ValueError(f"Size computed for dim {i} is negative: {-(2**63)}")
    rows, columns = _size(rows, pooling_ratio[1]), _size(columns, pooling_ratio[2])
    # One place more than there are windows; TensorFlow's static shapes say one too few.
    ends = [(None if m is None else m + 1,) for m in (rows, columns)]
    return [(n, rows, columns, depth), *ends]


def _pseudo_random(length, outputs, draws):
    """Returns where windows begin that grow as evenly as their number allows, from a random start."""
    least, alpha = length // outputs, length / outputs
    most = min((least + 2) / alpha - 1, (length + 1 - least) / alpha - (outputs - 1))
    start = draws.double() * most
    inner = [math.ceil(alpha * (i + start)) - 1 for i in range(1, outputs)]
    return np.array([0, *inner, length], np.int64)


def _random(length, outputs, draws):
    """Returns where windows begin: as many large ones as needed, shuffled."""
    least, larger = divmod(length, outputs)
    sizes = [least + 1] * larger + [least] * (outputs - larger)
    for i in range(outputs - 1):
        j = i + draws.below(outputs - i)
        sizes[i], sizes[j] = sizes[j], sizes[i]
    return np.cumsum([0, *sizes], dtype=np.int64)


def sequences(shape, outputs, pseudo_random, key, counter):
    """Returns where the rows and the columns of windows begin, and where the last ones end."""
    found = []
    for length, count in zip(shape, outputs, strict=True):
        draws = Draws(key, counter)
        if pseudo_random:
            found.append(_pseudo_random(length, count, draws))
            counter = philox.advance(counter, 1)
        else:
            found.append(_random(length, count, draws))
            counter = philox.advance(counter, -(-count // philox.BLOCK_WORDS))
    return found


def _drawn(value, pooling_ratio, pseudo_random, deterministic, seed, seed2, ctx):
    if value.ndim != 4:
        raise _invalid("tensor_in must be 4-dimensional")
    if not deterministic and (seed or seed2):
        raise _invalid("Both seed and seed2 should be 0 if deterministic is false.")
    if pooling_ratio[0] != 1 or pooling_ratio[3] != 1:
        raise UnimplementedError(
            None, None, "Fractional pooling is not yet supported on the batch nor channel dimension."
        )
    if min(pooling_ratio) < 1:
        raise _invalid(f"pooling_ratio cannot be smaller than 1, got: {min(pooling_ratio)}")
    outputs = [_size(n, r) for n, r in zip(value.shape[1:3], pooling_ratio[1:3], strict=True)]
    if min(outputs) < 1:
        raise _invalid(
            f"pooling_ratio leaves nothing of the input {to_text(value.shape)}: {list(pooling_ratio)}"
        )
    if deterministic:
        key, counter = ctx.random(0)  # the same numbers in every step
    else:
        key, counter = philox.state_from_seeds(*philox.fresh_seeds())
    return sequences(value.shape[1:3], outputs, pseudo_random, key, counter)


def _spans(places, length, overlapping):
    """Returns (begin, end) of each window along an axis; overlapping ones share an element with the next."""
    return [(int(a), min(int(b) + overlapping, length)) for a, b in itertools.pairwise(places.tolist())]


def _windows(shape, rows, columns, overlapping):
    for what, places, length in (("row", rows, shape[1]), ("col", columns, shape[2])):
        steps = np.diff(places)
        if places.ndim != 1 or len(places) < 1 or (steps < 1).any() or places[0] < 0 or places[-1] > length:
            raise _invalid(f"{what}_pooling_sequence is no increasing sequence inside the input's {length}")
    for i, (a, b) in enumerate(_spans(rows, shape[1], overlapping)):
        for j, (c, d) in enumerate(_spans(columns, shape[2], overlapping)):
            yield i, j, (slice(None), slice(a, b), slice(c, d))


def _pooled(value, rows, columns, overlapping, function):
    out = np.empty((value.shape[0], len(rows) - 1, len(columns) - 1, value.shape[3]), value.dtype)
    for i, j, cut in _windows(value.shape, rows, columns, overlapping):
        out[:, i, j] = function(value[cut])
    return out


def _greatest(window):
    if window.dtype.kind != "f":
        return window.max((1, 2))
    lowest = np.finfo(window.dtype).min
    return np.where(np.isnan(window), lowest, window).max((1, 2), initial=lowest)


def _mean(window):
    total, count = window.sum((1, 2), dtype=window.dtype), window.shape[1] * window.shape[2]
    return total / window.dtype.type(count) if window.dtype.kind == "f" else _truncated(total, count)


def _truncated(total, count):
    return (np.sign(total) * (np.abs(total) // count)).astype(total.dtype)


def _declare(name, function, doc, gradient):
    made = op(f"""
    {name}(value: T) -> (output: T, {_PLACES}){_ATTRS}
    {doc}
    """, shape=_shape, grad=gradient)  # fmt: skip

    @made.host
    def host(value, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, ctx):
        rows, columns = _drawn(value, pooling_ratio, pseudo_random, deterministic, seed, seed2, ctx)
        return _pooled(value, rows, columns, overlapping, function), rows, columns

    return made


def _max_grad(op, dy, _rows, _columns):
    return raw.FractionalMaxPoolGrad(
        op.inputs[0], op.outputs[0], dy, op.outputs[1], op.outputs[2], overlapping=op.attrs["overlapping"]
    )


def _avg_grad(op, dy, _rows, _columns):
    return raw.FractionalAvgPoolGrad(
        op.inputs[0].get_shape(), dy, op.outputs[1], op.outputs[2], overlapping=op.attrs["overlapping"]
    )


FractionalMaxPool = _declare(
    "FractionalMaxPool",
    _greatest,
    "The greatest element of windows of two sizes in a random order.",
    _max_grad,
)
FractionalAvgPool = _declare(
    "FractionalAvgPool", _mean, "The mean of windows of two sizes in a random order.", _avg_grad
)

# Seeds 3 and 5 give row windows of 2, 1, 2, 2, 2 and 1 elements, as in TensorFlow.
_LINE = np.arange(10, dtype=np.float32).reshape(1, 10, 1, 1)
_SEEDED = {"pooling_ratio": [1.0, 1.6, 1.0, 1.0], "deterministic": True, "seed": 3, "seed2": 5}
_ROWS = np.array([0, 2, 3, 5, 7, 9, 10], np.int64)


def _cases(case, best, overlapped):
    def column(values):
        return np.array(values, np.float32).reshape(1, -1, 1, 1)

    case(_LINE, grad=False, gives=(column(best), _ROWS, [0, 1]), **_SEEDED)
    case(_LINE, grad=False, overlapping=True, gives=(column(overlapped), _ROWS, [0, 1]), **_SEEDED)
    case(_LINE, grad=False, pseudo_random=True, gives=(None, [0, 1, 3, 5, 6, 8, 10], [0, 1]), **_SEEDED)
    case.shapes("[?,8,?,3]", "[?,5,?,3];[6];[?]", pooling_ratio=[1.0, 1.4, 1.7, 1.0])
    case.fails("[8,8,3]", match="must be rank 4 but is rank 3", pooling_ratio=[1.0, 1.4, 1.7, 1.0])
    case.fails("[1,8,8,3]", match="must specify 4 dimensions", pooling_ratio=[1.0] * 5)
    case.fails((_LINE,), match="should be 0 if deterministic is false", pooling_ratio=[1.0] * 4, seed=1)
    case.fails((_LINE,), match="not yet supported on the batch", raises=UnimplementedError,
               pooling_ratio=[2.0, 1.0, 1.0, 1.0])  # fmt: skip
    case.fails((_LINE,), match="cannot be smaller than 1", pooling_ratio=[1.0, 0.5, 1.0, 1.0])
    case.fails((_LINE,), match="leaves nothing of the input", pooling_ratio=[1.0, 50.0, 1.0, 1.0])


@FractionalMaxPool.cases
def fractional_max_pool_cases(case):
    _cases(case, [1, 2, 4, 6, 8, 9], [2, 3, 5, 7, 9, 9])


@FractionalAvgPool.cases
def fractional_avg_pool_cases(case):
    _cases(case, [0.5, 2, 3.5, 5.5, 7.5, 9], [1, 2.5, 4, 6, 8, 9])


def _gradient_shape(orig_input, *_):
    return with_rank(orig_input, 4)


FractionalMaxPoolGrad = op(f"""
    FractionalMaxPoolGrad(orig_input: T, orig_output: T, out_backprop: T, {_PLACES}) -> (output: T)
      overlapping: bool = false
      {_TYPES}

    Sends each gradient to the first greatest element of its window.
""", shape=_gradient_shape)  # fmt: skip


def _check_gradient(shape, out_backprop, rows, columns):
    expected = (shape[0], len(rows) - 1, len(columns) - 1, shape[3])
    if tuple(out_backprop.shape) != tuple(int(n) for n in expected):
        raise _invalid(
            f"out_backprop must have shape {to_text(expected)}, but has {to_text(tuple(out_backprop.shape))}"
        )


@FractionalMaxPoolGrad.host
def fractional_max_pool_grad_host(
    orig_input, orig_output, out_backprop, row_pooling_sequence, col_pooling_sequence, *, overlapping
):
    if orig_input.ndim != 4:
        raise _invalid("orig_input must be 4-dimensional")
    rows, columns = row_pooling_sequence, col_pooling_sequence
    _check_gradient(orig_input.shape, out_backprop, rows, columns)
    out = np.zeros(orig_input.shape, orig_input.dtype)
    n, _, _, depth = orig_input.shape
    batch, channel = np.arange(n)[:, None], np.arange(depth)
    values = orig_input
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), -np.inf, values)
    for i, j, cut in _windows(orig_input.shape, rows, columns, overlapping):
        window = values[cut]
        at = window.reshape(n, window.shape[1] * window.shape[2], depth).argmax(1)
        y, x = at // window.shape[2] + cut[1].start, at % window.shape[2] + cut[2].start
        out[batch, y, x, channel] += out_backprop[:, i, j]
    return out


@FractionalMaxPoolGrad.cases
def fractional_max_pool_grad_cases(case):
    x = np.array([3, 1, 4, 4], np.float32).reshape(1, 4, 1, 1)
    y, dy = np.array([3, 4], np.float32).reshape(1, 2, 1, 1), np.array([5, 6], np.float32).reshape(1, 2, 1, 1)
    one = np.array([0, 1], np.int64)
    case(x, y, dy, np.array([0, 2, 4], np.int64), one, gives=np.array([5, 0, 6, 0]).reshape(1, 4, 1, 1))
    case(x, y, dy, np.array([0, 2, 4], np.int64), one, overlapping=True,
         gives=np.array([0, 0, 11, 0]).reshape(1, 4, 1, 1))  # fmt: skip
    case.shapes("[?,8,8,3];?;?;?;?", "[?,8,8,3]")
    case.fails((x, y, dy, np.array([0, 2, 9], np.int64), one), match="no increasing sequence inside")
    case.fails((x, y, dy[:, :1], np.array([0, 2, 4], np.int64), one), match="out_backprop must have shape")


FractionalAvgPoolGrad = op(f"""
    FractionalAvgPoolGrad(orig_input_tensor_shape: int64, out_backprop: T, {_PLACES}) -> (output: T)
      overlapping: bool = false
      {_TYPES}

    The gradient of FractionalAvgPool.
""")  # fmt: skip


@FractionalAvgPoolGrad.shape
def fractional_avg_pool_grad_shape(orig_input_tensor_shape, *_, ctx):
    shape = ctx.as_shape("orig_input_tensor_shape")
    return (None,) * 4 if shape is None else shape


@FractionalAvgPoolGrad.host
def fractional_avg_pool_grad_host(
    orig_input_tensor_shape, out_backprop, row_pooling_sequence, col_pooling_sequence, *, overlapping
):
    if orig_input_tensor_shape.shape != (4,):
        raise _invalid("original input tensor shape must be1-dimensional and 4 elements")
    shape = tuple(orig_input_tensor_shape.tolist())
    if min(shape) < 0:
        raise _invalid(f"orig_input_tensor_shape has negative sizes: {list(shape)}")
    rows, columns = row_pooling_sequence, col_pooling_sequence
    _check_gradient(shape, out_backprop, rows, columns)
    # TensorFlow divides in double precision and adds up in it too.
    out = np.zeros(shape, np.float64)
    for i, j, cut in _windows(shape, rows, columns, overlapping):
        count = (cut[1].stop - cut[1].start) * (cut[2].stop - cut[2].start)
        out[cut] += (out_backprop[:, i, j] / count)[:, None, None]
    return out.astype(out_backprop.dtype)


@FractionalAvgPoolGrad.cases
def fractional_avg_pool_grad_cases(case):
    shape, dy = np.array([1, 4, 1, 1], np.int64), np.array([4, 6], np.float32).reshape(1, 2, 1, 1)
    ends, one = np.array([0, 2, 4], np.int64), np.array([0, 1], np.int64)
    case(shape, dy, ends, one, gives=np.array([2, 2, 3, 3]).reshape(1, 4, 1, 1))
    case.shapes("[4];?;?;?", "[?,?,?,?]")
    case.shapes("[4];?;?;?", "[1,4,1,1]", values={"orig_input_tensor_shape": shape})
    case.fails((shape[:2], dy, ends, one), match="must be1-dimensional and 4 elements")


def _public(kind, value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, name):
    return kind(
        value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
        deterministic=deterministic, seed=seed, seed2=seed2, name=name,
    )  # fmt: skip


_ARGUMENTS = """

    Args:
      value: Images, [batch, height, width, channels].
      pooling_ratio: By how much each axis shrinks; 1 for the batch and the channels.
      pseudo_random: Whether windows are spread evenly from a random start instead of in any order.
      overlapping: Whether neighbouring windows share an element.
      deterministic: Whether every step uses the same windows.
      seed: The seed of the windows, with `deterministic`.
      seed2: A second one.
      name: A name for the operation.

    Returns:
      The pooled images, and where the windows' rows and columns begin and the last ones end.
    """


@export("nn.fractional_max_pool")
def fractional_max_pool(
    value,
    pooling_ratio,
    pseudo_random=False,
    overlapping=False,
    deterministic=False,
    seed=0,
    seed2=0,
    name=None,
):
    return _public(
        raw.FractionalMaxPool,
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        deterministic,
        seed,
        seed2,
        name,
    )


@export("nn.fractional_avg_pool")
def fractional_avg_pool(
    value,
    pooling_ratio,
    pseudo_random=False,
    overlapping=False,
    deterministic=False,
    seed=0,
    seed2=0,
    name=None,
):
    return _public(
        raw.FractionalAvgPool,
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        deterministic,
        seed,
        seed2,
        name,
    )


fractional_max_pool.__doc__ = (
    "Returns the greatest elements of windows that shrink images by any ratio." + _ARGUMENTS
)
fractional_avg_pool.__doc__ = "Returns the means of windows that shrink images by any ratio." + _ARGUMENTS
