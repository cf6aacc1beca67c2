"""Loops as part of a cluster: `lax.while_loop` over what moves from one iteration to the next.

Lists that grow by a fixed number of elements in each iteration get an array with room for all of them, so the most
iterations must be known; what is only indexed needs no more room than it has. Counters of a loop whose iterations are
known exactly are known after it, too: the loop of its gradient, which counts as far, can be sized in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import errors
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function, function_named
from headrace.lazy import jax, jnp, lax
from headrace.passes.access import effects
from headrace.passes.aliases import shared_inputs
from headrace.resources.stacked_list import StackedList
from headrace.resources.variable import VariableState
from headrace.runtime import stopping, summed_products
from headrace.runtime.functions import NeedHost, NeedStatic
from headrace.runtime.traced_calls import Body, inline, pass_checks_on, read_values
from headrace.runtime.trip_count import TripCount, trip_count, unmoved

# A list of more elements than this is not given room before the loop has run.
_MOST_ELEMENTS = 1 << 20
# A loop of more iterations than this must hear Ctrl-C and deadlines, as an endless one must.
_LONG = 1 << 20


def lower_loop(trace: Any, op: Operation, cond: Any, body: Any, operands: Sequence[Any]) -> list[Any]:
    """Traces a loop."""
    test = Body(trace, op, function_named(op._graph, cond.name))
    work = Body(trace, op, function_named(op._graph, body.name))
    f = work.function
    # A value is what the variable holds as the loop starts, whatever the body writes to it.
    operands = read_values(trace, f, operands)
    moving = _moving(f)
    trips = trip_count(
        test.function, f, operands, lambda t: _known(trace, test.function, moving, operands, t)
    )
    # A program of the loop's own is told how far it may go: the number itself is an operand there.
    room = trace.facts.get(op)
    bound = trips.most if room is None else room or None
    # Where it is only known how many iterations there may be, keeping the factors of as many would cost as much.
    is_open = not trips.is_exact and room is not None
    sums, shapes = _sums(trace, op, test.function, f, operands, bound if is_open or trips.is_exact else None)
    if sums:
        work = Body(trace, op, summed_products.without(f, sums, True))
        f = summed_products.without(f, sums)
        moving = _moving(f)
    work.unmoved.update(unmoved(f))
    for i in moving:
        if isinstance(operands[i], VariableState):
            raise NeedHost(op, "a handle changes in it")
    before = dict(trace.values)
    written = [operands[i] for i in effects(f)[1] if isinstance(operands[i], VariableState)]
    written += [v.flags for v in operands if isinstance(v, StackedList) and v.flags in before]
    written = list(dict.fromkeys(written))
    for s in written:
        if before.get(s) is None:
            raise NeedHost(op, f"{s.name} is not initialized before it")
    randoms = work.random_ops
    if test.random_ops:
        raise NeedHost(op, "its condition takes random numbers")
    if trips.is_exact and trips.most == 0:
        return list(operands)
    start = [
        operands[i]
        if isinstance(operands[i], StackedList)
        else jnp.asarray(operands[i], op._outputs[i]._dtype.storage)
        for i in moving
    ]
    growth: dict[int, int] = {}
    if any(isinstance(v, StackedList) for v in start):
        growth = _make_room(trace, op, work, moving, operands, start, trips)

    def all_operands(carried: Sequence[Any]) -> list[Any]:
        full = list(operands)
        for i, v in zip(moving, carried, strict=True):
            full[i] = v
        return full

    def at(new: Sequence[Any], moved: Sequence[Any]) -> Any:
        return (
            {**before, **dict(zip(written, new, strict=True))},
            {**trace.consumed, **dict(zip(randoms, moved, strict=True))},
        )

    def step(carry: Any) -> Any:
        carried, new, moved, ok, count, kept = carry
        outputs, values, consumed, good = work.run(all_operands(carried), *at(new, moved))
        after = [v if isinstance(v, StackedList) else jnp.asarray(v) for v in (outputs[i] for i in moving)]
        result = (
            after,
            [jnp.asarray(values[s]) for s in written],
            [jnp.asarray(consumed[r], np.int64) for r in randoms],
            jnp.logical_and(ok, good),
            [n + 1 for n in count],
            summed_products.keep(kept, outputs[len(operands) :], count[0]) if sums else kept,
        )
        if any(s not in written for s in work.written):
            raise NeedHost(op, "it writes a variable that it reaches in a way of its own")
        _same_forms(op, carry, result)
        return result

    def go_on(carry: Any) -> Any:
        carried, new, moved, ok, count, _ = carry
        outputs, _, _, _ = test.run(all_operands(carried), *at(new, moved))
        if test.written or test.has_checks:
            raise NeedHost(op, "its condition does more than compute")
        if np.ndim(outputs[0]):
            raise NeedHost(op, "its condition is not a scalar")
        # A failed check ends the loop: the step is run again by the interpreter, which words the error.
        result = jnp.logical_and(ok, jnp.asarray(outputs[0]).astype(bool).reshape(()))
        return result & (count[0] < np.iinfo(np.int64).max) if bound is None else result

    progress = [jnp.asarray(trace.consumed.get(r, 0), np.int64) for r in randoms]
    # LLVM leaves a loop out that it can prove endless, as one that can't happen. With a limit it comes to an end: the
    # check then has the interpreter run it.
    count = [jnp.zeros((), np.int64)] if bound is None or sums else []
    kept = summed_products.rooms(shapes, bound or 0)
    carry = (start, [jnp.asarray(before[s]) for s in written], progress, jnp.asarray(True), count, kept)
    if bound is None or bound > _LONG or trace.facts.get("stops"):
        trace.facts["endless"] = True
        carry = stopping.loop(go_on, step, carry, trace.facts["switch"])
    else:
        carry = lax.while_loop(go_on, step, carry)
    carried, new, moved, ok, count, kept = carry
    if bound is None:
        trace.checks.append((count[0] < np.iinfo(np.int64).max, "an endless loop", errors.InternalError, op))
    for s, v in zip(written, new, strict=True):
        trace.values[s] = v
        trace.written[s] = None
    trace.consumed.update(zip(randoms, moved, strict=True))
    pass_checks_on(trace, op, [work], ok)
    result = all_operands(carried)
    for each in sums:
        own, kept = kept[: 2 * len(each.factors)], kept[2 * len(each.factors) :]
        used = count[0] if is_open else None
        result[each.position] = summed_products.total(jnp.asarray(operands[each.position]), own, used)
    if trips.is_exact:
        _know_counters(result, operands, trips, growth)
    return result


def _moving(body: Function) -> list[int]:
    fixed = set(unmoved(body))
    return [i for i in range(len(body.inputs)) if i not in fixed]


def _sums(
    trace: Any, op: Operation, test: Function, body: Function, operands: Sequence[Any], most: int | None
) -> tuple[list[Any], list[Any]]:
    """Returns the sums of products that may wait until the loop is over, and the shapes of their factors."""
    sums = summed_products.find(body, test) if most else []
    if not sums:
        return [], []

    def shapes_of(sums: Sequence[Any]) -> list[Any]:
        shapes = [t._dims for each in sums for pair in each.factors for t in pair]
        if all(s is not None and None not in s for s in shapes):
            return shapes
        trial = Body(trace, op, summed_products.without(body, sums, True))
        trial.unmoved.update(unmoved(summed_products.without(body, sums)))
        given = [_of_known_size(v) if isinstance(v, StackedList) else v for v in operands]
        found = jax.eval_shape(
            lambda: [
                jnp.asarray(v) for v in trial.run(given, dict(trace.values), trace.consumed)[0][len(given) :]
            ]
        )
        return [v.shape for v in found]

    sums = summed_products.worth_it(sums, shapes_of(sums), operands, most or 0)
    return sums, shapes_of(sums) if sums else []


def _known(trace: Any, test: Function, moving: list[int], operands: Sequence[Any], tensor: Tensor) -> Any:
    """Returns the value that a tensor of a condition has in all iterations, None if that isn't known."""
    needed: dict[Operation, None] = {}
    todo = [tensor._op]
    while todo:
        op = todo.pop()
        if op not in needed:
            needed[op] = None
            todo.extend(t._op for t in op._inputs)
    changing = [*[test.inputs[i] for i in moving], *shared_inputs(test)]
    if any(t._op in needed for t in changing) or not all(
        op.kind.rules.get("lower") or op.type in ("Const", "Placeholder") for op in needed
    ):
        return None
    part = Function("", test.graph, test.inputs, [tensor])
    try:
        return inline(trace.sub(dict(trace.values), dict(trace.consumed)), part, operands)[0]
    except (NeedHost, NeedStatic, errors.OpError):
        return None


