"""tf.sysconfig: where the package lies, for programs that compile something against it."""

from __future__ import annotations

import os

from headrace.export import export
from headrace.platform import version

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@export("sysconfig.get_include")
def get_include() -> str:
    """Returns the directory where C++ headers would be; headrace has none, its kernels are Python."""
    return os.path.join(_ROOT, "include")


@export("sysconfig.get_lib")
def get_lib() -> str:
    """Returns the directory of the package."""
    return _ROOT


@export("sysconfig.get_compile_flags")
def get_compile_flags() -> list[str]:
    """Returns the compiler flags for C++ ops."""
    return ["-I" + get_include(), f"-D_GLIBCXX_USE_CXX11_ABI={version.CXX11_ABI_FLAG}"]


@export("sysconfig.get_link_flags")
def get_link_flags() -> list[str]:
    """Returns the linker flags for C++ ops."""
    return ["-L" + get_lib()]
