"""What the optimizers compute, each written once for NumPy and JAX.

A formula is called as `formula(xp, var, *slots, **operands)` and returns the new values of the variable and of its
slots, in order. It works on whole variables and on some rows of them alike.
"""

from __future__ import annotations

from typing import Any


def gradient_descent(xp: Any, var: Any, *, alpha: Any, delta: Any) -> Any:
    return (var - alpha * delta,)


def momentum(xp: Any, var: Any, accum: Any, *, lr: Any, grad: Any, momentum: Any, use_nesterov: bool) -> Any:
    accum = accum * momentum + grad
    step = grad + accum * momentum if use_nesterov else accum
    return var - lr * step, accum


def keras_momentum(
    xp: Any, var: Any, accum: Any, *, lr: Any, grad: Any, momentum: Any, use_nesterov: bool
) -> Any:
    accum = accum * momentum - lr * grad
    return var + (accum * momentum - lr * grad if use_nesterov else accum), accum


def adagrad(xp: Any, var: Any, accum: Any, *, lr: Any, grad: Any, update_slots: bool) -> Any:
    if update_slots:
        accum = accum + grad * grad
    return var - lr * grad / xp.sqrt(accum), accum


def adagrad_v2(xp: Any, var: Any, accum: Any, *, lr: Any, epsilon: Any, grad: Any, update_slots: bool) -> Any:
    if update_slots:
        accum = accum + grad * grad
    return var - lr * grad / (xp.sqrt(accum) + epsilon), accum


def adadelta(
    xp: Any, var: Any, accum: Any, accum_update: Any, *, lr: Any, rho: Any, epsilon: Any, grad: Any
) -> Any:
    accum = accum * rho + grad * grad * (1 - rho)
    update = xp.sqrt(accum_update + epsilon) / xp.sqrt(accum + epsilon) * grad
    return var - lr * update, accum, accum_update * rho + update * update * (1 - rho)


def rms_prop(
    xp: Any, var: Any, ms: Any, mom: Any, *, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> Any:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mom = mom * momentum + lr * grad / xp.sqrt(ms + epsilon)
    return var - mom, ms, mom


def centered_rms_prop(
    xp: Any,
    var: Any,
    mg: Any,
    ms: Any,
    mom: Any,
    *,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
) -> Any:
    ms = ms + (grad * grad - ms) * (1 - rho)
    mg = mg + (grad - mg) * (1 - rho)
    mom = mom * momentum + lr * grad / xp.sqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


def _moments(grad: Any, m: Any, v: Any, beta1: Any, beta2: Any) -> Any:
    return m + (grad - m) * (1 - beta1), v + (grad * grad - v) * (1 - beta2)


def adam(
    xp: Any, var: Any, m: Any, v: Any, *, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any,
    epsilon: Any, grad: Any, use_nesterov: bool,
) -> Any:  # fmt: skip
    rate = lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = _moments(grad, m, v, beta1, beta2)
    step = grad * (1 - beta1) + beta1 * m if use_nesterov else m
    return var - rate * step / (xp.sqrt(v) + epsilon), m, v


def adam_with_amsgrad(
    xp: Any, var: Any, m: Any, v: Any, vhat: Any, *, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any,
    beta2: Any, epsilon: Any, grad: Any,
) -> Any:  # fmt: skip
    rate = lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = _moments(grad, m, v, beta1, beta2)
    vhat = xp.maximum(vhat, v)
    return var - rate * m / (xp.sqrt(vhat) + epsilon), m, v, vhat


def ada_max(
    xp: Any, var: Any, m: Any, v: Any, *, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
    grad: Any,
) -> Any:  # fmt: skip
    m = m + (grad - m) * (1 - beta1)
    v = xp.maximum(beta2 * v, xp.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def add_sign(xp: Any, var: Any, m: Any, *, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any) -> Any:
    m = m * beta + grad * (1 - beta)
    return var - lr * (alpha + sign_decay * (xp.sign(grad) * xp.sign(m))) * grad, m


def power_sign(
    xp: Any, var: Any, m: Any, *, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any
) -> Any:
    m = m * beta + grad * (1 - beta)
    return var - lr * xp.exp(logbase * sign_decay * (xp.sign(grad) * xp.sign(m))) * grad, m


def _shrunk(xp: Any, x: Any, by: Any, positive: Any) -> Any:
    """Returns x moved towards 0 by `by`, where the l1 strength is positive."""
    return xp.where(positive, xp.sign(x) * xp.maximum(xp.abs(x) - by, xp.zeros_like(x)), x)


def proximal_gradient_descent(xp: Any, var: Any, *, alpha: Any, l1: Any, l2: Any, delta: Any) -> Any:
    moved = var - alpha * delta
    return (_shrunk(xp, moved, alpha * l1, l1 > 0) / (1 + l2 * alpha),)


def proximal_adagrad(xp: Any, var: Any, accum: Any, *, lr: Any, l1: Any, l2: Any, grad: Any) -> Any:
    accum = accum + grad * grad
    rate = lr / xp.sqrt(accum)
    return _shrunk(xp, var - rate * grad, rate * l1, l1 > 0) / (1 + l2 * rate), accum


def adagrad_da(
    xp: Any, var: Any, gradient_accumulator: Any, gradient_squared_accumulator: Any, *, grad: Any, lr: Any,
    l1: Any, l2: Any, global_step: Any,
) -> Any:  # fmt: skip
    step = global_step.astype(var.dtype)
    total = gradient_accumulator + grad
    squares = gradient_squared_accumulator + grad * grad
    pull = _shrunk(xp, total, l1 * step, l1 > 0)
    return -lr * pull / (l2 * step * lr + xp.sqrt(squares)), total, squares


def _ftrl_state(
    xp: Any, var: Any, accum: Any, linear: Any, grad: Any, shrunk: Any, lr: Any, power: Any
) -> Any:
    total = accum + grad * grad
    before, after = accum**-power, total**-power
    return total, linear + shrunk - (after - before) / lr * var, after / lr


def ftrl(
    xp: Any, var: Any, accum: Any, linear: Any, *, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any,
    l2_shrinkage: Any = None,
) -> Any:  # fmt: skip
    shrunk = grad if l2_shrinkage is None else grad + 2 * l2_shrinkage * var
    accum, linear, slope = _ftrl_state(xp, var, accum, linear, grad, shrunk, lr, lr_power)
    var = (l1 * xp.sign(linear) - linear) / (slope + 2 * l2)
    return xp.where(xp.abs(linear) > l1, var, xp.zeros_like(var)), accum, linear


def ftrl_rows(
    xp: Any, var: Any, accum: Any, linear: Any, *, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any,
    l2_shrinkage: Any = None,
) -> Any:  # fmt: skip
    """Is `ftrl` for rows, where TensorFlow's quotient of two zeros is NaN and not 0."""
    shrunk = grad if l2_shrinkage is None else grad + 2 * l2_shrinkage * var
    accum, linear, slope = _ftrl_state(xp, var, accum, linear, grad, shrunk, lr, lr_power)
    return (xp.minimum(xp.maximum(linear, -l1), l1) - linear) / (slope + 2 * l2), accum, linear