def _same_forms(op: Operation, carry: Any, result: Any) -> None:
    a, b = jax.tree.leaves(carry), jax.tree.leaves(result)
    same = len(a) == len(b) and all(
        x.shape == y.shape and x.dtype == y.dtype for x, y in zip(a, b, strict=True)
    )
    if not same or jax.tree.structure(carry) != jax.tree.structure(result):
        raise NeedHost(op, "shapes change from one iteration to the next")


def _make_room(
    trace: Any,
    op: Operation,
    work: Body,
    moving: list[int],
    operands: Sequence[Any],
    start: list[Any],
    trips: TripCount,
) -> dict[int, int]:
    """Gives the lists among a loop's variables the room that they need; returns how much each grows an iteration."""
    before = dict(trace.values)

    def once(carried: Sequence[Any]) -> Any:
        full = list(operands)
        for i, v in zip(moving, carried, strict=True):
            full[i] = v
        outputs, _, _, _ = work.run(full, before, trace.consumed)
        return [v if isinstance(v, StackedList) else jnp.asarray(v) for v in (outputs[i] for i in moving)]

    probed = [_of_known_size(v) if isinstance(v, StackedList) else v for v in start]
    after = jax.eval_shape(once, probed)
    growth: dict[int, int] = {}
    for k, (given, shape) in enumerate(zip(probed, after, strict=True)):
        if not isinstance(given, StackedList):
            continue
        if not isinstance(shape, StackedList) or not shape.has_known_size:
            raise NeedHost(op, "how fast a list grows is not known")
        delta = growth[moving[k]] = shape.size - given.size
        this = start[k]
        capacity = None
        if delta > 0:
            if this.has_known_size:
                held = this.size
            else:
                held = trace.facts.get("room", 0) if this.rows is None else this.rows.shape[0]
            capacity = _most(trace, op, trips) * delta + held
            if capacity > _MOST_ELEMENTS:
                raise NeedHost(op, f"a list of {capacity} elements is too long")
        if shape.rows is None and shape.constant is not None and this.rows is None:
            this = this.of_constant(shape.constant, this.size)
        elif shape.rows is not None:
            if capacity is None and not this.has_known_size and this.rows is None:
                capacity = trace.facts.get("room")
            this = this.with_shape(shape.rows.shape[1:], shape.rows.dtype, capacity)
            this = this.without_blanks() if shape.blank is None else this.with_blanks()
        is_set = this.is_set
        if is_set is None and shape.is_set is not None:
            is_set = jnp.ones(this.rows.shape[0], bool)
        size = this.size if delta == 0 else jnp.asarray(this.size, np.int32)
        start[k] = this.like(this.rows, size, is_set, True, this.blank)
    return growth


