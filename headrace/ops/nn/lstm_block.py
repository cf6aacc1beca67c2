"""LSTM cells as one op: a step, a whole sequence, and their gradients."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp, lax
from headrace.opdef import op, raw
from headrace.shapes import with_rank

_OPERANDS = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T"
_TYPES = "T: {half, float}"
# How the columns of the weights are ordered: input gate, new cell input, forget gate, output gate.
_V1, _V2 = "icfo", "ifco"


def _invalid(message):
    return InvalidArgumentError(None, None, message)


def _check(x, cs_prev, h_prev, w, wci, wcf, wco, b, rank=2, peephole=False):
    if x.ndim != rank:
        raise _invalid(f"x must be {rank}D")
    for name, value, ndim in (
        ("cs_prev", cs_prev, 2), ("h_prev", h_prev, 2), ("w", w, 2), ("wci", wci, 1), ("wcf", wcf, 1),
        ("wco", wco, 1), ("b", b, 1),
    ):  # fmt: skip
        if value.ndim != ndim:
            raise _invalid(f"{name} must be {ndim}D")
    batch, inputs = x.shape[-2:]
    cells = cs_prev.shape[1]
    rows = [
        ("cs_prev.dims(0) != batch_size", cs_prev.shape[0], batch),
        ("h_prev.dims(0) != batch_size", h_prev.shape[0], batch),
        ("h_prev.dims(1) != cell_size", h_prev.shape[1], cells),
        ("w.dim_size(0) != input_size + cell_size", w.shape[0], inputs + cells),
        ("w.dim_size(1) != cell_size * 4", w.shape[1], cells * 4),
        ("b.dim_size(0) != cell_size * 4", b.shape[0], cells * 4),
    ]
    if peephole:
        rows += [
            (f"{n}.dim_size(0) != cell_size", v.shape[0], cells)
            for n, v in (("wci", wci), ("wcf", wcf), ("wco", wco))
        ]
    for what, got, wanted in rows:
        if got != wanted:
            raise _invalid(f"{what}: {got} vs. {wanted}")


def _wide(xp, *arrays):
    """Returns arrays of halves as floats: they are computed with so, and rounded at the end."""
    return [a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays]


def _sigmoid(xp, x):
    return 1 / (1 + xp.exp(-x))


def _cell(xp, sums, cs_prev, peepholes, forget_bias, cell_clip, order):
    """Returns i, cs, f, o, ci, co and h for what the gates sum up; `peepholes` is None or three vectors."""
    cells = cs_prev.shape[1]
    parts = {gate: sums[:, k * cells : (k + 1) * cells] for k, gate in enumerate(order)}
    i, f, o = parts["i"], parts["f"] + sums.dtype.type(forget_bias), parts["o"]
    if peepholes:
        i = i + cs_prev * peepholes[0]
        f = f + cs_prev * peepholes[1]
    i, f, ci = _sigmoid(xp, i), _sigmoid(xp, f), xp.tanh(parts["c"])
    cs = ci * i + cs_prev * f
    if cell_clip > 0:
        cs = xp.clip(cs, -sums.dtype.type(cell_clip), sums.dtype.type(cell_clip))
    if peepholes:
        o = o + cs * peepholes[2]
    o, co = _sigmoid(xp, o), xp.tanh(cs)
    return i, cs, f, o, ci, co, co * o


def _cell_gradient(xp, cs_prev, i, cs, f, o, ci, co, cs_grad, h_grad, peepholes):
    """Returns the gradient with respect to cs_prev, and with respect to what each gate sums up."""
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad
    if peepholes:
        dcs = dcs + do * peepholes[2]
    dc = (1 - ci * ci) * dcs * i
    df = f * (1 - f) * dcs * cs_prev
    di = i * (1 - i) * dcs * ci
    cs_prev_grad = dcs * f
    if peepholes:
        cs_prev_grad = cs_prev_grad + di * peepholes[0] + df * peepholes[1]
    return cs_prev_grad, {"i": di, "c": dc, "f": df, "o": do}


# -- one step ------------------------------------------------------------------------------------------------

LSTMBlockCell = op(f"""
    LSTMBlockCell({_OPERANDS}) -> ({_GATES}, h: T)
      forget_bias: float = 1.0
      cell_clip: float = 3.0
      use_peephole: bool = false
      {_TYPES}

    One step of an LSTM: the gates, the cells before and after tanh, and the output.
