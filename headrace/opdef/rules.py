"""Rules of ops: plain functions that receive just the attrs they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


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
        code = getattr(function, "__code__", None)
        if code is not None and not hasattr(function, "__wrapped__"):
            # What inspect.signature says, at a tenth of its cost: there are a few thousand rules at import.
            first = code.co_argcount
            named = code.co_varnames[first : first + code.co_kwonlyargcount]
            self.wants_rest = bool(code.co_flags & inspect.CO_VARKEYWORDS)
        else:
            parameters = inspect.signature(function).parameters.values()
            named = tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
            self.wants_rest = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
        self.wants_ctx = "ctx" in named
        self.names = tuple(name for name in named if name != "ctx")

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
