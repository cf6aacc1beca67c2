"""TensorFlow 1.x done again in Python on XLA: `import headrace as tf`."""

from __future__ import annotations

import pkgutil as _pkgutil
import sys as _sys
from functools import partial as _partial

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
    "session",
    "variables",
    "checkpoint",
    "summary",
    "train",
    "layers",
)
# In the order in which they are imported until a name or an op that is asked for has come.
_LATE = (
    "ops.string",
    "ops.io",
    "rnn",
    "ops.image",
    "ops.parsing",
    "ops.sparse",
    "ops.linalg",
    "functions",
    "ops.signal",
    "ops.queue",
    "ops.quantized",
    "ops.audio",
    "ops.ragged",
    "ragged",
)


# As it is before the packages add to it.
_lazy = frozenset(_namespace.LAZY.values())


def _load(name: str) -> None:
    if f"{__name__}.{name}" in _lazy or name in _late:
        return
    module = _namespace.import_present(f"{__name__}.{name}")
    for found in _pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not found.name.startswith("_"):
            _load(f"{name}.{found.name}")


def _load_late(name: str) -> None:
    _late.discard(name)
    _load(name)
    _namespace.adopt_all()


_late = set(_LATE)
for _name in _EAGER:
    _load(_name)
_namespace.adopt_all()
_namespace.load_later([_partial(_load_late, _name) for _name in _LATE])


def explain(what=None, session=None, file=None):  # type: ignore[no-untyped-def]
    """Prints what became of plans: where they were cut and why, what is interpreted, what each cluster costs.

    See `headrace.runtime.explain.explain`, which this is.
    """
    from headrace.runtime.explain import explain as tell

    return tell(what, session, file)
