"""`headrace explain PROGRAM.py`: runs a program and prints what became of its plans."""

from __future__ import annotations

import sys

from headrace.compat import program
from headrace.runtime.explain import describe
from headrace.runtime.profile import explaining, run_and_tell


def main(arguments: list[str]) -> int:
    """Runs `headrace explain ARGUMENTS`."""
    if not arguments or (arguments[0] == "-m" and len(arguments) < 2):
        sys.stderr.write("usage: headrace explain PROGRAM.py [ARGS] | headrace explain -m MODULE [ARGS]\n")
        return 2
    with explaining() as plans:
        return run_and_tell(
            lambda: program.main(arguments),
            lambda: "\n\n".join(map(describe, plans)) or "The program ran no step.",
        )
