"""Errors of a running step: the exception users catch, with the node and the user's own line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import errors
from headrace.graph import Operation
from headrace.graph import traceback as frames
from headrace.passes.targets import origin
from headrace.shapes import to_text

_PYTHON_ERRORS: tuple[tuple[type[BaseException], Any], ...] = (
    (ValueError, errors.InvalidArgumentError),
    (OverflowError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
)


# What NumPy says as a ValueError, and XLA as an error of its own.
_OUT_OF_MEMORY = ("array is too big; ", "Maximum allowed dimension exceeded", "RESOURCE_EXHAUSTED: ")


def at_node(error: BaseException, op: Operation, operands: Sequence[Any] | None = None) -> BaseException:
    """Returns the error of a rule as one that names the node; errors that do already are returned as they are.

    Args:
      error: What the rule raised.
      op: The node.
      operands: What the rule was given, where that is known.
    """
    if isinstance(error, RecursionError):
        # Only functions that call themselves lead so deep; this deep there is no place to say more.
        return errors.ResourceExhaustedError(None, op, f"{op.name}: a function calls itself too many times")  # type: ignore[no-any-return]
    if isinstance(error, errors.OpError):
        if error.op is not None:
            return error
        cls: Any = type(error)
        message = error.message
    elif isinstance(error, Exception):
        cls = next((c for kind, c in _PYTHON_ERRORS if isinstance(error, kind)), errors.UnknownError)
        if any(words in str(error) for words in _OUT_OF_MEMORY):
            cls = errors.ResourceExhaustedError
        message = str(error) if cls is not errors.UnknownError else f"{type(error).__name__}: {error}"
        if cls is errors.ResourceExhaustedError:
            message = f"OOM when allocating: {error}"
    else:
        return error  # KeyboardInterrupt and the like
    op = origin(op)
    made = cls(lambda: op.node_def, op, describe(message, op, operands))
    made.__cause__ = error if not isinstance(error, errors.OpError) else error.__cause__
    return made  # type: ignore[no-any-return]


def describe(message: str, op: Operation, operands: Sequence[Any] | None = None) -> str:
    """Returns a message followed by the node, its op and shapes, where it was made, and the stack of that place."""
    where = frames.user_frame(op._traceback)
    defined = f" (defined at {where[0].co_filename}:{where[1]}) " if where is not None else " "
    rows = [
        f"  File {file!r}, line {line}, in {function}\n    {text}"
        for file, line, function, text in op.traceback
    ]
    stack = "\n".join(rows).replace("'", '"')
    dims = [t._dims for t in op.inputs] if operands is None else [getattr(v, "shape", None) for v in operands]
    inputs = f", input shapes: {', '.join(map(to_text, dims))}" if dims else ""
    node = f"\t [[node {op.name}{defined}]]\n\t (op: {op.type!r}{inputs})"
    return f"{message}\n{node}\n\nOriginal stack trace for {op.name!r}:\n{stack}\n"
