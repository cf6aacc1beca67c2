"""Bidirectional nets one upon the other."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.rnn.dynamic import bidirectional_dynamic_rnn
from headrace.rnn.static import static_bidirectional_rnn
from headrace.variables.scope import variable_scope


def _check(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    if not cells_fw:
        raise ValueError("Must specify at least one fw cell for BidirectionalRNN.")
    if not cells_bw:
        raise ValueError("Must specify at least one bw cell for BidirectionalRNN.")
    for name, cells in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if not isinstance(cells, list):
            raise ValueError(f"{name} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for name, states, cells in (
        ("initial_states_fw", states_fw, cells_fw),
        ("initial_states_bw", states_bw, cells_bw),
    ):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells)):
            raise ValueError(f"{name} must be a list of state tensors (one per layer).")


@export("contrib.rnn.stack_bidirectional_rnn")
def stack_bidirectional_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Runs `tf.nn.static_bidirectional_rnn` on its own outputs, a layer for each pair of cells.

    Args:
      cells_fw: The layers' cells that start with the first input, a list.
      cells_bw: Those that start with the last input.
      inputs: The inputs of all steps, a list.
      initial_states_fw: The first cells' states to start with, a list; by default zeros.
      initial_states_bw: The other ones'.
      dtype: The type of initial states that are not given.
      sequence_length: The lengths of the sequences.
      scope: The variable scope or its name.

    Returns:
      The outputs, a list, and tuples of the last states in either direction.

    Raises:
      ValueError: There are no cells, or lists are of different lengths.
    """
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}") as cell_scope:
                inputs, state_fw, state_bw = static_bidirectional_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    initial_state_fw=initial_states_fw[i] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[i] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    dtype=dtype,
                    scope=cell_scope,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)


@export("contrib.rnn.stack_bidirectional_dynamic_rnn")
def stack_bidirectional_dynamic_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: Any = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> Any:
    """Runs `tf.nn.bidirectional_dynamic_rnn` on its own outputs, a layer for each pair of cells.

    Args:
      cells_fw: The layers' cells that start with the first step, a list.
      cells_bw: Those that start with the last step.
      inputs: A tensor [batch, time, depth].
      initial_states_fw: The first cells' states to start with, a list; by default zeros.
      initial_states_bw: The other ones'.
      dtype: The type of initial states that are not given.
      sequence_length: The lengths of the sequences.
      parallel_iterations: How many steps TensorFlow may run at once; no effect on results.
      time_major: Whether inputs and outputs are [time, batch, depth].
      scope: The variable scope or its name.
      swap_memory: Not used.

    Returns:
      The outputs [batch, time, depth], and tuples of the last states in either direction.

    Raises:
      ValueError: There are no cells, or lists are of different lengths.
    """
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{i}"):
                outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    initial_state_fw=initial_states_fw[i] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[i] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                inputs = NAMES["concat"](outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)
