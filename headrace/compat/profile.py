"""`headrace profile PROGRAM.py`: runs a program and prints where its steps went."""

from __future__ import annotations

import sys

from headrace.compat import program
from headrace.runtime.profile import Profile, run_and_tell
from headrace.session.session import BaseSession


def main(arguments: list[str]) -> int:
    """Runs `headrace profile ARGUMENTS`."""
    if not arguments or (arguments[0] == "-m" and len(arguments) < 2):
        sys.stderr.write("usage: headrace profile PROGRAM.py [ARGS] | headrace profile -m MODULE [ARGS]\n")
        return 2
    profile = Profile()
    with profile.running(BaseSession):
        return run_and_tell(lambda: program.main(arguments), profile.report)
