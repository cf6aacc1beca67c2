"""Accumulators: gradients of several workers, added up until there are enough of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.dtypes import DType
from headrace.platform import tf_logging as logging
from headrace.resources.queue import invalid
from headrace.resources.waiting import NOT_YET, Pending, Requests
from headrace.shapes import Shape

Array = np.ndarray[Any, Any]


class Accumulator:
    """A sum of gradients that are as new as the global step, and how many they are.

    Args:
      dtype: The gradients' type.
      shape: What is known of their shape.
      reduction_type: "MEAN" or "SUM": what is made of them.
    """

    def __init__(self, dtype: DType, shape: Shape, reduction_type: str):
        self.dtype = dtype
        self.shape = shape
        self.is_mean = reduction_type == "MEAN"
        self._requests = Requests()
        self._count = 0
        self._global_step = 0

    def count(self) -> int:
        """Returns how many gradients were added."""
        return self._count

    def set_global_step(self, step: int) -> None:
        """Says which step it is; gradients of earlier steps are ignored from now on."""
        with self._requests.lock:
            if step < self._global_step:
                logging.warning(
                    "The accumulator is at step %d, which is later than %d.", self._global_step, step
                )
            self._global_step = step

    def apply(self, local_step: int, gradient: Any) -> None:
        """Adds a gradient, unless it is of an earlier step.

        Raises:
          InvalidArgumentError: Its shape does not fit.
        """
        with self._requests.lock:
            if local_step < self._global_step:
                return
            self._check(gradient)
            self._add(gradient)
            self._count += 1
            self._requests.serve()

    def take(self, n: int) -> Pending:
        """Asks for the mean or sum, as soon as there are `n` gradients; the sum then starts anew, a step later."""
        if n <= 0:
            raise invalid(f"Argument num_required must be positive, but was {n}")

        def attempt() -> Any:
            if self._count < n:
                return NOT_YET
            out = self._result()
            self._count = 0
            self._global_step += 1
            return out

        return self._requests.ask(attempt, "TakeGrad")

    # -- for subclasses --------------------------------------------------------------------------------------
    def _check(self, gradient: Any) -> None:
        raise NotImplementedError

    def _add(self, gradient: Any) -> None:
        raise NotImplementedError

    def _result(self) -> list[Array]:
        raise NotImplementedError


class DenseAccumulator(Accumulator):
    """An accumulator of tensors."""

    _sum: Array

    def _check(self, gradient: Array) -> None:
        expected = self._sum.shape if self._count else self.shape
        if not shapes.compatible(gradient.shape, expected):
            raise invalid(
                f"Shape mismatch: expected {shapes.to_text(expected)}, got {shapes.to_text(gradient.shape)}"
            )

    def _add(self, gradient: Array) -> None:
        self._sum = self._sum + gradient if self._count else np.array(gradient)

    def _result(self) -> list[Array]:
        if not self.is_mean:
            return [self._sum]
        count = self.dtype.storage.type(self._count)
        if self._sum.dtype.kind in "iu":
            return [(np.sign(self._sum) * (np.abs(self._sum) // count)).astype(self._sum.dtype)]
        return [np.asarray(self._sum / count, self._sum.dtype)]


class SparseAccumulator(Accumulator):
    """An accumulator of slices: (indices, values, shape or None)."""

    def _check(self, gradient: tuple[Array, Array, Array | None]) -> None:
        indices, values, shape = gradient
        if indices.ndim != 1:
            raise invalid(
                f"Input indices should be vector but received shape: {shapes.to_text(indices.shape)}"
            )
        if not values.ndim:
            raise invalid("Values cannot be 0-dimensional.")
        if len(values) != len(indices):
            raise invalid(f"Expected {len(indices)} non-empty input values, got {len(values)}")
        known = self.shape
        if shape is not None and known is not None:
            if len(shape) != len(known):
                raise invalid(f"Shape mismatch: expected shape rank at least {len(known)}, got {len(shape)}")
            for i, (d, e) in enumerate(zip(shape.tolist(), known, strict=True)):
                if e is not None and d != e:
                    raise invalid(f"Shape mismatch: expected shape dim {i} to be {e}, got {d}")
        if known is not None:
            if values.ndim < len(known):
                raise invalid(
                    f"Shape mismatch: expected values rank at least {len(known)}, got {values.ndim}"
                )
            self._same_dims(values.shape, known)
            if known and known[0] is not None:
                for i, place in enumerate(indices.tolist()):
                    if not 0 <= place < known[0]:
                        raise invalid(
                            f"Shape mismatch: index of slice {i} exceeded limits of shape; index is {place} exceeded "
                            f"{known[0]}"
                        )
        if self._count:
            self._same_dims(values.shape, (None, *self._row))

    @staticmethod
    def _same_dims(values: tuple[int, ...], expected: Any) -> None:
        for i, (d, e) in enumerate(zip(values, expected, strict=False)):
            if i and e is not None and d != e:
                raise invalid(f"Shape mismatch: expected values dim {i} to be {e}, got {d}")

    def _add(self, gradient: tuple[Array, Array, Array | None]) -> None:
        indices, values, _ = gradient
        theirs = [(int(i), np.array(v), 1) for i, v in zip(indices, values, strict=True)]
        if not self._count:
            self._row = values.shape[1:]
            self._slices = theirs
            return
        # A merge of lists that should be sorted, which TensorFlow does not look after either.
        mine, out = self._slices, []
        a = b = 0
        while a < len(mine) and b < len(theirs):
            if mine[a][0] == theirs[b][0]:
                out.append((mine[a][0], mine[a][1] + theirs[b][1], mine[a][2] + 1))
                a, b = a + 1, b + 1
            elif mine[a][0] < theirs[b][0]:
                out.append(mine[a])
                a += 1
            else:
                out.append(theirs[b])
                b += 1
        self._slices = out + mine[a:] + theirs[b:]

    def _result(self) -> list[Array]:
        indices = np.array([s[0] for s in self._slices], np.int64)
        values = np.empty((len(indices), *self._row), self.dtype.storage)
        for k, (_, value, count) in enumerate(self._slices):
            values[k, ...] = value / self.dtype.storage.type(count) if self.is_mean else value
        known = self.shape if self.shape is not None else (None,) * values.ndim
        dims = [(-1 if i == 0 else values.shape[i]) if d is None else d for i, d in enumerate(known)]
        return [indices, values, np.array(dims, np.int64)]
