"""The dictionary of public names: what `tf.nn.softmax` and the like stand for.

An implementation module says which public names its objects have; `headrace.namespace` makes modules of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

_pending: list[Callable[[], None]] = []
_lock = threading.RLock()


def load_later(loaders: list[Callable[[], None]]) -> None:
    """Says what is imported once somebody asks for a name or an op that is not there, one after the other."""
    _pending.extend(loaders)


def load_more() -> bool:
    """Imports the next part that is still missing; returns False if there is none."""
    # Another thread that asks meanwhile waits, since what it asks for may be on its way.
    with _lock:
        if not _pending:
            return False
        load = _pending.pop(0)
        try:
            load()
        except BaseException:
            _pending.insert(0, load)
            raise
        return True


def load_all() -> None:
    """Imports all parts that are still missing."""
    while load_more():
        pass


class LateDict(dict[str, Any]):
    """A dictionary that imports what is missing when a key is not there (`d[key]`), or all of it when it is listed.

    `in` and `get` only look at what is there already.
    """

    def __missing__(self, key: str) -> Any:
        while load_more():
            if dict.__contains__(self, key):
                return dict.__getitem__(self, key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        load_all()
        return super().__iter__()

    def __len__(self) -> int:
        load_all()
        return super().__len__()

    def keys(self) -> Any:
        load_all()
        return super().keys()

    def values(self) -> Any:
        load_all()
        return super().values()

    def items(self) -> Any:
        load_all()
        return super().items()

    def find(self, key: str) -> Any:
        """Returns the value of a key, None if there is none even when all is there."""
        try:
            return self[key]
        except KeyError:
            return None


NAMES = LateDict()
"""Every public name without its leading "tf.", and the object it stands for."""

NAMESPACES: set[str] = {""}
"""Every public module: the proper prefixes of the names above, and "" for `tf` itself."""


COMPUTED: dict[str, Mapping[str, Any]] = {}
"""Public modules whose members are made when asked for, and are not among the names above."""


public_form: Callable[[tuple[str, ...], Any], Any] = lambda names, value: value  # noqa: E731
"""Makes of a function what its public names stand for; `headrace.opdef.dispatch` has its own."""


def export_value(name: str, value: Any) -> None:
    """Gives a value (a constant, a dtype, a module) a public name.

    Args:
      name: The dotted public name without the leading "tf.".
      value: What the name stands for.

    Raises:
      ValueError: The name already stands for something else.
    """
    value = public_form((name,), value)
    if name in NAMES and NAMES[name] is not value:
        raise ValueError(f"tf.{name} is exported twice: as {NAMES[name]!r} and as {value!r}")
    NAMES[name] = value
    parent = name.rpartition(".")[0]
    while parent not in NAMESPACES:
        NAMESPACES.add(parent)
        parent = parent.rpartition(".")[0]


def export_computed(path: str, members: Mapping[str, Any]) -> None:
    """Makes a public module of a mapping, which is asked for each member once and listed only for `dir`."""
    COMPUTED[path] = members
    NAMESPACES.add(path)


def export(*names: str) -> Callable[[T], T]:
    """Returns a decorator that gives a function or class its public names and leaves it as it is."""

    def decorate(value: T) -> T:
        made = public_form(names, value)
        for name in names:
            export_value(name, made)
        return value

    return decorate