""")  # fmt: skip


@LSTMBlockCell.shape
def lstm_block_cell_shape(x, cs_prev, *_):
    batch = with_rank(x, 2)[0]
    return [(batch, with_rank(cs_prev, 2)[1])] * 7


def _one_step(xp, operands, forget_bias, cell_clip, use_peephole):
    _check(*operands, peephole=use_peephole)
    dtype = operands[0].dtype
    x, cs_prev, h_prev, w, *peepholes, b = _wide(xp, *operands)
    sums = xp.concatenate([x, h_prev], 1) @ w + b
    out = _cell(xp, sums, cs_prev, peepholes if use_peephole else None, forget_bias, cell_clip, _V1)
    return tuple(v.astype(dtype) for v in out)


@LSTMBlockCell.host
def lstm_block_cell_host(x, cs_prev, h_prev, w, wci, wcf, wco, b, *, forget_bias, cell_clip, use_peephole):
    with np.errstate(all="ignore"):
        return _one_step(np, (x, cs_prev, h_prev, w, wci, wcf, wco, b), forget_bias, cell_clip, use_peephole)


@LSTMBlockCell.lower
def lstm_block_cell_lower(x, cs_prev, h_prev, w, wci, wcf, wco, b, *, forget_bias, cell_clip, use_peephole):
    return _one_step(jnp, (x, cs_prev, h_prev, w, wci, wcf, wco, b), forget_bias, cell_clip, use_peephole)


def _weights(case, inputs=3, cells=2):
    return (
        case.normal(inputs + cells, 4 * cells), case.normal(cells), case.normal(cells), case.normal(cells),
        case.normal(4 * cells),
    )  # fmt: skip


@LSTMBlockCell.cases
def lstm_block_cell_cases(case):
    one, zeros = np.ones((1, 1), np.float32), np.zeros(1, np.float32)
    half, tanh = 0.5, np.tanh(0.5)
    case(one, one, one, np.zeros((2, 4), np.float32), zeros, zeros, zeros, np.zeros(4, np.float32), forget_bias=0.0,
         gives=([[half]], [[half]], [[half]], [[half]], [[0.0]], [[tanh]], [[tanh / 2]]), tol=1e-6)  # fmt: skip
    for peephole in (False, True):
        w, *rest = _weights(case)
        case(
            case.normal(4, 3),
            case.normal(4, 2),
            case.normal(4, 2),
            w,
            *rest,
            use_peephole=peephole,
            cell_clip=0.5,
        )
    case.shapes("[?,3];[4,2];?;?;?;?;?;?", ";".join(["[?,2]"] * 7))
    case.fails("[3];[2,4];[2,4];[7,16];[4];[4];[4];[16]", match="must be rank 2 but is rank 1")
    case.fails((one, one, one, np.zeros((3, 4), np.float32), zeros, zeros, zeros, np.zeros(4, np.float32)),
               match=r"w.dim_size\(0\) != input_size \+ cell_size: 3 vs. 2")  # fmt: skip


LSTMBlockCellGrad = op(f"""
    LSTMBlockCellGrad({_OPERANDS}, {_GATES}, cs_grad: T, h_grad: T) -> \
(cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T)
      use_peephole: bool
      {_TYPES}

    The gradient of LSTMBlockCell with respect to the cells before, what the gates sum up, and the peepholes.
