"""Batches of single examples, which threads gather in a queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.graph.sparse_tensor import SparseTensor
from headrace.opdef import constant_value, convert_to_tensor
from headrace.ops.queue.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from headrace.tensor_shape import TensorShape
from headrace.train.producers import summarize_fullness
from headrace.train.queue_runner import QueueRunner, add_queue_runner
from headrace.train.sparse_batching import StoredSparse

# -- what is batched -----------------------------------------------------------------------------------------


class _Examples:
    """What comes of one or several threads, as lists of tensors; and how to give a batch back as it came.

    Args:
      sources: A list, tuple or dictionary of tensors for each thread.

    Raises:
      ValueError: They are of no use.
      TypeError: Some are dictionaries and some are not.
    """

    def __init__(self, sources: Sequence[Any]):
        self._keys: list[Any] | None = None
        first = sources[0]
        if not first:
            raise ValueError("Expected at least one tensor in batch().")
        if isinstance(first, Mapping):
            self._keys = sorted(first)
            if any(not isinstance(s, Mapping) or sorted(s) != self._keys for s in sources):
                raise ValueError("All dictionaries in tensors_list must have the same keys")
            sources = [[s[k] for k in self._keys] for s in sources]
        elif any(isinstance(s, Mapping) for s in sources):
            raise TypeError("values must be a sequence.")
        self.tensors = [[_as_tensor(t) for t in source] for source in sources]
        self._sparse = StoredSparse()

    def store_sparse(self, enqueue_many: bool, keep_input: Any) -> None:
        """Puts numbers in the place of SparseTensors, which queues can't hold.

        Raises:
          ValueError: The sources differ in which components are sparse.
        """
        first = self.tensors[0]
        for other in self.tensors[1:]:
            if any(
                isinstance(a, SparseTensor) != isinstance(b, SparseTensor)
                for a, b in zip(first, other, strict=False)
            ):
                raise ValueError(f"Inconsistent SparseTensors list: {first} vs. {other}")
        if any(isinstance(t, SparseTensor) for t in self.tensors[0]):
            self.tensors = [self._sparse.store(t, enqueue_many, keep_input) for t in self.tensors]

    def types(self) -> list[Any]:
        """Returns the components' types, which must be the same for all threads."""
        types = [t.dtype for t in self.tensors[0]]
        for other in self.tensors[1:]:
            theirs = [t.dtype for t in other]
            if any(a != b for a, b in zip(types, theirs, strict=False)):
                raise TypeError(
                    f"Expected types to be consistent: {', '.join(t.name for t in types)} vs. "
                    f"{', '.join(t.name for t in theirs)}."
                )
        return types

    def shapes(self, shapes: Any, enqueue_many: bool) -> Any:
        """Returns the shapes of an example: those that were given, or what the tensors have in common."""
        if shapes is not None:
            return shapes
        out = []
        for i in range(len(self.tensors[0])):
            merged = TensorShape(None)
            for tensors in self.tensors:
                if tensors[i].shape.dims is None:
                    raise ValueError(f"Cannot infer Tensor's rank: {tensors[i]}")
                shape = tensors[i].shape.with_rank_at_least(1)[1:] if enqueue_many else tensors[i].shape
                merged = merged.merge_with(shape)
            out.append(merged)
        return out

    def as_given(self, batch: Any) -> Any:
        """Returns a batch in the form of the examples: a dictionary, a list or one tensor."""
        batch = self._sparse.restore(batch)
        if self._keys is None:
            return batch
        parts = batch if isinstance(batch, (list, tuple)) else [batch]
        return dict(zip(self._keys, parts, strict=True))


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, SparseTensor) else convert_to_tensor(value)


def _flag(keep_input: Any, enqueue_many: bool) -> Any:
    """Returns `keep_input` as a tensor.

    Raises:
      ValueError: It has another shape than it must have.
    """
    keep_input = convert_to_tensor(keep_input)
    if keep_input.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and keep_input.shape.ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep_input.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep_input


def _enqueue(queue: Any, tensors: list[Any], enqueue_many: bool, keep_input: Any) -> Any:
    """Returns the operation that puts examples into a queue if they are to be kept."""
    put: Callable[[Any], Any] = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep_input.shape.ndims == 1:
        kept = [NAMES["dynamic_partition"](t, NAMES["cast"](keep_input, dtypes.int32), 2)[1] for t in tensors]
        return put(kept)
    known = constant_value(keep_input)
    if known is not None:
        return put(tensors) if known else NAMES["no_op"]()
    return NAMES["cond"](keep_input, lambda: put(tensors), NAMES["no_op"])


