"""Recurrent nets over tensors with a dimension of time: one copy of the cell's nodes in a loop."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export, export_value
from headrace.graph import control_dependencies, name_scope
from headrace.graph.structure import flatten, map_leaves, pack_like
from headrace.rnn.stacked import check_cells
from headrace.rnn.steps import (
    as_tensors,
    best_effort_input_batch_size,
    cache_reads,
    first_state,
    infer_state_dtype,
    known_shape,
    rnn_step,
    transpose_batch_time,
)
from headrace.rnn.zero_states import joined_shape
from headrace.tensor_shape import TensorShape
from headrace.variables.scope import variable_scope


@export("nn.dynamic_rnn")
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Calls a cell in a loop over time.

    Args:
      cell: The cell.
      inputs: A tensor [batch, time, ...], or a structure of those.
      sequence_length: The lengths of the sequences; behind its end a sequence puts out zeros and keeps its state.
      initial_state: The state to start with, by default zeros.
      dtype: The type of the initial state where it is not given.
      parallel_iterations: How many steps TensorFlow may run at once, 32 by default; no effect on results.
      swap_memory: Not used.
      time_major: Whether inputs and outputs are [time, batch, ...].
      scope: The variable scope or its name, by default "rnn".

    Returns:
      The outputs, a tensor [batch, time, ...] or a structure of those, and the last state.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: Neither `initial_state` nor `dtype` is given, or sizes are not known or differ.
    """
    check_cells(cell=cell)
    with variable_scope(scope or "rnn") as varscope:
        cache_reads(varscope)
        flat = flatten(inputs)
        if not time_major:
            flat = [transpose_batch_time(each) for each in as_tensors(inputs)]
        if sequence_length is not None:
            sequence_length = NAMES["cast"](sequence_length, dtypes.int32)
            if sequence_length.shape.ndims not in (None, 1):
                raise ValueError(
                    "sequence_length must be a vector of length batch_size, but saw shape: "
                    f"{sequence_length.shape}"
                )
            sequence_length = NAMES["identity"](sequence_length, name="sequence_length")
        batch_size = best_effort_input_batch_size(flat)
        if initial_state is not None:
            state = initial_state
        else:
            if not dtype:
                raise ValueError("If there is no initial_state, you must give a dtype.")
            state = first_state(cell, batch_size, dtype)
        if sequence_length is not None:
            with control_dependencies([_has_shape(sequence_length, [batch_size])]):
                sequence_length = NAMES["identity"](sequence_length, name="CheckSeqLen")
        outputs, last = dynamic_rnn_loop(
            cell,
            pack_like(inputs, flat),
            state,
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
            sequence_length=sequence_length,
            dtype=dtype,
        )
        if not time_major:
            outputs = map_leaves(transpose_batch_time, outputs)
        return outputs, last


def _has_shape(x: Any, shape: Any) -> Any:
    """Returns an operation that fails if a tensor has another shape."""
    found = NAMES["shape"](x)
    wanted = NAMES["stack"](shape)
    return NAMES["Assert"](
        NAMES["reduce_all"](NAMES["equal"](found, wanted)),
        [f"Expected shape for Tensor {x.name} is ", wanted, " but saw shape: ", found],
    )


def _static_sizes(flat: list[Any]) -> tuple[Any, Any]:
    """Returns the number of steps and the batch of inputs with time first, None where it is not known.

    Raises:
      ValueError: Inputs differ in those, or another dimension is not known.
    """
    shapes = [each.shape.with_rank_at_least(3) for each in flat]
    steps, batch = shapes[0].as_list()[:2]
    for shape in shapes:
        if not shape[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None."
            )
        its_steps, its_batch = shape.as_list()[:2]
        if its_steps != steps:
            raise ValueError("Time steps is not the same for all the elements in the input in a batch.")
        if its_batch != batch:
            raise ValueError("Batch_size is not the same for all the elements in the input.")
    return steps, batch


