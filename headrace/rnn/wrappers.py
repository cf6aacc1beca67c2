"""Cells around other cells: dropout, residual connections, devices."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export, export_value
from headrace.graph import device, name_scope
from headrace.graph.nest import get_traverse_shallow_structure, map_structure_up_to
from headrace.graph.structure import check_same, flatten, map_leaves, pack_like
from headrace.opdef import constant_value, convert_to_tensor
from headrace.rnn.cells import RNNCell, zero_state_scope
from headrace.rnn.lstm import LSTMStateTuple
from headrace.rnn.zero_states import assert_like_rnncell
from headrace.tensor_shape import TensorShape, as_shape


class CellWrapper(RNNCell):
    """A cell that calls another one, without a variable scope of its own.

    Args:
      cell: The other cell.

    Raises:
      TypeError: It is no cell.
    """

    def __init__(self, cell: Any, **kwargs: Any):
        super().__init__(**kwargs)
        assert_like_rnncell("cell", cell)
        self.cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The other cell."""
        return self.cell

    @property
    def state_size(self) -> Any:
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        return self.cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns a state of zeros.

        Args:
          batch_size: The batch, an int or a scalar tensor.
          dtype: The type.
        """
        with zero_state_scope(self, batch_size):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Does one step; see `RNNCell.__call__`."""
        return self._call_wrapped_cell(inputs, state, self.cell.__call__, scope=scope)

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        inner = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), "cell": inner}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Makes a wrapper of what `get_config` returned."""
        config = dict(config)
        inner = config.pop("cell")
        name = inner["class_name"]
        kind = (custom_objects or {}).get(name) or NAMES["nn.rnn_cell." + name]
        return cls(kind.from_config(inner["config"]), **config)


export_value("python.ops.rnn_cell_impl._RNNCellWrapperV1", CellWrapper)


def _kept_states(state: Any) -> Any:
    """Dropout leaves the cells of an LSTM alone, and tensor arrays."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not hasattr(state, "flow")


@export("nn.rnn_cell.DropoutWrapper")
class DropoutWrapper(CellWrapper):
    """Zeroes parts of a cell's inputs, outputs and states at random.

    Args:
      cell: The cell.
      input_keep_prob: The probability that an element of the input is kept, a number or a scalar tensor.
      output_keep_prob: The same for the output.
      state_keep_prob: The same for the state that goes to the next step.
      variational_recurrent: Whether all steps zero the same elements.
      input_size: The sizes of the input, needed for `variational_recurrent`.
      dtype: The type of inputs, outputs and states, needed for `variational_recurrent`.
      seed: The seed that those of the random choices are made of.
      dropout_state_filter_visitor: A function from a part of the state to a structure of booleans that says what of
        it may be zeroed.
      **kwargs: What `Layer` takes.

    Raises:
      TypeError: `cell` is no cell, or the filter can't be called.
      ValueError: A probability is not one, or something that `variational_recurrent` needs is missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: Any = None,
        dropout_state_filter_visitor: Any = None,
        **kwargs: Any,
    ):
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._dropout_state_filter = dropout_state_filter_visitor or _kept_states
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability("input_keep_prob", input_keep_prob)
            self._state_keep_prob = _probability("state_keep_prob", state_keep_prob)
            self._output_keep_prob = _probability("output_keep_prob", output_keep_prob)
        self._variational_recurrent = variational_recurrent
        self._input_size = input_size
        self._seed = seed
        self._recurrent_input_noise: Any = None
        self._recurrent_state_noise: Any = None
        self._recurrent_output_noise: Any = None
        if variational_recurrent:
            self._make_noise(dtype)

    def _make_noise(self, dtype: Any) -> None:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")

        def noise(kind: str, sizes: Any) -> Any:
            made = []
            for index, size in enumerate(flatten(sizes)):
                # One choice for the whole batch.
                shape = NAMES["concat"](([1], as_dims(size)), 0)
                seed = self._gen_seed(kind, index)
                made.append(NAMES["random_uniform"](shape, seed=seed, dtype=dtype))
            return pack_like(sizes, made)

        if drops(self._input_keep_prob):
            if self._input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                    "provided"
                )
            self._recurrent_input_noise = noise("input", self._input_size)
        self._recurrent_state_noise = noise("state", self.cell.state_size)
        self._recurrent_output_noise = noise("output", self.cell.output_size)

    def _gen_seed(self, salt_prefix: str, index: int) -> int | None:
        """Makes a seed of the wrapper's own, of what is dropped and of the number of the tensor."""
        if self._seed is None:
            return None
        text = f"{self._seed}{salt_prefix}_{index}".encode()
        return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropout(self, values: Any, salt_prefix: str, noise: Any, keep_prob: Any, chosen: Any = None) -> Any:
        """Returns a structure with elements dropped where the shallower structure `chosen` says so."""
        if chosen is None:
            chosen = map_leaves(lambda _: True, values)
        counter = iter(range(len(flatten(chosen))))

        def plain(drop: Any, value: Any) -> Any:
            index = next(counter)
            if not isinstance(drop, bool) or not drop or hasattr(value, "flow"):
                return value
            return NAMES["nn.dropout"](value, keep_prob=keep_prob, seed=self._gen_seed(salt_prefix, index))

        def recurrent(drop: Any, value: Any, random: Any) -> Any:
            if not isinstance(drop, bool) or not drop or hasattr(value, "flow"):
                return value
            kept = NAMES["floor"](keep_prob + random)
            result = NAMES["div"](value, keep_prob) * kept
            result.set_shape(value.shape)
            return result

        if self._variational_recurrent:
            return map_structure_up_to(chosen, recurrent, chosen, values, noise)
        return map_structure_up_to(chosen, plain, chosen, values)

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Any, **kwargs: Any) -> Any:
        if drops(self._input_keep_prob):
            inputs = self._dropout(inputs, "input", self._recurrent_input_noise, self._input_keep_prob)
        output, new_state = cell_call_fn(inputs, state, **kwargs)
        if drops(self._state_keep_prob):
            chosen = get_traverse_shallow_structure(self._dropout_state_filter, new_state)
            new_state = self._dropout(
                new_state, "state", self._recurrent_state_noise, self._state_keep_prob, chosen
            )
        if drops(self._output_keep_prob):
            output = self._dropout(output, "output", self._recurrent_output_noise, self._output_keep_prob)
        return output, new_state

    def get_config(self) -> dict[str, Any]:
        names = "input_keep_prob output_keep_prob state_keep_prob variational_recurrent input_size seed"
        return {**super().get_config(), **{name: getattr(self, "_" + name) for name in names.split()}}


