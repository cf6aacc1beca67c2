"""Learning rates that decay with the global step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import constant_node, convert_n_to_tensor, convert_to_tensor, raw
from headrace.ops.math.cast import cast


def _control_flow(name: str, asker: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = NAMES.get(name)
    if found is None:
        raise NotImplementedError(f"tf.train.{asker} needs tf.{name}, which headrace does not have yet")
    return found


def _rate(learning_rate: Any) -> Any:
    return convert_to_tensor(learning_rate, name="initial_learning_rate")


def _cosine(fraction: Any) -> Any:
    """Returns (1 + cos(pi * fraction)) / 2."""
    return 0.5 * (1.0 + raw.Cos(constant_node(math.pi) * fraction))


@export("train.exponential_decay")
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Returns learning_rate * decay_rate ** (global_step / decay_steps).

    Args:
      learning_rate: The rate at the start: a number or a scalar tensor.
      global_step: How many steps have been done.
      decay_steps: In how many steps the rate is multiplied by `decay_rate`.
      decay_rate: What it is multiplied by.
      staircase: Whether the exponent is rounded down.
      name: The name scope.
    """
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step, decay_steps, decay_rate]) as scope:
        rate = _rate(learning_rate)
        steps, factor, step = [cast(v, rate.dtype) for v in (decay_steps, decay_rate, global_step)]
        exponent = step / steps
        if staircase:
            exponent = raw.Floor(exponent)
        return raw.Mul(rate, raw.Pow(factor, exponent), name=scope)


@export("train.natural_exp_decay")
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Returns learning_rate * exp(-decay_rate * global_step / decay_steps).

    Args:
      learning_rate: The rate at the start: a number or a scalar tensor.
      global_step: How many steps have been done.
      decay_steps: In how many steps the exponent grows by `decay_rate`.
      decay_rate: How fast the rate falls.
      staircase: Whether the number of periods is rounded down.
      name: The name scope.
    """
    factor = raw.Exp(raw.Neg(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, factor, staircase=staircase, name=name)


@export("train.inverse_time_decay")
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Returns learning_rate / (1 + decay_rate * global_step / decay_steps).

    Args:
      learning_rate: The rate at the start: a number or a scalar tensor.
      global_step: How many steps have been done.
      decay_steps: In how many steps the divisor grows by `decay_rate`.
      decay_rate: How fast the rate falls.
      staircase: Whether the number of periods is rounded down.
      name: The name scope.
    """
    with name_scope(name, "InverseTimeDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate = _rate(learning_rate)
        steps, factor, step = [cast(v, rate.dtype) for v in (decay_steps, decay_rate, global_step)]
        periods = step / steps
        if staircase:
            periods = raw.Floor(periods)
        one = cast(constant_node(1), rate.dtype)
        return raw.RealDiv(rate, raw.Add(one, raw.Mul(factor, periods)), name=scope)


@export("train.polynomial_decay")
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """Returns a rate that falls from `learning_rate` to `end_learning_rate` along a polynomial.

    Args:
      learning_rate: The rate at the start: a number or a scalar tensor.
      global_step: How many steps have been done.
      decay_steps: After how many steps the end is reached.
      end_learning_rate: The rate at the end.
      power: The polynomial's power.
      cycle: Whether to stretch `decay_steps` to its next multiple when the end is reached.
      name: The name scope.
    """
    values = [learning_rate, global_step, decay_steps, end_learning_rate, power]
    with name_scope(name, "PolynomialDecay", values) as scope:
        rate = _rate(learning_rate)
        end, exponent, step, steps = [
            cast(v, rate.dtype) for v in (end_learning_rate, power, global_step, decay_steps)
        ]
        if cycle:
            cond = _control_flow("cond", "polynomial_decay(cycle=True)")
            start = step
            multiple = cond(raw.Equal(start, 0), lambda: 1.0, lambda: raw.Ceil(start / decay_steps))
            steps = raw.Mul(steps, multiple)
        else:
            step = raw.Minimum(step, decay_steps)
        done = step / steps
        return raw.Add(raw.Mul(rate - end, raw.Pow(1 - done, exponent)), end, name=scope)


@export("train.cosine_decay")
def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0, name: str | None = None
) -> Any:
    """Returns a rate that falls to `alpha * learning_rate` along half a cosine.

    Args:
      learning_rate: The rate at the start: a number or a scalar tensor.
      global_step: How many steps have been done.
      decay_steps: After how many steps the end is reached.
      alpha: The part of the rate that is left.
      name: The name scope.
    """
    with name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate = _rate(learning_rate)
        steps, step = cast(decay_steps, rate.dtype), cast(global_step, rate.dtype)
        step = raw.Minimum(step, steps)
        left = (1 - alpha) * _cosine(step / steps) + alpha
        return raw.Mul(rate, left)


