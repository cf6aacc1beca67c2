"""Batches that come out in one of their steps, and what gives each step its rows of them again."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import errors, shapes
from headrace.resources.batching import Array, BatchQueue, Task, joined
from headrace.resources.queue import invalid
from headrace.resources.waiting import Pending

_LATE = "Batched data did not arrive within timeout window."
# Numbers of tasks, told apart from those of other processes.
_numbers = itertools.count(int.from_bytes(os.urandom(7), "little") - (1 << 55))


class GatheringQueue(BatchQueue):
    """Tasks in batches of a greatest size; the last task of each gets all rows, and which task each row is from."""

    def __init__(
        self, threads: int, max_size: int, timeout_micros: int, max_batches: int, allowed_sizes: Sequence[int]
    ):
        super().__init__(threads, max_size, timeout_micros, max_batches, allowed_sizes)
        if threads <= 0:
            raise invalid(f"num_batch_threads must be positive; was {threads}")

    def gather(self, arrays: Sequence[Array]) -> Pending:
        """Adds a task; its result is a batch's arrays, the [task, first row, end] of its tasks, and its own number.

        Raises:
          As `put` does.
        """
        return self.put(arrays, list)

    def _compute(self, tasks: list[Task]) -> None:
        numbers = [next(_numbers) for _ in tasks]
        try:
            rows = sum(task.size for task in tasks)
            padded = self.padded(rows)
            whole = [joined(parts, padded - rows) for parts in zip(*[t.arrays for t in tasks], strict=True)]
        except BaseException as e:  # the steps' own threads raise it
            for task in tasks:
                if not task.pending.done:
                    task.pending.fail(e)
            return
        index, start = [], 0
        for number, task in zip(numbers, tasks, strict=True):
            index.append([number, start, start + task.size])
            start += task.size
        for number, task in zip(numbers, tasks, strict=True):
            is_last = task is tasks[-1]
            given = whole if is_last else [a[:0] for a in whole]
            entries = np.array(index if is_last else [], np.int64).reshape(-1, 3)
            if not task.pending.done:
                task.pending.finish([*given, entries, np.int64(number)])


class Unbatcher:
    """Gives each task its rows of a batch, whichever step brings it.

    Args:
      timeout_micros: For how long a task waits for its rows, and rows for their task.
    """

    def __init__(self, timeout_micros: int):
        self._timeout_s = timeout_micros / 1e6
        self._lock = threading.Lock()
        self._rows: dict[int, Array] = {}
        self._waiting: dict[int, Pending] = {}

    def put(self, batch: Array, index: Array, number: int) -> Pending:
        """Brings a batch, or nothing; the result is the rows of the task with a number.

        Args:
          batch: The batch's rows, none in a task that did not get them.
          index: The [task, first row, end] of the batch's tasks.
          number: The task.

        Raises:
          InvalidArgumentError: They do not belong together.
        """
        n = len(batch) if batch.ndim else 0
        if index.ndim and len(index) > n:
            raise invalid(
                f"Wrong shape for index tensor. Expected 0th dimension size to be no greater than {n}; Got: "
                f"{len(index)}."
            )
        entries = index.reshape(-1, 3)
        if entries.size and (entries[:, 2] - entries[:, 1]).sum() > n:
            raise invalid("Sum of split sizes must not exceed dim0-size of input tensor")
        pending = Pending(self._withdraw)
        with self._lock:
            start = 0
            for task, first, end in entries.tolist():
                rows = batch[start : start + end - first]
                start += end - first
                waiting = self._waiting.pop(task, None)
                if waiting is not None and not waiting.done:
                    waiting.finish([rows])
                else:
                    self._rows[task] = rows
                    self._later(lambda task=task: self._rows.pop(task, None))
            mine = self._rows.pop(number, None)
            if mine is not None:
                pending.finish([mine])
            else:
                self._waiting[number] = pending
                self._later(lambda: self._give_up(number, pending))
        return pending

    def _later(self, call: Any) -> None:
        timer = threading.Timer(self._timeout_s, call)
        timer.daemon = True
        timer.start()

    def _give_up(self, number: int, pending: Pending) -> None:
        with self._lock:
            if self._waiting.get(number) is pending:
                del self._waiting[number]
            if not pending.done:
                pending.fail(errors.DeadlineExceededError(None, None, _LATE))

    def _withdraw(self, pending: Pending) -> None:
        with self._lock:
            self._waiting = {k: v for k, v in self._waiting.items() if v is not pending}
            if not pending.done:
                pending.fail(errors.CancelledError(None, None, "Unbatch operation was cancelled"))


class GradientGatherer:
    """Puts the gradients that tasks bring one after the other together, for the step that the batch came out in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[int, Array] = {}
        self._batches: list[tuple[list[int], Pending]] = []

    def put(self, batch: Array, index: Array, grad: Array, number: int) -> Pending:
        """Brings a task's gradient; the result is the batch's gradients in its step, and no rows in others.

        Args:
          batch: The batch, or no rows.
          index: The [task, first row, end] of its tasks.
          grad: The gradient of a task's rows.
          number: The task.

        Raises:
          InvalidArgumentError: They do not belong together.
        """
        if not index.size and batch.size:
            raise invalid("batch_index is empty while the tensor isn't.")
        if grad.ndim == 0:
            raise invalid(
                f"Gradients must have at least one dimension, not shape {shapes.to_text(grad.shape)}"
            )
        pending = Pending(self._withdraw)
        with self._lock:
            self._rows[number] = grad
            if index.size:
                self._batches.append((index.reshape(-1, 3)[:, 0].tolist(), pending))
            else:
                pending.finish([grad[:0]])
            for tasks, waiting in list(self._batches):
                if all(task in self._rows for task in tasks):
                    self._batches.remove((tasks, waiting))
                    parts = [self._rows.pop(task) for task in tasks]
                    if not waiting.done:
                        waiting.finish([np.concatenate(parts)])
        return pending

    def _withdraw(self, pending: Pending) -> None:
        with self._lock:
            self._batches = [each for each in self._batches if each[1] is not pending]
            if not pending.done:
                pending.fail(errors.CancelledError(None, None, "UnbatchGrad operation was cancelled"))
