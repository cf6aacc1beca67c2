"""What becomes of products and convolutions in the call of the native library that computes them.

XLA would read what a product gave and write it once more to add a bias or take `relu` of it. The library does that to
each tile before it writes it. While a step is traced, a product's array is remembered along with how it is computed;
the rule of an op that can be part of the call asks for it and calls anew, with more to do. The call before has no user
then, and XLA leaves it out. So that nothing is computed twice, the trace drops what is remembered of an array that
is used elsewhere as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.native.remembered import Remembered

_SCALED, _BIASED, _ADDED = 1, 2, 4
_CUT = {"": 0, "relu": 8, "relu6": 16}


@dataclass(frozen=True)
class Finish:
    """What becomes of sums: `relu`(sum * factor + bias + added), of what is there.

    Attributes:
      factor: What each channel is multiplied by.
      bias: What is added to it.
      added: An array of the result's shape.
      relu: "", "relu" or "relu6".
    """

    factor: Any = None
    bias: Any = None
    added: Any = None
    relu: str = ""

    @property
    def operands(self) -> list[Any]:
        """The operands of a call behind those of the product."""
        return [v for v in (self.factor, self.bias, self.added) if v is not None]

    @property
    def code(self) -> Any:
        """What tells the library which operands there are."""
        bits = _SCALED * (self.factor is not None) + _BIASED * (self.bias is not None)
        return np.int64(bits + _ADDED * (self.added is not None) + _CUT[self.relu])

    @property
    def is_open(self) -> bool:
        """Whether nothing is added or cut off yet."""
        return self.added is None and not self.relu


@dataclass(frozen=True)
class _Made:
    by: Callable[[Finish], Any]
    finish: Finish


_remembered = Remembered()


def made(by: Callable[[Finish], Any], finish: Finish | None = None) -> Any:
    """Returns what a call gives, after noting how to have it do more.

    Args:
      by: Calls the library; the result has channels last.
      finish: What becomes of the sums, nothing if not given.
    """
    finish = finish or Finish()
    result = by(finish)
    _remembered.add(result, _Made(by, finish))
    return result


def forget(array: Any) -> None:
    """Has an array be computed as it is, because it is used elsewhere as well."""
    _remembered.forget(array)


def biased(x: Any, bias: Any) -> Any:
    """Returns the sum of an array and a vector along its last axis if `x` is a product that takes it, else None."""
    of = _remembered.of(x)
    if of is None or not _is_vector(bias, x) or not of.finish.is_open or of.finish.bias is not None:
        return None
    return made(of.by, replace(of.finish, bias=bias))


def scaled(x: Any, mean: Any, factor: Any, offset: Any) -> Any:
    """Returns (x - mean) * factor + offset if `x` is a product with nothing done to it yet, else None."""
    of = _remembered.of(x)
    if of is None or of.finish != Finish() or not all(_is_vector(v, x) for v in (mean, factor, offset)):
        return None
    return made(of.by, Finish(factor, offset - mean * factor))


def added(x: Any, y: Any) -> Any:
    """Returns the sum of two arrays of one shape, or an array and a bias, if one is a product that takes the other."""
    # The second one is computed later, if operands are in the order of the program.
    for one, other in ((y, x), (x, y)):
        of = _remembered.of(one)
        if of is None or not of.finish.is_open or other.dtype != one.dtype:
            continue
        if other.shape == one.shape:
            return made(of.by, replace(of.finish, added=other))
        found = biased(one, other)
        if found is not None:
            return found
    return None


def rectified(x: Any, six: bool = False) -> Any:
    """Returns max(x, 0), of which with `six` at most 6, if x is a product, else None."""
    of = _remembered.of(x)
    if of is None or of.finish.relu:
        return None
    return made(of.by, replace(of.finish, relu="relu6" if six else "relu"))


def _is_vector(v: Any, x: Any) -> bool:
    return bool(v.dtype == x.dtype and v.shape == x.shape[-1:])
