"""Cells with a matrix before or after them, or an embedding before them."""

from __future__ import annotations

import math
from typing import Any

from headrace.contrib.rnn.linear import Linear
from headrace.export import NAMES, export
from headrace.graph import device
from headrace.graph.structure import is_nested
from headrace.rnn.cells import RNNCell, zero_state_scope
from headrace.rnn.zero_states import assert_like_rnncell
from headrace.variables.scope import get_variable, get_variable_scope


class _Around(RNNCell):
    """A cell with another one inside its own variable scope."""

    def __init__(self, cell: Any, reuse: Any):
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns a state of zeros."""
        with zero_state_scope(self, batch_size):
            return self._cell.zero_state(batch_size, dtype)


@export("contrib.rnn.OutputProjectionWrapper")
class OutputProjectionWrapper(_Around):
    """Multiplies a cell's output with a matrix.

    Args:
      cell: The cell.
      output_size: The size of the product.
      activation: A function of it, none by default.
      reuse: Whether variables that exist are used.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: The size is not positive.
    """

    def __init__(self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None):
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size
        self._activation = activation
        self._linear: Any = None

    @property
    def output_size(self) -> Any:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        output, state = self._cell(inputs, state)
        if self._linear is None:
            self._linear = Linear(output, self._output_size, True)
        projected = self._linear(output)
        return self._activation(projected) if self._activation else projected, state


@export("contrib.rnn.InputProjectionWrapper")
class InputProjectionWrapper(_Around):
    """Multiplies a cell's input with a matrix.

    Args:
      cell: The cell.
      num_proj: The size of the product.
      activation: A function of it, none by default.
      input_size: Not used.
      reuse: Whether variables that exist are used.

    Raises:
      TypeError: `cell` is no cell.
    """

    def __init__(
        self, cell: Any, num_proj: int, activation: Any = None, input_size: Any = None, reuse: Any = None
    ):
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation
        self._linear: Any = None

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        if self._linear is None:
            self._linear = Linear(inputs, self._num_proj, True)
        projected = self._linear(inputs)
        return self._cell(self._activation(projected) if self._activation else projected, state)


@export("contrib.rnn.EmbeddingWrapper")
class EmbeddingWrapper(_Around):
    """Looks a cell's input up in a table.

    Args:
      cell: The cell.
      embedding_classes: How many rows the table has.
      embedding_size: How long they are.
      initializer: The table's initializer.
      reuse: Whether variables that exist are used.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: A size is not positive.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: Any = None,
    ):
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._embedding_classes = embedding_classes
        self._embedding_size = embedding_size
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        with device("/cpu:0"):
            initializer = self._initializer or get_variable_scope().initializer
            if not initializer:
                # Uniform numbers of variance 1.
                most = math.sqrt(3)
                initializer = NAMES["random_uniform_initializer"](-most, most)
            first = state[0] if is_nested(state) else state
            table = get_variable(
                "embedding",
                [self._embedding_classes, self._embedding_size],
                initializer=initializer,
                dtype=first.dtype,
            )
            embedded = NAMES["nn.embedding_lookup"](table, NAMES["reshape"](inputs, [-1]))
            return self._cell(embedded, state)
