"""Matrix products: in NumPy with as many threads as their size is worth, for XLA in the form that it is quick at.

OpenBLAS wakes a thread for each core for any product beyond a few thousand multiplications, and waits for them
spinning. Where other work has the cores (XLA's threads, another process) a product of a fifth of a millisecond then
takes tens of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lazy import lax
from headrace.native import host_products
from headrace.native import products as native

# Multiplications; beyond them a second core pays even where it has to be waited for.
_WORTH_THREADS = 100_000_000
# OpenBLAS itself takes one thread for less.
_TINY = 200_000

# Columns of a product of a transposed matrix; XLA's CPU code is up to eight times slower at tall narrow ones than at
# their transposes.
_NARROW = 256

_libraries: list[Any] | None = None


def multiply(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Any:
    """Returns the product of two matrices, or of stacks of them, as `numpy.matmul` does."""
    work = a.size * b.shape[-1] if b.ndim > 1 else 0
    if work > _TINY and a.ndim == b.ndim == 2:
        # Its threads wait for no core: where others have the cores, that is up to fifty times as fast.
        found = host_products.product(a, b)
        if found is not None:
            return found
    if not _TINY < work < _WORTH_THREADS or a.dtype.char not in "fdFD":
        return np.matmul(a, b)
    libraries = _found() if _libraries is None else _libraries
    before = [library.num_threads for library in libraries]
    try:
        for library in libraries:
            library.set_num_threads(1)
        return np.matmul(a, b)
    finally:
        for library, n in zip(libraries, before, strict=True):
            library.set_num_threads(n)


def transposed_lower(a: Any, b: Any) -> Any:
    """Returns the product of the transpose of one matrix, [k, m], with another, [k, n], in a trace."""
    found = native.product(a, b, turn_a=True)
    if found is not None:
        return found
    contract = (((0,), (0,)), ((), ()))
    m, n = a.shape[1], b.shape[1]
    if 1 < n <= _NARROW and m >= 2 * n:
        # XLA would put the transposes together again.
        return lax.optimization_barrier(lax.dot_general(b, a, contract)).T
    return lax.dot_general(a, b, contract)


def _found() -> list[Any]:
    """Returns what sets the threads of the libraries that NumPy may use."""
    global _libraries
    from threadpoolctl import ThreadpoolController

    _libraries = [c for c in ThreadpoolController().lib_controllers if c.user_api == "blas"]
    return _libraries
