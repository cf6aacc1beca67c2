"""Rounding floats to what quantized numbers could stand for, and its gradients."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.quantized.kernels import invalid
from headrace.shapes import merge, merge_dim, to_text, unchanged, with_rank, with_rank_at_least

_BITS = """
      num_bits: int = 8
      narrow_range: bool = false
"""
_ENDS = f"""
      min: float = -6
      max: float = 6{_BITS}"""
_NAMES = ("num_bits", "narrow_range")


def _nudged(xp, low, high, num_bits, narrow_range):
    """Moves a range so that zero is one of its levels; returns its ends and the distance of two levels."""
    if not 2 <= num_bits <= 16:
        invalid("num_bits must be between 2 and 16, inclusive")
    f = np.float32
    first, last = f(narrow_range), f((1 << num_bits) - 1)
    step = (high - low) / (last - first)
    zero = first - low / step
    # A zero that is not a number (equal ends) rounds to whatever; all outputs are then not numbers either.
    zero = xp.where(zero < first, first, xp.where(zero > last, last, xp.floor(zero + f(0.5))))
    return (first - zero) * step, (last - zero) * step, step


def _is_empty(low, high):
    return (low == 0) & (high == 0)


def _fake(xp, x, low, high, num_bits, narrow_range):
    low, high, step = _nudged(xp, low, high, num_bits, narrow_range)
    distance = xp.maximum(xp.minimum(x, high), low) - low
    return _on_level(xp, distance * (np.float32(1) / step), step, low)


def _on_level(xp, steps, step, low):
    return xp.floor(steps + np.float32(0.5)) * step + low


def _fake_vars(xp, x, low, high, num_bits, narrow_range):
    with np.errstate(all="ignore"):
        first, last, step = _nudged(xp, low, high, num_bits, narrow_range)
        # A quotient here and a product in _fake: TensorFlow's kernels round differently, too.
        out = _on_level(xp, (xp.maximum(xp.minimum(x, last), first) - first) / step, step, first)
    return xp.where(_is_empty(low, high), np.float32(0), out)


def _parts(xp, dy, x, low, high, num_bits, narrow_range, axes):
    """Returns the gradients with respect to the input and to both ends."""
    empty = _is_empty(low, high)
    with np.errstate(all="ignore"):
        first, last, _ = _nudged(xp, low, high, num_bits, narrow_range)
        below, above = x < first, x > last
        inside = (x >= first) & (x <= last)
    zero = np.float32(0)
    return (
        xp.where(inside | empty, dy * xp.ones_like(x), zero),
        xp.where(below & ~empty, dy, zero).sum(axes, dtype=np.float32),
        xp.where(above & ~empty, dy, zero).sum(axes, dtype=np.float32),
    )


def _attr_ends(min, max):
    low, high = np.float32(min), np.float32(max)
    if not low < high:
        invalid(f"min has to be smaller than max, was: {low:g} >= {high:g}")
    return low, high


FakeQuantWithMinMaxArgs = op(f"""
    FakeQuantWithMinMaxArgs(inputs: float) -> (outputs: float){_ENDS}
    The nearest of evenly spaced floats between `min` and `max`, which are moved so that zero is one of them.
""", shape=unchanged)  # fmt: skip


@FakeQuantWithMinMaxArgs.host
def args_host(inputs, *, min, max, num_bits, narrow_range):
    return _fake(np, inputs, *_attr_ends(min, max), num_bits, narrow_range)


@FakeQuantWithMinMaxArgs.lower
def args_lower(inputs, *, min, max, num_bits, narrow_range):
    return _fake(jnp, inputs, *_attr_ends(min, max), num_bits, narrow_range)


@FakeQuantWithMinMaxArgs.grad
def args_grad(op, dy):
    attrs = {name: op.attrs[name] for name in ("min", "max", *_NAMES)}
    return raw.FakeQuantWithMinMaxArgsGradient(dy, op.inputs[0], **attrs)


_SPREAD = [-7.0, -0.26, 0.0, 0.3, 0.74, 7.0]


@FakeQuantWithMinMaxArgs.cases
def args_cases(case):
    case(_SPREAD, min=-1.0, max=6.0, num_bits=3, gives=[-1.0, 0.0, 0.0, 0.0, 1.0, 6.0], grad=False)
    case(np.zeros((0, 2), np.float32), gives=np.zeros((0, 2)), grad=False)
    case.shapes("[2,?]", "[2,?]")
    case.fails(([1.0],), match="min has to be smaller than max, was: 1 >= 1", min=1.0, max=1.0)
    case.fails(([1.0],), match="num_bits must be between 2 and 16, inclusive", num_bits=17)


FakeQuantWithMinMaxArgsGradient = op(f"""
    FakeQuantWithMinMaxArgsGradient(gradients: float, inputs: float) -> (backprops: float){_ENDS}
    The gradient of FakeQuantWithMinMaxArgs: nothing where the input is out of range.
