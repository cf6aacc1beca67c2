"""Compiles headrace/native while the package is built; without a C++ compiler the package is built without it.

Also run by hand, `python hatch_build.py`, which compiles the libraries into the source tree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand
    BuildHookInterface = object  # type: ignore[assignment,misc]

NATIVE = Path("headrace") / "native"
WHY_NOT = "_why_not.txt"  # says why a library is not there, for `headrace doctor`

# Sums stay in the order in which they are written and products are rounded before they are added: results are those
# of NumPy, on every CPU. Nothing is compiled for the building machine's CPU alone.
FLAGS = "-std=c++17 -O3 -fPIC -shared -pthread -s -DNDEBUG -fvisibility=hidden".split()
FLAGS += ["-ffp-contract=off", "-fno-math-errno"]
# Files of the library for XLA that know nothing of XLA: the interpreter's library has what is in them, too.
SHARED = (
    "convolution.cc",
    "depthwise.cc",
    "products.cc",
    "products_avx2.cc",
    "products_avx512.cc",
    "products_plain.cc",
    "winograd.cc",
)
# Tried in turn: not every compiler has a static standard library, or code for several kinds of CPU.
VARIANTS = (["-static-libstdc++", "-static-libgcc"], [], ["-DHEADRACE_NO_CLONES"])


class NotBuilt(Exception):
    """A library can't be built here; the message is one line."""


def compiler() -> str | None:
    """Returns the C++ compiler: what CXX says, or the first of the usual names."""
    if os.environ.get("HEADRACE_NATIVE") == "0" or not sys.platform.startswith("linux"):
        return None
    named = os.environ.get("CXX")
    return next(
        (
            found
            for name in ([named] if named else ["g++", "clang++", "c++"])
            if (found := shutil.which(name))
        ),
        None,
    )


def xla_headers() -> Path | None:
    """Returns the folder with the headers of XLA's foreign functions, which come with jaxlib."""
    # An isolated build does not see the environment it builds for, but may look into its folders.
    for base in [*sys.path, sysconfig.get_paths()["purelib"]]:
        folder = Path(base) / "jaxlib" / "include"
        if (folder / "xla" / "ffi" / "api" / "ffi.h").is_file():
            return folder
    return None


def build(root: Path, into: Path) -> tuple[list[Path], str]:
    """Compiles what can be compiled.

    Args:
      root: The project's folder.
      into: Where the libraries go.

    Returns:
      The libraries that were made, and one line on what could not be, empty if all was.
    """
    made: list[Path] = []
    complaints: list[str] = []
    for name, folder in (("libheadrace.so", "src"), ("libheadrace_xla.so", "ffi")):
        try:
            made.append(_library(root / NATIVE / folder, into / name))
        except NotBuilt as e:
            (into / name).unlink(missing_ok=True)
            complaints.append(str(e))
    return made, "; ".join(dict.fromkeys(complaints))


def _library(sources: Path, target: Path) -> Path:
    cxx = compiler()
    if cxx is None:
        off = os.environ.get("HEADRACE_NATIVE") == "0"
        raise NotBuilt("HEADRACE_NATIVE was 0" if off else "no C++ compiler was found")
    headers: list[str] = []
    if sources.name == "ffi":
        found = xla_headers()
        if found is None:
            raise NotBuilt("the headers of jaxlib were not found")
        headers = ["-isystem", str(found)]
    files = [str(path) for path in sorted(sources.glob("*.cc"))]
    if sources.name == "src":
        files += [str(sources.parent / "ffi" / name) for name in SHARED]
    # The library comes into being at once: another process may be loading the one before.
    part = target.with_name(f".{target.name}.{os.getpid()}")
    said = ""
    for variant in VARIANTS:
        command = [
            cxx,
            *FLAGS,
            *variant,
            *headers,
            f"-I{sources.parent}",
            f"-I{sources.parent / 'src'}",
            *files,
            "-o",
            str(part),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=900)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise NotBuilt(f"{cxx}: {type(e).__name__}") from None
        if done.returncode == 0:
            os.replace(part, target)
            return target
        said = said or done.stderr
    part.unlink(missing_ok=True)
    line = next((line for line in said.splitlines() if "error" in line), said.strip()[:200] or "it failed")
    raise NotBuilt(f"{cxx}: {line.strip()}")


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """What hatchling calls before it packs the package."""

    def dependencies(self) -> list[str]:
        """Returns what an isolated build needs besides: jaxlib for its headers, unless they lie at hand."""
        return [] if compiler() is None or xla_headers() is not None else ["jaxlib>=0.8"]

    def initialize(self, version: str, build_data: dict) -> None:
        """Compiles the libraries, into the source tree if that is what is installed."""
        root = Path(self.root)
        into = root / NATIVE if version == "editable" else Path(tempfile.mkdtemp(prefix="headrace-native-"))
        try:
            made, complaint = build(root, into)
            _note(into, complaint)
        except Exception as e:  # the package works without
            made, complaint = [], f"{type(e).__name__}: {e}"
        if complaint:
            print(f"headrace: native kernels left out: {complaint}", file=sys.stderr)
        if version != "editable":
            for path in [*made, into / WHY_NOT]:
                if path.is_file():
                    build_data["force_include"][str(path)] = str(NATIVE / path.name)
        if made:
            build_data["pure_python"] = False
            build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _note(into: Path, complaint: str) -> None:
    path = into / WHY_NOT
    if complaint:
        path.write_text(complaint + "\n", encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def main() -> int:
    """Compiles the libraries into the source tree."""
    root = Path(__file__).resolve().parent
    made, complaint = build(root, root / NATIVE)
    _note(root / NATIVE, complaint)
    print("\n".join([*(str(path.relative_to(root)) for path in made), *([complaint] if complaint else [])]))
    return 0 if made else 1


if __name__ == "__main__":
    sys.exit(main())
