"""tf.app: parse the flags, run the program's main."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from absl import app as absl_app

from headrace.export import export, export_value
from headrace.platform import flags

export_value("app.flags", flags)


@export("app.run")
def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Parses the flags and calls `main` with what they left of the command line, then ends the program.

    Flags that nobody defined are not an error: they stay in the list. With --help the flags are listed and the
    program ends with code 1.

    Args:
      main: The function to call; `main` of the program's own module if None.
      argv: The command line; `sys.argv` if None.

    Raises:
      SystemExit: With what `main` returned.
    """
    if main is None:
        main = sys.modules["__main__"].main
    absl_app.run(main=main, argv=argv, flags_parser=_parse_known)


def _parse_known(arguments: list[str]) -> list[str]:
    return flags.FLAGS(arguments, known_only=True)
