"""The shapes of states, and states of zeros."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export_value
from headrace.graph import Tensor
from headrace.graph.structure import map_leaves
from headrace.opdef import constant_value
from headrace.tensor_shape import TensorShape, as_shape


def _part(value: Any, which: str) -> tuple[Any, Any]:
    """Returns a part of a shape as a vector tensor (None if a size is missing) and as what is known of it."""
    if isinstance(value, Tensor):
        static: Any = constant_value(value)
        if value.shape.ndims == 0:
            value = NAMES["expand_dims"](value, 0)
        elif value.shape.ndims != 1:
            raise ValueError(f"{which} tensor must be either a scalar or vector, but saw tensor: {value}")
        if static is not None:
            static = [int(n) for n in static.reshape([-1])]
        return value, static
    shape = TensorShape([value]) if isinstance(value, int) else as_shape(value)
    static = shape.as_list() if shape.ndims is not None else None
    if not shape.is_fully_defined():
        return None, static
    return NAMES["constant"](shape.as_list(), dtype=dtypes.int32), static


def joined_shape(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Puts two parts of a shape together.

    Args:
      prefix: An int, a tensor, a list of ints or a TensorShape.
      suffix: Likewise.
      static: Whether to return what is known, a list or None, and not a tensor.

    Raises:
      ValueError: A tensor is neither a scalar nor a vector, or a size is missing where a tensor is wanted.
    """
    first, first_known = _part(prefix, "prefix")
    second, second_known = _part(suffix, "suffix")
    if static:
        if first_known is None or second_known is None:
            return None
        whole = TensorShape(first_known).concatenate(TensorShape(second_known))
        return whole.as_list() if whole.ndims is not None else None
    if first is None or second is None:
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return NAMES["concat"]((first, second), 0)


def zero_states(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Returns tensors of zeros in the structure of some sizes.

    Args:
      state_size: A size or shape without the batch, or a structure of those.
      batch_size: An int or a scalar tensor.
      dtype: The type.
    """

    def zeros(size: Any) -> Any:
        made = NAMES["zeros"](joined_shape(batch_size, size), dtype=dtype)
        made.set_shape(joined_shape(batch_size, size, static=True))
        return made

    return map_leaves(zeros, state_size)


_IS_NO_CELL = "is not an RNNCell"


def _has(value: Any, name: str) -> bool:
    try:
        getattr(value, name)
    except AttributeError:
        return False
    except Exception:
        # A property that refuses to answer is there all the same.
        return True
    return True


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Checks that a value has what a cell needs.

    Args:
      cell_name: What the error calls it.
      cell: The value.

    Raises:
      TypeError: It lacks something.
    """
    conditions = (
        (_has(cell, "output_size"), "'output_size' property is missing"),
        (_has(cell, "state_size"), "'state_size' property is missing"),
        (
            _has(cell, "zero_state") or _has(cell, "get_initial_state"),
            "either 'zero_state' or 'get_initial_state' method is required",
        ),
        (callable(cell), "is not callable"),
    )
    missing = [message for holds, message in conditions if not holds]
    if missing:
        raise TypeError(f"The argument {cell_name!r} ({cell}) {_IS_NO_CELL}: {', '.join(missing)}.")


for _name, _value in (
    ("_concat", joined_shape),
    ("_zero_state_tensors", zero_states),
    ("_hasattr", _has),
    ("assert_like_rnncell", assert_like_rnncell),
    ("ASSERT_LIKE_RNNCELL_ERROR_REGEXP", _IS_NO_CELL),
    ("_WEIGHTS_VARIABLE_NAME", "kernel"),
    ("_BIAS_VARIABLE_NAME", "bias"),
):
    export_value("python.ops.rnn_cell_impl." + _name, _value)

for _name in ("assert_like_rnncell", "ASSERT_LIKE_RNNCELL_ERROR_REGEXP"):
    export_value("python.ops.rnn_cell." + _name, NAMES["python.ops.rnn_cell_impl." + _name])
