"""Losses for training on several replicas at once, scaled so that the replicas' sum is the whole batch's mean."""

from __future__ import annotations

from headrace.export import NAMES, export
from headrace.opdef import convert_to_tensor
from headrace.ops.nn.names import public


def _replicas():
    strategy = NAMES.get("distribute.get_strategy")
    return strategy().num_replicas_in_sync if strategy else 1


@export("nn.compute_average_loss")
def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """Returns the sum of losses divided by the size of the batch over all replicas.

    Args:
      per_example_loss: The examples' losses.
      sample_weight: The examples' weights, or None for ones.
      global_batch_size: The size of the whole batch; by default this one's times the number of replicas.
    """
    losses = convert_to_tensor(per_example_loss)
    dtype = losses.dtype
    if sample_weight is not None:
        sample_weight = public.cast(convert_to_tensor(sample_weight), "float32")
        losses = public.multiply(public.cast(losses, "float32"), sample_weight)
    losses = public.cast(losses, dtype)
    if global_batch_size is None:
        global_batch_size = public.shape(losses)[0] * _replicas()
    global_batch_size = (
        public.cast(global_batch_size, dtype) if _is_tensor(global_batch_size) else global_batch_size
    )
    return public.reduce_sum(losses) / global_batch_size


def _is_tensor(value):
    return hasattr(value, "op")


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss):
    """Returns the sum of regularization losses divided by the number of replicas.

    Args:
      regularization_loss: The losses.
    """
    return public.reduce_sum(convert_to_tensor(regularization_loss)) / float(_replicas())
