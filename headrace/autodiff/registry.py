"""Which function is an op's gradient: what the op declares, or what a program registered."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from headrace.export import export
from headrace.opdef import GRADIENTS, OPS, UNDECLARED

F = TypeVar("F", bound=Callable[..., Any])

_where: dict[str, str] = {}  # name -> where it was registered, for the message on doing so twice


def _register(name: str, function: Any) -> None:
    if name in GRADIENTS or (name in OPS and OPS[name].gradient is not UNDECLARED):
        where = _where.get(name, f"{OPS[name].module if name in OPS else 'headrace'}")
        raise KeyError(f"Registering two gradient with name '{name}'! (Previous registration was in {where})")
    GRADIENTS[name] = function
    frame = traceback.extract_stack(limit=3)[0]
    _where[name] = f"{frame.name} {frame.filename}:{frame.lineno}"


@export("RegisterGradient")
class RegisterGradient:
    """A decorator that makes a function the gradient of an op, or a gradient for `Graph.gradient_override_map`.

    The function is called with the Operation and the gradients of its outputs; it returns the gradients of its
    inputs: one value, or a list with one for each input, None where there is none.

    Args:
      op_type: The op's name, or a name of one's own.

    Raises:
      TypeError: `op_type` is not a string.
      KeyError: (when applied) There is such a gradient already.
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: F) -> F:
        _register(self._op_type, f)
        return f


@export("NotDifferentiable", "no_gradient", "NoGradient")
def not_differentiable(op_type: str) -> None:
    """Declares that an op has no gradient: nothing flows back through it.

    Args:
      op_type: The op's name.

    Raises:
      TypeError: `op_type` is not a string.
      KeyError: It has a gradient, or is declared so, already.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


def gradient_function(op: Any) -> Callable[..., Any] | None:
    """Returns the gradient function of a node, None if it is not differentiable.

    Raises:
      LookupError: Nothing was declared for its op.
    """
    if not op._inputs:
        return None
    name = op.attrs.get("_gradient_op_type") or op.type
    if name not in GRADIENTS and name.startswith("PartitionedCall-"):
        # TensorFlow numbers the gradients of calls; a number means nothing in another process.
        name = op.type
    if name in GRADIENTS:
        return GRADIENTS[name]  # type: ignore[no-any-return]
    kind = op.kind if name == op.type else OPS.find(name)
    found = UNDECLARED if kind is None else kind.gradient
    if found is UNDECLARED:
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")
    return found  # type: ignore[no-any-return]
