"""Batches of the work of several steps: tasks gather until there are enough of them, or for a while."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace import ending, errors, shapes
from headrace.resources.queue import invalid
from headrace.resources.waiting import Pending

Array = np.ndarray[Any, Any]


class Task:
    """What one step gives to a batch.

    Args:
      arrays: The arrays, all with as many rows.
      run: Computes the batch, if this is the last of its tasks.
      pending: What the step waits for.
    """

    def __init__(self, arrays: Sequence[Array], run: Callable[[list[Array]], list[Any]], pending: Pending):
        self.arrays = arrays
        self.run = run
        self.pending = pending
        self.size = len(arrays[0])


class _Batch:
    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.due = 0.0
        self.closed = False

    @property
    def size(self) -> int:
        return sum(task.size for task in self.tasks)


class BatchQueue:
    """Tasks in batches of a greatest size, which threads compute.

    Args:
      threads: How many batches are computed at once.
      max_size: The greatest number of rows.
      timeout_micros: For how long the first task of a batch waits for others.
      max_batches: How many batches may wait.
      allowed_sizes: The sizes up to which batches are padded; none for any.

    Raises:
      InvalidArgumentError: There is no such queue.
    """

    def __init__(
        self, threads: int, max_size: int, timeout_micros: int, max_batches: int, allowed_sizes: Sequence[int]
    ):
        if any(after <= before for before, after in itertools.pairwise(allowed_sizes)):
            raise invalid("allowed_batch_sizes entries must be monotonically increasing")
        if allowed_sizes and allowed_sizes[-1] != max_size:
            raise invalid("final entry in allowed_batch_sizes must equal max_batch_size")
        if max_size <= 0:
            raise invalid(f"max_batch_size must be positive; was {max_size}")
        if timeout_micros < 0:
            raise invalid(f"batch_timeout_micros must be non-negative; was {timeout_micros}")
        self._most_threads = max(threads, 1)
        self._max_size = max_size
        self._timeout_s = timeout_micros / 1e6
        self._max_batches = max_batches
        self._allowed_sizes = tuple(allowed_sizes)
        self._changed = threading.Condition()
        self._batches = deque([_Batch()])  # the last one takes tasks
        self._threads = 0
        self._idle = 0

    def put(self, arrays: Sequence[Array], run: Callable[[list[Array]], list[Any]]) -> Pending:
        """Adds a task; its result is its rows of what the batch's arrays give.

        Args:
          arrays: The task's arrays.
          run: Computes arrays with as many rows of a batch's arrays; that of the batch's last task is called.

        Raises:
          InvalidArgumentError: The arrays do not have equally many rows, or too many.
          UnavailableError: Too many batches wait already.
        """
        if any(a.ndim == 0 for a in arrays):
            raise invalid("Batching input tensors must have at least one dimension")
        if any(len(a) != len(arrays[0]) for a in arrays):
            raise invalid(
                "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size"
            )
        task = Task(arrays, run, Pending(self._withdraw))
        if task.size > self._max_size:
            raise invalid(f"Task size {task.size} is larger than maximum batch size {self._max_size}")
        with self._changed:
            batch = self._batches[-1]
            if batch.size + task.size > self._max_size:
                if len(self._batches) >= self._max_batches:
                    message = "The batch scheduling queue to which this task was submitted is full"
                    raise errors.UnavailableError(None, None, message)
                batch.closed = True
                batch = _Batch()
                self._batches.append(batch)
            if not batch.tasks:
                batch.due = time.monotonic() + self._timeout_s
            batch.tasks.append(task)
            if not self._idle and self._threads < self._most_threads:
                self._threads += 1
                threading.Thread(target=self._work, name="headrace batches", daemon=True).start()
            self._changed.notify_all()
        return task.pending

    def _withdraw(self, pending: Pending) -> None:
        with self._changed:
            for batch in self._batches:
                batch.tasks = [task for task in batch.tasks if task.pending is not pending]
            if not pending.done:
                pending.fail(errors.CancelledError(None, None, "BatchFunction operation was cancelled"))
            self._changed.notify_all()

    def _work(self) -> None:
        """Computes batches until there are none; the next task starts a thread anew."""
        while True:
            tasks = self._take()
            if tasks is None:
                return
            with np.errstate(all="ignore"):
                self._compute(tasks)

    def _take(self) -> list[Task] | None:
        """Waits for a batch that is due; None if there are no tasks."""
        with self._changed:
            while True:
                while len(self._batches) > 1 and not self._batches[0].tasks:
                    self._batches.popleft()
                batch = self._batches[0]
                if not batch.tasks:
                    self._threads -= 1
                    return None
                left = batch.due - time.monotonic()
                if batch.closed or batch.size >= self._max_size or left <= 0:
                    self._batches.popleft()
                    if not self._batches:
                        self._batches.append(_Batch())
                    return batch.tasks
                self._idle += 1
                self._changed.wait(left)
                self._idle -= 1

    def padded(self, rows: int) -> int:
        """Returns the size up to which a batch of some rows is padded."""
        return next((n for n in self._allowed_sizes if n >= rows), rows)

    def _compute(self, tasks: list[Task]) -> None:
        try:
            rows = sum(task.size for task in tasks)
            padded = self.padded(rows)
            arrays = [joined(parts, padded - rows) for parts in zip(*[t.arrays for t in tasks], strict=True)]
            ending.enter()
            try:
                results = [np.asarray(v) for v in tasks[-1].run(arrays)]
            finally:
                ending.leave()
            for v in results:
                if v.ndim == 0:
                    raise errors.FailedPreconditionError(None, None, "Batched output tensor has 0 dimensions")
                if len(v) != (padded if rows else 0):
                    raise errors.FailedPreconditionError(
                        None,
                        None,
                        "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of "
                        "the input tensors",
                    )
        except BaseException as e:  # the steps' own threads raise it
            for task in tasks:
                if not task.pending.done:
                    task.pending.fail(e)
            return
        start = 0
        for task in tasks:
            end = start + task.size
            if not task.pending.done:
                task.pending.finish([v[start:end] for v in results])
            start = end


def joined(parts: Sequence[Array], padding: int) -> Array:
    """Returns the rows of some arrays, and the first of them some times more."""
    first = parts[0].shape[1:]
    for i, part in enumerate(parts):
        if part.shape[1:] != first:
            a, b = shapes.to_text(parts[0].shape), shapes.to_text(part.shape)
            raise invalid(f"Dimensions of inputs should match: shape[0] = {a} vs. shape[{i}] = {b}")
    rows = np.concatenate(parts)
    return np.concatenate([rows, *[rows[:1]] * padding]) if len(rows) and padding else rows
