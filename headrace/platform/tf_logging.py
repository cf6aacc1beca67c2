"""tf.logging: the logger "tensorflow" of the standard library under TensorFlow's names."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from typing import Any

from headrace.export import export, export_value

DEBUG = logging.DEBUG
INFO = logging.INFO
WARN = logging.WARNING
ERROR = logging.ERROR
FATAL = logging.FATAL
for _name in ("DEBUG", "INFO", "WARN", "ERROR", "FATAL"):
    export_value("logging." + _name, globals()[_name])

_lock = threading.Lock()
_logger: logging.Logger | None = None
_counts: Counter[Any] = Counter()


class _StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to whatever `sys.stderr` is at the time of the message, so that a redirected stream gets it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(logging.BASIC_FORMAT))

    @property
    def stream(self) -> Any:  # type: ignore[override]
        return sys.stderr


@export("get_logger")
def get_logger() -> logging.Logger:
    """Returns the logger "tensorflow", made ready: warnings and worse go to the standard error."""
    global _logger
    with _lock:
        if _logger is None:
            logger = logging.getLogger("tensorflow")
            if logger.level == logging.NOTSET:
                logger.setLevel(WARN)
            if not logging.getLogger().handlers and not logger.handlers:
                logger.addHandler(_StderrHandler())
            _logger = logger
        return _logger


def _write(level: int, msg: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    # The caller's line in %(lineno)d is that of the program, not of this file.
    kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 2
    get_logger().log(level, msg, *args, **kwargs)


@export("logging.log")
def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of a level, `msg % args`."""
    _write(level, msg, args, kwargs)


@export("logging.debug")
def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message for the search of bugs."""
    _write(DEBUG, msg, args, kwargs)


@export("logging.info")
def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of interest."""
    _write(INFO, msg, args, kwargs)


@export("logging.warn")
def warn(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a warning."""
    _write(WARN, msg, args, kwargs)


@export("logging.warning")
def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a warning."""
    _write(WARN, msg, args, kwargs)


@export("logging.error")
def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes an error."""
    _write(ERROR, msg, args, kwargs)


@export("logging.fatal")
def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of the highest level; the program goes on, as in TensorFlow."""
    _write(FATAL, msg, args, kwargs)


@export("logging.vlog")
def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Writes a message of a numeric level, which is below DEBUG for the usual 0, 1, 2 and so not seen."""
    _write(level, msg, args, kwargs)


@export("logging.TaskLevelStatusMessage")
def TaskLevelStatusMessage(msg: Any) -> None:
    """Writes the status of a task, as an error."""
    _write(ERROR, msg, (), {})


@export("logging.log_if")
def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Writes a message if a condition holds."""
    if condition:
        _write(level, msg, args, {})


def _count_here() -> int:
    """How often the line that called our caller was here before.

    TensorFlow 1.15 means to count by line too, but counts all lines of a program together.
    """
    frame = sys._getframe(2)
    key = (frame.f_code, frame.f_lineno)
    with _lock:
        _counts[key] += 1
        return _counts[key] - 1


@export("logging.log_every_n")
def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Writes a message at the first and then at every nth pass of this line."""
    if _count_here() % n == 0:
        _write(level, msg, args, {})


@export("logging.log_first_n")
def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Writes a message at the first n passes of this line."""
    if _count_here() < n:
        _write(level, msg, args, {})


@export("logging.get_verbosity")
def get_verbosity() -> int:
    """Returns the lowest level that is written."""
    return get_logger().getEffectiveLevel()


@export("logging.set_verbosity")
def set_verbosity(v: int | str) -> None:
    """Sets the lowest level that is written, as a number or a name."""
    get_logger().setLevel(v)


@export("logging.flush")
def flush() -> None:
    """Not in TensorFlow 1.15 either, which has the name and this answer.

    Raises:
      NotImplementedError: Always.
    """
    raise NotImplementedError()
