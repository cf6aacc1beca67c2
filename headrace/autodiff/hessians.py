"""tf.hessians: second derivatives."""

from __future__ import annotations

from typing import Any

from headrace import shapes
from headrace.autodiff.gradients import gradients
from headrace.export import NAMES, export
from headrace.opdef import convert_to_tensor, nodes, raw


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
    """Takes the derivatives of a gradient's elements, each by nodes of its own.

    TensorFlow loops over the elements; here their number has to be known.
    """
    x = convert_to_tensor(x)
    count = shapes.num_elements(x._dims)
    if count is None:
        raise NotImplementedError(
            f"tf.hessians needs the shape of {x.name} to be known, but it is {shapes.to_text(x._dims)}"
        )
    if gradient is None:
        raise ValueError(f"the gradient with respect to {x.name} is None: it has no second derivatives")
    flat = raw.Reshape(gradient, [-1])
    rows = []
    for i in range(count):
        (row,) = gradients(raw.Squeeze(raw.Slice(flat, [i], [1]), squeeze_dims=[0]), x, **options)
        rows.append(nodes.zeros_like(x) if row is None else convert_to_tensor(row))
    shape = nodes.shape_of(x)
    if not rows:
        return nodes.zeros_like(raw.Reshape(x, NAMES["concat"]((shape, shape), 0)))
    return raw.Reshape(raw.Pack(rows), NAMES["concat"]((shape, shape), 0))
