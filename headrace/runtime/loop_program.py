"""Loops that the host runs, as programs of their own: one for any number of iterations up to a bound.

Where a plan meets other lengths at each step (sentences, say) compiling it for each of them never pays. Its loops are
where the time goes, and what they need to know of a length is how much room their lists take. So a loop gets a
program whose lists have room for a round number of elements and whose number of iterations is one of its operands;
everything around it stays interpreted.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from headrace import errors, shapes
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import function_named
from headrace.resources.stacked_list import StackedList
from headrace.resources.tensor_list import TensorList
from headrace.runtime.cluster import Cluster
from headrace.runtime.context import Step
from headrace.runtime.trace import can_lower
from headrace.runtime.trip_count import strip, trip_count

# What is left of a loop that has begun is worth a program of its own if it takes longer than this.
_WORTH_COMPILING_S = 1.0
_LEAST_ROOM = 16
# Room for so many elements, or for so many bytes a list, is to be had for nothing.
_MOST_FREE_ROOM = 256
_FREE_BYTES = 1 << 20
# Beyond so many programs even other room has to prove that it is worth one.
_MOST_PROGRAMS = 12
_WASTE = 4  # times the room that is needed
_MOST_FAILURES = 3
_SMALL = 8  # elements; a shape that a loop leaves for its gradient has no more


class LoopProgram(Cluster):
    """A loop's programs.

    Attributes:
      spent_s: For how many seconds the loop has been interpreted, in all steps.
      longest: The most iterations that were interpreted in a step.
      room: The most iterations, and elements of lists, that the program asked for is to have room for.
    """

    def __init__(self, op: Operation):
        # Several loop variables may start with one tensor, so each has an input of its own.
        inputs = tuple(Tensor(t._op, t.value_index, t._dtype.base_dtype, t._dims) for t in op._inputs)
        super().__init__([op], list(inputs), list(op._outputs), frozenset(inputs), {op: inputs})
        self.op = op
        self.spent_s = 0.0
        self.longest = 0
        self.room = 0
        self._forms: set[Any] = set()  # shapes of operands, whatever room there is, that had a program
        self._failures = 0

    def signature(self, inputs: dict[Tensor, Any]) -> Any:
        return self.room, *super().signature(inputs)

    def facts(self) -> dict[Any, Any]:
        return {self.op: self.room, "room": self.room}

    def run_rest(
        self, step: Step, values: Sequence[Any], pace_s: float, known: bool = False
    ) -> list[Any] | None:
        """Runs what is left of the loop.

        Args:
          step: The step.
          values: The loop's variables.
          pace_s: How many seconds an iteration took so far; 0.0 if there was none.
          known: Whether it must be known for how many iterations the loop runs on.

        Returns:
          Values for the loop's outputs; None, and nothing has happened, if it can't be or does not pay.
        """
        if self._failures >= _MOST_FAILURES:
            return None
        body = function_named(self.op._graph, self.op.attrs["body"].name)
        test = function_named(self.op._graph, self.op.attrs["cond"].name)
        start = time.monotonic()
        with step.state.lock:
            most = trip_count(test, body, [_known(v) for v in values]).most
            if known and most is None:
                return None
            if pace_s and most is not None and most * pace_s < _WORTH_COMPILING_S:
                # The next step has a program for the whole loop; one for what is left, with lists that hold
                # something already, would be another.
                return None
            lists = [v for v in values if isinstance(v, (TensorList, StackedList))]
            self.room = _room(most, lists, step.state.rooms, self.longest)
            try:
                stacked = [
                    as_stacked(v, self.room, 0 if _only_shrinks(t) else most or 0)
                    if isinstance(v, (TensorList, StackedList))
                    else v
                    for v, t in zip(values, body.outputs, strict=True)
                ]
                inputs = dict(zip(self.inputs, stacked, strict=True))
                key = self.signature(inputs)
                # Other room is had at once; other shapes may be others at each step.
                form = tuple([_form(v) for v in stacked])
                is_usual = form in self._forms and len(self._programs) < _MOST_PROGRAMS
                if not is_usual and not self.worth_compiling(key):
                    self.interpreted(key, self._compiling_s / 4)
                    return None
                found = self.run(step, inputs, key)
                self._forms.add(form)
                step.state.rooms.add(self.room)
            except (errors.DeadlineExceededError, errors.CancelledError):
                raise
            except Exception:  # whatever a lower rule stumbled over, the loop goes on as it did
                self._failures += 1
                self.spent_s += time.monotonic() - start
                return None
        return [_measured(found[t], v) for t, v in zip(self.outputs, values, strict=True)]


def _room(
    most: int | None, lists: Sequence[TensorList | StackedList], had: Collection[int], longest: int
) -> int:
    """Returns a bound for iterations and lengths; 0 if it isn't known how long the loop runs.

    Args:
      most: The most iterations.
      lists: The loop's lists.
      had: What there is room for in programs of this session's loops. A loop and that of its gradient, which meet the
        same lists, take the same: otherwise the lists would be copied from one to the other.
      longest: The most iterations in other steps.
    """
    if most is None:
        return 0
    if not lists:
        return 1 << max(23, (most - 1).bit_length())
    needed = max(most, *(int(v.size) for v in lists), 1)
    enough = [room for room in had if needed <= room <= max(_WASTE * needed, _MOST_FREE_ROOM)]
    if enough:
        return min(enough)
    # Half as much again as is needed now, so that few lengths ask for more: making a program takes a second, but room
    # that is not used is cleared in each step.
    free = _FREE_BYTES // max(1, *(_element_bytes(v) for v in lists))
    return max(
        min(_MOST_FREE_ROOM, _rounded(free)),
        _LEAST_ROOM,
        _rounded(max(needed + needed // 2, min(longest, _WASTE * needed))),
    )


def program_of(step: Step, op: Operation) -> LoopProgram | None:
    """Returns a loop's programs in a session, None if it can't have any."""
    return step.state.node_object(op, lambda: LoopProgram(op)) if can_lower(op) else None


def _element_bytes(value: TensorList | StackedList) -> int:
    """Returns how much memory an element of a list takes, as far as it is known."""
    if isinstance(value, StackedList):
        return 0 if value.rows is None or not len(value.rows) else value.rows.nbytes // len(value.rows)
    first = value.get(0) if value.size else None
    return 0 if first is None else int(getattr(first, "nbytes", 0))


def _rounded(n: int) -> int:
    """Returns the least power of two, or three quarters of one, that is not less."""
    power = 1 << max(0, n - 1).bit_length()
    return power * 3 // 4 if n <= power * 3 // 4 else power


def _known(value: Any) -> Any:
    """Returns a loop variable as an array where it is small enough to count with."""
    return np.asarray(value) if getattr(value, "shape", None) == () and hasattr(value, "dtype") else value


def _only_shrinks(after: Tensor) -> bool:
    """Whether a list among a loop's variables is handed on as it is, or without its last element."""
    op = strip(after)._op
    return op.type in ("Placeholder", "TensorListPopBack", "TensorListSetItem")


