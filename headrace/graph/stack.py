"""The default graph and the default session of each thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class DefaultStack(threading.local):
    """What `with x.as_default()` blocks have made the default in this thread, innermost last."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[Any] = []
        self.enforce_nesting = True

    def get(self) -> Any:
        return self.items[-1] if self.items else None

    @contextlib.contextmanager
    def entered(self, item: Any) -> Iterator[Any]:
        """Makes `item` the default inside a block.

        Raises:
          AssertionError: Blocks are left in another order than they were entered in.
        """
        self.items.append(item)
        try:
            yield item
        finally:
            if self.enforce_nesting:
                if self.items and self.items[-1] is not item:
                    raise AssertionError(f"Nesting violated for default stack of {type(item)} objects")
                if self.items:
                    self.items.pop()
            else:  # the innermost of the blocks for it
                last = next((i for i in reversed(range(len(self.items))) if self.items[i] is item), None)
                if last is not None:
                    del self.items[last]


class GraphStack(DefaultStack):
    """The default graphs; below them lies one graph that all threads share."""

    _shared: Any = None
    _shared_lock = threading.Lock()
    make_graph: Any = None  # set by headrace.graph: the class Graph

    def get(self) -> Any:
        return self.items[-1] if self.items else self.shared()

    def shared(self) -> Any:
        if GraphStack._shared is None:
            with GraphStack._shared_lock:
                if GraphStack._shared is None:
                    GraphStack._shared = GraphStack.make_graph()
        return GraphStack._shared

    def reset(self) -> None:
        GraphStack._shared = None
        self.items = []


graphs = GraphStack()
sessions = DefaultStack()