""")  # fmt: skip


@LSTMBlockCellGrad.shape
def lstm_block_cell_grad_shape(x, cs_prev, h_prev, w, wci, wcf, wco, *_):
    batch = with_rank(x, 2)[0]
    cells = with_rank(cs_prev, 2)[1]
    # Peepholes that are not used may have any size, and their gradients have it too.
    peepholes = [(cells,) if p is None or len(p) != 1 or p[0] is None else p for p in (wci, wcf, wco)]
    return [(batch, cells), (batch, None if cells is None else 4 * cells), *peepholes]


def _check_steps(cs_prev, outer, named):
    wanted = (*outer, *cs_prev.shape)
    for name, value in named.items():
        if tuple(value.shape) != wanted:
            raise _invalid(f"{name} must have shape {list(wanted)}, but has {list(value.shape)}")


def _one_step_gradient(xp, operands, gates, cs_grad, h_grad, use_peephole):
    _check(*operands, peephole=use_peephole)
    names = dict(zip(("i", "cs", "f", "o", "ci", "co"), gates, strict=True))
    _check_steps(operands[1], (), {**names, "cs_grad": cs_grad, "h_grad": h_grad})
    dtype = operands[0].dtype
    _, cs_prev, _, _, *peepholes, _ = _wide(xp, *operands)
    i, cs, f, o, ci, co, cs_grad, h_grad = _wide(xp, *gates, cs_grad, h_grad)
    dcs, d = _cell_gradient(
        xp, cs_prev, i, cs, f, o, ci, co, cs_grad, h_grad, peepholes if use_peephole else None
    )
    if use_peephole:
        rows = [(d["i"] * cs_prev).sum(0), (d["f"] * cs_prev).sum(0), (d["o"] * cs).sum(0)]
    else:
        rows = [xp.zeros_like(p) for p in peepholes]
    out = (dcs, xp.concatenate([d[g] for g in _V1], 1), *rows)
    return tuple(v.astype(dtype) for v in out)


@LSTMBlockCellGrad.host
def lstm_block_cell_grad_host(
    x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, cs_grad, h_grad, *, use_peephole
):
    operands = (x, cs_prev, h_prev, w, wci, wcf, wco, b)
    return _one_step_gradient(np, operands, (i, cs, f, o, ci, co), cs_grad, h_grad, use_peephole)


@LSTMBlockCellGrad.lower
def lstm_block_cell_grad_lower(
    x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, cs_grad, h_grad, *, use_peephole
):
    operands = (x, cs_prev, h_prev, w, wci, wcf, wco, b)
    return _one_step_gradient(jnp, operands, (i, cs, f, o, ci, co), cs_grad, h_grad, use_peephole)


@LSTMBlockCellGrad.cases
def lstm_block_cell_grad_cases(case):
    one, zeros = np.ones((1, 1), np.float32), np.zeros(1, np.float32)
    half = one * 0.5
    # i = f = o = 1/2, ci = 0, co = 0: the output's gradient reaches the cells halved.
    case(one, one, one, np.zeros((2, 4), np.float32), zeros, zeros, zeros, np.zeros(4, np.float32), half, 0 * one, half,
         half, 0 * one, 0 * one, 0 * one, one, use_peephole=False,
         gives=([[0.25]], [[0.0, 0.25, 0.125, 0.0]], [0.0], [0.0], [0.0]))  # fmt: skip
    w, *rest = _weights(case)
    case(case.normal(4, 3), case.normal(4, 2), case.normal(4, 2), w, *rest, *[case.uniform(4, 2) for _ in range(6)],
         case.normal(4, 2), case.normal(4, 2), use_peephole=True)  # fmt: skip
    case.shapes("[?,3];[4,2];" + ";".join(["?"] * 14), "[?,2];[?,8];[2];[2];[2]", use_peephole=True)


# -- a sequence ----------------------------------------------------------------------------------------------


def _sequence_shape(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b):
    time, batch, _ = with_rank(x, 3)
    gates = with_rank(b, 1)[0]
    return [(time, batch, None if gates is None else gates // 4)] * 7


def _check_length(seq_len_max, time):
    if seq_len_max.ndim:
        raise _invalid("seq_len_max must be a scalar")
    if isinstance(seq_len_max, (np.ndarray, np.generic)) and not 0 <= seq_len_max <= time:
        raise _invalid(f"seq_len_max must be in [0, {time}], but is {int(seq_len_max)}")


def _sequence(xp, length, operands, forget_bias, cell_clip, use_peephole, order):
    x = operands[0]
    _check(*operands, rank=3, peephole=use_peephole)
    _check_length(length, len(x))
    dtype = x.dtype
    x, cs_prev, h_prev, w, *peepholes, b = _wide(xp, *operands)
    peepholes = peepholes if use_peephole else None
    time, batch, inputs = x.shape
    # What the inputs add to the gates is one product for all steps.
    ahead = (x.reshape(time * batch, inputs) @ w[:inputs] + b).reshape(time, batch, w.shape[1])
    recurrent = w[inputs:]

    def step(cs, h, sums):
        return _cell(xp, sums + h @ recurrent, cs, peepholes, forget_bias, cell_clip, order)

    if xp is np:
        out = np.zeros((7, time, *cs_prev.shape), x.dtype)
        for t in range(int(length)):
            found = step(cs_prev, h_prev, ahead[t])
            cs_prev, h_prev = found[1], found[6]
            for k, value in enumerate(found):
                out[k, t] = value
        return tuple(v.astype(dtype) for v in out)

    def scanned(state, given):
        t, sums = given
        found = step(*state, sums)
        live = t < length
        return (found[1], found[6]), tuple(jnp.where(live, v, 0).astype(dtype) for v in found)

    return lax.scan(scanned, (cs_prev, h_prev), (jnp.arange(time), ahead))[1]


def _sequence_cases(case):
    w, *rest = _weights(case)
    x, cells, h = case.normal(5, 2, 3), case.normal(2, 2), case.normal(2, 2)
    case(np.int64(5), x, cells, h, w, *rest, grad=False)
    case(np.int64(3), x, cells, h, w, *rest, use_peephole=True, cell_clip=0.5, grad=False)
    case(np.int64(0), x, cells, h, w, *rest, grad=False, gives=(np.zeros((5, 2, 2)),) * 7)
    case.shapes("[];[?,4,3];?;?;?;?;?;?;[8]", ";".join(["[?,4,2]"] * 7))
    case.fails("[];[4,3];?;?;?;?;?;?;[8]", match="must be rank 3 but is rank 2")
    case.fails((np.int64(6), x, cells, h, w, *rest), match=r"seq_len_max must be in \[0, 5\], but is 6")
    case.fails(
        (np.int64(1), x, cells, h, w[1:], *rest), match=r"w.dim_size\(0\) != input_size \+ cell_size: 4 vs. 5"
    )


def _declare_sequence(name, attrs, order, forget_bias):
    made = op(f"""
    {name}(seq_len_max: int64, {_OPERANDS}) -> ({_GATES}, h: T)
{attrs}      cell_clip: float = {3.0 if order == _V1 else 0.0}
      use_peephole: bool = false
      {_TYPES}

    An LSTM over the first steps of sequences, [time, batch, inputs]; what it gives for later steps is 0.
    """, shape=_sequence_shape)  # fmt: skip

    @made.host
    def host(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *, cell_clip, use_peephole, **rest):
        operands = (x, cs_prev, h_prev, w, wci, wcf, wco, b)
        bias = rest.get("forget_bias", forget_bias)
        with np.errstate(all="ignore"):
            return _sequence(np, seq_len_max, operands, bias, cell_clip, use_peephole, order)

    @made.lower
    def lower(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *, cell_clip, use_peephole, ctx, **rest):
        operands = (x, cs_prev, h_prev, w, wci, wcf, wco, b)
        bias = rest.get("forget_bias", forget_bias)
        ctx.check((seq_len_max >= 0) & (seq_len_max <= len(x)), f"{name}: seq_len_max is out of range")
        return _sequence(jnp, seq_len_max, operands, bias, cell_clip, use_peephole, order)

    @made.grad
    def grad(op, *dys):
        # Only the cells' and the outputs' gradients go back, and in TensorFlow 1.15 through the first version's
        # gradient for either version.
        found = raw.BlockLSTMGrad(
            *op.inputs, *op.outputs, dys[1], dys[6], use_peephole=op.attrs["use_peephole"]
        )
        return [None, *found]

    made.declare("cases", _sequence_cases)
    return made


BlockLSTM = _declare_sequence("BlockLSTM", "      forget_bias: float = 1.0\n", _V1, 1.0)
BlockLSTMV2 = _declare_sequence("BlockLSTMV2", "", _V2, 0.0)


def _sequence_gradient_shape(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *_):
    return [
        with_rank(x, 3), with_rank(cs_prev, 2), with_rank(h_prev, 2), with_rank(w, 2), with_rank(wci, 1),
        with_rank(wcf, 1), with_rank(wco, 1), with_rank(b, 1),
    ]  # fmt: skip


def _sequence_gradient(xp, length, operands, outputs, cs_grad, h_grad, use_peephole, order):
    x = operands[0]
    _check(*operands, rank=3, peephole=use_peephole)
    _check_length(length, len(x))
    names = dict(zip(("i", "cs", "f", "o", "ci", "co", "h"), outputs, strict=True))
    _check_steps(operands[1], x.shape[:1], {**names, "cs_grad": cs_grad, "h_grad": h_grad})
    dtype = x.dtype
    x, cs_prev, h_prev, w, *peepholes, _ = _wide(xp, *operands)
    i, cs, f, o, ci, co, h, cs_grad, h_grad = _wide(xp, *outputs, cs_grad, h_grad)
    time, batch, inputs = x.shape
    recurrent = w[inputs:]
    vectors = peepholes if use_peephole else None
    before = xp.concatenate([cs_prev[None], cs[:-1]]) if time else cs

    def step(dcs, dh, given):
        cells, i, cs, f, o, ci, co, cs_grad, h_grad = given
        dcs, d = _cell_gradient(xp, cells, i, cs, f, o, ci, co, dcs + cs_grad, dh + h_grad, vectors)
        gates = xp.concatenate([d[g] for g in order], 1)
        return dcs, gates @ recurrent.T, gates

    rows = (before, i, cs, f, o, ci, co, cs_grad, h_grad)
    if xp is np:
        dcs, dh = np.zeros_like(cs_prev), np.zeros_like(h_prev)
        gates = np.zeros((time, batch, w.shape[1]), x.dtype)
        for t in reversed(range(int(length))):
            dcs, dh, gates[t] = step(dcs, dh, [r[t] for r in rows])
    else:

        def scanned(state, given):
            t, *given = given
            dcs, dh, gates = step(*state, given)
            live = t < length
            return (jnp.where(live, dcs, state[0]), jnp.where(live, dh, state[1])), jnp.where(live, gates, 0)

        start = (jnp.zeros_like(cs_prev), jnp.zeros_like(h_prev))
        (dcs, dh), gates = lax.scan(scanned, start, (jnp.arange(time), *rows), reverse=True)
    flat = gates.reshape(time * batch, w.shape[1])
    past = xp.concatenate([h_prev[None], h[:-1]]) if time else h
    dw = xp.concatenate(
        [x.reshape(time * batch, inputs).T @ flat, past.reshape(time * batch, h_prev.shape[1]).T @ flat]
    )
    dx = (flat @ w[:inputs].T).reshape(x.shape)
    if use_peephole:
        cells = cs_prev.shape[1]
        part = {g: gates[:, :, k * cells : (k + 1) * cells] for k, g in enumerate(order)}
        vectors = [(part[g] * (cs if g == "o" else before)).sum((0, 1)) for g in "ifo"]
    else:
        vectors = [xp.zeros_like(p) for p in peepholes]
    return tuple(v.astype(dtype) for v in (dx, dcs, dh, dw, *vectors, flat.sum(0)))


def _sequence_gradient_cases(case):
    w, *rest = _weights(case)
    gates = [case.uniform(4, 2, 2) for _ in range(7)]
    for peephole, length in ((False, 4), (True, 2)):
        case(np.int64(length), case.normal(4, 2, 3), case.normal(2, 2), case.normal(2, 2), w, *rest, *gates,
             case.normal(4, 2, 2), case.normal(4, 2, 2), use_peephole=peephole)  # fmt: skip
    case.shapes("[];[?,4,3];[4,2];[4,2];[5,8];[2];[2];[2];[8];" + ";".join(["?"] * 9),
                "[?,4,3];[4,2];[4,2];[5,8];[2];[2];[2];[8]", use_peephole=False)  # fmt: skip


def _declare_sequence_gradient(name, order):
    made = op(f"""
    {name}(seq_len_max: int64, {_OPERANDS}, {_GATES}, h: T, cs_grad: T, h_grad: T) -> \
