"""The CTC loss of dense labels: two loops over the frames, and the gradient that falls out of them.

A sequence goes through states: one per label with the start before them, then one blank per label and the start.
Everything is in logarithms.
"""

from __future__ import annotations

import numpy as np

from headrace.opdef import convert_to_tensor, raw
from headrace.ops.nn.names import public, public_nn


def _size(tensor, axis):
    """Returns a size: an int if it is known, else a scalar tensor."""
    known = tensor.shape[axis].value
    return public.shape(tensor)[axis] if known is None else known


def ctc_loss_dense(labels, logits, label_length, logit_length, time_major, unique, blank_index, name):
    """Returns the CTC loss of each sequence; the arguments are those of `tf.nn.ctc_loss_v2`."""
    with public.name_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        label_length = convert_to_tensor(label_length, name="label_length")
        logit_length = convert_to_tensor(logit_length, name="logit_length")
        if not time_major:
            logits = public.transpose(logits, perm=[1, 0, 2])
        if blank_index is not None and blank_index != 0:
            logits, labels = _blank_first(logits, labels, blank_index)
        args = [logits, labels, label_length, logit_length]
        if unique:
            args.extend(unique)

        @public.custom_gradient
        def compute(logits, labels, label_length, logit_length, *unique):
            loss, slope = _loss_and_slope(logits, labels, label_length, logit_length, unique)

            def gradient(dloss):
                return [public.reshape(dloss, [1, -1, 1]) * slope] + [None] * (len(args) - 1)

            return loss, gradient

        return compute(*args)


def _blank_first(logits, labels, blank):
    """Moves the blank's logits before the others'."""
    if blank < 0:
        blank += _size(logits, 2)
    parts = [logits[:, :, blank : blank + 1], logits[:, :, :blank], logits[:, :, blank + 1 :]]
    logits = public.concat(parts, axis=2)
    return logits, public.where(labels < blank, labels + 1, labels)


def _loss_and_slope(logits, labels, label_length, logit_length, unique):
    classes = _size(logits, 2)
    most = _size(labels, 1)
    log_probs = public_nn.log_softmax(logits)
    emissions = _emissions(labels, classes, log_probs)
    transitions = _transitions(labels)
    batch = _size(label_length, 0)
    lanes = most + 1
    states = 2 * lanes
    never = public.cast(public.log(public.cast(0, "float64") + 1e-307), "float32")
    first = public.one_hot(
        public.zeros([batch], "int32"), depth=states, on_value=0.0, off_value=never, axis=1
    )
    at_end = public.one_hot(label_length, depth=lanes, axis=0)
    last = (1.0 - public.ones([2, 1, batch]) * at_end) * never
    last = public.transpose(public.reshape(last, [states, batch]), perm=[1, 0])
    along, log_likelihood = _forward_backward(public.log(transitions), first, last, emissions, logit_length)
    lanes = _size(labels, 1) + 1
    of_labels, of_blanks = along[:, :, 1:lanes], along[:, :, lanes:]
    if unique:
        by_class = _by_unique_label(of_labels, of_blanks, labels, classes, most, unique)
    else:
        by_class = _by_label(of_labels, of_blanks, labels, classes)
    slope = public.exp(log_probs) - public.exp(by_class)
    return -log_likelihood, slope


def _emissions(labels, classes, log_probs):
    """Returns how likely each state's class is in each frame."""
    most = _size(labels, 1)
    blanks = log_probs[:, :, :1]
    blanks = public.tile(blanks, [1, 1, most + 1])
    chosen = public.expand_dims(public.one_hot(labels, depth=classes), axis=0)
    of_labels = public.reduce_sum(public.expand_dims(log_probs, axis=2) * chosen, axis=3)
    both = public.concat([of_labels, blanks], axis=2)
    return public.pad(both, [[0, 0], [0, 0], [1, 0]], constant_values=public.log(0.0))


def _transitions(labels):
    """Returns for each sequence which state may follow which, as ones and zeros."""
    with public.name_scope("ctc_state_trans"):
        batch = _size(labels, 0)
        lanes = _size(labels, 1) + 1
        states = 2 * lanes
        of_labels = public.range(lanes)
        of_blanks = of_labels + lanes
        to_label = public.stack([of_labels[1:], of_blanks[:-1]], 1)
        to_blank = public.stack([of_blanks, of_labels], 1)
        places = public.concat([[[1, 0]], to_label, to_blank], 0)
        always = raw.ScatterNd(places, public.ones([_size(places, 0)]), [states, states])
        always += public.eye(states)
        # From a label to the next one without a blank, unless they are equal.
        after = of_labels[2:]
        steps = public.stack([public.zeros_like(after), of_labels[2:], of_labels[1:-1]], 1)
        steps = public.tile(public.expand_dims(steps, 0), [batch, 1, 1])
        rows = public.expand_dims(public.range(batch), 1) * [1, 0, 0]
        steps += public.expand_dims(rows, 1)
        repeated = public.equal(labels[:, :-1], labels[:, 1:])
        differ = 1.0 - public.cast(repeated, "float32")
        direct = raw.ScatterNd(steps, differ, [batch, states, states])
        return public.expand_dims(always, 0) + direct


