"""Traced steps written so that XLA computes long chains of cheap operations once.

XLA fuses a cheap operation into each of those that take its result, and what that is made of along with it. Where a
value goes on from stage to stage and is taken at each, as the state of an unrolled recurrent net, the sum along
residual blocks or the gradient of either, every stage then computes the whole chain before it anew: the time of a
step and that of compiling it grow with the square of the number of stages. Such a value is computed by a function
that XLA is told to leave alone, so that it is kept and read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.lazy import jax, jax_core

# What XLA computes anew rather than keep, by the names of JAX's primitives.
_CHEAP = frozenset(
    "abs add add_any and broadcast_in_dim ceil clamp concatenate convert_element_type copy eq expand_dims floor ge gt"
    " integer_pow iota is_finite jit le lt max min mul ne neg not or pad pjit reduce_precision reshape rev round"
    " select_n sign slice square squeeze sub transpose xor".split()
)
# What it takes cheap operations into, beside those.
_TAKES = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh digamma div dynamic_slice erf erf_inv erfc exp exp2 expm1"
    " gather lgamma log log1p logistic pow reduce_max reduce_min reduce_prod reduce_sum rem rsqrt sin sinh sqrt tan"
    " tanh".split()
)
# A value made of more others than this is kept: reading it costs less than reading them again.
_MOST_OPERANDS = 4
# More than so many are not told apart, which keeps the search linear.
_MOST_COUNTED = 32
# Smaller values are computed again in less time than a call takes.
_LEAST_ELEMENTS = 256


def computed_once(closed: Any) -> Callable[..., Sequence[Any]]:
    """Returns a function of the arguments of a traced step that computes its results.

    Args:
      closed: The step, a ClosedJaxpr.
    """
    step = _Step(closed)
    return step.run if step.groups else jax_core.jaxpr_as_fun(closed)


class _Step:
    """A traced step whose nodes are gathered in groups where their last one's value is to be kept.

    Attributes:
      groups: The equations of each group, in order, by the last.
    """

    def __init__(self, closed: Any):
        self._closed = closed
        self._eqns = closed.jaxpr.eqns
        self._makers = {v: i for i, eqn in enumerate(self._eqns) for v in eqn.outvars}
        self._uses: dict[Any, list[int]] = {}
        for i, eqn in enumerate(self._eqns):
            for v in eqn.invars:
                if type(v) is not jax_core.Literal:
                    self._uses.setdefault(v, []).append(i)
        for v in closed.jaxpr.outvars:
            if type(v) is not jax_core.Literal:
                self._uses.setdefault(v, []).append(-1)
        self.groups: dict[int, list[int]] = {}
        self._grouped: set[int] = set()
        self._find()

    def _find(self) -> None:
        made_of: dict[Any, frozenset[Any]] = {}  # a cheap value -> the kept ones that it is computed from
        for i, eqn in enumerate(self._eqns):
            if not self._is_cheap(eqn):
                continue
            v = eqn.outvars[0]
            sources: set[Any] = set()
            for x in eqn.invars:
                if type(x) is not jax_core.Literal:
                    sources |= made_of.get(x, {x})
            # Small ones are read again at no cost worth counting.
            sources = {x for x in sources if 8 * x.aval.size >= v.aval.size}
            if len(sources) > _MOST_COUNTED:
                sources = set(itertools.islice(sources, _MOST_COUNTED))
            uses = self._uses.get(v, ())
            if (
                len(sources) > _MOST_OPERANDS
                and v.aval.size >= _LEAST_ELEMENTS
                and len(set(uses)) > 1
                and any(u >= 0 and self._takes(self._eqns[u]) for u in uses)
            ):
                self._gather(i, made_of)
            else:
                made_of[v] = frozenset(sources)

    @staticmethod
    def _is_cheap(eqn: Any) -> bool:
        name = eqn.primitive.name
        if name.startswith("reduce_") and name in _TAKES:
            # As in the gradient of what might have been broadcast, and was not.
            return bool(eqn.invars[0].aval.size == eqn.outvars[0].aval.size)
        if name not in _CHEAP or len(eqn.outvars) != 1 or eqn.effects:
            return False
        if name in ("jit", "pjit"):
            return all(map(_Step._is_cheap, eqn.params["jaxpr"].jaxpr.eqns))
        return True

    @staticmethod
    def _takes(eqn: Any) -> bool:
        return eqn.primitive.name in _TAKES or _Step._is_cheap(eqn)

    def _gather(self, last: int, made_of: dict[Any, frozenset[Any]]) -> None:
        """Makes a group of an equation, of those that only it needs, and of what is cheaply made of small values."""
        members, copies = {last}, set()
        waiting = [last]
        while waiting:
            user = waiting.pop()
            for v in self._eqns[user].invars:
                maker = None if type(v) is jax_core.Literal else self._makers.get(v)
                if maker is None or maker in members or maker in copies or maker in self._grouped:
                    continue
                # What a copy needs, the original needs, too.
                if len(self._uses[v]) == 1 and user in members and self._takes(self._eqns[maker]):
                    members.add(maker)
                elif v in made_of and not made_of[v]:
                    copies.add(maker)
                else:
                    continue
                waiting.append(maker)
        for copy in copies:
            for v in self._eqns[copy].invars:
                if type(v) is not jax_core.Literal:
                    self._uses.setdefault(v, []).append(last)
        self._grouped |= members
        self.groups[last] = sorted(members | copies)

    def run(self, *arguments: Any) -> list[Any]:
        jaxpr = self._closed.jaxpr
        env = dict(zip(jaxpr.constvars, self._closed.consts, strict=True))
        env.update(zip(jaxpr.invars, arguments, strict=True))
        for part, is_kept in self._parts():
            function = jax_core.jaxpr_as_fun(jax_core.ClosedJaxpr(part, ()))
            given = [env[v] for v in part.invars]
            if is_kept:
                with _left_alone():
                    made = jax.jit(_inlined(function))(*given)
            else:
                made = function(*given)
            env.update(zip(part.outvars, made, strict=True))
        return [v.val if type(v) is jax_core.Literal else env[v] for v in jaxpr.outvars]

    def _parts(self) -> Iterator[tuple[Any, bool]]:
        """Yields the groups, and what stands between them, in order."""
        between: list[int] = []
        for i in range(len(self._eqns)):
            if i in self.groups:
                if between:
                    yield self._part(between), False
                between = []
                yield self._part(self.groups[i]), True
            elif i not in self._grouped:
                between.append(i)
        if between:
            yield self._part(between), False

    def _part(self, members: list[int]) -> Any:
        inside = set(members)
        made = {v: None for i in members for v in self._eqns[i].outvars}
        given = dict.fromkeys(
            v
            for i in members
            for v in self._eqns[i].invars
            if type(v) is not jax_core.Literal and v not in made
        )
        if members[-1] in self.groups:
            needed = self._eqns[members[-1]].outvars
        else:
            needed = [v for v in made if any(u not in inside for u in self._uses.get(v, ()))]
        eqns = [self._eqns[i] for i in members]
        return self._closed.jaxpr.replace(constvars=[], invars=list(given), outvars=needed, eqns=eqns)


def _left_alone() -> Any:
    from jax.experimental.xla_metadata import set_xla_metadata

    return set_xla_metadata(inlineable="false")


def _inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose own calls are not left alone: XLA fuses what is in them."""
    from jax.experimental.xla_metadata import set_xla_metadata

    def kept(*arguments: Any) -> Any:
        with set_xla_metadata(inlineable=None):
            return function(*arguments)

    return kept
