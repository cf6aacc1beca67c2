"""BatchFunction: a function that is called once for the arguments of several steps."""

from __future__ import annotations

from headrace.graph import get_default_graph
from headrace.graph.func_graph import FuncGraph
from headrace.opdef import op, raw
from headrace.opdef.bodies import add_function, function_name
from headrace.resources.batching import BatchQueue

BatchFunction = op("""
    BatchFunction(in_tensors: Tin, captured_tensors: Tcaptured) -> (out_tensors: Tout)
      f: func
      num_batch_threads: int
      max_batch_size: int
      batch_timeout_micros: int
      max_enqueued_batches: int = 10
      allowed_batch_sizes: list(int) = []
      container: string = ""
      shared_name: string = ""
      batching_queue: string = ""
      Tin: list(type) >= 1
      Tcaptured: list(type) >= 0
      Tout: list(type) >= 1

    Gathers the rows of what steps that run at once give it, calls the function on all of them, and gives each step its
    rows of the results.
""")  # fmt: skip


@BatchFunction.shape
def batch_function_shape(in_tensors, captured_tensors, *, Tout):
    return [None] * len(Tout)


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


@BatchFunction.host(waits=True)
def batch_function_host(
    in_tensors,
    captured_tensors,
    *,
    f,
    num_batch_threads,
    max_batch_size,
    batch_timeout_micros,
    max_enqueued_batches,
    allowed_batch_sizes,
    container,
    shared_name,
    batching_queue,
    ctx,
):
    def make():
        return BatchQueue(
            num_batch_threads, max_batch_size, batch_timeout_micros, max_enqueued_batches, allowed_batch_sizes
        )

    key = (_text(shared_name) or ctx.op.name) + "\0" + _text(batching_queue)
    queue = ctx.resources.lookup_or_create(_text(container) or "localhost", key, BatchQueue, make)
    inside = ctx.apart()
    return ctx.wait(queue.put(in_tensors, lambda arrays: inside.call(f, [*arrays, *captured_tensors])))


@BatchFunction.cases
def batch_function_cases(case):
    @case.program
    def one_step_alone(step):
        graph = get_default_graph()
        x = raw.Placeholder(dtype="float32", shape=[None])
        w = raw.Placeholder(dtype="float32", shape=[])
        body = FuncGraph(function_name(graph, "batch", "body"), graph)
        with body.as_default():
            row, factor = body.placeholder(x.dtype, x._dims), body.placeholder(w.dtype, w._dims)
            body.inputs, body.outputs = [row, factor], [row * factor]
        (y,) = BatchFunction(
            [x],
            [w],
            f=add_function(graph, body),
            num_batch_threads=1,
            max_batch_size=2,
            batch_timeout_micros=0,
            Tout=["float32"],
        )
        step(y, feed={x: [2, 3], w: 3.0}, gives=[6, 9])