def _forward_backward(transitions, first, last, emissions, lengths):
    """Returns each state's share of each frame, and the likelihood of the labels."""
    backward_transitions = public.transpose(transitions, perm=[0, 2, 1])
    batch = _size(emissions, 1)

    def forward(state, emission):
        state = public.expand_dims(state, axis=1) + transitions
        state = public.reduce_logsumexp(state, axis=-1) + emission
        return [state - public.reduce_logsumexp(state, axis=-1, keepdims=True)]

    [forwards] = _scan(forward, [emissions], [first])

    def backward(state, total, emission, inside):
        new = public.expand_dims(state + emission, axis=1) + backward_transitions
        new = public.reduce_logsumexp(new, axis=-1)
        sums = public.reduce_logsumexp(new, axis=-1, keepdims=True)
        new -= sums
        total += public.squeeze(sums) * inside
        inside = public.expand_dims(inside, axis=1)
        return [new * inside + last * (1.0 - inside), total]

    nothing = public.zeros([batch])
    inside = public.sequence_mask(lengths, maxlen=_size(emissions, 0), dtype="float32")
    inside = public.transpose(inside, perm=[1, 0])
    backwards, totals = _scan(backward, [emissions, inside], [last, nothing], reverse=True)
    along = forwards[1:] + backwards[1:]
    along -= public.reduce_logsumexp(along, axis=2, keepdims=True)
    along += public.log(public.expand_dims(inside, axis=2))
    return along, backwards[0, :, 0] + totals[0]


def _scan(step, rows, states, reverse=False):
    """Returns the states before the first row and after each, stacked; from the last row to the first if reversed."""
    count = public.shape(rows[0])[0]
    i = public.shape(rows[0])[0] - 1 if reverse else public.constant(0)
    shift = 1 if reverse else 0
    stacked = []
    more = public.shape(rows[0])[0] + 1
    for state in states:
        sizes = public.concat([[more], public.shape(state)], axis=0)
        stack = raw.Empty(sizes, dtype=state.dtype, init=True)
        at = public.reshape(i + shift, [1])
        stacked.append(raw.InplaceAdd(stack, at, public.expand_dims(state, 0)))
    start = [i, count, *stacked, *states]
    types = [t.dtype for t in start]
    n = len(states)
    function = public.__getattr__("python.framework.function.Defun")

    @function(*types, func_name=None)
    def cond(i, count, *rest):
        return i >= 0 if reverse else i < count

    @function(*types, func_name=None)
    def body(i, count, *rest):
        stacks, before = rest[:n], rest[n:]
        after = step(*before, *[public.gather(t, i) for t in rows])
        at = i if reverse else i + 1
        new = [
            raw.InplaceUpdate(stack, public.reshape(at, [1]), public.expand_dims(state, 0))
            for stack, state in zip(stacks, after, strict=True)
        ]
        return (i - 1 if reverse else i + 1, count, *new, *after)

    loop = public.__getattr__("python.ops.functional_ops.While")
    return loop(start, cond, body, name="While", hostmem=[0, 1])[2 : 2 + n]


def _by_label(of_labels, of_blanks, labels, classes):
    """Adds up the states of each class."""
    places = public.one_hot(labels - 1, depth=classes - 1, on_value=0.0, off_value=public.log(0.0), axis=-1)
    places = public.expand_dims(places, axis=0)
    sums = public.reduce_logsumexp(public.expand_dims(of_labels, axis=3) + places, axis=2)
    blank = public.reduce_logsumexp(of_blanks, axis=2, keepdims=True)
    return public.concat([blank, sums], axis=-1)


def _by_unique_label(of_labels, of_blanks, labels, classes, most, unique):
    """Adds up the states of each class, with less memory: a class that a sequence has twice is first added there."""
    values, numbers = unique
    with public.name_scope("sum_states"):
        width = _size(of_labels, 2)
        states = public.expand_dims(of_labels, axis=2)
        places = public.one_hot(numbers, depth=width, on_value=0.0, off_value=public.log(0.0), axis=1)
        sums = public.reduce_logsumexp(states + places, axis=-1)
    frames, batch = sums.shape[0], sums.shape[1]
    if None in (frames.value, batch.value):
        raise ValueError("Cannot convert an unknown Dimension to a Tensor: ?")
    frames, batch = frames.value, batch.value
    sums = public.reshape(public.transpose(sums, [1, 2, 0]), [batch * most, frames])
    at = values + public.expand_dims(public.range(batch, dtype="int64") * classes, axis=-1)
    shape = np.array([batch * classes, frames])
    table = raw.ScatterNd(public.reshape(at, [-1, 1]), sums, shape)
    table = public.reshape(table, [batch, classes, frames])
    zero = public.equal(table, 0.0)
    table = public.where(zero, public.fill(public.shape(table), public.log(0.0)), table)
    by_class = public.transpose(table, [2, 0, 1])[:, :, 1:]
    blank = public.reduce_logsumexp(of_blanks, axis=2, keepdims=True)
    return public.concat([blank, by_class], axis=-1)
