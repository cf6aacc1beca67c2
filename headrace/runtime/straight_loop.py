"""Loops over a few numbers, interpreted with nothing between the nodes' rules.

A loop that counts is over sooner than a program for it is made, if an iteration costs no more than its nodes' rules: no
plan is looked up, nothing is checked that can't be otherwise in another iteration, and NumPy's warnings are off once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.graph import Tensor

_MOST_NODES = 64


class StraightLoop:
    """A loop whose condition and body are rules for numbers that are called one after the other.

    Args:
      test: The plan of its condition.
      work: That of its body.
    """

    def __init__(self, test: Any, work: Any):
        self._test, self._work = _Code(test), _Code(work)

    def run(self, values: list[Any], most: int) -> tuple[list[Any], int, bool]:
        """Runs some iterations.

        Args:
          values: The loop's variables, arrays of one number each.
          most: How many iterations there are to be at most.

        Returns:
          The variables after as many iterations as went well, how many those are, and whether the loop is over. Where
          a rule has refused something it is not, and nothing of that iteration has happened.
        """
        test, work = self._test, self._work
        holds = test.results[0]
        done = 0
        try:
            with np.errstate(all="ignore"):
                while done < most:
                    if not holds(test.run(values)):
                        return values, done, True
                    table = work.run(values)
                    values = [take(table) for take in work.results]
                    done += 1
        except Exception:  # the interpreter comes to it, too, and words it
            pass
        return values, done, False


class _Code:
    """A function's rules.

    Attributes:
      results: What takes each result out of the table that `run` returns.
    """

    def __init__(self, plan: Any):
        instructions = plan._prepare(plan._rest)
        self._start = list(plan._fixed)
        self._first = plan._feed_slots
        self._calls: list[tuple[Callable[..., Any], dict[str, Any], list[int], int]] = [
            (*ins.kernel.bare(), ins.inputs, ins.outputs[0]) for ins in instructions
        ]
        self.results = [operator.itemgetter(slot) for slot in plan._fetch_slots]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Calls the rules; returns all values."""
        table = self._start.copy()
        for slot, v in zip(self._first, values):
            table[slot] = v
        for function, keywords, inputs, output in self._calls:
            if len(inputs) == 2:
                i, j = inputs
                v = function(table[i], table[j], **keywords) if keywords else function(table[i], table[j])
            else:
                v = function(*[table[i] for i in inputs], **keywords)
            if type(v) is not np.ndarray:
                if v is NotImplemented:
                    raise NotImplementedError
                v = np.asarray(v)
            table[output] = v
        return table


def straight_loop(test: Any, work: Any, values: Sequence[Any]) -> StraightLoop | None:
    """Returns a loop over numbers, None if it is another kind of loop.

    Args:
      test: The plan of its condition.
      work: That of its body.
      values: Its variables.
    """
    for v in values:
        if type(v) is not np.ndarray or v.shape or v.dtype == object:
            return None
    for plan in (test, work):
        if plan.watch is not None or plan._waiting or len(plan._rest) > _MOST_NODES:
            return None
        if not all(_is_number(t) for t in plan.fetches) or not all(_is_number(t) for t in plan.feeds):
            return None
        for op in plan._rest:
            if len(op._outputs) != 1 or not all(_is_number(t) for t in (*op._inputs, *op._outputs)):
                return None
    if not all(ins.kernel.is_bare for plan in (test, work) for ins in plan._prepare(plan._rest)):
        return None
    return StraightLoop(test, work)


def _is_number(t: Tensor) -> bool:
    return t._dims == () and not t._dtype.is_ref and not t._dtype.storage.hasobject