@export("train.cosine_decay_restarts")
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Returns a rate that falls along half a cosine again and again.

    Args:
      learning_rate: The rate at the start: a number or a scalar tensor.
      global_step: How many steps have been done.
      first_decay_steps: How long the first fall takes.
      t_mul: How many times as long each takes as the one before.
      m_mul: What each one's start is multiplied by.
      alpha: The part of the rate that is left at the end of each.
      name: The name scope.
    """
    with name_scope(name, "SGDRDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate)
        first, end, longer, lower, step = [
            cast(v, rate.dtype) for v in (first_decay_steps, alpha, t_mul, m_mul, global_step)
        ]
        done = step / first

        def stretched() -> tuple[Any, Any]:
            restart = raw.Floor(raw.Log(1.0 - done * (1.0 - longer)) / raw.Log(longer))
            before = (1.0 - longer**restart) / (1.0 - longer)
            return restart, (done - before) / longer**restart

        def even() -> tuple[Any, Any]:
            restart = raw.Floor(done)
            return restart, done - restart

        cond = _control_flow("cond", "cosine_decay_restarts")
        restart, fraction = cond(raw.Equal(longer, 1.0), even, stretched)
        scale = 0.5 * lower**restart
        wave = scale * (1.0 + raw.Cos(constant_node(math.pi) * fraction))
        return raw.Mul(rate, (1 - end) * wave + end, name=scope)


@export("train.linear_cosine_decay")
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """Returns a rate that falls along a line times a cosine.

    Args:
      learning_rate: The rate at the start: a number or a scalar tensor.
      global_step: How many steps have been done.
      decay_steps: After how many steps the end is reached.
      num_periods: How many periods the cosine has.
      alpha: What is added to the line.
      beta: What is added to the product.
      name: The name scope.
    """
    with name_scope(name, "LinearCosineDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate)
        steps, periods, a, b, step = [
            cast(v, rate.dtype) for v in (decay_steps, num_periods, alpha, beta, global_step)
        ]
        step = raw.Minimum(step, steps)
        line = (steps - step) / steps
        wave = _wave(periods, step, steps)
        return raw.Mul(rate, (a + line) * wave + b, name=scope)


def _wave(periods: Any, step: Any, steps: Any) -> Any:
    """Returns a cosine of so many periods, between 0 and 1."""
    fraction = step / steps
    return _cosine(2.0 * periods * fraction)


@export("train.noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """Returns a rate that falls along a noisy line times a cosine.

    Args:
      learning_rate: The rate at the start: a number or a scalar tensor.
      global_step: How many steps have been done.
      decay_steps: After how many steps the end is reached.
      initial_variance: The noise's variance at the start.
      variance_decay: The power by which it falls.
      num_periods: How many periods the cosine has.
      alpha: What is added to the line.
      beta: What is added to the product.
      name: The name scope.
    """
    with name_scope(name, "NoisyLinearCosineDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate)
        steps, variance, power, periods, a, b, step = [
            cast(v, rate.dtype)
            for v in (decay_steps, initial_variance, variance_decay, num_periods, alpha, beta, global_step)
        ]
        step = raw.Minimum(step, steps)
        line = (steps - step) / steps
        spread = raw.Sqrt(variance / raw.Pow(1.0 + step, power))
        noisy = line + NAMES["random_normal"](line.shape, stddev=spread)
        wave = _wave(periods, step, steps)
        return raw.Mul(rate, (a + noisy) * wave + b, name=scope)


@export("train.piecewise_constant", "train.piecewise_constant_decay")
def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Any:
    """Returns one of some values: the first up to the first boundary, the second up to the second, and so on.

    Args:
      x: A scalar tensor or variable, such as the global step.
      boundaries: Numbers or tensors in ascending order, of the type of `x`.
      values: Numbers or tensors, one more than boundaries.
      name: The name scope.

    Raises:
      ValueError: The numbers of values and boundaries do not fit, or their types don't.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    limits = convert_n_to_tensor(boundaries)
    choices = convert_n_to_tensor(values)
    point = convert_to_tensor(x)
    for i, limit in enumerate(limits):
        if limit.dtype.base_dtype != point.dtype.base_dtype:
            if limit.dtype.base_dtype.name != "int32" or point.dtype.base_dtype.name != "int64":
                raise ValueError(
                    f"Boundaries ({limit.dtype.base_dtype}) must have the same dtype as x "
                    f"({point.dtype.base_dtype})."
                )
            limits[i] = cast(limit, point.dtype.base_dtype)
    for choice in choices[1:]:
        if choice.dtype.base_dtype != choices[0].dtype.base_dtype:
            raise ValueError(
                f"Values must have elements all with the same dtype ({choices[0].dtype.base_dtype} vs "
                f"{choice.dtype.base_dtype})."
            )
    case = _control_flow("case", "piecewise_constant")
    with name_scope(name, "PiecewiseConstant", [point, *limits, *choices]):
        pairs = [
            (point <= limits[0], lambda: choices[0]),
            (point > limits[-1], lambda: choices[-1]),
        ]
        for low, high, choice in zip(limits[:-1], limits[1:], choices[1:-1], strict=True):
            pairs.append(((point > low) & (point <= high), lambda choice=choice: choice))
        return case(pairs, lambda: choices[0], exclusive=True)
