"""MultiRNNCell: cells one upon the other."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.graph.structure import is_nested
from headrace.layers.base import Layer
from headrace.platform import tf_logging
from headrace.rnn.cells import RNNCell, zero_state_scope
from headrace.rnn.zero_states import assert_like_rnncell
from headrace.variables.scope import variable_scope


@export("nn.rnn_cell.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Cells of which each takes the output of the one before.

    Args:
      cells: The cells, that of the inputs first.
      state_is_tuple: Whether the state is a tuple of the cells' states; else they are side by side in one tensor.

    Raises:
      TypeError: `cells` is no list, or an element is no cell.
      ValueError: There are no cells, or a state is a structure though `state_is_tuple` is false.
    """

    def __init__(self, cells: Any, state_is_tuple: bool = True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            tf_logging.log_first_n(
                tf_logging.WARN,
                "At least two cells provided to MultiRNNCell are the same object and will share weights.",
                1,
            )
        self._cells = cells
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: "
                f"{[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = [cell.state_size for cell in self._cells]
        return tuple(sizes) if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns a state of zeros.

        Args:
          batch_size: The batch, an int or a scalar tensor.
          dtype: The type.
        """
        with zero_state_scope(self, batch_size):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list[Any]:
        if not self.trainable:
            return []
        return [w for cell in self._cells if isinstance(cell, Layer) for w in cell.trainable_weights]

    @property
    def non_trainable_weights(self) -> list[Any]:
        layers = [cell for cell in self._cells if isinstance(cell, Layer)]
        fixed = [w for cell in layers for w in cell.non_trainable_weights]
        if self.trainable:
            return fixed
        return [w for cell in layers for w in cell.trainable_weights] + fixed

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        position = 0
        new_states = []
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    if not is_nested(state):
                        raise ValueError(
                            f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}"
                        )
                    own = state[number]
                else:
                    own = NAMES["slice"](state, [0, position], [-1, cell.state_size])
                    position += cell.state_size
                inputs, new_state = cell(inputs, own)
                new_states.append(new_state)
        if self._state_is_tuple:
            return inputs, tuple(new_states)
        return inputs, NAMES["concat"](new_states, 1)

    def get_config(self) -> dict[str, Any]:
        cells = [{"class_name": type(cell).__name__, "config": cell.get_config()} for cell in self._cells]
        return {**super().get_config(), "cells": cells, "state_is_tuple": self._state_is_tuple}


def check_cells(**cells: Any) -> None:
    """Checks that arguments are cells.

    Raises:
      TypeError: One isn't.
    """
    for name, cell in cells.items():
        assert_like_rnncell(name, cell)
