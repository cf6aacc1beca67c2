"""CTC losses with a blank of any number, and what is done with their labels before."""

from __future__ import annotations

from headrace.export import export
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.nn.ctc_loss_dense import ctc_loss_dense
from headrace.ops.nn.names import public, public_nn


@export("nn.collapse_repeated")
def collapse_repeated(labels, seq_length, name=None):
    """Makes repeated labels one and moves the others together.

    Args:
      labels: Label sequences, [batch, labels].
      seq_length: How many labels each sequence has.
      name: A name for the operation.

    Returns:
      The labels, as many columns as the longest sequence has now, zeros behind shorter ones; and the new lengths.
    """
    with public.name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = convert_to_tensor(labels, name="labels")
        seq_length = convert_to_tensor(seq_length, name="seq_length")
        first = public.ones_like(labels[:, :1], "bool")
        kept = public.concat([first, public.not_equal(labels[:, 1:], labels[:, :-1])], axis=1)
        width = labels.shape[1].value
        if width is None:
            width = public.shape(labels)[1]
        kept = public.logical_and(kept, public.sequence_mask(seq_length, maxlen=width))
        lengths = public.reduce_sum(public.cast(kept, "int32"), axis=1)
        most = public.reduce_max(lengths)
        places = public.sequence_mask(lengths, maxlen=most)
        flat_labels = public.reshape(labels, [-1])
        flat_kept = public.reshape(kept, [-1])
        flat_places = public.reshape(places, [-1])
        targets = public.range(public.shape(flat_places)[0])
        moved = raw.ScatterNd(
            public.expand_dims(public.boolean_mask(targets, flat_places), axis=1),
            public.boolean_mask(flat_labels, flat_kept),
            public.shape(flat_places),
        )
        batch = labels.shape[0].value
        if batch is None:
            batch = public.shape(labels)[0]
        return public.reshape(moved, [batch, most]), public.cast(lengths, seq_length.dtype)


@export("nn.ctc_unique_labels")
def ctc_unique_labels(labels, name=None):
    """Returns the different labels of each sequence, and which of them each label is.

    Args:
      labels: Label sequences, [batch, labels].
      name: A name for the operation.

    Returns:
      The different labels in the order of their first places, zeros behind them, and the labels' numbers among them.
    """
    with public.name_scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")

        def of_one(row):
            found, places = public.unique(row)
            width = places.shape[0].value
            if width is None:
                width = public.shape(places)[0]
            found = public.pad(found, [[0, width - public.shape(found)[0]]])
            return [public.cast(found, "int64"), places]

        values, places = public.map_fn(of_one, labels, dtype=["int64", "int32"])
        return values, places


@export("nn.ctc_loss_v2")
def ctc_loss_v2(
    labels,
    logits,
    label_length,
    logit_length,
    logits_time_major=True,
    unique=None,
    blank_index=None,
    name=None,
):
    """Returns the CTC loss of each sequence, for a blank of any number.

    With a SparseTensor this is the CTCLoss op. Dense labels go through two loops of small operations, which know
    sequences without labels, and give an infinite loss where labels outnumber frames.

    Args:
      labels: Label sequences: an int32 SparseTensor, or a tensor [batch, labels] with `label_length`.
      logits: The logits, [time, batch, classes].
      label_length: How many labels each sequence has; not used with a SparseTensor.
      logit_length: How many frames each sequence has.
      logits_time_major: Whether `logits` is [time, batch, classes], and not [batch, time, classes].
      unique: What `ctc_unique_labels` gives of the labels, which saves memory where there are many classes.
      blank_index: The blank's number, from the end if negative; by default 0 with dense labels.
      name: A name for the operation.

    Raises:
      ValueError: `labels` is a SparseTensor and there is no `blank_index`.
    """
    if isinstance(labels, public.SparseTensor):
        if blank_index is None:
            raise ValueError("blank_index must be given when using SparseTensor labels.")
        return _with_blank(labels, logits, logit_length, logits_time_major, blank_index)
    return ctc_loss_dense(
        labels, logits, label_length, logit_length, logits_time_major, unique, blank_index, name
    )


def _with_blank(labels, logits, logit_length, time_major, blank):
    """Moves the blank's logits behind the others', where the op expects them."""
    logits = convert_to_tensor(logits, name="logits")
    classes = logits.shape[2].value
    if classes is None:
        classes = public.shape(logits)[2]
    if blank < 0:
        blank = classes + blank
    if blank != classes - 1:
        logits = public.concat(
            [logits[:, :, :blank], logits[:, :, blank + 1 :], logits[:, :, blank : blank + 1]], axis=2
        )
        values = public.where(labels.values < blank, labels.values, labels.values - 1)
        labels = public.SparseTensor(labels.indices, values, labels.dense_shape)
    return public_nn.ctc_loss(labels, logits, logit_length, time_major=time_major)
