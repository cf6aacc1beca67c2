"""tf.nondifferentiable_batch_function: functions that several steps call at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.dtypes import as_dtype
from headrace.export import export
from headrace.functions.concrete import ConcreteFunction
from headrace.functions.trace import trace_function
from headrace.graph import Tensor, name_scope
from headrace.graph.type_spec import TensorSpec
from headrace.opdef import raw


@export("nondifferentiable_batch_function")
def batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., list[Any]]]:
    """Returns a decorator: steps that run at once call the function together, on the rows of all their arguments.

    Args:
      num_batch_threads: How many batches are computed at once.
      max_batch_size: The greatest number of rows of a batch.
      batch_timeout_micros: For how many microseconds a batch that is not full waits for further steps.
      allowed_batch_sizes: The sizes up to which batches are padded, increasing, the last one `max_batch_size`; None for
        any size.
      max_enqueued_batches: How many batches may wait before calls fail.
      autograph: Whether Python's control flow over tensors in the function is converted.

    Returns:
      A decorator of functions of tensors; what is decorated returns a list of tensors.

    Raises:
      ValueError: The decorated function is called with something else than tensors.
    """

    def decorator(fn: Callable[..., Any]) -> Callable[..., list[Any]]:
        def decorated(*args: Any) -> list[Any]:
            specs = [TensorSpec(dtype=as_dtype(x.dtype).base_dtype, shape=x.shape) for x in args]
            names = ["unknown", *[f"unknown_{i}" for i in range(len(args) - 1)]]

            def computation(*computation_args: Any) -> Any:
                return fn(*computation_args)

            with name_scope("batch") as scope:
                graph = trace_function(
                    "computation", computation, specs, {}, names, autograph, described_as=fn
                )
                function = ConcreteFunction(graph)
                function.add_to_graph()
                for x in args:
                    if not isinstance(x, Tensor):
                        raise ValueError(
                            "All arguments to functions decorated with `batch_function`  are supposed to be Tensors; "
                            f"found {x!r}"
                        )
                return list(
                    raw.BatchFunction(
                        list(args),
                        function.captured_inputs,
                        f=function._function,
                        num_batch_threads=num_batch_threads,
                        max_batch_size=max_batch_size,
                        batch_timeout_micros=batch_timeout_micros,
                        allowed_batch_sizes=list(allowed_batch_sizes or ()),
                        max_enqueued_batches=max_enqueued_batches,
                        shared_name=scope,
                        Tout=[t.dtype.base_dtype for t in function.outputs],
                    )
                )

        return decorated

    return decorator
