"""tf.hessians: second derivatives."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.autodiff.gradients import gradients
from headrace.export import NAMES, export
from headrace.opdef import constant_node, nodes, raw


@export("hessians")
def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Adds nodes that compute the second derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: A tensor, or a list of tensors.
      xs: A tensor, or a list of tensors.
      name: Not used, as in TensorFlow.
      colocate_gradients_with_ops, gate_gradients, aggregation_method: See `tf.gradients`.

    Returns:
      For each `x` a tensor with the dimensions of `x` twice.

    Raises:
      LookupError: An operation on the way has no gradient.
      ValueError: The arguments do not fit each other.
    """
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    return [
        _hessian(gradient, x, options) for gradient, x in zip(gradients(ys, xs, **options), xs, strict=True)
    ]


def _hessian(gradient: Any, x: Any, options: dict[str, Any]) -> Any:
    """Takes the derivatives of a gradient's elements, one in each iteration of a loop."""
    flat = raw.Reshape(gradient, [-1])
    n = nodes.size_of(x)
    start = constant_node(0, dtypes.int32)
    rows = NAMES["TensorArray"](x.dtype.base_dtype, n)

    def work(j: Any, rows: Any) -> Any:
        return j + 1, rows.write(j, gradients(flat[j], x, **options)[0])

    _, rows = NAMES["while_loop"](lambda j, _: j < n, work, [start, rows])
    shape = nodes.shape_of(x)
    return raw.Reshape(rows.stack(), NAMES["concat"]((shape, shape), 0))
