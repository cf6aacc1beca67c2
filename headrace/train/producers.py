"""Queues that give the rows of a tensor, epoch after epoch."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import GraphKeys, Tensor, control_dependencies, name_scope
from headrace.opdef import convert_to_tensor
from headrace.ops.math.cast import cast
from headrace.ops.queue.queues import FIFOQueue
from headrace.train.queue_runner import QueueRunner, add_queue_runner


@export("train.limit_epochs")
def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Returns a tensor that can be computed a number of times; then it fails with OutOfRangeError.

    Args:
      tensor: A tensor.
      num_epochs: How often; None for ever. It is counted in a local variable.
      name: The result's name.

    Raises:
      ValueError: The number is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        zero = NAMES["constant"](0, dtype=dtypes.int64)
        epochs = NAMES["Variable"](
            zero, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return NAMES["identity"](tensor, name=scope)


@export("train.match_filenames_once", "io.match_filenames_once")
def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """Returns a local variable of the names of the files that match a pattern when it is initialized.

    Args:
      pattern: A pattern, or a list of such.
      name: The variable's name.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return NAMES["Variable"](
            NAMES["matching_files"](pattern),
            name=scope,
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


@export("train.input_producer")
def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Returns a queue of the rows of a tensor, and adds the QueueRunner that fills it.

    Args:
      input_tensor: The tensor.
      element_shape: The shape of a row, if the tensor does not tell.
      num_epochs: How often each row is given; None for ever. Then initialize the local variables.
      shuffle: Whether the rows of an epoch come in any order.
      seed: The seed of that.
      capacity: How many rows the queue holds.
      shared_name: A name under which other graphs of the session find the same queue.
      summary_name: The name of a summary of how full the queue is; None for no summary.
      name: The name of all this.
      cancel_op: What closes the queue when the coordinator stops.

    Raises:
      ValueError: The shape of a row is not known.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        input_tensor = convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = input_tensor.shape[1:].merge_with(element_shape)
        if not element_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            input_tensor = NAMES["random_shuffle"](input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        queue = FIFOQueue(
            capacity,
            dtypes=[input_tensor.dtype.base_dtype],
            shapes=[element_shape],
            shared_name=shared_name,
            name=name,
        )
        enqueue = queue.enqueue_many([input_tensor])
        add_queue_runner(QueueRunner(queue, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            summarize_fullness(summary_name, queue.size(), capacity)
        return queue


def summarize_fullness(name: str, size: Any, capacity: int) -> None:
    """Adds a summary of which part of a capacity is used."""
    NAMES["summary.scalar"](name, cast(size, dtypes.float32) * (1.0 / capacity))


@export("train.string_input_producer")
def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Returns a queue of strings, names of files say, and adds the QueueRunner that fills it.

    Args:
      string_tensor: The strings, a vector.
      num_epochs: How often each is given; None for ever. Then initialize the local variables.
      shuffle: Whether those of an epoch come in any order.
      seed: The seed of that.
      capacity: How many strings the queue holds.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.
      cancel_op: What closes the queue when the coordinator stops.

    Raises:
      ValueError: There are no strings.
    """
    message = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor) and not string_tensor:
        raise ValueError(message)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        string_tensor = convert_to_tensor(string_tensor, dtype=dtypes.string)
        some = NAMES["Assert"](NAMES["greater"](NAMES["size"](string_tensor), 0), [message])
        with control_dependencies([some]):
            string_tensor = NAMES["identity"](string_tensor)
        return input_producer(
            input_tensor=string_tensor,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            name=scope,
            summary_name=f"fraction_of_{capacity}_full",
            cancel_op=cancel_op,
        )


@export("train.range_input_producer")
def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """Returns a queue of the integers from 0 to `limit - 1`, and adds the QueueRunner that fills it.

    Args:
      limit: A scalar int32.
      num_epochs: How often each is given; None for ever. Then initialize the local variables.
      shuffle: Whether those of an epoch come in any order.
      seed: The seed of that.
      capacity: How many integers the queue holds.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            NAMES["range"](limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


@export("train.slice_input_producer")
def slice_input_producer(
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """Returns a row of each of some tensors, the same one of all, another one in each step.

    Args:
      tensor_list: Tensors with as many rows each.
      num_epochs: How often each row is given; None for ever. Then initialize the local variables.
      shuffle: Whether the rows of an epoch come in any order.
      seed: The seed of that.
      capacity: How many rows are made ready.
      shared_name: A name under which other graphs of the session find the same queue.
      name: The name of all this.

    Raises:
      ValueError: There are no tensors.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        rows = NAMES["shape"](tensors[0])[0]
        queue = range_input_producer(
            rows,
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [NAMES["gather"](t, index) for t in tensors]
