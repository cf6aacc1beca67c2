"""Ctrl-C while a loop is interpreted.

Python drops an exception that is raised while it collects garbage, and JAX has it call a function then: a loop that
makes much of it would miss some interrupts for good. So a long loop notes that there was one, too, and looks.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Interrupts:
    """Sees to it that a loop ends after Ctrl-C; loops within a loop look at what that has seen."""

    __slots__ = ("_came", "_is_watching")

    def __init__(self) -> None:
        self._came = [False]
        self._is_watching = False

    @property
    def came(self) -> bool:
        """Whether there was one, which may have been lost."""
        return self._came[0]

    def watch(self) -> None:
        """Looks for interrupts from here on, where Python's own handler would raise them in this thread."""
        if threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._is_watching = True
            return
        outer = getattr(handler, "__self__", None)
        if isinstance(outer, Interrupts):
            self._came = outer._came

    def end(self) -> None:
        """Leaves interrupts to Python again; raises one that was lost.

        Raises:
          KeyboardInterrupt: There was one.
        """
        if self._is_watching:
            self._is_watching = False
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._came[0]:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came[0] = True
        signal.default_int_handler(number, frame)