def as_dims(size: Any) -> list[int | None]:
    """Returns the size of a state or output as a list."""
    return (TensorShape([size]) if isinstance(size, numbers.Integral) else as_shape(size)).as_list()


def _probability(name: str, value: Any) -> Any:
    """Returns a probability as a float, or as a tensor if its value is not known.

    Raises:
      ValueError: It is not between 0 and 1.
    """
    tensor = convert_to_tensor(value)
    known = constant_value(tensor)
    if known is None:
        return tensor
    if known < 0 or known > 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {int(known)}")
    return float(known)


def drops(probability: Any) -> bool:
    """Says whether dropout with this probability does anything."""
    return not isinstance(probability, float) or probability < 1


@export("nn.rnn_cell.ResidualWrapper")
class ResidualWrapper(CellWrapper):
    """Adds a cell's inputs to its outputs.

    Args:
      cell: The cell.
      residual_fn: A function of inputs and outputs that does so instead.
      **kwargs: What `Layer` takes.
    """

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any):
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Any, **kwargs: Any) -> Any:
        outputs, new_state = cell_call_fn(inputs, state, **kwargs)
        return (self._residual_fn or _sum)(inputs, outputs), new_state

    def get_config(self) -> dict[str, Any]:
        own = {} if self._residual_fn is None else {"residual_fn": self._residual_fn}
        return {**super().get_config(), **own}


def _sum(inputs: Any, outputs: Any) -> Any:
    check_same(inputs, outputs, composites=False)
    pairs = list(zip(flatten(inputs), flatten(outputs), strict=True))
    for one, other in pairs:
        one.shape.assert_is_compatible_with(other.shape)
    return pack_like(outputs, [one + other for one, other in pairs])


@export("nn.rnn_cell.DeviceWrapper")
class DeviceWrapper(CellWrapper):
    """Puts a cell on a device.

    Args:
      cell: The cell.
      device: What `tf.device` takes.
      **kwargs: What `Layer` takes.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any):
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns a state of zeros.

        Args:
          batch_size: The batch, an int or a scalar tensor.
          dtype: The type.
        """
        with zero_state_scope(self, batch_size), device(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Any, **kwargs: Any) -> Any:
        with device(self._device):
            return cell_call_fn(inputs, state, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "device": self._device}