""", shape=unchanged)  # fmt: skip


def _args_gradient(xp, ctx, gradients, inputs, min, max, num_bits, narrow_range):
    _check_same(gradients, inputs, ctx)
    low, high, _ = _nudged(xp, *_attr_ends(min, max), num_bits, narrow_range)
    return xp.where((inputs >= low) & (inputs <= high), gradients, np.float32(0))


def _check_same(gradients, inputs, ctx=None):
    if gradients.shape == inputs.shape:
        return
    if ctx is None:
        invalid("gradient and input must be the same size")
    invalid(
        f"Inputs to operation {ctx.op.name} of type {ctx.op.type} must have the same size and shape.  "
        f"Input 0: {to_text(gradients.shape)} != input 1: {to_text(inputs.shape)}"
    )


@FakeQuantWithMinMaxArgsGradient.host
def args_gradient_host(gradients, inputs, *, min, max, num_bits, narrow_range, ctx):
    return _args_gradient(np, ctx, gradients, inputs, min, max, num_bits, narrow_range)


@FakeQuantWithMinMaxArgsGradient.lower
def args_gradient_lower(gradients, inputs, *, min, max, num_bits, narrow_range, ctx):
    return _args_gradient(jnp, ctx, gradients, inputs, min, max, num_bits, narrow_range)


_ONES_TO_SIX = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@FakeQuantWithMinMaxArgsGradient.cases
def args_gradient_cases(case):
    case(_ONES_TO_SIX, _SPREAD, min=-1.0, max=6.0, gives=[0.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    case.shapes("[2,?];[?,3]", "[2,?]")


def _vars_shape(inputs, min, max):
    with_rank(min, 0)
    with_rank(max, 0)
    return inputs


FakeQuantWithMinMaxVars = op(f"""
    FakeQuantWithMinMaxVars(inputs: float, min: float, max: float) -> (outputs: float){_BITS}
    FakeQuantWithMinMaxArgs with tensors for ends, which may be learned.
""", shape=_vars_shape)  # fmt: skip


def _end(value):
    # TensorFlow reads the first element, whatever the rank.
    return value.reshape(-1)[0] if value.size else invalid("min and max must not be empty")


@FakeQuantWithMinMaxVars.host
def vars_host(inputs, min, max, *, num_bits, narrow_range):
    return _fake_vars(np, inputs, _end(min), _end(max), num_bits, narrow_range).astype(np.float32)


@FakeQuantWithMinMaxVars.lower
def vars_lower(inputs, min, max, *, num_bits, narrow_range):
    return _fake_vars(jnp, inputs, _end(min), _end(max), num_bits, narrow_range)


@FakeQuantWithMinMaxVars.grad
def vars_grad(op, dy):
    attrs = {name: op.attrs[name] for name in _NAMES}
    return raw.FakeQuantWithMinMaxVarsGradient(dy, *op.inputs, **attrs)


@FakeQuantWithMinMaxVars.cases
def vars_cases(case):
    case(_SPREAD, -1.0, 6.0, num_bits=3, gives=[-1.0, 0.0, 0.0, 0.0, 1.0, 6.0], grad=False)
    case(_SPREAD, 0.0, 0.0, gives=[0.0] * 6, grad=False)
    case.shapes("[2,?];[];[]", "[2,?]")
    case.fails("[2];[1];[]", match="Shape must be rank 0 but is rank 1")


FakeQuantWithMinMaxVarsGradient = op(f"""
    FakeQuantWithMinMaxVarsGradient(gradients: float, inputs: float, min: float, max: float)
        -> (backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float){_BITS}
    The gradients of FakeQuantWithMinMaxVars; what lies out of range goes to the end that it lies beyond.
