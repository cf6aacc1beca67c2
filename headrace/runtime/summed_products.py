"""Matrix products that are only added up, computed as one product.

The gradient of a weight that each iteration multiplies by is the sum over iterations of products of two thin matrices:
much to write, little to compute. Their factors are kept instead, one below the other, and multiplied when the loop is
over: the sum over iterations becomes part of the sum over rows. Where a loop is unrolled, an AddN has the products.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.blas import transposed_lower
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function
from headrace.lazy import jnp, lax
from headrace.passes.access import Late
from headrace.passes.aliases import shared_inputs
from headrace.runtime.trip_count import strip

_MOST_BYTES = 256 << 20  # for the factors of one product
_AT_A_TIME = 16  # iterations, of a loop that leaves room unused
_MOST_ROWS = 256  # of a factor; products of taller ones are quick as they are


@dataclass
class Sum:
    """A loop variable to which each iteration adds products: a transposed left factor times a right one."""

    position: int
    factors: list[tuple[Tensor, Tensor]]


def find(body: Function, test: Function) -> list[Sum]:
    """Returns the variables of a loop that are sums of products and that it uses for nothing else."""
    if shared_inputs(body):
        return []  # a factor may be read from a variable that the loop writes
    uses = Counter(t for op in body.body for t in op._inputs)
    uses.update(body.outputs)
    tested = {t for op in test.body for t in op._inputs}
    found = []
    for i, (given, after) in enumerate(zip(body.inputs, body.outputs, strict=True)):
        op = strip(after)._op
        if (
            op.type not in ("AddN", "AddV2", "Add")
            or given._dtype is not dtypes.float32
            or test.inputs[i] in tested
            or not _is_private(after, op._outputs[0], uses)
        ):
            continue
        own = [t for t in op._inputs if strip(t) is given]
        added = [t for t in op._inputs if strip(t) is not given]
        if len(own) == 1 and _is_private(own[0], given, uses) and all(_is_product(t, uses) for t in added):
            products = [strip(t)._op for t in added]
            found.append(Sum(i, [(p._inputs[0], p._inputs[1]) for p in products]))
    return found


def in_nodes(
    ops: Sequence[Operation], outputs: Iterable[Tensor], late: Late | None = None
) -> tuple[dict[Operation, Any], set[Operation]]:
    """Finds the sums of products among nodes.

    Args:
      ops: The nodes.
      outputs: Their results that are asked for elsewhere.
      late: Node -> its inputs, where they are others than the node says.

    Returns:
      The sums, each with its factors, and the nodes of their products, which need not be computed.
    """
    sums = [op for op in ops if op.type == "AddN" and len(op._inputs) > 2 and _is_float(op._outputs[0])]
    if not sums:
        return {}, set()
    late = late or {}
    uses = Counter(t for op in ops for t in late.get(op, op._inputs))
    uses.update(outputs)
    here = set(ops)
    found: dict[Operation, Any] = {}
    products: set[Operation] = set()
    for op in sums:
        inputs = late.get(op, op._inputs)
        own = [t._op for t in inputs]
        if all(
            p in here and not p._control_inputs and _is_product(t, uses)
            for p, t in zip(own, inputs, strict=True)
        ):
            factors = [late.get(p, p._inputs) for p in own]
            found[op] = [(a, b) for a, b in factors]
            products.update(own)
    return found, products


def _is_float(tensor: Tensor) -> bool:
    return tensor._dtype in (dtypes.float32, dtypes.float64)


def of_factors(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Returns the sum of the products of transposed left factors, [rows, m], and right ones, [rows, n]."""
    pairs = [(jnp.asarray(a), jnp.asarray(b)) for a, b in pairs]
    if any(a.shape[0] > _MOST_ROWS for a, _ in pairs):
        return functools.reduce(lambda so_far, p: so_far + p, [transposed_lower(a, b) for a, b in pairs])
    left, right = (jnp.concatenate(side) for side in zip(*pairs, strict=True))
    return transposed_lower(left, right)


def _is_product(tensor: Tensor, uses: Counter[Tensor]) -> bool:
    product = strip(tensor)
    op = product._op
    return (
        op.type == "MatMul"
        and bool(op.attrs["transpose_a"])
        and not op.attrs["transpose_b"]
        and _is_private(tensor, product, uses)
    )


def _is_private(last: Tensor, first: Tensor, uses: Counter[Tensor]) -> bool:
    """Whether a tensor and its copies up to another one are used once each."""
    while last is not first:
        if uses[last] != 1:
            return False
        last = last._op._inputs[0]
    return uses[first] == 1


def without(body: Function, sums: Sequence[Sum], with_factors: bool = False) -> Function:
    """Returns a body that hands the sums on as they are; if asked for, with the factors after its other results."""
    outputs = list(body.outputs)
    for each in sums:
        outputs[each.position] = body.inputs[each.position]
    if with_factors:
        outputs += [t for each in sums for pair in each.factors for t in pair]
    return Function("", body.graph, body.inputs, outputs, body.controls)


def worth_it(sums: Sequence[Sum], shapes: Sequence[Any], start: Sequence[Any], most: int) -> list[Sum]:
    """Returns those whose factors may be kept.

    Args:
      sums: What was found.
      shapes: The shapes of their factors, in the order in which `without` hands them out.
      start: What the loop's variables start with.
      most: The number of iterations.
    """
    out = []
    shapes = list(shapes)
    for each in sums:
        own, shapes = shapes[: 2 * len(each.factors)], shapes[2 * len(each.factors) :]
        size = sum(4 * int(np.prod(s)) * most for s in own)
        fits = all(
            (a[1], b[1]) == np.shape(start[each.position]) for a, b in zip(own[::2], own[1::2], strict=True)
        )
        if fits and size <= _MOST_BYTES and all(s[0] <= _MOST_ROWS for s in own):
            out.append(each)
    return out


def rooms(shapes: Sequence[Any], most: int) -> list[Any]:
    """Returns arrays that have room for factors of some shapes from so many iterations."""
    return [jnp.zeros((most, *shape), np.float32) for shape in shapes]


def keep(rooms: Sequence[Any], factors: Sequence[Any], iteration: Any) -> list[Any]:
    """Returns the arrays with an iteration's factors in their place."""
    return [
        lax.dynamic_update_index_in_dim(room, jnp.asarray(f), iteration, 0)
        for room, f in zip(rooms, factors, strict=True)
    ]


def total(start: Any, rooms: Sequence[Any], used: Any = None) -> Any:
    """Returns a sum after a loop: what it started with and the products of the factors that were kept.

    Args:
      start: What the sum started with, [m, n].
      rooms: For each product the left factors [iterations, rows, m] and the right ones [iterations, rows, n].
      used: How many iterations there were, of those that there is room for; None for all.
    """
    for left, right in zip(rooms[::2], rooms[1::2], strict=True):
        start = start + _product(left, right) if used is None else _of_used(start, left, right, used)
    return start


def _of_used(start: Any, left: Any, right: Any, used: Any) -> Any:
    some = math.gcd(left.shape[0], _AT_A_TIME)

    def add(i: Any, so_far: Any) -> Any:
        a, b = (lax.dynamic_slice_in_dim(side, i * some, some) for side in (left, right))
        return so_far + _product(a, b)

    return lax.fori_loop(0, (used + some - 1) // some, add, start)


def _product(left: Any, right: Any) -> Any:
    rows = left.shape[0] * left.shape[1]
    return transposed_lower(left.reshape(rows, left.shape[2]), right.reshape(rows, right.shape[2]))
