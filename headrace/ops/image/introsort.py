"""Sorting as the C++ library does, which decides in what order equal elements come out."""

from __future__ import annotations

from typing import Any

import numpy as np

_SMALL = 16


def descending(keys: Any) -> list[int]:
    """Returns the order of keys from the greatest to the least, equal ones as `std::sort` leaves them.

    Args:
      keys: A one-dimensional array of numbers without NaN.
    """
    keys = np.asarray(keys)
    order = np.argsort(-keys.astype(np.float64), kind="stable")
    if keys.size <= _SMALL or np.unique(keys).size == keys.size:
        return order.tolist()  # type: ignore[no-any-return]
    return _Sorting([-key for key in keys.astype(np.float64).tolist()]).run()


class _Sorting:
    """Quicksort down to runs of sixteen, with the median of three as the pivot, and insertions in the end."""

    def __init__(self, keys: list[float]):
        self.keys = keys
        self.order = list(range(len(keys)))

    def run(self) -> list[int]:
        n = len(self.keys)
        self._partition(0, n, 2 * (n.bit_length() - 1))
        for i in range(1, n):
            self._insert(i)
        return self.order

    def _swap(self, i: int, j: int) -> None:
        keys, order = self.keys, self.order
        keys[i], keys[j] = keys[j], keys[i]
        order[i], order[j] = order[j], order[i]

    def _median(self, x: int, y: int, z: int) -> int:
        keys = self.keys
        if keys[x] < keys[y]:
            return y if keys[y] < keys[z] else z if keys[x] < keys[z] else x
        return x if keys[x] < keys[z] else z if keys[y] < keys[z] else y

    def _partition(self, first: int, last: int, depth: int) -> None:
        keys = self.keys
        while last - first > _SMALL and depth:
            depth -= 1
            self._swap(first, self._median(first + 1, (first + last) // 2, last - 1))
            pivot = keys[first]
            left, right = first + 1, last
            while True:
                while keys[left] < pivot:
                    left += 1
                right -= 1
                while pivot < keys[right]:
                    right -= 1
                if left >= right:
                    break
                self._swap(left, right)
                left += 1
            self._partition(left, last, depth)
            last = left

    def _insert(self, i: int) -> None:
        key, place = self.keys[i], self.order[i]
        while i and key < self.keys[i - 1]:
            self.keys[i], self.order[i] = self.keys[i - 1], self.order[i - 1]
            i -= 1
        self.keys[i], self.order[i] = key, place
