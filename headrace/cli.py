"""The command `headrace`."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable

USAGE = """\
usage: headrace COMMAND ...

  run PROGRAM.py [ARGS]   run a TensorFlow 1 program: its `import tensorflow` finds headrace
  run -m MODULE [ARGS]    the same for a module
  explain PROGRAM.py ...  run it; then say where its steps were cut, what is interpreted and why, what programs cost
  profile PROGRAM.py ...  run it; then say where its steps went
  doctor                  say which versions, devices and kernels are in use
  --version               say which headrace this is
"""

# command -> the module of headrace whose `main(arguments)` is called; imported only then.
COMMANDS = {
    "run": "headrace.compat.program",
    "explain": "headrace.compat.explain",
    "profile": "headrace.compat.profile",
    "doctor": "headrace.compat.doctor",
    "inspect": "headrace.graphdef.cli",
    "serve": "headrace.serving.cli",
    "compile": "headrace.runtime.cli",
    "debug": "headrace.debug.cli",
}


def _say_version() -> int:
    from headrace.platform.version import HEADRACE_VERSION, VERSION

    print(f"headrace {HEADRACE_VERSION} (answers for TensorFlow {VERSION})")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line `headrace ARGUMENTS`.

    Args:
      arguments: What follows the command's name; `sys.argv[1:]` if None.

    Returns:
      The exit code: 2 for a wrong command line.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if not given or given[0] in ("-h", "--help", "help"):
        (sys.stdout if given else sys.stderr).write(USAGE)
        return 0 if given else 2
    command, *rest = given
    if command in ("--version", "-V"):
        return _say_version()
    run = _find(command)
    if run is None:
        near = difflib.get_close_matches(command, [name for name in COMMANDS if _find(name)], 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        sys.stderr.write(f"headrace: there is no command {command!r}{hint}\n{USAGE}")
        return 2
    return run(rest) or 0


def _find(command: str) -> Callable[[list[str]], int | None] | None:
    module = COMMANDS.get(command)
    if module is None:
        return None
    try:
        found: Callable[[list[str]], int | None] = importlib.import_module(module).main
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            return None
        raise
    return found
