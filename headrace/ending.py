"""The end of the process while daemon threads still run steps, as those of queue runners do.

Python takes such a thread away when it next asks for the interpreter's lock. Where that happens below XLA's C++ code
the whole process is aborted. So at the end no thread begins a step any more, and those within one are waited for.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable

from headrace.lazy import when_jax_is_there

_LONGEST_GOODBYE_S = 5.0

_inside: dict[int, int] = {}  # threads in a step -> how many steps within one another
_first: list[Callable[[], None]] = []
_is_ending = False


def at_end(function: Callable[[], None]) -> None:
    """Has a function called once no step begins any more, before those that run are waited for."""
    _first.append(function)


def enter() -> None:
    """Notes that this thread begins a step; does not return once the process is ending."""
    me = threading.get_ident()
    _inside[me] = _inside.get(me, 0) + 1
    if _is_ending:
        _stay(me)


def leave() -> None:
    """Notes that this thread's step is over."""
    me = threading.get_ident()
    depth = _inside.get(me, 0)
    if depth > 1:
        _inside[me] = depth - 1
    else:
        _inside.pop(me, None)


def begin_waiting() -> int:
    """Notes that this thread will only wait for others for a while; returns what `end_waiting` takes."""
    return _inside.pop(threading.get_ident(), 0)


def end_waiting(depth: int) -> None:
    """Notes that this thread goes on with its step; does not return once the process is ending."""
    if depth:
        me = threading.get_ident()
        _inside[me] = depth
        if _is_ending:
            _stay(me)


def _stay(me: int) -> None:
    if threading.current_thread() is not threading.main_thread():
        del _inside[me]
        threading.Event().wait()


def _end() -> None:
    """Waits for steps of other threads; Python's other threads, which it joins itself, are over already."""
    global _is_ending
    _is_ending = True
    for function in _first:
        function()
    me = threading.get_ident()
    end = time.monotonic() + _LONGEST_GOODBYE_S
    while any(thread != me for thread in list(_inside)) and time.monotonic() < end:
        time.sleep(0.001)


# Before JAX's own handler, which was registered when it was imported and takes its devices away.
when_jax_is_there(lambda _: atexit.register(_end))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inside.clear)
