"""Polynomials, and the logarithm of the sigmoid."""

from __future__ import annotations

from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, nodes, raw


@export("log_sigmoid", "math.log_sigmoid")
def log_sigmoid(x, name=None):
    """Returns log(1 / (1 + exp(-x))), exact for large `x` of both signs.

    Args:
      x: A float tensor.
      name: The node's name.
    """
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw.Neg(raw.Softplus(raw.Neg(x)), name=scope)


@export("math.polyval")
def polyval(coeffs, x, name=None):
    """Returns a polynomial's values, by Horner's rule.

    Args:
      coeffs: A list of the coefficients, that of the highest power first.
      x: A tensor.
      name: A name scope for the nodes.
    """
    with name_scope(name, "polyval", [*coeffs, x]) as scope:
        x = convert_to_tensor(x, name="x")
        if len(coeffs) < 1:
            return nodes.zeros_like(x, name=scope)
        tensors = [convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        value = tensors[0]
        for c in tensors[1:]:
            value = raw.AddV2(c, raw.Mul(value, x, name="mul"), name="add")
        return value
