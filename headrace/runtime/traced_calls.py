"""Calls of functions as part of a cluster: plain calls are traced in place, branches become `lax.switch`.

Variables that a body writes, and how far it reads random streams, are further results of it. What XLA can't hold
(shapes that differ between branches, lists of different lengths) sends the node back to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace import dtypes, errors
from headrace.graph import Operation
from headrace.graph.func_graph import Function, check_arguments, function_named, holds_resource
from headrace.lazy import jax, jnp, lax
from headrace.native import finish
from headrace.opdef.functions import arguments_of
from headrace.passes.aliases import shared_inputs, sharing
from headrace.resources.stacked_list import ArrayFlags, StackedList
from headrace.resources.variable import VariableState
from headrace.runtime.functions import NeedHost, NeedStatic


class _Unused:
    """Stands for an output that the branch taken does not have."""


UNUSED = _Unused()


def read_values(trace: Any, function: Function, operands: Sequence[Any]) -> list[Any]:
    """Returns operands with references read where a function wants values.

    Raises:
      FailedPreconditionError: One holds no value yet.
    """
    read = [
        trace.values.get(v) if isinstance(v, VariableState) and not holds_resource(t) else v
        for t, v in zip(function.inputs, operands, strict=True)
    ]
    if any(v is None for v in read):
        raise errors.FailedPreconditionError(None, None, "Attempting to use uninitialized value")
    return read


def inline(trace: Any, function: Function, operands: Sequence[Any]) -> list[Any]:
    """Traces a body within a trace and returns its outputs."""
    check_arguments(function, len(operands))
    for v in operands:
        finish.forget(v)  # how often the body uses it is not known here
    outer, late = trace.env, trace.late
    trace.late = sharing(late, function.body, shared_inputs(function))
    env = trace.env = dict(zip(function.inputs, read_values(trace, function, operands), strict=True))
    ops: list[Operation] = []
    try:
        for op in function.body:
            if op.type == "Const":
                env[op._outputs[0]] = np.asarray(op.attrs["value"])
            elif op.type in ("FakeParam", "OptionalNone"):
                env[op._outputs[0]] = UNUSED
            else:
                ops.append(op)
        trace.run(ops, function.outputs)
        out = []
        for t in function.outputs:
            v = env[t]
            if isinstance(v, VariableState) and t._dtype.is_ref:
                v = trace.values.get(v)
            out.append(v)
        return out
    finally:
        trace.env, trace.late = outer, late


class Body:
    """A function as a pure one: what it returns, the variables that it writes, the random numbers that it takes.

    Attributes:
      written: The variables that tracing it wrote.
      has_checks: Whether something in it may refuse its operands.
      unmoved: Positions of outputs that a loop hands on as they are.
    """

    def __init__(self, trace: Any, op: Operation, function: Function):
        self.trace, self.op, self.function = trace, op, function
        self.written: list[VariableState] = []
        self.has_checks = False
        self.checks: list[Any] = []
        self.unused: set[int] = set()
        self.known: dict[int, Any] = {}  # outputs whose values are known while tracing
        self.unmoved: set[int] = set()
        self.after: dict[VariableState, Any] = {}  # shape and dtype of each variable after a branch
        self.random_ops = [r for r in trace.random_ops_of(function)]

    def run(
        self, operands: Sequence[Any], values: dict[VariableState, Any], consumed: dict[Operation, Any]
    ) -> tuple[list[Any], dict[Any, Any], dict[Operation, Any], Any]:
        """Returns the outputs, all variables' values afterwards, streams' progress, and whether all checks hold."""
        sub = self.trace.sub(dict(values), dict(consumed))
        sub.is_loop |= self.op.type in ("While", "StatelessWhile")
        try:
            outputs = inline(sub, self.function, operands)
        except NeedStatic as need:
            if self.op.type in ("While", "StatelessWhile"):  # what comes in is not what an iteration sees
                raise NeedHost(self.op, f"the value of {need.tensor.name} has to be known") from None
            raise _asked_of(self.op, self.function, need) from None
        except NeedHost as need:
            raise NeedHost(self.op, str(need)) from None
        # What became of an array that is made inside is of no interest outside.
        self.written = [s for s in sub.written if s in values or not isinstance(s, ArrayFlags)]
        self.unused = {i for i, v in enumerate(outputs) if v is UNUSED}
        self.known = {i: v for i, v in enumerate(outputs) if type(v) is np.ndarray}
        for i, v in enumerate(outputs):
            if v is None or (isinstance(v, VariableState) and i not in self.unmoved):
                raise NeedHost(self.op, "a handle comes out of it")
        self.checks = [c[1:3] for c in sub.checks]
        self.has_checks = bool(sub.checks)
        oks = [jnp.all(c[0]) for c in sub.checks]
        return outputs, sub.values, sub.consumed, jnp.all(jnp.stack(oks)) if oks else True


def lower_call(trace: Any, op: Operation, function: Any, operands: Sequence[Any]) -> list[Any]:
    """Traces a call: the body's nodes become part of the cluster."""
    return _inline_at(trace, op, function_named(op._graph, function.name), operands)


