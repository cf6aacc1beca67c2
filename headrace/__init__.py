"""TensorFlow 1.x done again in Python on XLA: `import headrace as tf`."""

from __future__ import annotations

import pkgutil as _pkgutil
import sys as _sys

from headrace import namespace as _namespace

_namespace.open_root(_sys.modules[__name__])

# In the order of the layers. What is missing here is in `namespace.LAZY` and comes on first touch.
_EAGER = (
    "platform.version",
    "errors",
    "dtypes",
    "shapes",
    "tensor_shape",
    "graph",
    "opdef",
    "graphdef",
    "autodiff",
    "resources",
    "ops",
    "ragged",
    "session",
    "variables",
    "functions",
    "checkpoint",
    "summary",
    "train",
    "layers",
    "rnn",
)


# As it is before the packages add to it.
_lazy = frozenset(_namespace.LAZY.values())


def _load(name: str) -> None:
    if f"{__name__}.{name}" in _lazy:
        return
    module = _namespace.import_present(f"{__name__}.{name}")
    for found in _pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not found.name.startswith("_"):
            _load(f"{name}.{found.name}")


for _name in _EAGER:
    _load(_name)
_namespace.adopt_all()
