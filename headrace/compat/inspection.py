"""What TensorFlow's inner modules tf_inspect and function_utils tell of functions."""

from __future__ import annotations

import functools
import inspect
from collections import namedtuple
from inspect import (
    FullArgSpec,
    currentframe,
    getdoc,
    getfile,
    getmembers,
    getmodule,
    getmro,
    getsource,
    getsourcefile,
    getsourcelines,
    isbuiltin,
    isclass,
    isframe,
    isfunction,
    isgenerator,
    isgeneratorfunction,
    ismethod,
    ismodule,
    isroutine,
    stack,
)
from typing import Any

ArgSpec = namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])

__all__ = [
    "ArgSpec",
    "FullArgSpec",
    "currentframe",
    "fn_args",
    "getargspec",
    "getcallargs",
    "getdoc",
    "getfile",
    "getfullargspec",
    "getmembers",
    "getmodule",
    "getmro",
    "getsource",
    "getsourcefile",
    "getsourcelines",
    "has_kwargs",
    "isbuiltin",
    "isclass",
    "isframe",
    "isfunction",
    "isgenerator",
    "isgeneratorfunction",
    "ismethod",
    "ismodule",
    "isroutine",
    "stack",
]


def _plain(function: Any) -> Any:
    """The function with a signature of its own behind a class or a callable object."""
    if isinstance(function, functools.partial) or inspect.isroutine(function):
        return function
    return function.__init__ if inspect.isclass(function) else function.__call__


def getfullargspec(obj: Any) -> FullArgSpec:
    """Returns the arguments of a function, of a class's `__init__` or of an object's `__call__`, `self` included."""
    function = _plain(obj)
    if not isinstance(function, functools.partial):
        return inspect.getfullargspec(function)
    spec = getfullargspec(function.func)
    args, defaults = spec.args[len(function.args) :], spec.defaults
    if defaults is not None:
        defaults = defaults[-len(args) :] if args else None
    return spec._replace(args=args, defaults=defaults)


def getargspec(obj: Any) -> Any:
    """Returns the arguments of a function in the four parts that Python 2 knew."""
    spec = getfullargspec(obj)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def getcallargs(func: Any, *positional: Any, **named: Any) -> dict[str, Any]:
    """Returns which argument of a function gets which value in a call."""
    return inspect.getcallargs(func, *positional, **named)


def fn_args(fn: Any) -> tuple[str, ...]:
    """Returns the names of the arguments that a caller of a function may give: no `self`, nothing already bound."""
    if isinstance(fn, functools.partial):
        inner = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in inner if name not in fn.keywords)
    function = _plain(fn)
    args = inspect.getfullargspec(function).args
    return tuple(args[1:] if inspect.ismethod(function) or inspect.isclass(fn) else args)


def has_kwargs(fn: Any) -> bool:
    """Says whether a function takes any keyword argument, by `**`."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.getfullargspec(_plain(fn)).varkw is not None