def dynamic_rnn_loop(
    cell: Any,
    inputs: Any,
    initial_state: Any,
    parallel_iterations: Any,
    swap_memory: Any,
    sequence_length: Any = None,
    dtype: Any = None,
) -> Any:
    """Adds the loop of `dynamic_rnn`; inputs and outputs have time first."""
    flat = flatten(inputs)
    sizes = flatten(cell.output_size)
    steps = NAMES["shape"](flat[0])[0]
    batch_size = best_effort_input_batch_size(flat)
    known_steps, known_batch = _static_sizes(flat)

    def zeros(size: Any) -> Any:
        return NAMES["zeros"](joined_shape(batch_size, size), infer_state_dtype(dtype, initial_state))

    zero_output = pack_like(cell.output_size, [zeros(size) for size in sizes])
    least = most = None
    if sequence_length is not None:
        least = NAMES["reduce_min"](sequence_length)
        most = NAMES["reduce_max"](sequence_length)
    else:
        most = steps
    time = NAMES["constant"](0, dtype=dtypes.int32, name="time")
    with name_scope("dynamic_rnn"):
        pass

    def array(shape: Any, of: Any) -> Any:
        return NAMES["TensorArray"](dtype=of, size=steps, element_shape=shape)

    written = tuple(
        array(
            TensorShape([known_batch]).concatenate(known_shape(size)), infer_state_dtype(dtype, initial_state)
        )
        for size in sizes
    )
    read = [array(each.shape[1:], each.dtype) for each in flat]
    read = [ta.unstack(each) for ta, each in zip(read, flat, strict=True)]
    # With at least one step in the loop, the shapes of outputs come out of the cell.
    bound = NAMES["minimum"](steps, NAMES["maximum"](1, most))

    def step(time: Any, arrays: Any, state: Any) -> Any:
        parts = [ta.read(time) for ta in read]
        for part, each in zip(parts, flat, strict=True):
            part.set_shape(each.shape[1:])
        step_input = pack_like(inputs, parts)

        def call_cell() -> Any:
            return cell(step_input, state)

        if sequence_length is not None:
            output, new_state = rnn_step(
                time,
                sequence_length,
                least,
                most,
                zero_output,
                state,
                call_cell,
                cell.state_size,
                skip_conditionals=True,
            )
        else:
            output, new_state = call_cell()
        arrays = tuple(ta.write(time, part) for ta, part in zip(arrays, flatten(output), strict=True))
        return time + 1, arrays, new_state

    _, arrays, last = NAMES["while_loop"](
        cond=lambda time, *_: time < bound,
        body=step,
        loop_vars=(time, written, initial_state),
        parallel_iterations=parallel_iterations,
        maximum_iterations=steps,
        swap_memory=swap_memory,
    )
    outputs = [ta.stack() for ta in arrays]
    for output, size in zip(outputs, sizes, strict=True):
        output.set_shape(joined_shape([known_steps, known_batch], size, static=True))
    return pack_like(cell.output_size, outputs), last


export_value("python.ops.rnn._dynamic_rnn_loop", dynamic_rnn_loop)


@export("nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Calls a cell in a loop over time, and another one in a loop against time.

    Args:
      cell_fw: The cell that starts with the first step.
      cell_bw: The cell that starts with the last step.
      inputs: A tensor [batch, time, ...], or a structure of those.
      sequence_length: The lengths of the sequences.
      initial_state_fw: The first cell's state to start with, by default zeros.
      initial_state_bw: The other one's.
      dtype: The type of initial states that are not given.
      parallel_iterations: How many steps TensorFlow may run at once; no effect on results.
      swap_memory: Not used.
      time_major: Whether inputs and outputs are [time, batch, ...].
      scope: The variable scope or its name, by default "bidirectional_rnn".

    Returns:
      A pair of the cells' outputs, in the order of time both, and a pair of their last states.

    Raises:
      TypeError: A cell is none.
      ValueError: As in `dynamic_rnn`.
    """
    check_cells(cell_fw=cell_fw, cell_bw=cell_bw)
    options = {
        "sequence_length": sequence_length,
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def turned(x: Any) -> Any:
        if sequence_length is None:
            return NAMES["reverse"](x, axis=[time_axis])
        return NAMES["reverse_sequence"](
            input=x, seq_lengths=sequence_length, seq_axis=time_axis, batch_axis=batch_axis
        )

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=fw_scope, **options
            )
        with variable_scope("bw") as bw_scope:
            output_bw, state_bw = dynamic_rnn(
                cell_bw, map_leaves(turned, inputs), initial_state=initial_state_bw, scope=bw_scope, **options
            )
    return (output_fw, map_leaves(turned, output_bw)), (state_fw, state_bw)
