"""What a session keeps between steps, shared by all its plans."""

from __future__ import annotations

import threading
from typing import Any

from headrace.graph import Operation
from headrace.passes.targets import origin
from headrace.resources.manager import ResourceManager
from headrace.resources.random import RandomState
from headrace.resources.waiting import Closing
from headrace.runtime.policies import Policies


class SessionState:
    """Resources, random streams and per-node objects of one session.

    `lock` is held while variables are gathered for a compiled step and its results put back, so that steps of
    several threads never see each other's half-finished writes. `closing` tells those who wait that the session closes.
    """

    def __init__(self, resources: ResourceManager | None = None, policies: Policies | None = None) -> None:
        self.resources = resources or ResourceManager()
        self.policies = policies or Policies()
        self.cache = self.policies.store  # where compiled programs are kept, None for nowhere
        self.lock = threading.RLock()
        self.closing = Closing()
        self._streams: dict[Operation, RandomState] = {}
        self._objects: dict[Operation, Any] = {}
        self.rooms: set[int] = set()  # for how many iterations programs of loops were made
        self.function_plans: dict[Any, Any] = {}  # function -> its plan and the structure it was made for

    def stream(self, op: Operation) -> RandomState:
        """Returns the random stream of a node, started by its seeds the first time."""
        op = origin(op)
        found = self._streams.get(op)
        if found is None:
            with self.lock:
                found = self._streams.setdefault(
                    op, RandomState(op.attrs.get("seed", 0), op.attrs.get("seed2", 0))
                )
        return found

    def node_object(self, op: Operation, make: Any) -> Any:
        """Returns an object that belongs to a node for the session's life, made the first time."""
        op = origin(op)
        found = self._objects.get(op)
        if found is None:
            with self.lock:
                found = self._objects.get(op)
                if found is None:
                    found = self._objects[op] = make()
        return found
