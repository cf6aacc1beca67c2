"""Floats rounded to what signed or unsigned integers of some bits stand for."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op
from headrace.ops.quantized.kernels import invalid
from headrace.shapes import unchanged, with_rank

FLOATS = "{bfloat16, half, float, double}"


def _rounded(xp, x, low, high, *, signed_input, num_bits, range_given, round_mode, narrow_range):
    """Rounds `x` to multiples of a step with which the range fits into integers of `num_bits` bits."""
    f = x.dtype.type if xp is np else np.dtype(x.dtype).type
    if signed_input:
        first, last = -(1 << (num_bits - 1)) + int(narrow_range), (1 << (num_bits - 1)) - 1
    else:
        first, last = 0, (1 << num_bits) - 1
    if not range_given:
        low, high = x.min(), x.max()
    huge = f(np.finfo(f).max)
    with np.errstate(all="ignore"):
        from_low = xp.where(f(first) * low > 0, f(first) / low, huge)
        from_high = xp.where(f(last) * high > 0, f(last) / high, huge)
        by_low = from_low < from_high
        scale = xp.where(by_low, from_low, from_high)
        step = xp.where(by_low, low / f(first) if first else f(0), high / f(last))
        if range_given:
            low, high = xp.where(by_low, low, f(first) * step), xp.where(by_low, f(last) * step, high)
            x = xp.maximum(xp.minimum(x, high), low)
        x = x * scale
        return (xp.floor(x + f(0.5)) if round_mode == "HALF_UP" else xp.round(x)) * step


def _check(ctx, xp, x, low, high, *, num_bits, signed_input, range_given):
    if not (signed_input < num_bits < 63 if signed_input else 0 < num_bits < 63):
        invalid(f"num_bits is out of range: {num_bits} with signed_input_ {int(signed_input)}")
    if range_given and xp is np and low > high:
        invalid(f"Invalid range: input_min {low:g} > input_max {high:g}")
    if range_given and xp is not np:
        ctx.check(low <= high, "input_min > input_max")


def _compute(xp, ctx, x, low, high, **how):
    _check(ctx, xp, x, low, high, **{k: how[k] for k in ("num_bits", "signed_input", "range_given")})
    if 0 in x.shape:
        return x
    return _rounded(xp, x, low, high, **how)


def _end(x):
    return x.reshape(-1)[0] if x.size else invalid("input_min and input_max must not be empty")


_V2 = f"""
      signed_input: bool = true
      num_bits: int = 8
      range_given: bool = false
      T: {FLOATS}
      round_mode: {{"HALF_TO_EVEN", "HALF_UP"}} = "HALF_TO_EVEN"
      narrow_range: bool = false
"""

QuantizeAndDequantize = op(f"""
    QuantizeAndDequantize(input: T) -> (output: T)
      signed_input: bool = true
      num_bits: int = 8
      range_given: bool = false
      input_min: float = 0
      input_max: float = 0
      T: {FLOATS}
      deprecated 22

    QuantizeAndDequantizeV2 with a range of attrs.
""", shape=unchanged)  # fmt: skip


def _v1(xp, ctx, input, signed_input, num_bits, range_given, input_min, input_max):
    f = np.dtype(input.dtype).type
    return _compute(
        xp, ctx, input, f(input_min), f(input_max), signed_input=signed_input, num_bits=num_bits,
        range_given=range_given, round_mode="HALF_TO_EVEN", narrow_range=False,
    )  # fmt: skip


@QuantizeAndDequantize.host
def v1_host(input, *, signed_input, num_bits, range_given, input_min, input_max, ctx):
    return _v1(np, ctx, input, signed_input, num_bits, range_given, input_min, input_max)


def _straight(op, dy):
    # As if nothing had been rounded.
    return [dy] + [None] * (len(op.inputs) - 1)


QuantizeAndDequantize.grad(_straight)


@QuantizeAndDequantize.cases
def v1_cases(case):
    case([-1.0, -0.5, 0.0, 0.3], num_bits=4, grad=False)
    case.shapes("[2,?]", "[2,?]")


def _v2_shape(input, input_min, input_max):
    with_rank(input_min, 0)
    with_rank(input_max, 0)
    return input


QuantizeAndDequantizeV2 = op(f"""
    QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T) -> (output: T){_V2}
    The nearest floats that integers of some bits stand for, in a range that is given or that of the input.