def _dequeue(queue: Any, batch_size: Any, smaller: bool, name: str) -> Any:
    return (queue.dequeue_up_to if smaller else queue.dequeue_many)(batch_size, name=name)


# -- in order ------------------------------------------------------------------------------------------------


def _in_order(
    sources: Sequence[Any],
    threads: int,
    default_name: str,
    keep_input: Any,
    batch_size: Any,
    capacity: int,
    enqueue_many: bool,
    shapes: Any,
    dynamic_pad: bool,
    smaller: bool,
    shared_name: str | None,
    name: str | None,
) -> Any:
    """Returns batches of what `sources` give in turn; each of them feeds the queue from `threads` threads."""
    with name_scope(name, default_name, [*_flat(sources), keep_input]) as scope:
        examples = _Examples(sources)
        keep_input = _flag(keep_input, enqueue_many)
        examples.store_sparse(enqueue_many, keep_input)
        types, shapes = examples.types(), examples.shapes(shapes, enqueue_many)
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(capacity=capacity, dtypes=types, shapes=shapes, shared_name=shared_name)
        operations = [_enqueue(queue, t, enqueue_many, keep_input) for t in examples.tensors] * threads
        add_queue_runner(QueueRunner(queue, operations))
        summarize_fullness(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return examples.as_given(_dequeue(queue, batch_size, smaller, scope))


def _flat(sources: Sequence[Any]) -> list[Any]:
    return [t for s in sources for t in (s.values() if isinstance(s, Mapping) else s)]


def _one(tensors: Any) -> list[Any]:
    """Returns the examples of a single source as a list of sources."""
    if not isinstance(tensors, Mapping):
        tensors = list(tensors)
    return [tensors]


def _several(tensors_list: Any) -> list[Any]:
    sources = list(tensors_list)
    if not sources:
        raise ValueError("Expected at least one set of tensors")
    return sources


@export("train.batch")
def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of examples, gathered in a queue that a QueueRunner fills.

    Args:
      tensors: An example: a list or dictionary of tensors.
      batch_size: How many examples make a batch.
      num_threads: How many threads compute examples.
      capacity: How many examples the queue holds.
      enqueue_many: Whether `tensors` are several examples, along their first dimension.
      shapes: The shapes of an example, by default those of the tensors.
      dynamic_pad: Whether examples may differ in size; they are padded then.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.

    Returns:
      A tensor, or a list or dictionary of tensors, with one more dimension each.

    Raises:
      ValueError: Shapes are not known.
    """
    return _in_order(
        _one(tensors), num_threads, "batch", True, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


@export("train.maybe_batch")
def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of those examples that are to be kept; see `tf.train.batch`.

    Args:
      tensors: An example: a list or dictionary of tensors.
      keep_input: A bool that says whether to keep it; with `enqueue_many` it may be a vector, one for each.
      batch_size: How many examples make a batch.
      num_threads: How many threads compute examples.
      capacity: How many examples the queue holds.
      enqueue_many: Whether `tensors` are several examples, along their first dimension.
      shapes: The shapes of an example, by default those of the tensors.
      dynamic_pad: Whether examples may differ in size; they are padded then.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.
    """
    return _in_order(
        _one(tensors), num_threads, "batch", keep_input, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


@export("train.batch_join")
def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of examples of several kinds, each of which a thread of its own computes.

    Args:
      tensors_list: A list or dictionary of tensors for each thread.
      batch_size: How many examples make a batch.
      capacity: How many examples the queue holds.
      enqueue_many: Whether the tensors are several examples, along their first dimension.
      shapes: The shapes of an example, by default what the tensors have in common.
      dynamic_pad: Whether examples may differ in size; they are padded then.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.
    """
    return _in_order(
        _several(tensors_list), 1, "batch_join", True, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


@export("train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of those examples that are to be kept; see `tf.train.batch_join`.

    Args:
      tensors_list: A list or dictionary of tensors for each thread.
      keep_input: A bool that says whether to keep them.
      batch_size: How many examples make a batch.
      capacity: How many examples the queue holds.
      enqueue_many: Whether the tensors are several examples, along their first dimension.
      shapes: The shapes of an example, by default what the tensors have in common.
      dynamic_pad: Whether examples may differ in size; they are padded then.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.
    """
    return _in_order(
        _several(tensors_list), 1, "batch_join", keep_input, batch_size, capacity, enqueue_many, shapes,
        dynamic_pad, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


# -- shuffled ------------------------------------------------------------------------------------------------


def _shuffled(
    sources: Sequence[Any],
    threads: int,
    default_name: str,
    keep_input: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None,
    enqueue_many: bool,
    shapes: Any,
    smaller: bool,
    shared_name: str | None,
    name: str | None,
) -> Any:
    """Returns shuffled batches of what `sources` give; each of them feeds the queue from `threads` threads."""
    with name_scope(name, default_name, [*_flat(sources), keep_input]) as scope:
        if capacity <= min_after_dequeue:
            raise ValueError(
                f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
            )
        examples = _Examples(sources)
        keep_input = _flag(keep_input, enqueue_many)
        examples.store_sparse(enqueue_many, keep_input)
        types, shapes = examples.types(), examples.shapes(shapes, enqueue_many)
        queue = RandomShuffleQueue(
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed,
            dtypes=types,
            shapes=shapes,
            shared_name=shared_name,
        )
        operations = [_enqueue(queue, t, enqueue_many, keep_input) for t in examples.tensors] * threads
        add_queue_runner(QueueRunner(queue, operations))
        room = capacity - min_after_dequeue
        beyond = NAMES["maximum"](0, queue.size() - min_after_dequeue)
        summarize_fullness(f"fraction_over_{min_after_dequeue}_of_{room}_full", beyond, room)
        return examples.as_given(_dequeue(queue, batch_size, smaller, scope))


@export("train.shuffle_batch")
def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of examples in a random order, gathered in a queue that a QueueRunner fills.

    Args:
      tensors: An example: a list or dictionary of tensors.
      batch_size: How many examples make a batch.
      capacity: How many examples the queue holds.
      min_after_dequeue: How many stay in the queue, from which a batch picks.
      num_threads: How many threads compute examples.
      seed: The seed of the order.
      enqueue_many: Whether `tensors` are several examples, along their first dimension.
      shapes: The shapes of an example, by default those of the tensors.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.

    Raises:
      ValueError: Shapes are not known, or the capacity is too small.
    """
    return _shuffled(
        _one(tensors), num_threads, "shuffle_batch", True, batch_size, capacity, min_after_dequeue, seed,
        enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


@export("train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of those examples that are to be kept; see `tf.train.shuffle_batch`.

    Args:
      tensors: An example: a list or dictionary of tensors.
      batch_size: How many examples make a batch.
      capacity: How many examples the queue holds.
      min_after_dequeue: How many stay in the queue, from which a batch picks.
      keep_input: A bool that says whether to keep it; with `enqueue_many` it may be a vector, one for each.
      num_threads: How many threads compute examples.
      seed: The seed of the order.
      enqueue_many: Whether `tensors` are several examples, along their first dimension.
      shapes: The shapes of an example, by default those of the tensors.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.
    """
    return _shuffled(
        _one(tensors), num_threads, "shuffle_batch", keep_input, batch_size, capacity, min_after_dequeue, seed,
        enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


@export("train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns shuffled batches of examples of several kinds, each of which a thread of its own computes.

    Args:
      tensors_list: A list or dictionary of tensors for each thread.
      batch_size: How many examples make a batch.
      capacity: How many examples the queue holds.
      min_after_dequeue: How many stay in the queue, from which a batch picks.
      seed: The seed of the order.
      enqueue_many: Whether the tensors are several examples, along their first dimension.
      shapes: The shapes of an example, by default what the tensors have in common.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.
    """
    return _shuffled(
        _several(tensors_list), 1, "shuffle_batch_join", True, batch_size, capacity, min_after_dequeue, seed,
        enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


@export("train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns shuffled batches of those examples that are to be kept; see `tf.train.shuffle_batch_join`.

    Args:
      tensors_list: A list or dictionary of tensors for each thread.
      batch_size: How many examples make a batch.
      capacity: How many examples the queue holds.
      min_after_dequeue: How many stay in the queue, from which a batch picks.
      keep_input: A bool that says whether to keep them.
      seed: The seed of the order.
      enqueue_many: Whether the tensors are several examples, along their first dimension.
      shapes: The shapes of an example, by default what the tensors have in common.
      allow_smaller_final_batch: Whether the last batch may have fewer examples.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.
    """
    return _shuffled(
        _several(tensors_list), 1, "shuffle_batch_join", keep_input, batch_size, capacity, min_after_dequeue,
        seed, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip
