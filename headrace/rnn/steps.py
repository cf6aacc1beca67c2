"""One step of a batch of sequences, of which some are over; and what all the loops over time need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export, export_value
from headrace.graph.default import colocate_with
from headrace.graph.structure import check_same, flatten, pack_like
from headrace.opdef import constant_as_shape, convert_to_tensor
from headrace.rnn.zero_states import joined_shape
from headrace.tensor_shape import TensorShape, as_shape


def cache_reads(scope: Any) -> None:
    """Has the variables of a scope read once, where they are used, and not in each step."""
    if scope.caching_device is None:
        scope.set_caching_device(lambda op: op.device)


@export("contrib.rnn.transpose_batch_time")
def transpose_batch_time(x: Any) -> Any:
    """Swaps the first two dimensions, that of the batch and that of time; less than two stay as they are."""
    known = x.shape
    if known.ndims is not None and known.ndims < 2:
        return x
    order = NAMES["concat"](([1, 0], NAMES["range"](2, NAMES["rank"](x))), axis=0)
    swapped = NAMES["transpose"](x, order)
    dims = known.dims
    swapped.set_shape(TensorShape([dims[1], dims[0]]).concatenate(known[2:]))
    return swapped


@export("contrib.rnn.best_effort_input_batch_size")
def best_effort_input_batch_size(flat_input: Any) -> Any:
    """Returns the size of the batch of inputs with time first: an int where it is known, else a scalar tensor."""
    for each in flat_input:
        if each.shape.ndims is None:
            continue
        if each.shape.ndims < 2:
            raise ValueError(
                f"Expected input tensor {each.name} to have rank at least 2, but saw shape: {each.shape}"
            )
        size = each.shape[1].value
        if size is not None:
            return size
    return NAMES["shape"](flat_input[0])[1]


def infer_state_dtype(explicit_dtype: Any, state: Any) -> Any:
    """Returns the type of a state, or the given one.

    Raises:
      ValueError: There are several types, or none.
    """
    if explicit_dtype is not None:
        return explicit_dtype
    found = [each.dtype for each in flatten(state)]
    if not found:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(dtype != found[0] for dtype in found):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single representative dtype."
        )
    return found[0]


def known_shape(shape: Any) -> TensorShape:
    """Returns what is known of a shape that may be a tensor."""
    if hasattr(shape, "op"):
        return TensorShape.of(constant_as_shape(shape))
    return TensorShape([shape]) if isinstance(shape, int) else as_shape(shape)


def copied_through(finished: Any, old: Any, new: Any) -> Any:
    """Returns a new value with the rows of the old one for sequences that are over."""
    if hasattr(new, "flow") or new.shape.ndims == 0:
        return new
    with colocate_with(new):
        return NAMES["where"](finished, old, new)


def rnn_step(
    time: Any,
    sequence_length: Any,
    min_sequence_length: Any,
    max_sequence_length: Any,
    zero_output: Any,
    state: Any,
    call_cell: Callable[[], Any],
    state_size: Any,
    skip_conditionals: bool = False,
) -> Any:
    """Does a step: sequences that are over put out zeros and keep their state.

    Args:
      time: The number of the step.
      sequence_length: The lengths of the sequences, a vector.
      min_sequence_length: The least of them.
      max_sequence_length: The greatest of them.
      zero_output: What a sequence that is over puts out.
      state: The state before.
      call_cell: Returns output and state of the cell.
      state_size: The structure of the state.
      skip_conditionals: Whether the cell is called even if all sequences are over.

    Returns:
      The output and the state after.
    """
    old_state, zeros = flatten(state), flatten(zero_output)
    finished = time >= sequence_length

    def mixed(outputs: list[Any], states: list[Any]) -> list[Any]:
        first = [copied_through(finished, old, new) for old, new in zip(zeros, outputs, strict=True)]
        return first + [
            copied_through(finished, old, new) for old, new in zip(old_state, states, strict=True)
        ]

    def called() -> tuple[list[Any], list[Any]]:
        output, new_state = call_cell()
        check_same(zero_output, output, composites=False)
        check_same(state, new_state, composites=False)
        return flatten(output), flatten(new_state)

    def some() -> Any:
        outputs, states = called()
        return NAMES["cond"](
            time < min_sequence_length, lambda: outputs + states, lambda: mixed(outputs, states)
        )

    if skip_conditionals:
        results = mixed(*called())
    else:
        results = NAMES["cond"](time >= max_sequence_length, lambda: zeros + old_state, some)
    if not isinstance(results, (list, tuple)):
        results = [results]
    outputs, states = list(results[: len(zeros)]), list(results[len(zeros) :])
    for new, old in zip(outputs + states, zeros + old_state, strict=True):
        if not hasattr(new, "flow"):
            new.set_shape(old.shape)
    return pack_like(zero_output, outputs), pack_like(state, states)


def reverse_each(sequence: Any, lengths: Any) -> list[Any]:
    """Returns a list of inputs from last to first, or each sequence of the batch so if there are lengths."""
    if lengths is None:
        return list(reversed(sequence))
    rows = [flatten(each) for each in sequence]
    results: list[list[Any]] = [[] for _ in sequence]
    for column in zip(*rows, strict=True):
        shape = TensorShape([None] * column[0].shape.ndims) if column[0].shape.ndims is not None else None
        shape = TensorShape(None) if shape is None else shape
        for each in column:
            shape = shape.merge_with(each.shape)
            each.set_shape(shape)
        joined = NAMES["stack"](column)
        turned = NAMES["reverse_sequence"](joined, lengths, 0, 1)
        for made, row in zip(NAMES["unstack"](turned), results, strict=True):
            made.set_shape(shape)
            row.append(made)
    return [pack_like(like, flat) for like, flat in zip(sequence, results, strict=True)]


def first_state(cell: Any, batch_size: Any, dtype: Any) -> Any:
    """Returns a cell's state of zeros."""
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def as_tensors(structure: Any) -> list[Any]:
    """Returns the leaves of a structure as tensors."""
    return [convert_to_tensor(each) for each in flatten(structure)]


for _name, _value in (
    ("_concat", joined_shape),
    ("_best_effort_input_batch_size", best_effort_input_batch_size),
    ("_infer_state_dtype", infer_state_dtype),
    ("_maybe_tensor_shape_from_tensor", known_shape),
    ("_reverse_seq", reverse_each),
    ("_rnn_step", rnn_step),
    ("_transpose_batch_time", transpose_batch_time),
):
    export_value("python.ops.rnn." + _name, _value)
