"""Names that NumPy had when TensorFlow 1 programs were written and has no longer: `np.float`, `np.Inf` ...

`headrace run` gives them back to the program it runs; `import headrace` leaves NumPy alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _scalar(array: Any) -> Any:
    """Returns the only element of an array as a Python number."""
    return array.item()


REMOVED: dict[str, Any] = {
    "float": float,
    "int": int,
    "object": object,
    "complex": complex,
    "str": str,
    "unicode": str,
    "long": int,
    "bool": bool,
    "float_": np.float64,
    "complex_": np.complex128,
    "unicode_": np.str_,
    "string_": np.bytes_,
    "Inf": np.inf,
    "Infinity": np.inf,
    "infty": np.inf,
    "NaN": np.nan,
    "PINF": np.inf,
    "NINF": -np.inf,
    "product": np.prod,
    "cumproduct": np.cumprod,
    "sometrue": np.any,
    "alltrue": np.all,
    "round_": np.round,
    "row_stack": np.vstack,
    "asscalar": _scalar,
    "in1d": lambda a, b, *args, **kwargs: np.isin(np.ravel(a), b, *args, **kwargs),
    "asfarray": lambda a, dtype=np.float64: np.asarray(a, dtype=dtype),
    "trapz": getattr(np, "trapezoid", None),
}
"""Name -> what stands for it, for those that some NumPy no longer has."""


def restore() -> None:
    """Adds to NumPy those of the names that it lacks."""
    for name, value in REMOVED.items():
        if value is not None and name not in vars(np):
            setattr(np, name, value)
