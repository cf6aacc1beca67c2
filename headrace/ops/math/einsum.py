"""Einsum: sums of products written with letters for axes, by way of matrix products of two operands at a time."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import Any

from headrace.export import export
from headrace.graph.default import name_scope
from headrace.graph.tensor import Tensor
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.math.building import int32, shape_of
from headrace.ops.math.matmul import matmul
from headrace.ops.math.reduce_functions import reduce_with


def _parse(equation: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    """Returns the letters of each operand's axes and of the result's, ellipses spelt out.

    Raises:
      ValueError: The equation is malformed or does not fit the operands.
    """
    text = equation.replace(" ", "")
    if re.fullmatch(r"([a-zA-Z.]+)(,[a-zA-Z.]+)*(->[a-zA-Z.]*)?", text) is None:
        raise ValueError(f"Indices have incorrect format: {equation}")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(tensors):
        raise ValueError(f'Got {len(tensors)} arguments for equation "{equation}", expecting {len(inputs)}')
    if "." in text:
        inputs, output = _spell_out_ellipses(equation, inputs, output, tensors)
    if not arrow:
        letters = "".join(inputs)
        output = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    for axes in inputs:
        for c in axes:
            if axes.count(c) > 1:
                raise ValueError(f"Subscript not supported: an axis appears more than once: {axes}")
    for c in output:
        if output.count(c) > 1:
            raise ValueError(
                f"Subscript not supported: an axis appears more than once in the output: {output}"
            )
    return inputs, output


def _spell_out_ellipses(
    equation: str, inputs: list[str], output: str, tensors: list[Tensor]
) -> tuple[list[str], str]:
    unused = [c for c in string.ascii_letters if c not in equation]
    out, longest = [], ""
    for axes, tensor in zip(inputs, tensors, strict=True):
        if "." in axes:
            parts = axes.split("...")
            if len(parts) != 2 or "." in "".join(parts):
                raise ValueError(f"Unable to resolve ellipsis. Excess number found. In equation: {equation}")
            if tensor._dims is None:
                raise ValueError("Unable to statically infer ellipsis axes.")
            n = len(tensor._dims) - len("".join(parts))
            if n < 0 or n > len(unused):
                raise ValueError("Unable to statically infer ellipsis axes.")
            letters = "".join(unused[:n])
            longest = max(longest, letters, key=len)
            axes = (parts[0], parts[1], n)  # type: ignore[assignment]
        out.append(axes)
    spelt = [a if isinstance(a, str) else a[0] + longest[len(longest) - a[2] :] + a[1] for a in out]
    return spelt, output.replace("...", longest)


def _transposed(t: Tensor, order: list[int]) -> Tensor:
    if order == list(range(len(order))):
        return t
    return raw.Transpose(t, int32(order), name="transpose")


def _reshaped(t: Tensor, sizes: list[Any]) -> Tensor:
    if t._dims is not None and list(t._dims) == sizes and None not in sizes:
        return t
    return raw.Reshape(t, sizes if any(isinstance(s, Tensor) for s in sizes) else int32(sizes))


def _sizes(t: Tensor) -> list[Any]:
    """Returns the size of each axis: a number if it is known, else a scalar tensor."""
    sizes: list[Any] = list(t._dims)  # type: ignore[arg-type]
    unknown = [i for i, d in enumerate(sizes) if d is None]
    if unknown:
        shape = shape_of(t)
        for i in unknown:
            sizes[i] = shape[i]
    return sizes


def _total(sizes: Iterable[Any]) -> Any:
    total: Any = 1
    for size in sizes:
        total = total * size
    return total


def _multiply(a: Tensor, a_axes: str, b: Tensor, b_axes: str, summed: set[str]) -> tuple[Tensor, str]:
    """Returns the product of two operands, summed over some axes that they share, and its axes."""
    kept = sorted(set(a_axes) & set(b_axes) - summed)
    only_a = sorted(set(a_axes) - set(b_axes))
    only_b = sorted(set(b_axes) - set(a_axes))
    gone = sorted(summed)
    a = _transposed(a, [a_axes.index(c) for c in kept + only_a + gone])
    b = _transposed(b, [b_axes.index(c) for c in kept + gone + only_b])
    axes = "".join(kept + only_a + only_b)
    if not gone:
        for _ in only_b:
            a = raw.ExpandDims(a, -1)
        for _ in only_a:
            b = raw.ExpandDims(b, len(kept))
        return raw.Mul(a, b), axes
    n, m = len(kept), len(kept) + len(only_a)
    a_sizes = _sizes(a)
    gone_size = _total(a_sizes[m:])
    a = _reshaped(a, a_sizes[:n] + [_total(a_sizes[n:m]), gone_size])
    b_sizes = _sizes(b)
    b = _reshaped(b, b_sizes[:n] + [gone_size, _total(b_sizes[n + len(gone) :])])
    product = matmul(a, b)
    return _reshaped(product, a_sizes[:m] + b_sizes[n + len(gone) :]), axes


def _all_at_once(tensors: list[Tensor], inputs: list[str], output: str) -> Tensor:
    """Multiplies all operands, broadcast against each other, and sums: for axes that more than two share."""
    summed = sorted(set("".join(inputs)) - set(output))
    order = "".join(summed) + output
    product: Any = 1
    for t, axes in zip(tensors, inputs, strict=True):
        t = _transposed(t, sorted(range(len(axes)), key=lambda i: order.index(axes[i])))
        present = iter(_sizes(t))
        product = product * _reshaped(t, [next(present) if c in axes else 1 for c in order])
    return reduce_with("Sum", product, list(range(len(summed))), False, None)


@export("einsum", "linalg.einsum")
def einsum(equation, *inputs, **kwargs):
    """Returns a sum of products over axes that are written as letters: `"ij,jk->ik"` is a matrix product.

    Args:
      equation: The letters of the operands' axes, then of the result's; `...` stands for further axes.
      *inputs: The operands.
      **kwargs: `name`, the scope of the nodes.

    Raises:
      ValueError: The equation is malformed or does not fit the operands.
      TypeError: There is another keyword argument.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(map(str, kwargs)))}")
    with name_scope(name, "einsum", [equation, inputs]):
        tensors = [convert_to_tensor(t) for t in inputs]
        letters, output = _parse(equation, tensors)
        everywhere = "".join(letters)
        if any(everywhere.count(c) > 2 and c not in output for c in set(everywhere)):
            return _all_at_once(tensors, letters, output)
        product, axes = tensors[0], letters[0]
        for t, t_axes in zip(tensors[1:], letters[1:], strict=True):
            summed = set(axes) & set(t_axes) - set(output)
            product, axes = _multiply(product, axes, t, t_axes, summed)
        missing = [i for i, c in enumerate(axes) if c not in output]
        if missing:
            product = reduce_with("Sum", product, missing, False, None)
            axes = "".join(c for c in axes if c in output)
        if sorted(axes) != sorted(output):
            raise ValueError(f"Invalid equation: {equation}")
        return _transposed(product, [axes.index(c) for c in output])
