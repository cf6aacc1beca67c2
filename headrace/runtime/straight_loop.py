"""Loops over a few numbers, interpreted with nothing between the nodes' rules.

A loop that counts is over sooner than a program for it is made, if an iteration costs no more than its nodes' rules: no
plan is looked up, nothing is checked that can't be otherwise in another iteration, and NumPy's warnings are off once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.graph import Tensor

_MOST_NODES = 64


class StraightLoop:
    """A loop whose condition and body are rules for numbers that are called one after the other.

    The calls are written down as a Python function, whose variables are the values: a loop over a list of calls takes
    as long again as the rules themselves.

    Args:
      test: The plan of its condition.
      work: That of its body.
    """

    def __init__(self, test: Any, work: Any):
        names: dict[str, Any] = {"array": np.ndarray, "as_array": np.asarray, "nothing": NotImplemented}
        given = [f"a{i}" for i in range(len(work.fetches))]
        condition = _written(test, "t", given, names)
        body = _written(work, "w", given, names)
        holds, after = condition.pop(), body.pop()
        lines = [
            "def run(values, most):",
            f"    {', '.join(given)}, = values",
            "    done = 0",
            "    try:",
            "        while done < most:",
            *("            " + line for line in condition),
            f"            if not {holds}:",
            f"                return [{', '.join(given)}], done, True",
            *("            " + line for line in body),
            f"            {', '.join(given)}, = {after}",
            "            done += 1",
            "    except Exception:",  # the interpreter comes to it, too, and words it
            "        pass",
            f"    return [{', '.join(given)}], done, False",
        ]
        exec("\n".join(lines), names)  # made of numbers and the words above
        self._run = names["run"]

    def run(self, values: list[Any], most: int) -> tuple[list[Any], int, bool]:
        """Runs some iterations.

        Args:
          values: The loop's variables, arrays of one number each.
          most: How many iterations there are to be at most.

        Returns:
          The variables after as many iterations as went well, how many those are, and whether the loop is over. Where
          a rule has refused something it is not, and nothing of that iteration has happened.
        """
        with np.errstate(all="ignore"):
            return self._run(values, most)  # type: ignore[no-any-return]


def _written(plan: Any, prefix: str, given: list[str], names: dict[str, Any]) -> list[str]:
    """Returns a function's calls as lines of Python, and its results as the last one.

    Args:
      plan: The function's plan.
      prefix: What the names of its values begin with.
      given: The names of its arguments.
      names: Takes what the lines mean by their names.
    """
    of_slot: dict[int, str] = dict(zip(plan._feed_slots, given, strict=True))

    def name(slot: int) -> str:
        if slot not in of_slot:  # a constant
            of_slot[slot] = f"{prefix}c{slot}"
            names[of_slot[slot]] = plan._fixed[slot]
        return of_slot[slot]

    lines = []
    for i, ins in enumerate(plan._prepare(plan._rest)):
        names[f"{prefix}f{i}"], keywords = ins.kernel.bare()
        operands = [name(slot) for slot in ins.inputs]
        for key, value in keywords.items():
            names[f"{prefix}k{i}{key}"] = value
            operands.append(f"{key}={prefix}k{i}{key}")
        v = of_slot[ins.outputs[0]] = f"{prefix}v{ins.outputs[0]}"
        lines += [
            f"{v} = {prefix}f{i}({', '.join(operands)})",
            f"if type({v}) is not array:",
            f"    if {v} is nothing: raise TypeError",
            f"    {v} = as_array({v})",
        ]
    results = ", ".join(name(slot) for slot in plan._fetch_slots)
    return [*lines, results if prefix == "t" else f"{results},"]


def straight_loop(test: Any, work: Any, values: Sequence[Any]) -> StraightLoop | None:
    """Returns a loop over numbers, None if it is another kind of loop.

    Args:
      test: The plan of its condition.
      work: That of its body.
      values: Its variables.
    """
    if not values:
        return None
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
