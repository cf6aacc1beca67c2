"""Compiled programs that may run for ever, and how they are given up.

XLA does not listen while a loop runs on. So a program with such a loop runs in a thread of its own while the step
waits for it, and where the native library is in use the loop asks it now and then whether it may go on: a loop that
nobody waits for any more comes to an end, and a process can end in peace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import ending, errors
from headrace.lazy import jax, jnp, lax
from headrace.native import xla
from headrace.runtime.context import Step
from headrace.runtime.interrupts import Interrupts

_LOOK_S = 0.05  # between two looks at whether the step is still wanted

_running: dict[int, np.ndarray] = {}  # programs' switches, by where they are


def _stop_all() -> None:
    for switch in list(_running.values()):
        switch[0] = 1


ending.at_end(_stop_all)


def new_switch() -> np.ndarray:
    """Returns a switch that says go on: whether to stop, and when the loop looked at it last."""
    return np.zeros(2, np.int64)


def operand(switch: np.ndarray) -> np.ndarray:
    """Returns what a program is told of a switch: where it is."""
    return np.asarray(switch.ctypes.data, np.int64)


def loop(go_on: Callable[[Any], Any], step: Callable[[Any], Any], carry: Any, switch: Any) -> Any:
    """Traces a `lax.while_loop` that looks at a switch now and then.

    Args:
      go_on: The condition.
      step: The body.
      carry: What it begins with.
      switch: What the program was told of its switch.
    """
    if xla.library() is None:
        return lax.while_loop(go_on, step, carry)

    def stretch(state: Any) -> Any:
        values, allowed = state
        values, _ = lax.while_loop(
            lambda s: (s[1] > 0) & go_on(s[0]), lambda s: (step(s[0]), s[1] - 1), (values, allowed)
        )
        return values, xla.call("headrace_go_on", (), np.int64, switch, allowed)

    return lax.while_loop(lambda s: (s[1] > 0) & go_on(s[0]), stretch, (carry, jnp.asarray(1, np.int64)))[0]


def run(function: Callable[..., Any], step: Step, arguments: list[Any], has_switch: bool) -> Any:
    """Runs a compiled program so that the step can be given up.

    Args:
      function: The program.
      step: The step.
      arguments: The program's arguments.
      has_switch: Whether it takes a switch after them; one that does not runs on to its end, whoever waits for it.

    Returns:
      The program's results.

    Raises:
      CancelledError: The session was closed.
      DeadlineExceededError: The step's time is up.
      KeyboardInterrupt: Ctrl-C was pressed.
    """
    result: list[Any] = []
    failure: list[BaseException] = []
    done = threading.Event()
    switch = new_switch()
    if has_switch:
        arguments = [*arguments, operand(switch)]

    def work() -> None:
        ending.enter()
        try:
            result.append(jax.block_until_ready(function(*arguments)))
        except BaseException as e:
            failure.append(e)
        finally:
            ending.leave()
            del _running[switch.ctypes.data]
        done.set()

    _running[switch.ctypes.data] = switch
    threading.Thread(target=work, daemon=True, name="headrace-loop").start()
    interrupts = Interrupts()
    depth = ending.begin_waiting()
    try:
        interrupts.watch()
        while not done.wait(_LOOK_S) and not interrupts.came:
            if step.closing.is_set:
                raise errors.CancelledError(None, None, "Loop execution was cancelled.")
            if step.deadline is not None and time.monotonic() > step.deadline:
                raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
    finally:
        switch[0] = 1
        interrupts.end()
        ending.end_waiting(depth)
    if failure:
        raise failure[0]
    return result[0]