""")  # fmt: skip


@FakeQuantWithMinMaxVarsGradient.shape
def vars_gradient_shape(gradients, inputs, min, max):
    inputs = merge(gradients, inputs)
    merge(with_rank(min, 0), max)
    return [inputs, (), ()]


@FakeQuantWithMinMaxVarsGradient.host
def vars_gradient_host(gradients, inputs, min, max, *, num_bits, narrow_range):
    _check_same(gradients, inputs)
    return _parts(np, gradients, inputs, _end(min), _end(max), num_bits, narrow_range, None)


@FakeQuantWithMinMaxVarsGradient.lower
def vars_gradient_lower(gradients, inputs, min, max, *, num_bits, narrow_range):
    _check_same(gradients, inputs)
    return _parts(jnp, gradients, inputs, _end(min), _end(max), num_bits, narrow_range, None)


@FakeQuantWithMinMaxVarsGradient.cases
def vars_gradient_cases(case):
    case(_ONES_TO_SIX, _SPREAD, -1.0, 6.0, gives=([0.0, 2.0, 3.0, 4.0, 5.0, 0.0], 1.0, 6.0))
    case(_ONES_TO_SIX, _SPREAD, 0.0, 0.0, gives=(_ONES_TO_SIX, 0.0, 0.0))
    case.shapes("[2,?];[?,3];[];[]", "[2,3];[];[]")


def _channels(inputs, min, max):
    """Checks that there is one end a channel, and returns how many."""
    inputs = with_rank_at_least(inputs, 1)
    last = None if inputs is None else inputs[-1]
    depth = merge_dim(merge_dim(last, with_rank(min, 1)[0]), with_rank(max, 1)[0])
    return inputs, depth


def _per_channel_shape(inputs, min, max):
    inputs, depth = _channels(inputs, min, max)
    return None if inputs is None else (*inputs[:-1], depth)


def _check_channels(inputs, min, max):
    if inputs.ndim == 0:
        invalid("inputs must be at least rank 1")
    for what, ends in (("min", min), ("max", max)):
        if ends.shape != inputs.shape[-1:]:
            invalid(f"{what} has incorrect size, expected {inputs.shape[-1]} was {ends.size}")


FakeQuantWithMinMaxVarsPerChannel = op(f"""
    FakeQuantWithMinMaxVarsPerChannel(inputs: float, min: float, max: float) -> (outputs: float){_BITS}
    FakeQuantWithMinMaxVars with a range for each element of the last axis.
""", shape=_per_channel_shape)  # fmt: skip


@FakeQuantWithMinMaxVarsPerChannel.host
def per_channel_host(inputs, min, max, *, num_bits, narrow_range):
    _check_channels(inputs, min, max)
    return _fake_vars(np, inputs, min, max, num_bits, narrow_range)


@FakeQuantWithMinMaxVarsPerChannel.lower
def per_channel_lower(inputs, min, max, *, num_bits, narrow_range):
    _check_channels(inputs, min, max)
    return _fake_vars(jnp, inputs, min, max, num_bits, narrow_range)


@FakeQuantWithMinMaxVarsPerChannel.grad
def per_channel_grad(op, dy):
    attrs = {name: op.attrs[name] for name in _NAMES}
    return raw.FakeQuantWithMinMaxVarsPerChannelGradient(dy, *op.inputs, **attrs)


_PAIRS = np.array(_SPREAD, np.float32).reshape(3, 2)


@FakeQuantWithMinMaxVarsPerChannel.cases
def per_channel_cases(case):
    case(_PAIRS, [-1.0, 0.0], [6.0, 0.0], num_bits=3, gives=[[-1, 0], [0, 0], [1, 0]], grad=False)
    case.shapes("[2,?];[3];[?]", "[2,3]")
    case.fails("[2,2];[3];[?]", match="must be equal, but are 2 and 3")
    case.fails("[];[3];[?]", match="Shape must be at least rank 1 but is rank 0")


FakeQuantWithMinMaxVarsPerChannelGradient = op(f"""
    FakeQuantWithMinMaxVarsPerChannelGradient(gradients: float, inputs: float, min: float, max: float)
        -> (backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float){_BITS}
    The gradients of FakeQuantWithMinMaxVarsPerChannel.
