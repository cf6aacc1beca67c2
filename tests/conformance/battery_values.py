"""How the battery runs nodes on a tier, and when it takes two values for equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.resources.manager import ResourceManager
from headrace.runtime.plan import Plan
from headrace.runtime.state import SessionState

TIERS = ("interpret", "compile")

# Relative to an element, and to the largest element of its array. NumPy and XLA take sums in different orders and have
# their own exp and tanh, a few units in the last place apart; and expected values are often written with the seven
# digits that a float32 has. Types that are not listed (integers, booleans, strings) must be equal.
TOLERANCE = {
    "float16": (4e-3, 1e-3),
    "bfloat16": (2e-2, 8e-3),
    "float32": (2e-5, 2e-6),
    "complex64": (2e-5, 2e-6),
    "float64": (1e-6, 1e-7),
    "complex128": (1e-6, 1e-7),
}

# The same between the tiers, where nothing was written down by hand.
TIERS_TOLERANCE = TOLERANCE | {"float64": (1e-11, 1e-12), "complex128": (1e-11, 1e-12)}


class FellBack(AssertionError):
    """A compiled plan ran in the interpreter after all."""


def run(fetches: list[Any], feeds: dict[Any, Any], tier: str, targets: Any = ()) -> list[Any]:
    """Runs tensors once, on a fresh session state, on exactly this tier.

    Raises:
      FellBack: The plan could not be compiled; the cause says why.
      OpError: A node failed.
    """
    plan = Plan(SessionState(ResourceManager()), fetches, list(targets), list(feeds), tier)
    if tier == "compile" and plan.has_cluster_ops:

        def refuse(step: Any, values: Any) -> Any:
            raise FellBack("the lower rule failed while it was traced, or a check in it did")

        plan._interpret = refuse  # type: ignore[method-assign]
    return plan.run(list(feeds.values()))


def fetchable(node: Any) -> list[Any]:
    """Returns the outputs of a node that hold values (no handles)."""
    return [t for t in node._outputs if t.dtype.base_dtype.name not in ("resource", "variant")]


def difference(
    got: Any, want: Any, tolerance: Any = None, table: Any = TOLERANCE, exact: bool = False
) -> str:
    """Returns what is wrong with a value, or the empty string.

    Args:
      got: An array, a scalar or bytes.
      want: The same, or nested lists of numbers.
      tolerance: Relative to an element and to the largest; None for the table's.
      table: The tolerances by dtype.
      exact: Whether the dtypes must be equal too.
    """
    got = np.asarray(got) if not isinstance(got, bytes) else _object(got)
    want = np.asarray(want) if not isinstance(want, (bytes, str)) else _object(want)
    if got.shape != want.shape:
        return f"shape {list(got.shape)} where {list(want.shape)} is expected"
    if got.dtype == object or want.dtype.kind in "OSU":
        left, right = [[_bytes(v) for v in np.ravel(a).tolist()] for a in (got, want)]
        return "" if left == right else f"{left} where {right} is expected"
    if exact and got.dtype != want.dtype:
        return f"dtype {got.dtype} where {want.dtype} is expected"
    if tolerance is None:
        tolerance = table.get(got.dtype.name, (0.0, 0.0))
    elif not isinstance(tolerance, tuple):
        tolerance = (tolerance, tolerance)
    left, right = (_wide(a) for a in (got, want))
    if tolerance == (0.0, 0.0) or left.dtype.kind not in "fc":
        close = left == right
        if left.dtype.kind in "fc":
            close |= np.isnan(left) & np.isnan(right)
    else:
        finite = np.abs(right[np.isfinite(right)]) if right.dtype.kind in "iufc" else np.array([])
        largest = float(finite.max()) if finite.size else 0.0
        with np.errstate(all="ignore"):
            close = np.isclose(left, right, rtol=tolerance[0], atol=tolerance[1] * largest, equal_nan=True)
    if np.all(close):
        return ""
    at = tuple(int(i) for i in np.argwhere(~close)[0]) if want.ndim else ()
    count = int(np.size(close) - np.sum(close))
    where = f", at {list(at)}" if at else ""
    return f"{count} of {want.size} elements differ{where}: {got[at]!r} where {want[at]!r} is expected"


def _wide(array: Any) -> Any:
    if array.dtype.name in ("bfloat16", "float16"):
        return array.astype(np.float32)
    return array


def _object(value: Any) -> Any:
    out = np.empty((), object)
    out[()] = value
    return out


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def expected(gives: Any, count: int) -> list[Any]:
    """Returns the expected value of each output, None where any will do."""
    out = list(_flat(gives)) if isinstance(gives, tuple) else [gives]
    assert len(out) == count, f"gives holds {len(out)} values for {count} outputs"
    return out


def _flat(values: Any) -> Any:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


def reason(error: BaseException) -> str:
    """Returns the first line of an error, and that of what caused it if it fell back."""
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    inner = error.__context__
    if isinstance(error, FellBack) and inner is not None:
        text += f" ({type(inner).__name__}: {inner})".split("\n")[0]
    return text[:300]
