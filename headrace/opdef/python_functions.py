"""Python functions that nodes call, by the tokens that the nodes know them by."""

from __future__ import annotations

import itertools
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from headrace import errors
from headrace.graph import Graph, get_default_graph
from headrace.graph.func_graph import FuncGraph
from headrace.opdef.strings import attr_text


class Registered:
    """A function under its token; it lives as long as the graph that uses it."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function


_functions: weakref.WeakValueDictionary[str, Registered] = weakref.WeakValueDictionary()
_numbers = itertools.count()
_lock = threading.Lock()


def register(function: Callable[..., Any], graph: Graph | None = None) -> str:
    """Keeps a function with a graph, the default graph if None, and returns the token that nodes know it by."""
    with _lock:
        token = f"pyfunc_{next(_numbers)}"
    held = Registered(function)
    _functions[token] = held
    graph = get_default_graph() if graph is None else graph
    # A body's functions are called from the graphs around it, which outlive it.
    keeper = graph.root if isinstance(graph, FuncGraph) else graph
    keeper.__dict__.setdefault("_python_functions", []).append(held)
    return token


def find(token: Any) -> Registered:
    """Returns the function of a token.

    Raises:
      InvalidArgumentError: There is none: the node comes from another process.
    """
    token = attr_text(token)
    held = _functions.get(token)
    if held is None:
        raise errors.InvalidArgumentError(None, None, f"callback {token} is not found")
    return held


_RAISED: tuple[tuple[tuple[type[Exception], ...], Any], ...] = (
    ((TypeError, ValueError), errors.InvalidArgumentError),
    ((StopIteration,), errors.OutOfRangeError),
    ((MemoryError,), errors.ResourceExhaustedError),
    ((NotImplementedError,), errors.UnimplementedError),
)


def raised(e: Exception) -> errors.OpError:
    """Returns the error that a step fails with where a Python function raised one."""
    kind = next((k for classes, k in _RAISED if isinstance(e, classes)), errors.UnknownError)
    return kind(None, None, f"{type(e).__name__}: {e}\n{traceback.format_exc()}")  # type: ignore[no-any-return]
