"""NumPy without its warnings: overflow, division by zero and NaN are values here, as in TensorFlow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function with NumPy's floating-point warnings off while it runs."""

    @functools.wraps(function)
    def run(*operands: Any, **keywords: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*operands, **keywords)

    run.in_quiet = function  # type: ignore[attr-defined]  # for where they are off
    return run