def _inline_at(trace: Any, op: Operation, function: Function, operands: Sequence[Any]) -> list[Any]:
    try:
        return inline(trace, function, operands)
    except NeedStatic as need:
        raise _asked_of(op, function, need) from None
    except NeedHost as need:
        raise NeedHost(op, str(need)) from None


def _asked_of(op: Operation, function: Function, need: NeedStatic) -> NeedStatic | NeedHost:
    """Returns what a call needs where its body needs a value known: an operand known, or else the host."""
    for inner, outer in zip(function.inputs, arguments_of(op, function), strict=True):
        if inner is need.tensor:
            return NeedStatic(outer, op)
    return NeedHost(op, f"the value of {need.tensor.name} has to be known")


def lower_branch(trace: Any, op: Operation, index: Any, branches: Sequence[Any], operands: Any) -> list[Any]:
    """Traces a choice among functions."""
    functions = [function_named(op._graph, b.name) for b in branches]
    if isinstance(index, (int, np.ndarray)):
        i = int(index)
        taken = functions[i if 0 <= i < len(functions) else -1]
        outputs = _inline_at(trace, op, taken, operands)
        return [_stand_in(t) if v is UNUSED else v for v, t in zip(outputs, op._outputs, strict=True)]
    bodies = [Body(trace, op, f) for f in functions]
    before = dict(trace.values)
    consumed = dict(trace.consumed)
    shapes = [_shapes_of(body, operands, before, consumed) for body in bodies]
    known = _known_outputs(bodies)
    common = [_common(op, i, [s[i] for s in shapes]) for i in range(len(functions[0].outputs))]
    written = list(dict.fromkeys(s for body in bodies for s in body.written))
    randoms = list(dict.fromkeys(r for body in bodies for r in body.random_ops))
    for s in written:
        if before.get(s) is None:
            raise NeedHost(op, f"{s.name} is not initialized before it")

    def branch(body: Body) -> Callable[[], Any]:
        def run() -> Any:
            outputs, values, moved, ok = body.run(operands, before, consumed)
            flat = [_as(v, form) for v, form in zip(outputs, common, strict=True)]
            return (
                flat,
                [jnp.asarray(values[s]) for s in written],
                [jnp.asarray(moved.get(r, 0), np.int64) for r in randoms],
                jnp.asarray(ok),
            )

        return run

    for body in bodies:
        for s in written:
            if body.after[s] != (before[s].shape, before[s].dtype):
                raise NeedHost(op, f"{s.name} changes its shape in a branch")
    last = len(bodies) - 1
    index = jnp.where((index < 0) | (index > last), last, index)
    outputs, new, moved, ok = lax.switch(index, [branch(body) for body in bodies])
    for s, v in zip(written, new, strict=True):
        trace.values[s] = v
        trace.written[s] = None
    trace.consumed.update(zip(randoms, moved, strict=True))
    pass_checks_on(trace, op, bodies, ok)
    return [known.get(i, v) for i, v in enumerate(outputs)]


