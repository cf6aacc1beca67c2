"""The function library of a graph: functions that a file brought along, and the ops that call them."""

from __future__ import annotations

from typing import Any

from headrace.graph.func_graph import function_named
from headrace.graphdef.function_checks import check_function
from headrace.graphdef.op_defs import signature_from_op_def
from headrace.opdef.op import Op


class ImportedFunction:
    """A function that came with a GraphDef.

    Attributes:
      name: The name that nodes call it by.
      definition: Its FunctionDef.
      gradient_name: The name of the function that is its gradient, or None.
    """

    def __init__(self, definition: Any, gradient_name: str | None = None):
        self.definition = definition
        self.name: str = definition.signature.name
        self.gradient_name = gradient_name
        self._op: FunctionOp | None = None

    @property
    def op(self) -> FunctionOp:
        """The op that nodes calling this function are of."""
        if self._op is None:
            self._op = FunctionOp(self.definition)
        return self._op

    def add_to_graph(self, graph: Any) -> None:
        graph._functions.setdefault(self.name, self)

    def __repr__(self) -> str:
        return f"<function {self.name}>"


# The rules that all ops have which are calls of a function by its name: slot -> (function, options).
CALL_RULES: dict[str, tuple[Any, dict[str, Any]]] = {}


class FunctionOp(Op):
    """The op that a node is of whose type is a function's name; its rules are those of a call."""

    def __init__(self, definition: Any):
        super().__init__(definition.signature.name + "() -> ()", module=__name__)
        self._signature = signature_from_op_def(definition.signature)
        self.name = self._signature.name
        self.definition = definition
        for slot, (function, options) in CALL_RULES.items():
            self.declare(slot, function, **options)

    @staticmethod
    def callees(op: Any) -> list[Any]:
        """Returns the function that a node of this op calls, in a list."""
        return [function_named(op._graph, op.type)]

    def __reduce__(self) -> Any:
        return FunctionOp, (self.definition,)


def import_library(graph: Any, library: Any) -> None:
    """Adds the functions of a FunctionDefLibrary to a graph.

    Raises:
      NotFoundError: A function has a node of an op that is not known.
      ValueError: A function is malformed, or the graph has one of that name that does something else.
    """
    coming = {**graph._functions, **{f.signature.name: f for f in library.function}}
    gradients = {g.function_name: g.gradient_func for g in library.gradient}
    for definition in library.function:
        name = definition.signature.name
        known = graph._functions.get(name)
        if known is not None:
            existing = getattr(known, "definition", None)
            if existing is not None and _text(existing) != _text(definition):
                raise ValueError(
                    f"Cannot add function '{name}' because a different function with the same name already exists."
                )
            continue
        check_function(definition, coming)
        kept = type(definition)()
        kept.CopyFrom(definition)  # the caller may change his message afterwards
        graph._functions[name] = ImportedFunction(kept, gradients.get(name))


def _text(message: Any) -> bytes:
    return message.SerializeToString(deterministic=True)  # type: ignore[no-any-return]
