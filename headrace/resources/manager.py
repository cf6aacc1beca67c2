"""The resources of a session, by container and name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from headrace import errors

T = TypeVar("T")


class ResourceManager:
    """Named objects that outlive a step: variables, queues, tables.

    A name may be used once for each class of resource, as in TensorFlow.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._items: dict[tuple[str, str, type], Any] = {}

    def lookup_or_create(self, container: str, name: str, cls: type[T], create: Callable[[], T]) -> T:
        """Returns the resource of that class and name, made by `create` the first time."""
        key = (container, name, cls)
        found = self._items.get(key)
        if found is None:
            with self._lock:
                found = self._items.get(key)
                if found is None:
                    found = self._items[key] = create()
        return found

    def lookup(self, container: str, name: str, cls: type[T]) -> T:
        """Returns the resource of that class and name.

        Raises:
          NotFoundError: There is none.
        """
        found = self._items.get((container, name, cls))
        if found is None:
            raise errors.NotFoundError(
                None, None, f"Resource {container or 'localhost'}/{name}/{cls.__name__} does not exist."
            )
        return found  # type: ignore[no-any-return]

    def delete(self, resource: Any) -> bool:
        """Forgets a resource; returns whether it was there."""
        with self._lock:
            for key, value in list(self._items.items()):
                if value is resource:
                    del self._items[key]
                    return True
        return False

    def clear(self, containers: Iterable[str] | None = None) -> None:
        """Forgets all resources, or those of some containers."""
        with self._lock:
            names = None if containers is None else set(containers)
            for key in list(self._items):
                if names is None or key[0] in names:
                    del self._items[key]
