"""`headrace run`: a program as `python PROGRAM.py` would run it, but with headrace behind `import tensorflow`."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
import types

from headrace.compat import numpy_names
from headrace.compat.hook import install


def main(arguments: list[str]) -> int:
    """Runs `headrace run ARGUMENTS`; what the program raises or exits with passes through."""
    if not arguments or (arguments[0] == "-m" and len(arguments) < 2):
        sys.stderr.write("usage: headrace run PROGRAM.py [ARGS] | headrace run -m MODULE [ARGS]\n")
        return 2
    if arguments[0] == "-m":
        return run_module(arguments[1], arguments[2:])
    return run_file(arguments[0], arguments[1:])


def run_module(name: str, arguments: list[str]) -> int:
    """Runs a module as the main program, as `python -m` does."""
    install()
    numpy_names.restore()
    sys.argv = [name, *arguments]
    _put_first(os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    return 0


def run_file(path: str, arguments: list[str]) -> int:
    """Runs a file as the main program, as `python` does."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write(f"headrace: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        return 2
    install()
    numpy_names.restore()
    sys.argv = [path, *arguments]
    _put_first(os.path.dirname(os.path.abspath(path)))
    program = types.ModuleType("__main__")
    vars(program).update(__file__=path, __builtins__=builtins)
    # It stays the main module to the very end: threads and exit handlers of the program still use its globals.
    sys.modules["__main__"] = program
    exec(compile(source, path, "exec", dont_inherit=True), vars(program))
    return 0


def _put_first(directory: str) -> None:
    """Replaces the directory of the command `headrace` on the path by that of the program."""
    sys.path[0:1] = [directory]
