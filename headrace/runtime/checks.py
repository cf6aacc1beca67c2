"""The checks of a compiled step as a program of their own, where they hang on little of it; and that of its sizes."""

from __future__ import annotations

from typing import Any

from headrace import errors
from headrace.lazy import jax_core, jax_partial_eval
from headrace.shapes import to_text

# What checks look at may be no larger than this, in elements computed; more costs as much as copying variables.
_MOST_ELEMENTS = 1 << 18

# XLA ends the process over an array whose bytes it cannot count in 64 bits.
_MOST_BYTES = 1 << 62

_HEAVY = frozenset(
    "dot_general conv_general_dilated while scan cond sort reduce_window_sum reduce_window_max jit pjit".split()
)


def cheap_checks(closed: Any) -> tuple[Any, list[int]] | None:
    """Returns what computes only the last result of a traced step, None if that takes much of the step.

    Args:
      closed: The step, a ClosedJaxpr.

    Returns:
      A ClosedJaxpr, and which of the step's arguments it takes.
    """
    jaxpr = closed.jaxpr
    used = [False] * (len(jaxpr.outvars) - 1) + [True]
    small, used_in = jax_partial_eval.dce_jaxpr(jaxpr, used)
    elements = 0
    for eqn in small.eqns:
        if eqn.primitive.name in _HEAVY and not _is_small_call(eqn):
            return None
        elements += sum(v.aval.size for v in eqn.outvars)
    if elements > _MOST_ELEMENTS:
        return None
    return jax_core.ClosedJaxpr(small, closed.consts), [i for i, is_used in enumerate(used_in) if is_used]


def _is_small_call(eqn: Any) -> bool:
    inner = eqn.params.get("jaxpr")
    if eqn.primitive.name not in ("jit", "pjit") or inner is None:
        return False
    return not any(e.primitive.name in _HEAVY for e in inner.jaxpr.eqns)


def refuse_absurd_sizes(jaxpr: Any) -> None:
    """Looks for arrays in a traced step that no memory could hold, those inside its loops and branches included.

    Raises:
      ResourceExhaustedError: There is one.
    """
    for eqn in jaxpr.eqns:
        for v in eqn.outvars:
            dtype = getattr(v.aval, "dtype", None)
            if dtype is not None and v.aval.size * dtype.itemsize > _MOST_BYTES:
                raise errors.ResourceExhaustedError(
                    None, None, f"OOM when allocating tensor with shape{to_text(v.aval.shape)}"
                )
        for value in eqn.params.values():
            for part in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(part, (jax_core.Jaxpr, jax_core.ClosedJaxpr)):
                    refuse_absurd_sizes(getattr(part, "jaxpr", part))


def without_last_result(closed: Any) -> Any:
    """Returns a traced step that does not compute its last result; all arguments stay."""
    jaxpr = closed.jaxpr
    used = [True] * (len(jaxpr.outvars) - 1) + [False]
    rest, _ = jax_partial_eval.dce_jaxpr(jaxpr, used, instantiate=True)
    return jax_core.ClosedJaxpr(rest, closed.consts)


def without_last_argument(closed: Any) -> Any:
    """Returns a traced step without its last argument, which nothing in it uses."""
    jaxpr = closed.jaxpr
    names = jaxpr.debug_info.arg_names
    rest = jaxpr.replace(
        invars=jaxpr.invars[:-1],
        debug_info=jaxpr.debug_info._replace(arg_names=names[:-1] if names is not None else None),
    )
    return jax_core.ClosedJaxpr(rest, closed.consts)
