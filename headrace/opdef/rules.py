"""Rules of ops: plain functions that receive just the attrs they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Rule:
    """One rule of an op: the function, which attrs it names, and how it was declared.

    Attributes:
      function: The plain function; positional parameters are operands.
      names: Its keyword-only parameters except `ctx`: attrs by TensorFlow's name.
      wants_ctx: Whether it has the keyword-only parameter `ctx`.
      wants_rest: Whether it takes `**rest`: every attr that is not a type or a mark.
      static: The operands that must be known values when a cluster is traced.
      options: What else the decorator was given.
    """

    __slots__ = ("function", "names", "options", "static", "wants_ctx", "wants_rest")

    def __init__(self, function: Callable[..., Any], static: str = "", **options: Any):
        self.function = function
        self.static = tuple(static.replace(",", " ").split())
        self.options = options
        names = []
        self.wants_ctx = self.wants_rest = False
        for p in inspect.signature(function).parameters.values():
            if p.kind is inspect.Parameter.KEYWORD_ONLY:
                if p.name == "ctx":
                    self.wants_ctx = True
                else:
                    names.append(p.name)
            elif p.kind is inspect.Parameter.VAR_KEYWORD:
                self.wants_rest = True
        self.names = tuple(names)

    def keywords(self, attrs: dict[str, Any], type_attrs: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Returns the attrs that the function names."""
        if self.wants_rest:
            return {
                k: v for k, v in attrs.items() if k in self.names or (k not in type_attrs and k[0] != "_")
            }
        return {k: attrs[k] for k in self.names}

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        return self.function(*operands, **keywords)


class Declare:
    """What `@Softmax.lower` is: a decorator, with or without options, that also is the rule once declared."""

    __slots__ = ("op", "slot")

    def __init__(self, op: Any, slot: str):
        self.op = op
        self.slot = slot

    def __call__(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        if function is None:
            return lambda f: self(f, **options)
        self.op.declare(self.slot, function, **options)
        return function
