"""Checks of a compiled step computed in NumPy: a few comparisons take less time there than it takes to call XLA.

What says whether indices are in range is a handful of operations on small integers. They are written down as a list
that can be kept on disk with the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

_MOST_STEPS = 48
_MOST_ELEMENTS = 1 << 16  # in all results together

_PLAIN: dict[str, Callable[..., Any]] = {
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "not": np.invert,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "reduce_and": lambda x, axes: x.all(axes),
    "reduce_or": lambda x, axes: x.any(axes),
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": lambda x, axes: x.transpose(axes),
    "convert_element_type": lambda x, dtype: x.astype(dtype),
    "concatenate": lambda *parts: np.concatenate(parts[:-1], parts[-1]),
    "stack": lambda *parts: np.stack(parts[:-1], parts[-1]),
    "broadcast": lambda x, own, shape: np.broadcast_to(x.reshape(own), shape),
    "slice": lambda x, cut: x[cut],
    "select": lambda which, a, b: np.where(which, b, a),
}


class HostChecks(NamedTuple):
    """What computes the checks.

    Attributes:
      known: Values that are known, the first in the table.
      takes: How many arguments there are, the next.
      steps: (name, places in the table, what else the function is given) of each further value.
      result: The place of what says whether each check holds.
    """

    known: list[np.ndarray[Any, Any]]
    takes: int
    steps: list[tuple[str, tuple[int, ...], tuple[Any, ...]]]
    result: int

    def run(self, arguments: Sequence[Any]) -> np.ndarray[Any, Any]:
        """Returns whether each check holds.

        Args:
          arguments: As many values as it takes.
        """
        table = [*self.known, *[a if type(a) is np.ndarray else np.asarray(a) for a in arguments]]
        with np.errstate(all="ignore"):
            for name, places, more in self.steps:
                table.append(_PLAIN[name](*[table[i] for i in places], *more))
        return np.asarray(table[self.result])


def on_host(closed: Any) -> HostChecks | None:
    """Returns what computes a traced function in NumPy, None if that is not worth it, or more than comparisons.

    Args:
      closed: A ClosedJaxpr of one result.
    """
    maker = _Maker(len(closed.jaxpr.invars))
    try:
        result = maker.inline(closed, [("argument", i) for i in range(maker.takes)])[0]
    except _TooMuch:
        return None
    return maker.made(result)


class _TooMuch(Exception):
    pass


class _Maker:
    """Writes the steps down, each of them once."""

    def __init__(self, takes: int):
        self.takes = takes
        self._known: list[np.ndarray[Any, Any]] = []
        self._steps: dict[Any, int] = {}
        self._more: list[tuple[Any, ...]] = []
        self._elements = 0

    def constant(self, value: Any) -> tuple[str, int]:
        array = np.asarray(value)
        self._small(array.dtype, array.size)
        for i, v in enumerate(self._known):
            if v.dtype == array.dtype and np.array_equal(v, array):
                return "known", i
        self._known.append(array)
        return "known", len(self._known) - 1

    def inline(self, closed: Any, arguments: Sequence[Any]) -> list[Any]:
        jaxpr = closed.jaxpr
        places = dict(zip(jaxpr.invars, arguments, strict=True))
        constants = dict(zip(jaxpr.constvars, closed.consts, strict=True))

        def place(v: Any) -> Any:
            if hasattr(v, "val"):
                return self.constant(np.asarray(v.val, v.aval.dtype))
            if v in constants:  # there may be large ones that nothing asks for
                places[v] = self.constant(constants.pop(v))
            return places[v]

        for eqn in jaxpr.eqns:
            ins = [place(v) for v in eqn.invars]
            inner = eqn.params.get("jaxpr")
            if eqn.primitive.name in ("jit", "pjit") and inner is not None:
                found = self.inline(inner, ins)
            else:
                found = [self._step(eqn, ins)]
            places.update(zip(eqn.outvars, found, strict=True))
        return [place(v) for v in jaxpr.outvars]

    def _small(self, dtype: Any, size: int) -> None:
        self._elements += size
        if dtype.kind not in "biu" or self._elements > _MOST_ELEMENTS:
            raise _TooMuch

    def _step(self, eqn: Any, ins: list[Any]) -> tuple[str, int]:
        out = eqn.outvars[0].aval
        for v in eqn.invars:
            if v.aval.dtype.kind not in "biu":
                raise _TooMuch
        name, more = _described(eqn.primitive.name, eqn.params, eqn.invars[0].aval, tuple(out.shape))
        key = name, tuple(ins), repr(more), out.dtype
        at = self._steps.get(key)
        if at is None:
            self._small(out.dtype, out.size)
            if len(self._steps) >= _MOST_STEPS:
                raise _TooMuch
            at = self._steps[key] = len(self._steps)
            self._more.append(more)
        return "step", at

    def made(self, result: Any) -> HostChecks:
        start = {"known": 0, "argument": len(self._known), "step": len(self._known) + self.takes}

        def at(place: tuple[str, int]) -> int:
            return start[place[0]] + place[1]

        steps = [
            (name, tuple([at(p) for p in ins]), self._more[i]) for (name, ins, _, _), i in self._steps.items()
        ]
        return HostChecks(self._known, self.takes, steps, at(result))


def _described(
    name: str, params: dict[str, Any], first: Any, shape: tuple[int, ...]
) -> tuple[str, tuple[Any, ...]]:
    """Returns the name of a function in the table for a primitive, and what it is given besides its operands."""
    if name in ("reduce_and", "reduce_or"):
        return name, (tuple(params["axes"]),)
    if name in ("reshape", "squeeze", "expand_dims"):
        if params.get("dimensions") is not None and name == "reshape":
            raise _TooMuch
        return "reshape", (shape,)
    if name == "transpose":
        return name, (tuple(params["permutation"]),)
    if name == "convert_element_type":
        return name, (np.dtype(params["new_dtype"]),)
    if name == "concatenate":
        return name, (params["dimension"],)
    if name == "stack":
        return name, (params["axis"],)
    if name == "broadcast_in_dim":
        own = [1] * len(shape)
        for i, axis in enumerate(params["broadcast_dimensions"]):
            own[axis] = first.shape[i]
        return "broadcast", (tuple(own), shape)
    if name == "slice":
        steps = params["strides"] or (1,) * len(params["start_indices"])
        edges = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
        return name, (tuple(slice(a, b, c) for a, b, c in edges),)
    if name == "select_n":
        if first.dtype.kind != "b":
            raise _TooMuch
        return "select", ()
    if name not in _PLAIN:
        raise _TooMuch
    return name, ()
