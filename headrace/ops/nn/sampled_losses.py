"""Losses over many classes that look at the true ones and at a few sampled others."""

from __future__ import annotations

from headrace.dtypes import int32, int64
from headrace.export import export
from headrace.opdef import convert_to_tensor
from headrace.ops.nn.names import public, public_nn


@export("nn.nce_loss")
def nce_loss(
    weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
    remove_accidental_hits=False, partition_strategy="mod", name="nce_loss",
):  # fmt: skip
    """Returns the noise-contrastive estimation loss of each example.

    Args:
      weights: The classes' weights, of shape [num_classes, dim], or a list of matrices that together are that.
      biases: The classes' biases, of shape [num_classes].
      labels: The true classes, int64 of shape [batch, num_true].
      inputs: The examples' activations, of shape [batch, dim].
      num_sampled: How many negative classes to sample for the whole batch.
      num_classes: How many classes there are.
      num_true: How many true classes an example has.
      sampled_values: What a candidate sampler returned; by default `log_uniform_candidate_sampler` is asked.
      remove_accidental_hits: Whether a sampled class that is a true one of an example is left out there.
      partition_strategy: How `weights` lies in several parts; see `embedding_lookup`.
      name: A name for the operation.
    """
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name, None,
    )  # fmt: skip
    losses = public_nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return _row_sums(losses)


@export("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
    remove_accidental_hits=True, partition_strategy="mod", name="sampled_softmax_loss", seed=None,
):  # fmt: skip
    """Returns the softmax cross entropy of each example over its true and the sampled classes, for training.

    Args:
      weights: The classes' weights, of shape [num_classes, dim], or a list of matrices that together are that.
      biases: The classes' biases, of shape [num_classes].
      labels: The true classes, int64 of shape [batch, num_true].
      inputs: The examples' activations, of shape [batch, dim].
      num_sampled: How many classes to sample for the whole batch.
      num_classes: How many classes there are.
      num_true: How many true classes an example has.
      sampled_values: What a candidate sampler returned; by default `log_uniform_candidate_sampler` is asked.
      remove_accidental_hits: Whether a sampled class that is a true one of an example is left out there.
      partition_strategy: How `weights` lies in several parts; see `embedding_lookup`.
      name: A name for the operation.
      seed: The op-level seed of the sampler.
    """
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name, seed,
    )  # fmt: skip
    targets = public.stop_gradient(targets, name="labels_stop_gradient")
    return public_nn.softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)


def _row_sums(x):
    """Returns the sums of a matrix's rows, as a product: that is faster than a reduction on some devices."""
    columns = public.shape(x)[1]
    ones = public.ones(public.stack([columns, 1]), x.dtype)
    return public.reshape(public.matmul(x, ones), [-1])


def _sampled_logits(
    weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
    remove_accidental_hits, partition_strategy, name, seed,
):  # fmt: skip
    """Returns logits of the true and the sampled classes, log-expected counts taken off, and their targets."""
    if hasattr(weights, "_get_variable_list"):  # a partitioned variable
        weights = list(weights)
    if not isinstance(weights, list):
        weights = [weights]
    with public.name_scope(name, "compute_sampled_logits", [*weights, biases, inputs, labels]):
        labels = convert_to_tensor(labels)
        if labels.dtype != int64:
            labels = public.cast(labels, int64)
        flat = public.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = public_nn.log_uniform_candidate_sampler(
                true_classes=labels, num_true=num_true, num_sampled=num_sampled, unique=True,
                range_max=num_classes, seed=seed,
            )  # fmt: skip
        sampled, true_expected, sampled_expected = (public.stop_gradient(v) for v in sampled_values)
        sampled = public.cast(sampled, int64)
        every = public.concat([flat, sampled], 0)

        rows = public_nn.embedding_lookup(weights, every, partition_strategy=partition_strategy)
        true_rows = public.slice(rows, [0, 0], public.stack([public.shape(flat)[0], -1]))
        other_rows = public.slice(rows, public.stack([public.shape(flat)[0], 0]), [-1, -1])
        other_logits = public.matmul(inputs, other_rows, transpose_b=True)
        offsets = public_nn.embedding_lookup(biases, every, partition_strategy=partition_strategy)
        true_offsets = public.slice(offsets, [0], public.shape(flat))
        other_offsets = public.slice(offsets, public.shape(flat), [-1])

        width = public.shape(true_rows)[1:2]
        by_example = public.concat([[-1, num_true], width], 0)
        products = public.multiply(public.expand_dims(inputs, 1), public.reshape(true_rows, by_example))
        dots = _row_sums(public.reshape(products, public.concat([[-1], width], 0)))
        dots = public.reshape(dots, [-1, num_true])
        true_logits = dots + public.reshape(true_offsets, [-1, num_true])
        other_logits = other_logits + other_offsets
        if remove_accidental_hits:
            other_logits = other_logits + _without_hits(
                labels, sampled, num_true, num_sampled, other_logits.dtype
            )
        true_logits = true_logits - public.log(true_expected)
        other_logits = other_logits - public.log(sampled_expected)
        logits = public.concat([true_logits, other_logits], 1)
        targets = public.concat(
            [public.ones_like(true_logits) / num_true, public.zeros_like(other_logits)], 1
        )
        return logits, targets


def _without_hits(labels, sampled, num_true, num_sampled, dtype):
    """Returns what to add to the sampled classes' logits so that those which are true do not count."""
    rows, samples, low = public_nn.compute_accidental_hits(labels, sampled, num_true=num_true)
    rows = public.reshape(rows, [-1, 1])
    samples = public.reshape(public.cast(samples, int32), [-1, 1])
    places = public.concat([rows, samples], 1, name="sparse_indices")
    dims = public.concat([public.shape(labels)[:1], public.expand_dims(num_sampled, 0)], 0)
    if low.dtype != dtype:
        low = public.cast(low, dtype)
    return public.sparse_to_dense(places, dims, low, default_value=0.0, validate_indices=False)
