"""The loss of connectionist temporal classification (CTC), and its gradient, which the op computes along with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp, lax
from headrace.opdef import op, raw
from headrace.ops.nn.names import public, renamed
from headrace.shapes import merge_dim, with_rank

CTCLoss = op("""
    CTCLoss(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32) -> (loss: T, gradient: T)
      preprocess_collapse_repeated: bool = false
      ctc_merge_repeated: bool = true
      ignore_longer_outputs_than_inputs: bool = false
      T: {float, double} = float

    How unlikely label sequences are, whatever their alignment to the frames, and the gradient with respect to `inputs`.
""")  # fmt: skip


@CTCLoss.shape
def ctc_loss_shape(inputs, labels_indices, labels_values, sequence_length):
    time, batch, classes = with_rank(inputs, 3)
    merge_dim(with_rank(labels_indices, 2)[0], with_rank(labels_values, 1)[0])
    batch = merge_dim(batch, with_rank(sequence_length, 1)[0])
    return [(batch,), (time, batch, classes)]


def _invalid(message):
    return InvalidArgumentError(None, None, message)


def check_frames(inputs, sequence_length):
    """Checks the ranks that the CTC kernels ask for.

    Raises:
      InvalidArgumentError: A rank is wrong.
    """
    if len(inputs.shape) != 3:
        raise _invalid("inputs is not a 3-Tensor")
    if len(sequence_length.shape) != 1:
        raise _invalid("sequence_length is not a vector")


def _check_ranks(inputs, indices, values, sequence_length):
    check_frames(inputs, sequence_length)
    if len(indices.shape) != 2:
        raise _invalid("labels_indices is not a matrix")
    if len(values.shape) != 1:
        raise _invalid("labels_values is not a vector")
    if inputs.shape[1] == 0:
        raise _invalid("batch_size must not be 0")
    if 0 in inputs.shape:
        raise _invalid("inputs has no frames or no classes")
    if indices.shape[0] != values.shape[0]:
        given = "[" + ",".join(map(str, indices.shape)) + "] vs. [" + ",".join(map(str, values.shape)) + "]"
        raise _invalid(
            f"labels_indices and labels_values must contain the same number of rows, but saw shapes: {given}"
        )
    if indices.shape[1] != 2:
        raise _invalid("Order length must be SparseTensor rank.")
    if len(sequence_length) != inputs.shape[1]:
        raise _invalid(
            "len(sequence_length) != batch_size.  "
            f"len(sequence_length):  {len(sequence_length)} batch_size: {inputs.shape[1]}"
        )


def _check_places(indices, batch):
    sizes = [batch, int(indices[:, 1].max(initial=-1)) + 1]
    wrong = ((indices < 0) | (indices >= sizes)).any(1)
    after, before = indices[1:], indices[:-1]
    again = np.append(False, (after == before).all(1))
    back = (after[:, 0] < before[:, 0]) | ((after[:, 0] == before[:, 0]) & (after[:, 1] < before[:, 1]))
    bad = np.flatnonzero(wrong | again | np.append(False, back))
    if not len(bad):
        return
    i = bad[0]
    at = f"indices[{i}] = [{indices[i, 0]},{indices[i, 1]}] is "
    if wrong[i]:
        what = f"out of bounds: need 0 <= index < [{sizes[0]},{sizes[1]}]"
    elif again[i]:
        what = "repeated"
    else:
        what = "out of order. Many sparse ops require sorted indices."
    raise _invalid("label SparseTensor is not valid: " + at + what)


def _check_labels(rows, values, lengths, time, classes, ignore_longer):
    for b, n in enumerate(lengths):
        if n < 0:
            raise _invalid(f"seq_len({b}) < 0")
        if n > time:
            raise _invalid(f"sequence_length({b}) <= {time}")
    ends = np.searchsorted(rows, np.arange(len(lengths) + 1))
    for b, n in enumerate(lengths):
        labels = values[ends[b] : ends[b + 1]].tolist()
        if not labels:
            raise _invalid(f"Labels length is zero in batch {b}")
        if len(labels) > n and not ignore_longer:
            # TensorFlow joins these two sentences with a 0.
            raise _invalid(
                f"Not enough time for target transition sequence (required: {len(labels)}, available: {n})0"
                "You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs"
            )
        shown = ",".join(map(str, labels))
        first = next((i for i, label in enumerate(labels) if label >= classes - 1), len(labels))
        if any(label < 0 for label in labels[:first]):
            raise _invalid(f"All labels must be nonnegative integers, batch: {b} labels: {shown}")
        if any(label < classes - 1 for label in labels[first:]):
            seen = ",".join(map(str, labels[:first]))
            raise _invalid(
                "Saw a non-null label (index >= num_classes - 1) following a null label, "
                f"batch: {b} num_classes: {classes} labels: {shown} labels seen so far: {seen}"
            )


def _padded(xp, rows, values, batch, width, blank, collapse):
    """Returns the labels as a matrix with blanks after them, how many there are, and how many were given."""
    kept = values < blank
    if collapse:
        same = (rows[1:] == rows[:-1]) & (values[1:] == values[:-1])
        kept = kept & ~xp.concatenate([xp.zeros(min(1, len(rows)), bool), same])
    ends = xp.searchsorted(rows, xp.arange(batch + 1))
    total = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(kept)])
    places = xp.where(kept, total[1:] - 1 - total[ends[:-1]][rows], width)
    places = xp.minimum(places, width)
    dense = xp.full((batch, width + 1), blank, np.int32)
    if xp is np:
        dense[rows, places] = np.where(kept, values, blank)
    else:
        dense = dense.at[rows, places].set(jnp.where(kept, values, blank))
    return dense[:, :width], total[ends[1:]] - total[ends[:-1]], ends[1:] - ends[:-1]


def _scan(xp, step, state, xs):
    if xp is jnp:
        return lax.scan(step, state, xs)[1]
    out = []
    for x in zip(*xs, strict=True):
        state, y = step(state, x)
        out.append(y)
    return np.stack(out)


def _shifted(xp, x, by):
    """Returns a matrix whose columns have moved to the right, or to the left, with -inf behind."""
    gap = xp.full((x.shape[0], abs(by)), -np.inf, x.dtype)
    if by > 0:
        return xp.concatenate([gap, x], 1)[:, : x.shape[1]]
    return xp.concatenate([x, gap], 1)[:, -by:]


def _computed(xp, inputs, labels, counts, given, lengths, merge):
    """Sums over all alignments, forwards and backwards, in logarithms."""
    time, batch, classes = inputs.shape
    blank = classes - 1
    low = inputs.dtype.type(-np.inf)
    y = xp.exp(inputs - inputs.max(-1, keepdims=True))
    y = y / y.sum(-1, keepdims=True)
    # States: blank, first label, blank, second label, ..., blank.
    states = 2 * labels.shape[1] + 1
    blanks = xp.full((batch, labels.shape[1]), blank, labels.dtype)
    symbols = xp.concatenate([xp.stack([blanks, labels], 2).reshape(batch, states - 1), blanks[:, :1]], 1)
    number = xp.arange(states)
    is_label = number % 2 == 1
    last = 2 * counts.reshape(-1, 1)
    inside = number <= last
    differs = xp.concatenate([xp.zeros((batch, min(2, states)), bool), symbols[:, 2:] != symbols[:, :-2]], 1)
    jumps = is_label & (number >= 2) & (differs | (not merge))
    stays = ~is_label | bool(merge)
    at = xp.broadcast_to(symbols[None], (time, batch, states))
    log_y = xp.where(inside, xp.take_along_axis(xp.log(y), at, 2), low)
    alive = xp.arange(time).reshape(-1, 1, 1) < lengths.reshape(-1, 1)
    alive = xp.broadcast_to(alive, (time, batch, 1))
    ends = xp.where((number >= last - 1) & inside, inputs.dtype.type(0), low)

    def forwards(alpha, x):
        here, live, first = x
        moved = xp.logaddexp(xp.where(stays, alpha, low), _shifted(xp, alpha, 1))
        moved = xp.logaddexp(moved, xp.where(jumps, _shifted(xp, alpha, 2), low))
        moved = xp.where(first, xp.where(number < 2, inputs.dtype.type(0), low), moved)
        alpha = xp.where(live, moved + here, alpha)
        return alpha, alpha

    def backwards(state, x):
        beta, before = state  # `before` is log_y of the frame that follows
        here, live, next_live = x
        ahead = beta + before
        moved = xp.logaddexp(xp.where(stays, ahead, low), _shifted(xp, ahead, -1))
        moved = xp.logaddexp(moved, _shifted(xp, xp.where(jumps, ahead, low), -2))
        beta = xp.where(next_live, moved, ends)
        return (beta, here), beta

    start = xp.full((batch, states), low, inputs.dtype)
    firsts = xp.arange(time) == 0
    alphas = _scan(xp, forwards, start, (log_y, alive, firsts))
    following = xp.concatenate([alive[1:], xp.zeros((1, batch, 1), bool)])
    betas = _scan(xp, backwards, (ends, start), (log_y[::-1], alive[::-1], following[::-1]))[::-1]
    final = xp.where((number >= last - 1) & inside, alphas[-1], low)
    log_p = xp.logaddexp.reduce(final, 1) if xp is np else _log_sum(final)
    possible = (log_p > low) | xp.isnan(log_p)
    share = xp.exp(alphas + betas - xp.where(possible, log_p, 0)[:, None]).astype(inputs.dtype)
    share = xp.where(possible[:, None], share, 0).astype(inputs.dtype)
    one_hot = (symbols[:, :, None] == xp.arange(classes)).astype(inputs.dtype)
    by_class = xp.swapaxes(xp.matmul(xp.swapaxes(share, 0, 1), one_hot), 0, 1)
    used = given <= lengths
    gradient = xp.where(alive & used[:, None], y - by_class, 0).astype(inputs.dtype)
    return xp.where(used, -log_p, 0).astype(inputs.dtype), gradient


def _log_sum(x):
    most = x.max(1)
    most = jnp.where(jnp.isfinite(most), most, 0)
    return most + jnp.log(jnp.exp(x - most[:, None]).sum(1))


@CTCLoss.host
def ctc_loss_host(
    inputs, labels_indices, labels_values, sequence_length, *, preprocess_collapse_repeated, ctc_merge_repeated,
    ignore_longer_outputs_than_inputs,
):  # fmt: skip
    _check_ranks(inputs, labels_indices, labels_values, sequence_length)
    time, batch, classes = inputs.shape
    _check_places(labels_indices, batch)
    rows = labels_indices[:, 0]
    ignore = ignore_longer_outputs_than_inputs
    _check_labels(rows, labels_values, sequence_length.tolist(), time, classes, ignore)
    most = int(np.bincount(rows, minlength=1).max())
    labels, counts, given = _padded(
        np, rows, labels_values, batch, max(1, min(most, time)), classes - 1, preprocess_collapse_repeated
    )
    with np.errstate(all="ignore"):
        return _computed(np, inputs, labels, counts, given, sequence_length, ctc_merge_repeated)


@CTCLoss.lower
def ctc_loss_lower(
    inputs, labels_indices, labels_values, sequence_length, *, preprocess_collapse_repeated, ctc_merge_repeated,
    ignore_longer_outputs_than_inputs, ctx,
):  # fmt: skip
    _check_ranks(inputs, labels_indices, labels_values, sequence_length)
    time, batch, classes = inputs.shape
    rows, columns = labels_indices[:, 0], labels_indices[:, 1]
    inside = ((labels_indices >= 0).all(1) & (rows < batch)).all()
    later = (rows[1:] > rows[:-1]) | ((rows[1:] == rows[:-1]) & (columns[1:] > columns[:-1]))
    null = labels_values >= classes - 1
    resumes = (rows[1:] == rows[:-1]) & null[:-1] & ~null[1:]
    rows = jnp.clip(rows, 0, batch - 1)
    width = max(1, min(len(labels_values), time))
    labels, counts, given = _padded(
        jnp, rows, labels_values, batch, width, classes - 1, preprocess_collapse_repeated
    )
    ok = inside & later.all() & (given > 0).all() & (labels_values >= 0).all() & ~resumes.any()
    ok = ok & ((sequence_length >= 0) & (sequence_length <= time)).all()
    if not ignore_longer_outputs_than_inputs:
        ok = ok & (given <= sequence_length).all()
    ctx.check(ok, "CTCLoss: labels or lengths do not fit")
    return _computed(
        jnp, inputs, labels, jnp.minimum(counts, width), given, sequence_length, ctc_merge_repeated
    )


@CTCLoss.grad
def ctc_loss_grad(op, dy, _):
    # The op's second output is the gradient; nothing knows how that changes.
    fixed = raw.PreventGradient(
        op.outputs[1],
        message="Currently there is no way to take the second  derivative of ctc_loss due to the fused "
        "implementation's interaction  with tf.gradients()",
    )
    return [public.expand_dims(dy, -1) * fixed, None, None, None]


@CTCLoss.cases
def ctc_loss_cases(case):
    sure = np.zeros((3, 1, 3), np.float32)
    one, lengths = np.array([[0, 0]], np.int64), np.array([3], np.int32)
    values = np.array([1], np.int32)
    # Of the 27 equally likely sequences, 6 are runs of label 1 among blanks.
    case(sure, one, values, lengths, grad=False, gives=([np.log(27 / 6)], None))
    two = np.array([[0, 0], [0, 1]], np.int64)
    case(sure, two, np.array([1, 1], np.int32), lengths, grad=False, gives=([np.log(27.0)], None))
    case(sure, two, np.array([1, 1], np.int32), lengths, grad=False, preprocess_collapse_repeated=True,
         gives=([np.log(27 / 6)], None))  # fmt: skip
    short = np.array([1], np.int32)
    case(sure, two, np.array([1, 0], np.int32), short, grad=False, ignore_longer_outputs_than_inputs=True,
         gives=([0.0], np.zeros((3, 1, 3))))  # fmt: skip
    many = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]], np.int64)
    for merge in (True, False):
        case(case.normal(7, 2, 4), many, np.array([2, 2, 1, 0, 2], np.int32), np.array([7, 5], np.int32),
             grad=False, ctc_merge_repeated=merge)  # fmt: skip
    case.shapes("[?,2,4];[?,2];[?];[?]", "[2];[?,2,4]")
    case.shapes("?;?;?;[3]", "[3];[?,3,?]")
    case.fails("[5,2,4];[3,2];[2];[2]", match="Dimensions must be equal, but are 3 and 2")
    case.fails("[5,4];[3,2];[3];[2]", match="must be rank 3 but is rank 2")
    case.fails((sure, two, np.array([1, 0], np.int32), short), match=r"required: 2, available: 1")
    case.fails(
        (sure, one, np.array([-1], np.int32), lengths), match="nonnegative integers, batch: 0 labels: -1"
    )
    case.fails((sure, two[::-1].copy(), np.array([1, 0], np.int32), lengths), match="out of order")
    case.fails((sure, two, np.array([2, 0], np.int32), lengths), match="Saw a non-null label")
    case.fails((sure, one, values, np.array([4], np.int32)), match=r"sequence_length\(0\) <= 3")
    case.fails((sure, one[:0], values[:0], lengths), match="Labels length is zero in batch 0")


@export("nn.ctc_loss")
def ctc_loss(
    labels: Any, inputs: Any = None, sequence_length: Any = None, preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True,
    logits: Any = None,
) -> Any:  # fmt: skip
    """Returns the CTC loss of each sequence: how unlikely its labels are, whatever their alignment.

    The last class is the blank, which separates labels.

    Args:
      labels: The label sequences, an int32 SparseTensor [batch, labels].
      inputs: The logits, [time, batch, classes].
      sequence_length: How many frames each sequence has, int32.
      preprocess_collapse_repeated: Whether repeated labels are made one before all.
      ctc_merge_repeated: Whether repeated classes without a blank between them are one label.
      ignore_longer_outputs_than_inputs: Whether sequences with more labels than frames count 0 instead of failing.
      time_major: Whether `inputs` is [time, batch, classes], and not [batch, time, classes].
      logits: Another name of `inputs`.

    Raises:
      TypeError: `labels` is no SparseTensor.
    """
    if not isinstance(labels, public.SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    inputs = renamed("logits", logits, "inputs", inputs)
    if not time_major:
        inputs = public.transpose(inputs, [1, 0, 2])
    loss, _ = raw.CTCLoss(
        inputs, labels.indices, labels.values, sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated, ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )  # fmt: skip
    return loss