def _form(value: Any) -> Any:
    """Returns what a program depends on but for the room in lists."""
    if isinstance(value, StackedList):
        kind = None if value.rows is None else (value.rows.shape[1:], value.blank is None)
        size = value.size if value.has_known_size else None
        return kind, size, value.element_shape, value.is_set is None, value.constant is None, value.most
    return getattr(value, "shape", None)


def as_stacked(value: TensorList | StackedList, room: int, pushes: int) -> StackedList:
    """Returns a list as a compiled loop takes it: with room for a number of elements, its length an operand.

    Args:
      value: The list.
      room: How many elements there is to be room for.
      pushes: How many elements the loop may add.

    Raises:
      NotImplementedError: Its elements have several shapes, or there are more than there is to be room for.
    """
    n = int(value.size)
    if n > room:
        raise NotImplementedError(f"a list of {n} elements where there is room for {room}")
    if 0 <= value.most < n + pushes:
        raise NotImplementedError("a list that may become full")
    if isinstance(value, TensorList):
        if value.log is not None and value.log.is_needed:
            raise NotImplementedError("an array whose elements may be read or written twice")
        value = _from_host(value)
    if value.blank is not None:
        value = value.like(value.host_rows(), n, value.is_set)
    value = value.like(value.rows, value.size, value.is_set)
    value.most = -1  # it can't become full; how much it would take differs from length to length
    if not n:
        return value
    # By NumPy: each length would have JAX compile a program to make room.
    buffer = None if value.rows is None else _padded(value.rows, room)
    is_set = None if value.is_set is None else _padded(value.is_set, room)
    return value.like(buffer, np.asarray(n, np.int32), is_set, True)


def _padded(rows: Any, room: int) -> Any:
    if rows.shape[0] >= room:
        return rows
    out = np.zeros((room, *rows.shape[1:]), rows.dtype)
    out[: rows.shape[0]] = np.asarray(rows)
    return out


def _from_host(value: TensorList) -> StackedList:
    items = value.items
    full = shapes.is_full(value.element_shape)
    given = [v for v in items if v is not None]
    most = value.most
    if not given:
        is_set = None if full or not items else np.zeros(len(items), bool)
        rows = None
        if full and items:
            dims = [d or 0 for d in value.element_shape or ()]
            rows = np.zeros((len(items), *dims), value.element_dtype.storage)
        return StackedList(value.element_dtype, rows, len(items), is_set, value.element_shape, most=most)
    first = given[0]
    if any(v.shape != first.shape for v in given):
        raise NotImplementedError("elements of several shapes")
    if (
        len(given) == len(items)
        and type(first) is np.ndarray
        and first.dtype.kind == "i"
        and first.ndim < 2
        and first.size <= _SMALL
        and all(np.array_equal(v, first) for v in given)
    ):
        empty = StackedList(value.element_dtype, None, 0, None, value.element_shape, most=most)
        return empty.of_constant(first, len(items))
    zero = np.zeros(first.shape, first.dtype)
    rows = np.stack([zero if v is None else np.asarray(v) for v in items])
    is_set = None
    if len(given) < len(items) and not full:
        is_set = np.asarray([v is not None for v in items])
    return StackedList(value.element_dtype, rows, len(items), is_set, value.element_shape, most=most)


def _measured(value: Any, before: Any) -> Any:
    """Returns a list that came out of a loop with its length as a number, and free to grow as it was before."""
    if isinstance(value, StackedList):
        value = value.like(value.rows, int(value.size), value.is_set, False, value.blank)
        value.most = before.most
    return value
