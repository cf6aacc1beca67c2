"""HighwayWrapper: a cell's inputs go past it, as far as trained gates let them."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.graph.structure import check_same, flatten, pack_like
from headrace.rnn.cells import RNNCell, zero_state_scope
from headrace.variables.initializers.basic import Constant
from headrace.variables.scope import get_variable


@export("contrib.rnn.HighwayWrapper")
class HighwayWrapper(RNNCell):
    """Mixes a cell's inputs and outputs.

    Args:
      cell: The cell.
      couple_carry_transform_gates: Whether what is carried past and what comes out add up to 1.
      carry_bias_init: What the bias of the gate for what is carried past starts with.
    """

    def __init__(self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0):
        super().__init__()
        self._cell = cell
        self._couple_carry_transform_gates = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init

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

    def _highway(self, inp: Any, out: Any) -> Any:
        size = inp.shape.with_rank(2)[1].value

        def gate(name: str, start: float) -> Any:
            weights = get_variable(f"{name}_w", [size, size])
            bias = get_variable(f"{name}_b", [size], initializer=Constant(start))
            return NAMES["sigmoid"](NAMES["nn.xw_plus_b"](inp, weights, bias))

        carry = gate("carry", self._carry_bias_init)
        if self._couple_carry_transform_gates:
            transform = 1 - carry
        else:
            transform = gate("transform", -self._carry_bias_init)
        return inp * carry + out * transform

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Does one step; see `RNNCell.__call__`."""
        outputs, new_state = self._cell(inputs, state, scope=scope)
        check_same(inputs, outputs, composites=False)
        pairs = list(zip(flatten(inputs), flatten(outputs), strict=True))
        for one, other in pairs:
            one.shape.assert_is_compatible_with(other.shape)
        return pack_like(outputs, [self._highway(*pair) for pair in pairs]), new_state
