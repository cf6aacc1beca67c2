"""Decorators of TensorFlow's inside that programs import: deprecations, export marks, wrappers."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from headrace.platform import tf_logging

contextmanager = contextlib.contextmanager

_PRINT_DEPRECATION_WARNINGS = True
_silent = 0
_told: set[Any] = set()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keeps deprecation warnings back within a `with` block."""
    global _silent
    _silent += 1
    try:
        yield
    finally:
        _silent -= 1


def _warn_once(key: Any, what: str, date: str | None, instructions: str) -> None:
    if _silent or key in _told or not _PRINT_DEPRECATION_WARNINGS:
        return
    _told.add(key)
    frame = sys._getframe(2)
    when = f"after {date}" if date else "in a future version"
    tf_logging.warning(
        "From %s:%d: %s is deprecated and will be removed %s.\nInstructions for updating:\n%s",
        frame.f_code.co_filename,
        frame.f_lineno,
        what,
        when,
        instructions,
    )


def _documented(function: Any, date: str | None, instructions: str) -> str:
    when = f"after {date}" if date else "in a future version"
    notice = f"Warning: THIS FUNCTION IS DEPRECATED. It will be removed {when}."
    notice += f"\nInstructions for updating:\n{instructions}"
    doc = inspect.getdoc(function)
    if not doc:
        return f"DEPRECATED FUNCTION\n\n{notice}"
    first, _, rest = doc.partition("\n")
    rest = rest.strip("\n")
    return f"{first} (deprecated)\n\n{notice}" + (f"\n\n{rest}" if rest else "")


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """Returns a decorator for functions that are to go: it warns at the first call and says so in the docstring."""

    def decorate(function: Any) -> Any:
        name = getattr(function, "__qualname__", getattr(function, "__name__", str(function)))

        @functools.wraps(function)
        def calling(*args: Any, **kwargs: Any) -> Any:
            key = function if warn_once else object()
            _warn_once(key, f"{name} (from {function.__module__})", date, instructions)
            return function(*args, **kwargs)

        calling.__doc__ = _documented(function, date, instructions)
        return calling

    return decorate


def deprecated_args(date: str | None, instructions: str, *names: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Returns a decorator that warns when one of some arguments is given, or a value other than one of a pair's."""
    harmless = {name[0]: name[1] for name in names if isinstance(name, tuple)}
    watched = [name[0] if isinstance(name, tuple) else name for name in names]

    def decorate(function: Any) -> Any:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def calling(*args: Any, **given: Any) -> Any:
            bound = signature.bind_partial(*args, **given).arguments
            for name in watched:
                if name in bound and not (name in harmless and bound[name] == harmless[name]):
                    what = f"calling {function.__name__} (from {function.__module__}) with {name}"
                    _warn_once((function, name), what, date, instructions)
            return function(*args, **given)

        return calling

    return decorate


def deprecated_arg_values(date: str | None, instructions: str, **values: Any) -> Callable[[Any], Any]:
    """Returns a decorator that warns when an argument has an outdated value."""

    def decorate(function: Any) -> Any:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def calling(*args: Any, **given: Any) -> Any:
            bound = signature.bind_partial(*args, **given).arguments
            for name, value in values.items():
                if name in bound and bound[name] == value:
                    what = f"calling {function.__name__} (from {function.__module__}) with {name}={value}"
                    _warn_once((function, name), what, date, instructions)
            return function(*args, **given)

        return calling

    return decorate


def deprecated_endpoints(*names: str) -> Callable[[Any], Any]:
    """Returns a decorator that does nothing; TensorFlow marks outdated public names with it."""
    return lambda function: function


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Returns the value that was given under the new or the old name of an argument.

    Raises:
      ValueError: Both were given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Makes a wrapper look like the function it wraps, and returns it."""
    wrapper = functools.update_wrapper(decorator_func, target)
    wrapper.__wrapped__ = target
    return wrapper


def unwrap(maybe_decorated: Any) -> tuple[list[Any], Any]:
    """Returns the wrappers around a function, the outermost first, and the function."""
    wrappers = []
    while hasattr(maybe_decorated, "__wrapped__"):
        wrappers.append(maybe_decorated)
        maybe_decorated = maybe_decorated.__wrapped__
    return wrappers, maybe_decorated


def tf_export(*names: str, **options: Any) -> Callable[[Any], Any]:
    """Returns a decorator that does nothing; TensorFlow marks its public names with it."""
    return lambda value: value


keras_export = estimator_export = tf_export


def make_all(module_name: str, doc_string_modules: Any = None) -> list[str]:
    """Returns the public names of a module."""
    return sorted(name for name in vars(sys.modules[module_name]) if not name.startswith("_"))


def remove_undocumented(
    module_name: str, allowed_exception_list: Any = None, doc_string_modules: Any = None
) -> None:
    """Does nothing; TensorFlow takes names out of its own modules with it."""


class LazyLoader:
    """A module that is imported when one of its attributes is first read.

    Args:
      local_name: The name it gets in the importing module.
      parent_module_globals: That module's globals.
      name: The module to import.
    """

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str):
        self._local_name, self._globals, self._name = local_name, parent_module_globals, name

    def __getattr__(self, attribute: str) -> Any:
        import importlib

        module = importlib.import_module(self._name)
        self._globals[self._local_name] = module
        return getattr(module, attribute)
