"""Runs in parts: `partial_run_setup` and `partial_run`."""

from __future__ import annotations

from typing import Any

from headrace import errors
from headrace.graph import Operation, Tensor
from headrace.runtime.plan import Plan
from headrace.runtime.state import SessionState
from headrace.session.fetches import Fetches


class PartialRun:
    """A run whose feeds and fetches come a few at a time; every node runs at most once.

    Args:
      state: The session's state.
      fetches: All that may be fetched.
      feeds: All that may be fed.
    """

    def __init__(self, state: SessionState, fetches: Fetches, feeds: list[Tensor]):
        self._state = state
        self._fetches = set(fetches.tensors)
        self._targets = set(fetches.targets)
        self._feeds = set(feeds)
        self._used: set[Any] = set()  # what was announced and has had its turn
        self._values: dict[Tensor, Any] = {}
        self._ran: set[Operation] = set()

    @property
    def done(self) -> bool:
        """Whether everything announced was fetched."""
        return not self._fetches and not self._targets

    def proceed(self, fetches: Fetches, pairs: list[tuple[Tensor, Any]]) -> list[Any]:
        """Runs one part and returns the values of its tensors.

        Raises:
          InvalidArgumentError: A feed or fetch was not announced or is used a second time, or a feed is missing.
        """
        for t, v in pairs:
            if t not in self._feeds:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"The feed {t.name} {self._why_not(t, 'fed')}",
                )
            self._feeds.discard(t)
            self._used.add(t)
            self._values[t] = v
        announced: list[Any] = [*fetches.tensors, *fetches.targets]
        for element in announced:
            if element not in self._fetches and element not in self._targets:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"The fetch {element.name} {self._why_not(element, 'fetched')}",
                )
        plan = _Part(self._state, fetches.tensors, fetches.targets, self._values, self._ran)
        missing = [t for t in self._feeds if t._op in set(plan.ops)]
        if missing:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Fetch {missing[0].name} can't be computed from the feeds that have been fed so far.",
            )
        values = plan.run_part()
        self._used.update(announced)
        self._fetches -= set(fetches.tensors)
        self._targets -= set(fetches.targets)
        return values

    def _why_not(self, element: Any, verb: str) -> str:
        return (
            f"has already been {verb}."
            if element in self._used
            else "was not specified in partial_run_setup."
        )


class _Part(Plan):
    """A plan that keeps what it computed for the parts that follow."""

    as_written = True  # parts agree on nodes

    def __init__(
        self,
        state: SessionState,
        fetches: list[Tensor],
        targets: list[Operation],
        values: dict[Tensor, Any],
        ran: set[Operation],
    ):
        self._known = values
        self._ran = ran
        super().__init__(state, fetches, [op for op in targets if op not in ran], list(values), "interpret")
        self.ops = [op for op in self.ops if op not in ran]
        self._rest = [op for op in self._rest if op not in ran]

    def run_part(self) -> list[Any]:
        """Runs the nodes that no earlier part ran."""
        table: list[Any] = []
        original = self._execute

        def execute(instructions: Any, values: list[Any], step: Any, later: Any = None) -> bool:
            more = original(instructions, values, step, later)
            table.extend(values)
            return more

        self._execute = execute  # type: ignore[method-assign]
        result = self.run([self._known[t] for t in self.feeds])
        for op in self.ops:
            self._ran.add(op)
            for t in op._outputs:
                self._known.setdefault(t, table[self._slots[t]])
        for t, stand_in in self._stand_ins.items():
            self._known.setdefault(t, table[self._slots[stand_in]])
        return result
