"""A step of a gated recurrent unit (GRU) as one op, and its gradient."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.opdef import op
from headrace.shapes import to_text, with_rank

_OPERANDS = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"

GRUBlockCell = op(f"""
    GRUBlockCell({_OPERANDS}) -> (r: T, u: T, c: T, h: T)
      T: {{float}}

    One step of a GRU: the reset and update gates, the candidate and the output.
""")  # fmt: skip


@GRUBlockCell.shape
def gru_block_cell_shape(x, h_prev, *_):
    return [(with_rank(x, 2)[0], with_rank(h_prev, 2)[1])] * 4


def _invalid(message):
    return InvalidArgumentError(None, None, message)


def _check(x, h_prev, w_ru, w_c, b_ru, b_c):
    ranks = {"x": x, "h_prev": h_prev, "w_ru": w_ru, "w_c": w_c}
    for name, value in {**ranks, "b_ru": b_ru, "b_c": b_c}.items():
        if value.ndim != (2 if name in ranks else 1):
            raise _invalid(
                f"Rank of {name} must be {2 if name in ranks else 1}, got shape {to_text(value.shape)}"
            )
    batch, inputs = x.shape
    cells = h_prev.shape[1]
    for what, got, wanted in (
        ("h_prev.dims(0) != batch_size", h_prev.shape[0], batch),
        ("w_ru.dim_size(0) != input_size + cell_size", w_ru.shape[0], inputs + cells),
        ("w_ru.dim_size(1) != cell_size * 2", w_ru.shape[1], cells * 2),
        ("w_c.dim_size(0) != input_size + cell_size", w_c.shape[0], inputs + cells),
        ("w_c.dim_size(1) != cell_size", w_c.shape[1], cells),
        ("b_ru.dim_size(0) != cell_size * 2", b_ru.shape[0], cells * 2),
        ("b_c.dim_size(0) != cell_size", b_c.shape[0], cells),
    ):
        if got != wanted:
            raise _invalid(f"{what}: {got} vs. {wanted}")


def _step(xp, x, h_prev, w_ru, w_c, b_ru, b_c):
    _check(x, h_prev, w_ru, w_c, b_ru, b_c)
    cells = h_prev.shape[1]
    gates = 1 / (1 + xp.exp(-(xp.concatenate([x, h_prev], 1) @ w_ru + b_ru)))
    r, u = gates[:, :cells], gates[:, cells:]
    c = xp.tanh(xp.concatenate([x, h_prev * r], 1) @ w_c + b_c)
    return r, u, c, u * h_prev + (1 - u) * c


@GRUBlockCell.host
def gru_block_cell_host(x, h_prev, w_ru, w_c, b_ru, b_c):
    with np.errstate(all="ignore"):
        return _step(np, x, h_prev, w_ru, w_c, b_ru, b_c)


@GRUBlockCell.lower
def gru_block_cell_lower(x, h_prev, w_ru, w_c, b_ru, b_c):
    return _step(jnp, x, h_prev, w_ru, w_c, b_ru, b_c)


@GRUBlockCell.cases
def gru_block_cell_cases(case):
    one, zeros = np.ones((1, 1), np.float32), np.zeros
    case(one, 2 * one, zeros((2, 2), np.float32), zeros((2, 1), np.float32), zeros(2, np.float32),
         np.ones(1, np.float32), gives=([[0.5]], [[0.5]], [[np.tanh(1)]], [[1 + np.tanh(1) / 2]]),
         tol=1e-6)  # fmt: skip
    case(
        case.normal(4, 3),
        case.normal(4, 2),
        case.normal(5, 4),
        case.normal(5, 2),
        case.normal(4),
        case.normal(2),
    )
    case.shapes("[?,3];[4,2];?;?;?;?", "[?,2];[?,2];[?,2];[?,2]")
    case.fails("[3];[4,2];?;?;?;?", match="must be rank 2 but is rank 1")
    case.fails((one, one, zeros((3, 2), np.float32), zeros((2, 1), np.float32), zeros(2, np.float32),
                zeros(1, np.float32)), match=r"w_ru.dim_size\(0\) != input_size \+ cell_size: 3 vs. 2")  # fmt: skip


GRUBlockCellGrad = op(f"""
    GRUBlockCellGrad({_OPERANDS}, r: T, u: T, c: T, d_h: T) -> (d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)
      T: {{float}}

    The gradient of GRUBlockCell with respect to input, state, and what candidate and gates sum up.
""")  # fmt: skip


@GRUBlockCellGrad.shape
def gru_block_cell_grad_shape(x, h_prev, *_):
    batch, inputs = with_rank(x, 2)
    cells = with_rank(h_prev, 2)[1]
    return [(batch, inputs), (batch, cells), (batch, cells), (batch, None if cells is None else 2 * cells)]


def _gradient(xp, x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h):
    _check(x, h_prev, w_ru, w_c, b_ru, b_c)
    for name, value in {"r": r, "u": u, "c": c, "d_h": d_h}.items():
        if tuple(value.shape) != tuple(h_prev.shape):
            raise _invalid(f"{name} must have shape {to_text(h_prev.shape)}, but has {to_text(value.shape)}")
    inputs = x.shape[1]
    d_c = d_h * (1 - u) * (1 - c * c)
    d_u = d_h * (h_prev - c) * u * (1 - u)
    back = d_c @ w_c.T
    d_reset = back[:, inputs:]
    d_r = d_reset * h_prev * r * (1 - r)
    d_gates = xp.concatenate([d_r, d_u], 1)
    through = d_gates @ w_ru.T
    d_x = back[:, :inputs] + through[:, :inputs]
    d_h_prev = through[:, inputs:] + d_reset * r + d_h * u
    return d_x, d_h_prev, d_c, d_gates


@GRUBlockCellGrad.host
def gru_block_cell_grad_host(x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h):
    return _gradient(np, x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h)


@GRUBlockCellGrad.lower
def gru_block_cell_grad_lower(x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h):
    return _gradient(jnp, x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h)


@GRUBlockCellGrad.cases
def gru_block_cell_grad_cases(case):
    one, zeros = np.ones((1, 1), np.float32), np.zeros
    half = one / 2
    case(one, 2 * one, zeros((2, 2), np.float32), zeros((2, 1), np.float32), zeros(2, np.float32),
         zeros(1, np.float32), half, half, 0 * one, one, gives=([[0.0]], [[0.5]], [[0.5]], [[0.0, 0.5]]))  # fmt: skip
    gates = [case.uniform(4, 2) for _ in range(3)]
    case(case.normal(4, 3), case.normal(4, 2), case.normal(5, 4), case.normal(5, 2), case.normal(4), case.normal(2),
         *gates, case.normal(4, 2))  # fmt: skip
    case.shapes("[?,3];[4,2];?;?;?;?;?;?;?;?", "[?,3];[?,2];[?,2];[?,4]")