""", shape=_v2_shape)  # fmt: skip


def _v2(xp, ctx, input, input_min, input_max, num_bits, how):
    low = high = None
    if how["range_given"]:
        low, high = _end(input_min), _end(input_max)
    return _compute(xp, ctx, input, low, high, num_bits=num_bits, **how)


@QuantizeAndDequantizeV2.host
def v2_host(
    input, input_min, input_max, *, signed_input, num_bits, range_given, round_mode, narrow_range, ctx
):
    how = {"signed_input": signed_input, "range_given": range_given, "round_mode": round_mode,
           "narrow_range": narrow_range}  # fmt: skip
    return _v2(np, ctx, input, input_min, input_max, num_bits, how)


@QuantizeAndDequantizeV2.lower
def v2_lower(
    input, input_min, input_max, *, signed_input, num_bits, range_given, round_mode, narrow_range, ctx
):
    how = {"signed_input": signed_input, "range_given": range_given, "round_mode": round_mode,
           "narrow_range": narrow_range}  # fmt: skip
    return _v2(jnp, ctx, input, input_min, input_max, num_bits, how)


QuantizeAndDequantizeV2.grad(_straight)


@QuantizeAndDequantizeV2.cases
def v2_cases(case):
    x = [-1.0, -0.5, 0.0, 0.3]
    case(x, 0.0, 0.0, num_bits=4, gives=[-1.0, -0.5, 0.0, 0.25], grad=False)
    case(x, -0.5, 0.5, num_bits=3, range_given=True, grad=False)
    case(x, -0.5, 0.5, num_bits=3, range_given=True, narrow_range=True, round_mode="HALF_UP", grad=False)
    case(x, 0.0, 0.5, num_bits=3, range_given=True, signed_input=False, grad=False)
    case.shapes("[2,?];[];[]", "[2,?]")
    case.fails("[2];[1];[]", match="Shape must be rank 0 but is rank 1")
    case.fails((x, 1.0, 0.0), match="Invalid range: input_min 1 > input_max 0", range_given=True)
    case.fails((x, 0.0, 0.0), match="num_bits is out of range: 64", num_bits=64)


QuantizeAndDequantizeV3 = op(f"""
    QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32) -> (output: T)
      signed_input: bool = true
      range_given: bool = true
      T: {FLOATS}
      narrow_range: bool = false

    QuantizeAndDequantizeV2 with a tensor for the number of bits.
""")  # fmt: skip


@QuantizeAndDequantizeV3.shape
def v3_shape(input, input_min, input_max, num_bits):
    with_rank(num_bits, 0)
    return _v2_shape(input, input_min, input_max)


def _v3(xp, ctx, input, input_min, input_max, num_bits, how):
    bits = int(np.asarray(num_bits).reshape(-1)[0]) if np.size(num_bits) else 0
    return _v2(xp, ctx, input, input_min, input_max, bits, {"round_mode": "HALF_TO_EVEN", **how})


@QuantizeAndDequantizeV3.host
def v3_host(input, input_min, input_max, num_bits, *, signed_input, range_given, narrow_range, ctx):
    how = {"signed_input": signed_input, "range_given": range_given, "narrow_range": narrow_range}
    return _v3(np, ctx, input, input_min, input_max, num_bits, how)


@QuantizeAndDequantizeV3.lower(static="num_bits")
def v3_lower(input, input_min, input_max, num_bits, *, signed_input, range_given, narrow_range, ctx):
    how = {"signed_input": signed_input, "range_given": range_given, "narrow_range": narrow_range}
    return _v3(jnp, ctx, input, input_min, input_max, num_bits, how)


QuantizeAndDequantizeV3.grad(_straight)


@QuantizeAndDequantizeV3.cases
def v3_cases(case):
    x = [-1.0, -0.5, 0.0, 0.3]
    case(x, -1.0, 0.9, np.int32(4), gives=[-1.0285714, -0.5142857, 0.0, 0.25714284], grad=False)
    case(x, 0.0, 0.0, np.int32(3), range_given=False, narrow_range=True, grad=False)
    case.shapes("[2,?];[];[];[]", "[2,?]")
    case.fails("[2];[];[];[1]", match="Shape must be rank 0 but is rank 1")


@export("quantization.quantize_and_dequantize")
def quantize_and_dequantize(
    input,
    input_min,
    input_max,
    signed_input=True,
    num_bits=8,
    range_given=False,
    round_mode="HALF_TO_EVEN",
    name=None,
    narrow_range=False,
):
    """Rounds floats to the nearest that integers of some bits stand for.

    Args:
      input: The floats.
      input_min: The lowest float of the range.
      input_max: The highest float of the range.
      signed_input: Whether the integers have signs.
      num_bits: How many bits they have.
      range_given: Whether the range is given; otherwise it is the input's.
      round_mode: "HALF_TO_EVEN" or "HALF_UP".
      name: The node's name.
      narrow_range: Whether the lowest integer is left out.
    """
    return QuantizeAndDequantizeV2(
        input, input_min, input_max, signed_input=signed_input, num_bits=num_bits, range_given=range_given,
        round_mode=round_mode, narrow_range=narrow_range, name=name,
    )  # fmt: skip
