"""tf.Module: an object that has a name and finds the variables in its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from headrace.export import NAMES, export
from headrace.graph import name_scope as open_scope
from headrace.variables.base import Variable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@export("Module")
class Module:
    """An object with a name, whose variables and parts are those in its attributes.

    Attributes may be variables, modules, layers, and lists, tuples and dictionaries of these.

    Args:
      name: A valid Python identifier; by default the class's name in lower case with underscores.

    Raises:
      ValueError: The name is no identifier, or no scope may be called so.
    """

    # Attributes that are not searched; a subclass may add to them.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        ("_self_unconditional_checkpoint_dependencies", "_self_unconditional_dependency_names")
    )

    def __init__(self, name: str | None = None):
        if name is None:
            name = _snake_case(type(self).__name__)
        if not _IDENTIFIER.fullmatch(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid "
                "class name)."
            )
        self._name = name
        with open_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The module's name."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """The scope that was taken when the module was made, to be entered with `with`."""
        return open_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables in this module and in the modules inside it, each once."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The variables that optimizers train, of this module and of those inside it."""
        return tuple(self._flatten(predicate=lambda value: _is_variable(value) and value.trainable))

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules inside this one, those inside them included."""
        return tuple(self._flatten(predicate=_is_module))

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a method that runs inside the module's name scope; a decorator."""

        @functools.wraps(method)
        def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """Yields what is in the attributes, and then what is in the modules found there.

        Args:
          recursive: Whether to look into the modules.
          predicate: Which values to yield, all by default.
          attribute_traversal_key: A sort key for the attributes' names.
          with_path: Whether to yield pairs of a path (names, keys and indices) and a value.
        """
        seen = {id(self)}
        waiting: list[tuple[tuple[Any, ...], Any]] = [((), self)]
        while waiting:
            path, module = waiting.pop(0)
            for where, value in _inside(module, attribute_traversal_key):
                if id(value) in seen:
                    continue
                seen.add(id(value))
                if predicate is None or predicate(value):
                    yield ((*path, *where), value) if with_path else value
                if recursive and _is_module(value):
                    waiting.append(((*path, *where), value))


def _snake_case(name: str) -> str:
    parts = []
    for i, c in enumerate(name):
        before, after = name[i - 1 : i], name[i + 1 : i + 2]
        starts_word = c.isupper() and i and (before.islower() or before.isdigit() or after.islower())
        parts.append("_" + c if starts_word else c)
    return "".join(parts).lower()


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def _is_module(value: Any) -> bool:
    return isinstance(value, (Module, NAMES["layers.Layer"]))


def _inside(module: Any, key: Callable[[str], Any] | None) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if not isinstance(module, Module):
        # A layer knows its variables in the order in which TensorFlow lists them.
        yield from (((variable.name,), variable) for variable in module.variables)
        return
    for name in sorted(vars(module), key=key):
        if name not in module._TF_MODULE_IGNORED_PROPERTIES:
            yield from _leaves((name,), vars(module)[name])


def _leaves(path: tuple[Any, ...], value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        try:
            keys = sorted(value)
        except TypeError:
            keys = list(value)
        for key in keys:
            yield from _leaves((*path, key), value[key])
    elif isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            yield from _leaves((*path, i), each)
    else:
        yield path, value
