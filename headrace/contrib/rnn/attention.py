"""AttentionCellWrapper: a cell that looks back at its last outputs."""

from __future__ import annotations

from typing import Any

from headrace.contrib.rnn.linear import Linear
from headrace.export import NAMES, export
from headrace.graph.structure import flatten, is_nested
from headrace.rnn.cells import RNNCell
from headrace.rnn.zero_states import assert_like_rnncell
from headrace.variables.scope import get_variable, variable_scope


@export("contrib.rnn.AttentionCellWrapper")
class AttentionCellWrapper(RNNCell):
    """Adds attention over the last outputs to a cell.

    Args:
      cell: The cell.
      attn_length: How many outputs it looks back at.
      attn_size: The size of the outputs, by default the cell's.
      attn_vec_size: How many features the attention compares, by default `attn_size`.
      input_size: What inputs and attention are projected to, by default the inputs' size.
      state_is_tuple: Whether states are tuples; else their parts are side by side in one tensor.
      reuse: Whether variables that exist are used.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: The length is not positive, or the state is a tuple though `state_is_tuple` is false.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: Any = None,
        attn_vec_size: Any = None,
        input_size: Any = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ):
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        if is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State size is: "
                f"{cell.state_size!s}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length!s}")
        self._cell = cell
        self._attn_length = attn_length
        self._attn_size = cell.output_size if attn_size is None else attn_size
        self._attn_vec_size = self._attn_size if attn_vec_size is None else attn_vec_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple
        self._linear1: Any = None
        self._linear2: Any = None
        self._linear3: Any = None

    @property
    def state_size(self) -> Any:
        size = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return size if self._state_is_tuple else sum(list(size))

    @property
    def output_size(self) -> Any:
        return self._attn_size

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        size, length = self._attn_size, self._attn_length
        if self._state_is_tuple:
            state, attention, seen = state
        else:
            joined, inner = state, self._cell.state_size
            cut = NAMES["slice"]
            state = cut(joined, [0, 0], [-1, inner])
            attention = cut(joined, [0, inner], [-1, size])
            seen = cut(joined, [0, inner + size], [-1, size * length])
        seen = NAMES["reshape"](seen, [-1, length, size])
        width = self._input_size
        if width is None:
            width = inputs.shape.as_list()[1]
        if self._linear1 is None:
            self._linear1 = Linear([inputs, attention], width, True)
        cell_output, new_state = self._cell(self._linear1([inputs, attention]), state)
        query = NAMES["concat"](flatten(new_state), 1) if self._state_is_tuple else new_state
        attention, rest = self._attention(query, seen)
        with variable_scope("attn_output_projection"):
            if self._linear3 is None:
                self._linear3 = Linear([cell_output, attention], size, True)
            output = self._linear3([cell_output, attention])
        seen = NAMES["concat"]([rest, NAMES["expand_dims"](output, 1)], 1)
        seen = NAMES["reshape"](seen, [-1, length * size])
        after = (new_state, attention, seen)
        return output, after if self._state_is_tuple else NAMES["concat"](list(after), 1)

    def _attention(self, query: Any, seen: Any) -> Any:
        """Returns the sum of what was seen by what the query finds in it, and what was seen without the oldest."""
        size, length, features = self._attn_size, self._attn_length, self._attn_vec_size
        reshape, total = NAMES["reshape"], NAMES["reduce_sum"]
        with variable_scope("attention"):
            k = get_variable("attn_w", [1, 1, size, features])
            v = get_variable("attn_v", [features])
            hidden = reshape(seen, [-1, length, 1, size])
            compared = NAMES["nn.conv2d"](hidden, k, [1, 1, 1, 1], "SAME")
            if self._linear2 is None:
                self._linear2 = Linear(query, features, True)
            asked = reshape(self._linear2(query), [-1, 1, 1, features])
            weights = NAMES["nn.softmax"](total(v * NAMES["tanh"](compared + asked), [2, 3]))
            found = total(reshape(weights, [-1, length, 1, 1]) * hidden, [1, 2])
            found = reshape(found, [-1, size])
            return found, NAMES["slice"](seen, [0, 1, 0], [-1, -1, -1])
