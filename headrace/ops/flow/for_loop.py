"""For and MapDefun: a function called on numbers, or on the rows of tensors."""

from __future__ import annotations

import numpy as np

from headrace import errors
from headrace.graph import get_default_graph
from headrace.opdef import op, raw
from headrace.opdef.bodies import add_function, body_of, function_name

For = op("""
    For(start: int32, limit: int32, delta: int32, input: T) -> (output: T)
      T: list(type) >= 0
      body: func

    Calls `body` with start, start + delta, ... below limit, and with its own results, at first `input`.
""")  # fmt: skip


@For.shape
def for_shape(start, limit, delta, input):
    for each in (start, limit, delta):
        if each:
            raise ValueError(f"Shape must be rank 0 but is rank {len(each)}")
    return [None] * len(input)


@For.host(untouched=True, calls=True)
def for_host(start, limit, delta, input, *, body, ctx):
    first, last, step = (int(np.asarray(v)) for v in (start, limit, delta))
    if (step > 0 and first <= last) or (step < 0 and first >= last) or (step == 0 and first == last):
        values = list(input)
        for i in range(first, last, step or 1):
            values = ctx.call(body, [np.array(i, np.int32), *values])
            if len(values) != len(input):
                raise errors.InvalidArgumentError(
                    None, None, f"For loop body returned {len(values)} arguments. Expected: {len(input)}"
                )
        return values
    raise errors.InvalidArgumentError(None, None, f"Invalid start/limit/delta: {first} {last} {step}")


@For.cases
def for_cases(case):
    @case.program
    def counts(step):
        graph = get_default_graph()
        n = raw.Placeholder(dtype="int32", shape=[])

        def arguments(inside):
            return [
                inside.add_input(raw.Placeholder(dtype=t, shape=[]), "x").graph.inputs[-1]
                for t in ("int32", "float32")
            ]

        body = body_of(
            function_name(graph, "f", "body"), lambda i, x: [x + raw.Cast(i, DstT="float32")], arguments
        )
        y = For(0, n, 1, [10.0], body=add_function(graph, body))
        step(y, feed={n: 4}, gives=[16])
        step(y, feed={n: 0}, gives=[10])
        step(For(0, n, 0, [10.0], body=body.name), feed={n: 4}, fails=errors.InvalidArgumentError)


MapDefun = op("""
    MapDefun(arguments: Targuments, captured_inputs: Tcaptured) -> (output: output_types)
      Targuments: list(type) >= 1
      Tcaptured: list(type) >= 0 = []
      output_types: list(type) >= 1
      output_shapes: list(shape) >= 1
      f: func
      max_intra_op_parallelism: int = 1

    Calls `f` with each row of the arguments, and with the captured inputs, and stacks what it returns.
""")  # fmt: skip


@MapDefun.shape
def map_defun_shape(arguments, captured_inputs, *, output_shapes):
    n = next((a[0] for a in arguments if a), None)
    return [None if s is None else (n, *s) for s in output_shapes]


@MapDefun.host(calls=True)
def map_defun_host(arguments, captured_inputs, *, f, output_types, output_shapes, ctx):
    sizes = {len(a) if a.ndim else -1 for a in arguments}
    if -1 in sizes:
        raise errors.InvalidArgumentError(None, None, "All inputs must have rank at least 1.")
    if len(sizes) > 1:
        raise errors.InvalidArgumentError(None, None, "All inputs must have the same dimension 0.")
    n = sizes.pop()
    rows = [ctx.call(f, [*[np.asarray(a[i]) for a in arguments], *captured_inputs]) for i in range(n)]
    out = []
    for k, (dtype, shape) in enumerate(zip(output_types, output_shapes, strict=True)):
        if rows:
            out.append(np.stack([np.asarray(row[k]) for row in rows]).astype(dtype.storage, copy=False))
        elif shape is None or None in shape:
            raise errors.InvalidArgumentError(
                None, None, f"The output shape of element {k} is not known, and there is no row to ask"
            )
        else:
            out.append(np.zeros((0, *shape), dtype.storage))
    return out


@MapDefun.cases
def map_defun_cases(case):
    @case.program
    def maps_rows(step):
        graph = get_default_graph()
        x = raw.Placeholder(dtype="float32", shape=[None, 2])

        def arguments(inside):
            return [inside.add_input(raw.Placeholder(dtype="float32", shape=[2]), "x").graph.inputs[-1]]

        body = body_of(function_name(graph, "f", "body"), lambda row: [row * row], arguments)
        y = MapDefun([x], [], output_types=["float32"], output_shapes=[[2]], f=add_function(graph, body))
        step(y, feed={x: [[1, 2], [3, 4]]}, gives=[[[1, 4], [9, 16]]])
