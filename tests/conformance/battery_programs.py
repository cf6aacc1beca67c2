"""Runs the small programs among an op's cases."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import headrace as tf
from headrace import shapes
from tests.conformance import battery_values


class Steps:
    """The `step` that a program is called with: runs the graph built so far in one session.

    Args:
      session: The session.
      label: Which program it is, for messages.
    """

    def __init__(self, session: Any, label: str):
        self.session = session
        self.label = label
        self.count = 0

    def __call__(
        self,
        fetch: Any,
        *,
        gives: Any = None,
        fails: Any = None,
        match: str = "",
        feed: Any = None,
        tol: Any = None,
    ) -> Any:
        """Runs a tensor, an operation, or a list of those.

        Args:
          fetch: What to run.
          gives: What comes out; nested lists of numbers, or for a list of fetches a tuple of those.
          fails: The exception class, or a tuple of classes, that the run must raise.
          match: A regular expression that the message must match.
          feed: Values for placeholders.
          tol: The tolerance on `gives`, by default the dtype's.

        Returns:
          What came out; None where it failed as it should.
        """
        self.count += 1
        where = f"{self.label}, step {self.count}"
        if fails is not None:
            try:
                self.session.run(fetch, feed)
            except fails as error:
                message = str(error)
                assert re.search(match, message), f"{where}: the message is {message.splitlines()[0]!r}"
                return None
            raise AssertionError(f"{where} should have failed with {fails}")
        got = self.session.run(fetch, feed)
        for tensor, value in _pairs(fetch, got):
            assert shapes.compatible(tensor._dims, np.shape(value)), (
                f"{where}: {tensor.name} holds shape {list(np.shape(value))}, and its static shape is "
                f"{shapes.to_text(tensor._dims)}"
            )
        if gives is not None:
            values, wanted = [got], [gives]
            if isinstance(fetch, (list, tuple)):
                values = list(got)
                # A list output of one tensor may be given without the list.
                alone = len(values) == 1 and np.shape(gives) == np.shape(values[0])
                wanted = [gives] if alone else list(gives)
            assert len(values) == len(wanted), f"{where}: {len(wanted)} values are expected of {len(values)}"
            for value, want in zip(values, wanted, strict=True):
                wrong = "" if want is None else battery_values.difference(value, want, tol)
                assert not wrong, f"{where}: {wrong}"
        return got


def _pairs(fetch: Any, got: Any) -> Any:
    if isinstance(fetch, (list, tuple)):
        for f, g in zip(fetch, got, strict=True):
            yield from _pairs(f, g)
    elif isinstance(fetch, tf.Tensor) and fetch.dtype.base_dtype.name not in ("resource", "variant"):
        yield fetch, got


def run(program: Any, tier: str, label: str) -> set[str]:
    """Runs a program in a fresh graph and session on a tier; returns the types of the nodes it built."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        session._tier = tier
        program.function(Steps(session, f"{label} ({tier})"))
        return {op.type for op in graph.get_operations()}
