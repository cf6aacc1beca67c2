"""The loss of connectionist temporal classification (CTC), and its gradient, which the op computes along with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
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


def _padded(rows, values, batch, width, blank, collapse):
    """Returns the labels as a matrix with blanks after them, how many there are, and how many were given."""
    kept = values < blank
    if collapse:
        kept[1:] &= (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
    ends = np.searchsorted(rows, np.arange(batch + 1))
    total = np.append(0, np.cumsum(kept))
    places = total[:-1] - total[ends[:-1]][rows]
    dense = np.full((batch, width), blank, np.int32)
    kept &= places < width  # sequences with more labels than frames are not looked at
    dense[rows[kept], places[kept]] = values[kept]
    return dense, np.minimum(total[ends[1:]] - total[ends[:-1]], width), ends[1:] - ends[:-1]


def _shifted(x, by):
    """Returns a matrix whose columns have moved to the right, or to the left, with -inf behind."""
    out = np.full_like(x, -np.inf)
    if by > 0:
        out[:, by:] = x[:, :-by]
    else:
        out[:, :by] = x[:, -by:]
    return out


def _computed(inputs, labels, counts, given, lengths, merge):
    """Sums over all alignments, forwards and backwards, in logarithms."""
    time, batch, classes = inputs.shape
    blank = classes - 1
    low = inputs.dtype.type(-np.inf)
    y = np.exp(inputs - inputs.max(-1, keepdims=True))
    y /= y.sum(-1, keepdims=True)
    # States: blank, first label, blank, second label, ..., blank.
    states = 2 * labels.shape[1] + 1
    symbols = np.full((batch, states), blank, labels.dtype)
    symbols[:, 1::2] = labels
    number = np.arange(states)
    is_label = number % 2 == 1
    last = 2 * counts.reshape(-1, 1)
    inside = number <= last
    jumps = np.zeros((batch, states), bool)
    jumps[:, 2:] = is_label[2:] & ((symbols[:, 2:] != symbols[:, :-2]) | (not merge))
    stays = ~is_label | bool(merge)
    log_y = np.take_along_axis(np.log(y), np.broadcast_to(symbols[None], (time, batch, states)), 2)
    log_y = np.where(inside, log_y, low)
    alive = np.arange(time).reshape(-1, 1, 1) < lengths.reshape(-1, 1)
    is_end = (number >= last - 1) & inside
    ends = np.where(is_end, inputs.dtype.type(0), low)

    alphas = np.empty((time, batch, states), inputs.dtype)
    alpha = np.where(number < 2, log_y[0], low)
    for t in range(time):
        if t:
            moved = np.logaddexp(np.where(stays, alpha, low), _shifted(alpha, 1))
            moved = np.logaddexp(moved, np.where(jumps, _shifted(alpha, 2), low))
            alpha = np.where(alive[t], moved + log_y[t], alpha)
        alphas[t] = alpha
    betas = np.empty((time, batch, states), inputs.dtype)
    beta = ends
    for t in reversed(range(time)):
        if t + 1 < time:
            ahead = beta + log_y[t + 1]
            moved = np.logaddexp(np.where(stays, ahead, low), _shifted(ahead, -1))
            moved = np.logaddexp(moved, _shifted(np.where(jumps, ahead, low), -2))
            beta = np.where(alive[t + 1], moved, ends)
        betas[t] = beta
    log_p = np.logaddexp.reduce(np.where(is_end, alpha, low), 1)
    possible = (log_p > low) | np.isnan(log_p)
    share = np.exp(alphas + betas - np.where(possible, log_p, 0)[:, None])
    share = np.where(possible[:, None], share, inputs.dtype.type(0))
    one_hot = (symbols[:, :, None] == np.arange(classes)).astype(inputs.dtype)
    by_class = np.matmul(share.transpose(1, 0, 2), one_hot).transpose(1, 0, 2)
    used = given <= lengths
    gradient = np.where(alive & used[:, None], y - by_class, 0).astype(inputs.dtype)
    return np.where(used, -log_p, 0).astype(inputs.dtype), gradient


# No rule for clusters: how many states there are depends on the longest labels of a batch. A bound that shapes tell is
# too high to be quick, and a program for every length is a compilation for every batch.
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
        rows, labels_values, batch, max(1, min(most, time)), classes - 1, preprocess_collapse_repeated
    )
    with np.errstate(all="ignore"):
        return _computed(inputs, labels, counts, given, sequence_length, ctc_merge_repeated)


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
