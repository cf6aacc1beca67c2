"""Where in the user's program a node was made.

Walking the stack costs a few microseconds a node when frames are kept as raw (code, line) pairs; they become text
only when an error is shown or a program asks for `op.traceback`.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType
from typing import Any

Frames = tuple[tuple[CodeType, int], ...]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIMIT = 32


def capture(skip: int = 2) -> Frames:
    """Returns the stack's innermost frames, innermost first, without the `skip` nearest."""
    frame = sys._getframe(skip)
    out: list[tuple[CodeType, int]] = []
    add = out.append
    n = _LIMIT
    while frame is not None and n:
        add((frame.f_code, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
        n -= 1
    return tuple(out)


def is_internal(code: CodeType) -> bool:
    """Whether a frame is headrace's own (or the import machinery's), not the user's."""
    name = code.co_filename
    return name.startswith((_PACKAGE, "<frozen")) or name.endswith(("runpy.py",))


def user_frame(frames: Frames) -> tuple[CodeType, int] | None:
    """Returns the innermost frame that is the user's own."""
    for code, line in frames:
        if not is_internal(code):
            return code, line
    return None


def describe(frames: Frames) -> str:
    """Returns `file.py:41, in function: source line` of the user's own innermost frame, or ''."""
    found = user_frame(frames)
    if found is None:
        return ""
    code, line = found
    source = linecache.getline(code.co_filename, line).strip()
    where = f"{code.co_filename}:{line}, in {code.co_name}"
    return f"{where}:  {source}" if source else where


def as_tuples(frames: Frames) -> list[tuple[Any, ...]]:
    """Returns the frames as `traceback.extract_stack` gives them: outermost first, (file, line, name, text)."""
    return [
        (code.co_filename, line, code.co_name, linecache.getline(code.co_filename, line).strip())
        for code, line in reversed(frames)
    ]
