"""raw_rnn: a loop over time in which a function makes the inputs."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph.structure import check_same, flatten, pack_like
from headrace.opdef import convert_to_tensor
from headrace.rnn.stacked import check_cells
from headrace.rnn.steps import cache_reads, copied_through, known_shape
from headrace.rnn.zero_states import joined_shape
from headrace.tensor_shape import TensorShape, dimension_at_index
from headrace.variables.scope import variable_scope


@export("nn.raw_rnn")
def raw_rnn(
    cell: Any,
    loop_fn: Any,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> Any:
    """Calls a cell in a loop until a function says that all sequences are over.

    Args:
      cell: The cell.
      loop_fn: A function of the step's number, the cell's output and state and a state of its own. It returns which
        sequences are over, the next input and state of the cell, what to put out, and its own next state. In the
        first call all arguments but the number are None, and what it returns to put out is a model without a batch.
      parallel_iterations: How many steps TensorFlow may run at once, 32 by default; no effect on results.
      swap_memory: Not used.
      scope: The variable scope or its name, by default "rnn".

    Returns:
      A TensorArray of what was put out (or a structure of those), the cell's last state and the function's.

    Raises:
      TypeError: `cell` is no cell, or `loop_fn` can't be called.
    """
    check_cells(cell=cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn") as varscope:
        cache_reads(varscope)
        time = NAMES["constant"](0, dtype=dtypes.int32)
        finished, next_input, state, emitted, own_start = loop_fn(time, None, None, None)
        flat_input = flatten(next_input)
        own = own_start if own_start is not None else NAMES["constant"](0, dtype=dtypes.int32)
        shapes = [each.shape for each in flat_input]
        known = dimension_at_index(shapes[0], 0)
        for shape in shapes:
            known = known.merge_with(dimension_at_index(shape, 0))
        known_batch = known.value
        batch_size = NAMES["shape"](flat_input[0])[0] if known_batch is None else known_batch
        check_same(state, cell.state_size, composites=False)
        state = pack_like(state, [convert_to_tensor(each) for each in flatten(state)])
        if emitted is not None:
            models = [convert_to_tensor(each) for each in flatten(emitted)]
            sizes = [each.shape if each.shape.is_fully_defined() else NAMES["shape"](each) for each in models]
            kinds = [each.dtype for each in models]
        else:
            emitted = cell.output_size
            sizes = flatten(emitted)
            kinds = [flatten(state)[0].dtype] * len(sizes)
        arrays = [
            NAMES["TensorArray"](
                dtype=kind,
                dynamic_size=True,
                element_shape=TensorShape([known_batch]).concatenate(known_shape(size)),
                size=0,
                name=f"rnn_output_{number}",
            )
            for number, (kind, size) in enumerate(zip(kinds, sizes, strict=True))
        ]
        array = pack_like(emitted, arrays)
        zeros = [
            NAMES["zeros"](joined_shape(batch_size, size), kind)
            for size, kind in zip(sizes, kinds, strict=True)
        ]
        zero_emit = pack_like(emitted, zeros)

        def going_on(_: Any, finished: Any, *__: Any) -> Any:
            return NAMES["logical_not"](NAMES["reduce_all"](finished))

        def step(time: Any, finished: Any, current: Any, array: Any, state: Any, own: Any) -> Any:
            output, cell_state = cell(current, state)
            check_same(state, cell_state, composites=False)
            check_same(cell.output_size, output, composites=False)
            next_time = time + 1
            next_finished, next_input, next_state, emit, next_own = loop_fn(
                next_time, output, cell_state, own
            )
            check_same(state, next_state, composites=False)
            check_same(current, next_input, composites=False)
            check_same(array, emit, composites=False)

            def kept(old: Any, new: Any) -> Any:
                pairs = zip(flatten(old), flatten(new), strict=True)
                return pack_like(old, [copied_through(finished, *pair) for pair in pairs])

            emit = kept(zero_emit, emit)
            next_state = kept(state, next_state)
            pairs = zip(flatten(array), flatten(emit), strict=True)
            array = pack_like(array, [ta.write(time, value) for ta, value in pairs])
            over = NAMES["logical_or"](finished, next_finished)
            return next_time, over, next_input, array, next_state, own if next_own is None else next_own

        returned = NAMES["while_loop"](
            going_on,
            step,
            loop_vars=[time, finished, next_input, array, state, own],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        array, last, own = returned[-3:]
        return array, last, None if own_start is None else own
