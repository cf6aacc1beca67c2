"""Families: near-identical ops as the rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.lazy import jnp
from headrace.opdef.op import UNDECLARED, Op, op


def family(
    arguments: str, *, shape: Any = None, cases: Any = None, attrs: str = "", flags: str = ""
) -> Callable[..., Op]:
    """Returns a function that declares one op of a family.

    The declared op computes `compute(xp, *operands, **attrs)` in both tiers: `xp` is `numpy` in the interpreter and
    `jax.numpy` in a cluster.

    Args:
      arguments: The signature's arguments and results, `x: T -> y: T`.
      shape: The family's shape rule.
      cases: The family's cases, called as `cases(case, op)`.
      attrs: More attr lines, separated by newlines.
      flags: A line of flags.

    Returns:
      A function `(name, types, compute, grad=..., doc="", host=None, lower=None, flags="")`; `types` is what stands
      after `T:`.
    """
    left, _, right = arguments.partition("->")
    left, right = left.strip(), right.strip()

    def declare(
        name: str,
        types: str,
        compute: Callable[..., Any] | None = None,
        grad: Any = UNDECLARED,
        *,
        doc: str = "",
        host: Any = None,
        lower: Any = None,
        more: str = "",
    ) -> Op:
        lines = [f"{name}({left}) -> ({right})", f"  T: {types}"]
        lines += ["  " + line.strip() for line in attrs.split("\n") if line.strip()]
        if flags or more:
            lines.append("  " + ", ".join(f for f in (flags, more) if f))
        if doc:
            lines += ["", doc]
        made = op("\n".join(lines), shape=shape, grad=grad)
        if compute is not None:
            made.declare("host", host or _with(compute, np))
            made.declare("lower", lower or _with(compute, jnp))
        else:
            if host is not None:
                made.declare("host", host)
            if lower is not None:
                made.declare("lower", lower)
        if cases is not None:
            made.declare("cases", lambda case: cases(case, made))
        return made

    return declare


def _with(compute: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    return lambda *operands: compute(xp, *operands)
