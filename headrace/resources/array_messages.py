"""How operations on TensorArrays are refused, in TensorFlow's words."""

from __future__ import annotations

from typing import Any

from headrace import errors, shapes
from headrace.resources.tensor_list import shape_text

WAS_READ = "because it has already been read."
WAS_WRITTEN = "because it has already been written to."


def invalid(message: str) -> errors.OpError:
    """Returns the error of a refused operand."""
    return errors.InvalidArgumentError(None, None, message)  # type: ignore[no-any-return]


def closed(name: str) -> errors.OpError:
    return invalid(f"TensorArray {name} has already been closed.")


def not_resizeable(name: str, i: int, size: int) -> errors.OpError:
    return invalid(
        f"TensorArray {name}: Tried to write to index {i} but array is not resizeable and size is: {size}"
    )


def another_shape(name: str, i: int, shape: Any, expected: Any) -> errors.OpError:
    return invalid(
        f"TensorArray {name}: Could not write to TensorArray index {i} because the value shape is "
        f"{shape_text(shape)} which is incompatible with the TensorArray's inferred element shape: "
        f"{shape_text(expected)} (consider setting infer_shape=False)."
    )


def not_written(name: str, i: int, why: str) -> errors.OpError:
    return invalid(f"TensorArray {name}: Could not write to TensorArray index {i} {why}")


def not_there(i: int, size: int) -> errors.OpError:
    return invalid(f"Tried to read from index {i} but array size is: {size}")


def read_twice(name: str, i: int) -> errors.OpError:
    return invalid(
        f"TensorArray {name}: Could not read index {i} twice because it was cleared after a previous read (perhaps "
        "try setting clear_after_read = false?)."
    )


def unknown_shape(name: str, i: int, shape: Any) -> errors.OpError:
    return invalid(
        f"TensorArray {name}: Could not read from TensorArray index {i}.  Furthermore, the element shape is not "
        f"fully defined: {shape_text(shape)}.  It is possible you are working with a resizeable TensorArray and "
        "stop_gradients is not allowing the gradients to be written.  If you set the full element_shape property on "
        "the forward TensorArray, the proper all-zeros tensor will be returned instead of incurring this error."
    )


def no_zeros(dtype: Any) -> errors.OpError:
    return invalid(f"tensor_array::TensorSetZero type not supported: {dtype.name}")


def beyond(i: int, size: int) -> errors.OpError:
    return invalid(f"Max scatter index must be < array size ({i} vs. {size})")


def inconsistent(i: int, what: str, first: Any, found: Any) -> errors.OpError:
    return invalid(
        f"TensorArray has inconsistent shapes.  Index 0 has {what}{shapes.to_text(first)} but index {i} has "
        f"{what}{shapes.to_text(found)}"
    )


def empty(what: str, doing: str) -> errors.OpError:
    return errors.UnimplementedError(  # type: ignore[no-any-return]
        None,
        None,
        f"TensorArray has size zero, but {what} is not fully defined. Currently only static shapes are supported when "
        f"{doing} zero-size TensorArrays.",
    )