""")  # fmt: skip


@FakeQuantWithMinMaxVarsPerChannelGradient.shape
def per_channel_gradient_shape(gradients, inputs, min, max):
    inputs = with_rank_at_least(merge(gradients, inputs), 1)
    ends = merge(with_rank(min, 1), (None if inputs is None else inputs[-1],))
    (depth,) = merge(with_rank(max, 1), ends)
    if inputs is not None and len(inputs) > 4:
        raise ValueError(f"Shape must be at most rank 4 but is rank {len(inputs)}")
    return [None if inputs is None else (*inputs[:-1], depth), (depth,), (depth,)]


@FakeQuantWithMinMaxVarsPerChannelGradient.host
def per_channel_gradient_host(gradients, inputs, min, max, *, num_bits, narrow_range):
    _check_same(gradients, inputs)
    _check_channels(inputs, min, max)
    return _parts(np, gradients, inputs, min, max, num_bits, narrow_range, tuple(range(inputs.ndim - 1)))


@FakeQuantWithMinMaxVarsPerChannelGradient.lower
def per_channel_gradient_lower(gradients, inputs, min, max, *, num_bits, narrow_range):
    _check_same(gradients, inputs)
    _check_channels(inputs, min, max)
    return _parts(jnp, gradients, inputs, min, max, num_bits, narrow_range, tuple(range(inputs.ndim - 1)))


@FakeQuantWithMinMaxVarsPerChannelGradient.cases
def per_channel_gradient_cases(case):
    dy = np.array(_ONES_TO_SIX, np.float32).reshape(3, 2)
    case(dy, _PAIRS, [-1.0, -0.1], [6.0, 0.5], gives=([[0, 0], [3, 4], [5, 0]], [1, 2], [0, 6]))
    case.shapes("[2,?];?;[3];[?]", "[2,3];[3];[3]")


def _public(name, made, operands, ends, sentence):
    """Makes the public function of an op; its arguments are the op's inputs and attrs."""

    if ends:
        if operands == ("gradients", "inputs"):

            def call(gradients, inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
                return made(gradients, inputs, min=min, max=max, num_bits=num_bits,
                            narrow_range=narrow_range, name=name)  # fmt: skip
        else:

            def call(inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
                return made(inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)
    elif operands[0] == "gradients":

        def call(gradients, inputs, min, max, num_bits=8, narrow_range=False, name=None):
            return made(gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)
    else:

        def call(inputs, min, max, num_bits=8, narrow_range=False, name=None):
            return made(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)

    what = "The gradients with respect to the result, and the" if operands[0] == "gradients" else "The"
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{sentence}

    Args:
      {", ".join(operands)}: {what} floats.
      min: The lowest float that can be told apart.
      max: The highest one.
      num_bits: How many bits a number has, from 2 to 16.
      narrow_range: Whether the lowest number is left out.
      name: The node's name.

    Returns:
      What the op of this name gives.
    """
    return export(name, "quantization." + name)(call)


_ROUND = "Rounds floats to the nearest that quantized numbers of a range stand for."
_BACK = "Computes the gradients of the function of this name without `_gradient`."
_ONE, _TWO = ("inputs",), ("gradients", "inputs")

fake_quant_with_min_max_args = _public(
    "fake_quant_with_min_max_args", FakeQuantWithMinMaxArgs, _ONE, True, _ROUND
)
fake_quant_with_min_max_args_gradient = _public(
    "fake_quant_with_min_max_args_gradient", FakeQuantWithMinMaxArgsGradient, _TWO, True, _BACK
)
fake_quant_with_min_max_vars = _public(
    "fake_quant_with_min_max_vars", FakeQuantWithMinMaxVars, _ONE, False, _ROUND
)
fake_quant_with_min_max_vars_gradient = _public(
    "fake_quant_with_min_max_vars_gradient", FakeQuantWithMinMaxVarsGradient, _TWO, False, _BACK
)
fake_quant_with_min_max_vars_per_channel = _public(
    "fake_quant_with_min_max_vars_per_channel", FakeQuantWithMinMaxVarsPerChannel, _ONE, False, _ROUND
)
fake_quant_with_min_max_vars_per_channel_gradient = _public(
    "fake_quant_with_min_max_vars_per_channel_gradient",
    FakeQuantWithMinMaxVarsPerChannelGradient,
    _TWO,
    False,
    _BACK,
)
