"""Recurrent nets over lists of inputs: a copy of the cell's nodes for each step."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import control_dependencies
from headrace.graph.structure import flatten, is_nested, pack_like
from headrace.opdef import convert_to_tensor
from headrace.rnn.stacked import check_cells
from headrace.rnn.steps import cache_reads, first_state, infer_state_dtype, reverse_each, rnn_step
from headrace.rnn.zero_states import joined_shape
from headrace.variables.scope import variable_scope


@export("nn.static_rnn", "contrib.rnn.static_rnn")
def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Calls a cell for each input of a list.

    Args:
      cell: The cell.
      inputs: The inputs of all steps, each a tensor or a structure of those with the batch first.
      initial_state: The state to start with, by default zeros.
      dtype: The type of the initial state where it is not given.
      sequence_length: The lengths of the sequences; behind its end a sequence puts out zeros and keeps its state.
      scope: The variable scope or its name, by default "rnn".

    Returns:
      The outputs, a list, and the last state.

    Raises:
      TypeError: `cell` is no cell, or `inputs` no list.
      ValueError: There are no inputs, or sizes are not known or differ.
    """
    check_cells(cell=cell)
    if not is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as varscope:
        cache_reads(varscope)
        first = inputs[0]
        while is_nested(first):
            first = first[0]
        if first.shape.ndims != 1:
            first.shape.with_rank_at_least(2)
            fixed = first.shape.with_rank_at_least(2).dims[0]
            for each in flatten(inputs):
                dims = each.shape.dims
                fixed.assert_is_compatible_with(dims[0])
                if fixed.value is None:
                    fixed = dims[0]
                for number, size in enumerate(dims[1:]):
                    if size.value is None:
                        raise ValueError(
                            f"Input size (dimension {number} of inputs) must be accessible via shape inference, but "
                            "saw value None."
                        )
        else:
            fixed = first.shape.with_rank_at_least(1).dims[0]
        batch_size = NAMES["shape"](first)[0] if fixed.value is None else fixed.value
        if initial_state is not None:
            state = initial_state
        else:
            if not dtype:
                raise ValueError("If no initial_state is provided, dtype must be specified")
            state = first_state(cell, batch_size, dtype)
        if sequence_length is not None:
            sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if sequence_length.shape.ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")

            def zeros(size: Any) -> Any:
                made = NAMES["zeros"](joined_shape(batch_size, size), infer_state_dtype(dtype, state))
                made.set_shape(joined_shape(fixed.value, size, static=True))
                return made

            sizes = cell.output_size
            zero_output = pack_like(sizes, [zeros(size) for size in flatten(sizes)])
            sequence_length = NAMES["cast"](sequence_length, dtypes.int32)
            least = NAMES["reduce_min"](sequence_length)
            most = NAMES["reduce_max"](sequence_length)
        for time, step_input in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()

            def call_cell(step_input: Any = step_input, state: Any = state) -> Any:
                return cell(step_input, state)

            if sequence_length is not None:
                output, state = rnn_step(
                    time, sequence_length, least, most, zero_output, state, call_cell, cell.state_size
                )
            else:
                output, state = call_cell()
            outputs.append(output)
    return outputs, state


@export("nn.static_state_saving_rnn", "contrib.rnn.static_state_saving_rnn")
def static_state_saving_rnn(
    cell: Any,
    inputs: Any,
    state_saver: Any,
    state_name: Any,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Calls a cell for each input of a list, with a state that is kept between steps of the session.

    Args:
      cell: The cell.
      inputs: The inputs of all steps.
      state_saver: An object with methods `state(name)` and `save_state(name, state)`.
      state_name: The state's name, or names in the structure of the cell's state.
      sequence_length: The lengths of the sequences.
      scope: The variable scope or its name, by default "rnn".

    Returns:
      The outputs, a list, and the last state. The last output waits until the state is saved.

    Raises:
      TypeError: `cell` is no cell, or `inputs` no list.
      ValueError: The names are not as the state is.
    """
    sizes = cell.state_size
    is_tuple = is_nested(sizes)
    if is_tuple != is_nested(state_name):
        raise ValueError(
            f"state_name should be the same type as cell.state_size.  state_name: {state_name!s}, cell.state_size: "
            f"{sizes!s}"
        )
    names = flatten(state_name)
    if len(names) != len(flatten(sizes)):
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(flatten(sizes))}")
    state = pack_like(sizes, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=state, sequence_length=sequence_length, scope=scope
    )
    saved = [state_saver.save_state(name, part) for name, part in zip(names, flatten(state), strict=True)]
    identity = NAMES["identity"]
    with control_dependencies(saved):
        outputs[-1] = pack_like(outputs[-1], [identity(part) for part in flatten(outputs[-1])])
        state = pack_like(state, [identity(part) for part in flatten(state)])
    return outputs, state


@export("nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn")
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Calls a cell for each input of a list from the first on, and another one from the last on.

    Args:
      cell_fw: The cell that starts with the first input.
      cell_bw: The cell that starts with the last input.
      inputs: The inputs of all steps.
      initial_state_fw: The first cell's state to start with, by default zeros.
      initial_state_bw: The other one's.
      dtype: The type of initial states that are not given.
      sequence_length: The lengths of the sequences.
      scope: The variable scope or its name, by default "bidirectional_rnn".

    Returns:
      The outputs, a list in which both cells' are side by side, and the last state of either cell.

    Raises:
      TypeError: A cell is none, or `inputs` no list.
      ValueError: There are no inputs.
    """
    check_cells(cell_fw=cell_fw, cell_bw=cell_bw)
    if not is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope
            )
        with variable_scope("bw") as bw_scope:
            turned = reverse_each(inputs, sequence_length)
            output_bw, state_bw = static_rnn(
                cell_bw, turned, initial_state_bw, dtype, sequence_length, scope=bw_scope
            )
    output_bw = reverse_each(output_bw, sequence_length)
    pairs = zip(flatten(output_fw), flatten(output_bw), strict=True)
    outputs = pack_like(output_fw, [NAMES["concat"](pair, 1) for pair in pairs])
    return outputs, state_fw, state_bw