(x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T)
      use_peephole: bool
      {_TYPES}

    The gradient of an LSTM over sequences.
    """, shape=_sequence_gradient_shape)  # fmt: skip

    @made.host
    def host(
        seq_len_max,
        x,
        cs_prev,
        h_prev,
        w,
        wci,
        wcf,
        wco,
        b,
        i,
        cs,
        f,
        o,
        ci,
        co,
        h,
        cs_grad,
        h_grad,
        *,
        use_peephole,
    ):
        operands, outputs = (x, cs_prev, h_prev, w, wci, wcf, wco, b), (i, cs, f, o, ci, co, h)
        return _sequence_gradient(np, seq_len_max, operands, outputs, cs_grad, h_grad, use_peephole, order)

    @made.lower
    def lower(
        seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad, *, use_peephole,
        ctx,
    ):  # fmt: skip
        operands, outputs = (x, cs_prev, h_prev, w, wci, wcf, wco, b), (i, cs, f, o, ci, co, h)
        ctx.check((seq_len_max >= 0) & (seq_len_max <= len(x)), f"{name}: seq_len_max is out of range")
        return _sequence_gradient(jnp, seq_len_max, operands, outputs, cs_grad, h_grad, use_peephole, order)

    made.declare("cases", _sequence_gradient_cases)
    return made


BlockLSTMGrad = _declare_sequence_gradient("BlockLSTMGrad", _V1)
BlockLSTMGradV2 = _declare_sequence_gradient("BlockLSTMGradV2", _V2)
