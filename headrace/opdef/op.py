"""Op: a signature with rules. `op(...)` declares one; calling it adds a node to the graph."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from headrace.opdef import call, infer, notation
from headrace.opdef.registry import OPS, lookup
from headrace.opdef.rules import Declare, Rule
from headrace.opdef.signature import Signature

UNDECLARED: Any = type(
    "Undeclared", (), {"__repr__": lambda self: "UNDECLARED", "__bool__": lambda self: False}
)()

SLOTS = ("shape", "lower", "host", "grad", "cases", "as_shape", "flops")


class Op:
    """An op, declared once in one place.

    The slots `shape`, `lower`, `host`, `grad`, `cases`, `as_shape`, `flops` are decorators; what they were given is
    found in `rules`. See docs/add_an_op.md.

    Attributes:
      name: The op's name, as in NodeDefs.
      rules: slot -> Rule; `grad` may be None (declared not differentiable).
      reads: Operands whose variable is read and not written, of those with a reference or a resource.
      module: The module that declares it.
    """

    def __init__(self, text: str, *, module: str, reads: str = ""):
        self.text = text
        self.name = notation.op_name(text)
        self.module = module
        self.rules: dict[str, Rule | None] = {}
        self.reads = tuple(reads.replace(",", " ").split())
        self._signature: Signature | None = None
        self._plan: call.Plan | None = None

    @property
    def signature(self) -> Signature:
        """The parsed signature (parsed on first use, which keeps imports quick)."""
        if self._signature is None:
            self._signature = notation.parse(self.text)
        return self._signature

    @property
    def plan(self) -> call.Plan:
        """The signature prepared for adding nodes."""
        if self._plan is None:
            self._plan = call.Plan(self.signature)
        return self._plan

    @property
    def is_stateful(self) -> bool:
        return self.signature.is_stateful

    @property
    def op_def(self) -> Any:
        """The signature as an OpDef message."""
        from headrace.graph import hooks

        return hooks.op_def(self.signature)

    def declare(self, slot: str, function: Callable[..., Any] | None, **options: Any) -> None:
        """Gives the op a rule.

        Raises:
          ValueError: It has that rule already.
        """
        if slot in self.rules:
            raise ValueError(f"{self.name}.{slot} is declared twice")
        self.rules[slot] = None if function is None else Rule(function, **options)

    def rule(self, slot: str) -> Rule | None:
        return self.rules.get(slot)

    @property
    def gradient(self) -> Any:
        """The gradient's function; None if declared not differentiable; UNDECLARED if nothing was said."""
        if "grad" not in self.rules:
            return UNDECLARED
        rule = self.rules["grad"]
        return None if rule is None else rule.function

    def __getattr__(self, name: str) -> Any:
        if name in SLOTS:
            return Declare(self, name)
        raise AttributeError(f"an op has no {name!r}; its rules are {', '.join(SLOTS)}")

    def __call__(self, *operands: Any, name: str | None = None, **attrs: Any) -> Any:
        """Adds one node to the graph of the operands.

        Args:
          *operands: Inputs, in the signature's order; anything that converts to a tensor.
          name: The node's name.
          **attrs: Attrs (and inputs) by name.

        Returns:
          The output tensor, a list for a list output, a named tuple of several outputs, or the Operation if there is
          no output.
        """
        operation = call.apply(self, operands, attrs, name)
        plan = self._plan
        outputs = operation._outputs
        if plan.single:  # type: ignore[union-attr]
            return outputs[0]
        return plan.structure(self, operation)  # type: ignore[union-attr]

    def node(self, *operands: Any, name: str | None = None, **attrs: Any) -> Any:
        """Adds one node and returns the Operation itself."""
        return call.apply(self, operands, attrs, name)

    def infer_shapes(self, operation: Any) -> None:
        """Sets the shapes of a new node's outputs."""
        infer.infer_shapes(self, operation)

    def complete(self, inputs: Any, attrs: dict[str, Any], types: Any) -> tuple[dict[str, Any], list[Any]]:
        """Fills in and checks the attrs of a node that comes from outside; returns them and the output types."""
        return call.complete(self, inputs, attrs, types)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> Any:
        return lookup, (self.name,)


def op(text: str, *, shape: Any = None, grad: Any = UNDECLARED, reads: str = "", **rules: Any) -> Op:
    """Declares an op.

    Args:
      text: Its signature in the notation of `headrace.opdef.notation`, then a sentence on what it computes.
      shape: Its shape rule, where a function from `headrace.shapes` does.
      grad: None if it is declared not differentiable; or its gradient function.
      reads: The operands (names) whose variable it only reads. Other references and variables count as written.
      **rules: Further rules by slot: `lower=`, `host=`, `cases=`.

    Raises:
      ValueError: An op of that name exists.
    """
    made = Op(text, module=_caller_module(), reads=reads)
    if made.name in OPS:
        raise ValueError(f"the op {made.name} is declared twice")
    if shape is not None:
        made.declare("shape", shape)
    if grad is not UNDECLARED:
        made.declare("grad", grad)
    for slot, function in rules.items():
        made.declare(slot, function)
    OPS[made.name] = made
    return made


def _caller_module() -> str:
    import sys

    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").startswith("headrace.opdef") and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")  # type: ignore[no-any-return]


def output_tuple(op: Op) -> Any:
    """Returns the named tuple class of an op with several outputs."""
    return collections.namedtuple(op.name, [a.name for a in op.signature.outputs])
