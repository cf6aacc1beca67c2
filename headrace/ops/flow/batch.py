"""Batch, Unbatch and UnbatchGrad: the rows of steps that run at once come together in one of them, and go back."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import op, raw
from headrace.resources.unbatching import GatheringQueue, GradientGatherer, Unbatcher

Batch = op("""
    Batch(in_tensors: T) -> (batched_tensors: T, batch_index: int64, id: int64)
      num_batch_threads: int
      max_batch_size: int
      max_enqueued_batches: int = 10
      batch_timeout_micros: int
      allowed_batch_sizes: list(int) = []
      grad_timeout_micros: int
      container: string = ""
      shared_name: string = ""
      batching_queue: string = ""
      T: list(type) >= 1

    Gathers the rows of what steps that run at once give it: one of them gets all rows, the others none.
""")  # fmt: skip


@Batch.shape
def batch_shape(in_tensors):
    rows = [shapes.with_rank_at_least(dims, 1) for dims in in_tensors]
    return [*[None if dims is None else (None, *dims[1:]) for dims in rows], (None, 3), ()]


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _resource(ctx, container, shared_name, kind, make, more=""):
    key = (_text(shared_name) or ctx.op.name) + more
    return ctx.resources.lookup_or_create(_text(container) or "localhost", key, kind, make)


@Batch.host(waits=True)
def batch_host(
    in_tensors,
    *,
    num_batch_threads,
    max_batch_size,
    max_enqueued_batches,
    batch_timeout_micros,
    allowed_batch_sizes,
    grad_timeout_micros,
    container,
    shared_name,
    batching_queue,
    ctx,
):
    def make():
        return GatheringQueue(
            num_batch_threads, max_batch_size, batch_timeout_micros, max_enqueued_batches, allowed_batch_sizes
        )

    more = "\0" + _text(batching_queue)
    queue = _resource(ctx, container, shared_name, GatheringQueue, make, more)
    return ctx.wait(queue.gather(in_tensors))


Unbatch = op("""
    Unbatch(batched_tensor: T, batch_index: int64, id: int64) -> (unbatched_tensor: T)
      timeout_micros: int
      container: string = ""
      shared_name: string = ""
      T: type

    Gives a step its rows of a batch, which may come in another step.
""")  # fmt: skip


@Unbatch.shape
def unbatch_shape(batched_tensor, batch_index, id):
    dims = shapes.with_rank_at_least(batched_tensor, 1)
    return None if dims is None else (None, *dims[1:])


@Unbatch.host(waits=True)
def unbatch_host(batched_tensor, batch_index, id, *, timeout_micros, container, shared_name, ctx):
    unbatcher = _resource(ctx, container, shared_name, Unbatcher, lambda: Unbatcher(timeout_micros))
    return ctx.wait(unbatcher.put(batched_tensor, batch_index, int(id.reshape(-1)[0])))[0]


UnbatchGrad = op("""
    UnbatchGrad(original_input: T, batch_index: int64, grad: T, id: int64) -> (batched_grad: T)
      container: string = ""
      shared_name: string = ""
      T: type

    Gathers the gradients of a batch's rows from the steps that have them.
""")  # fmt: skip


@UnbatchGrad.shape
def unbatch_grad_shape(original_input, batch_index, grad, id):
    dims = shapes.with_rank_at_least(grad, 1)
    return None if dims is None else (None,) * len(dims)


@UnbatchGrad.host(waits=True)
def unbatch_grad_host(original_input, batch_index, grad, id, *, container, shared_name, ctx):
    gatherer = _resource(ctx, container, shared_name, GradientGatherer, GradientGatherer)
    return ctx.wait(gatherer.put(original_input, batch_index, grad, int(id.reshape(-1)[0])))[0]


def _cases(case):
    @case.program
    def one_step_alone(step):
        x = raw.Placeholder(dtype="float32", shape=[None])
        batched, index, number = Batch(
            [x],
            num_batch_threads=1,
            max_batch_size=4,
            batch_timeout_micros=1000,
            grad_timeout_micros=1000,
            allowed_batch_sizes=[2, 4],
        )
        step(batched[0], feed={x: [1.0, 2.0, 3.0]}, gives=[1.0, 2.0, 3.0, 1.0])
        rows = Unbatch(raw.Neg(batched[0]), index, number, timeout_micros=1000000)
        step(rows, feed={x: [1.0, 2.0, 3.0]}, gives=[-1.0, -2.0, -3.0])
        step(
            rows,
            feed={x: [0.0] * 5},
            fails=errors.InvalidArgumentError,
            match="Task size 5 is larger than maximum batch size 4",
        )

    @case.program
    def gradients_of_two_tasks(step):
        x = raw.Placeholder(dtype="float32", shape=[None])
        both = np.array([[5, 0, 1], [6, 1, 2]])
        first = UnbatchGrad([0.0, 0.0], both, x, 5, shared_name="gathers")
        none = np.zeros([0, 3], np.int64)
        second = UnbatchGrad(np.zeros([0], np.float32), none, [4.0], 6, shared_name="gathers")
        step([first, second], feed={x: [3.0]}, gives=([3.0, 4.0], np.zeros([0], np.float32)))


for _kind in (Batch, Unbatch, UnbatchGrad):
    _kind.cases(_cases)