def _known_outputs(bodies: Sequence[Body]) -> dict[int, Any]:
    """Returns the outputs that have the same known value in all branches that have them: shapes, for the most part."""
    out = {}
    for i in range(len(bodies[0].function.outputs)):
        values = [body.known[i] for body in bodies if i in body.known]
        if values and len(values) + sum(i in body.unused for body in bodies) == len(bodies):
            first = values[0]
            if all(v.dtype == first.dtype and np.array_equal(v, first) for v in values):
                out[i] = first
    return out


def _stand_in(tensor: Any) -> Any:
    if tensor._dtype.storage.hasobject:
        return StackedList(dtypes.float32, None, 0)
    return np.zeros([d or 0 for d in tensor._dims or ()], tensor._dtype.storage)


def _shapes_of(body: Body, operands: Any, before: dict[VariableState, Any], consumed: Any) -> list[Any]:
    """Traces a branch once for what it returns and writes; returns the form of each output, None if unused."""

    def probe() -> Any:
        outputs, values, _, _ = body.run(operands, before, consumed)
        flat = [
            jnp.zeros(())
            if v is UNUSED
            else v.without_blanks()
            if isinstance(v, StackedList)
            else jnp.asarray(v)
            for v in outputs
        ]
        return flat, [jnp.asarray(values[s]) for s in body.written]

    outputs, new = jax.eval_shape(probe)
    body.after = {s: (v.shape, v.dtype) for s, v in before.items() if v is not None}
    body.after.update({s: (v.shape, v.dtype) for s, v in zip(body.written, new, strict=True)})
    return [None if i in body.unused else v for i, v in enumerate(outputs)]


def _common(op: Operation, i: int, forms: list[Any]) -> Any:
    """Returns the form of an output that all branches can give.

    Raises:
      NeedHost: There is none.
    """
    known = [f for f in forms if f is not None]
    if not known:
        t = op._outputs[i]
        return (
            StackedList(dtypes.float32, None, 0)
            if t._dtype.storage.hasobject
            else jax.ShapeDtypeStruct((), t._dtype.storage)
        )
    if isinstance(known[0], StackedList):
        shaped = [f for f in known if f.buffer is not None] or known
        known = [
            f if f.buffer is not None else f.like(shaped[0].buffer, f.size, shaped[0].is_set) for f in known
        ]
        if any(not f.has_known_size for f in known):
            known = [f.like(f.buffer, jax.ShapeDtypeStruct((), np.int32), f.is_set, True) for f in known]
    first = jax.tree.structure(known[0]), [(v.shape, v.dtype) for v in jax.tree.leaves(known[0])]
    for f in known[1:]:
        if first != (jax.tree.structure(f), [(v.shape, v.dtype) for v in jax.tree.leaves(f)]):
            raise NeedHost(op, f"the branches give output {i} different shapes")
    return known[0]


def _as(value: Any, form: Any) -> Any:
    """Returns an output of one branch in the form that all branches give."""
    if isinstance(form, StackedList):
        if value is UNUSED:
            return jax.tree.map(lambda v: jnp.zeros(v.shape, v.dtype), form)
        value = value.without_blanks()
        if form.buffer is not None:
            value = value.with_shape(form.buffer.shape[1:], form.buffer.dtype, form.buffer.shape[0])
        size = value.size if form.has_known_size else jnp.asarray(value.size, np.int32)
        is_set = value.is_set
        if is_set is None and form.is_set is not None:
            is_set = jnp.ones(form.is_set.shape, bool)
        return form.like(value.buffer, size, is_set)
    return jnp.zeros(form.shape, form.dtype) if value is UNUSED else jnp.asarray(value)


def pass_checks_on(trace: Any, op: Operation, bodies: Sequence[Body], ok: Any) -> None:
    """Has the step check what bodies checked."""
    for body in bodies:
        if body.has_checks:
            message, error = body.checks[0]
            trace.checks.append((ok, message, error, op))
            return