def _of_known_size(given: StackedList) -> StackedList:
    """Returns a list that tells, where a body's trace is only looked at, by how much it grows."""
    if given.has_known_size:
        return given.like(given.rows, given.size, given.is_set, False, given.blank)
    n = 1 if given.rows is None else given.rows.shape[0]
    return given.like(given.rows, n, given.is_set, False, given.blank)


def _most(trace: Any, op: Operation, trips: TripCount) -> int:
    if trace.facts.get(op):
        return trace.facts[op]  # type: ignore[no-any-return]
    if trips.most is not None:
        return trips.most
    for i in trips.missing:
        raise NeedStatic(op._inputs[i], op)
    raise NeedHost(op, "how often it runs is not known")


def _know_counters(
    result: list[Any], operands: Sequence[Any], trips: TripCount, growth: dict[int, int]
) -> None:
    """Replaces counters and the lengths of lists by the values that they are known to have after a loop."""
    assert trips.most is not None
    for i, pace in trips.counters.items():
        result[i] = np.asarray(operands[i] + np.asarray(pace * trips.most, operands[i].dtype))
    for i, delta in growth.items():
        given = operands[i]
        if given.has_known_size:
            size = given.size + delta * trips.most
            result[i] = result[i].like(
                result[i].rows, size, result[i].is_set, given.is_fixed, result[i].blank
            )
