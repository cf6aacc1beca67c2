"""Calls of functions: branches, loops and plain calls, node by node on the host or as part of a cluster.

On the host a function's body is a plan of its own that works on the step's state, so its nodes are interpreted or
compiled as any plan's. In a cluster branches become `lax.switch`, loops `lax.while_loop`; variables that a body
writes are further results of it. What XLA can't hold (shapes that differ between branches or grow in a loop) sends the
node back to the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace import errors
from headrace.graph import Operation
from headrace.graph.func_graph import Function, function_named, holds_resource
from headrace.lazy import jax, jnp, lax
from headrace.opdef.functions import arguments_of, called_functions
from headrace.resources.variable import VariableState
from headrace.runtime.context import Step


class NeedHost(Exception):
    """A node that calls functions can't be part of a cluster after all."""

    def __init__(self, op: Operation, why: str):
        super().__init__(f"{op.name}: {why}")
        self.op = op


# -- on the host ---------------------------------------------------------------------------------------------


def call(step: Step, function: Function, operands: Sequence[Any]) -> list[Any]:
    """Runs a function as part of a step and returns its outputs."""
    return _plan(step, function).call(step, host_arguments(function, operands))  # type: ignore[no-any-return]


def host_arguments(function: Function, operands: Sequence[Any]) -> list[Any]:
    """Returns operands with references read where the function wants values."""
    return [
        v.read() if isinstance(v, VariableState) and not holds_resource(t) else v
        for t, v in zip(function.inputs, operands, strict=True)
    ]


def _plan(step: Step, function: Function) -> Any:
    from headrace.runtime.plan import Plan

    state = step.state
    version = function.graph._structure
    found = state.function_plans.get(function)
    if found is None or found[1] != version:
        plan = Plan(state, list(function.outputs), list(function.controls), list(function.inputs), step.tier)
        found = state.function_plans[function] = plan, version
    return found[0]


def branch_index(value: Any) -> int:
    """Returns 1 if a predicate holds, else 0: numbers that are not zero, strings and arrays that are not empty."""
    array = np.asarray(value)
    if array.ndim:
        return int(array.size > 0)
    return int(bool(array[()]))


def host_branch(step: Step, op: Operation, index: int, branches: Sequence[Any], operands: Any) -> list[Any]:
    """Runs one of several functions, the last one where the index is out of range."""
    if not 0 <= index < len(branches):
        index = len(branches) - 1
    return call(step, function_named(op._graph, branches[index].name), operands)


def host_loop(step: Step, op: Operation, cond: Any, body: Any, operands: Any) -> list[Any]:
    """Runs a loop whose body may be compiled."""
    test = _plan(step, function_named(op._graph, cond.name))
    work = _plan(step, function_named(op._graph, body.name))
    values = host_arguments(function_named(op._graph, body.name), operands)
    while branch_index(test.call(step, values)[0]):
        values = work.call(step, values)
        if step.deadline is not None and time.monotonic() > step.deadline:
            raise errors.DeadlineExceededError(None, None, "Timed out waiting for the step to finish")
    return values


# -- in a cluster --------------------------------------------------------------------------------------------


def can_lower_calls(op: Operation) -> bool:
    """Whether the bodies of the functions that a node calls can be part of a cluster."""
    return all(_can_lower_body(f) for f in called_functions(op))


def _can_lower_body(function: Function) -> bool:
    from headrace.runtime.cluster import can_lower
    from headrace.runtime.kernel import is_plain

    found = function.facts.get("lower")
    if found is None:
        found = function.facts["lower"] = all(
            is_plain(op._outputs[0]._dtype)
            if op.type in ("Const", "FakeParam")
            # How far a random stream moves on depends on whether, and how often, the body runs.
            else can_lower(op) and not ("seed2" in op.attrs and op.kind.is_stateful)
            for op in function.body
        )
    return found


class _Unused:
    """Stands for an output that the branch taken does not have."""


_UNUSED = _Unused()


def _inline(trace: Any, function: Function, operands: Sequence[Any]) -> list[Any]:
    """Traces a body within a trace and returns its outputs."""
    outer = trace.env
    env = trace.env = {
        t: trace.values.get(v) if isinstance(v, VariableState) and not holds_resource(t) else v
        for t, v in zip(function.inputs, operands, strict=True)
    }
    if any(v is None for v in env.values()):
        raise errors.FailedPreconditionError(None, None, "Attempting to use uninitialized value")
    ops: list[Operation] = []
    try:
        for op in function.body:
            if op.type == "Const":
                env[op._outputs[0]] = np.asarray(op.attrs["value"])
            elif op.type == "FakeParam":
                env[op._outputs[0]] = _UNUSED
            else:
                ops.append(op)
        trace.run(ops)
        out = []
        for t in function.outputs:
            v = env[t]
            if isinstance(v, VariableState) and t._dtype.is_ref:
                v = trace.values.get(v)
            out.append(v)
        return out
    finally:
        trace.env = outer


class _Body:
    """A function as a pure one: what it returns, and the variables that it writes.

    Attributes:
      written: The variables that tracing it wrote.
      has_checks: Whether something in it may refuse its operands.
    """

    def __init__(self, trace: Any, op: Operation, function: Function):
        self.trace, self.op, self.function = trace, op, function
        self.written: list[VariableState] = []
        self.has_checks = False
        self.checks: list[Any] = []
        self.unused: set[int] = set()
        self.unmoved: set[int] = set()  # what a loop hands on as it is
        self.after: dict[VariableState, Any] = {}  # shape and dtype of each variable after a branch

    def run(
        self, operands: Sequence[Any], values: dict[VariableState, Any]
    ) -> tuple[list[Any], dict[Any, Any], Any]:
        """Returns the outputs, all variables' values afterwards, and whether all checks hold."""
        from headrace.runtime.cluster import NeedStatic, Trace

        sub = Trace(self.trace.env, dict(values), self.trace._counters, self.trace._slots)
        sub.streams = self.trace.streams
        try:
            outputs = _inline(sub, self.function, operands)
        except NeedStatic as need:
            self._ask(need, operands)
            raise NeedHost(self.op, f"the value of {need.tensor.name} has to be known") from None
        self.written = list(sub.written)
        self.unused = {i for i, v in enumerate(outputs) if v is _UNUSED}
        for i, v in enumerate(outputs):
            if v is None or (isinstance(v, VariableState) and i not in self.unmoved):
                raise NeedHost(self.op, "a handle comes out of it")
        self.checks = [c[1:3] for c in sub.checks]
        self.has_checks = bool(sub.checks)
        oks = [jnp.all(c[0]) for c in sub.checks]
        return outputs, sub.values, jnp.all(jnp.stack(oks)) if oks else True

    def _ask(self, need: Any, operands: Sequence[Any]) -> None:
        """Asks for the value of an operand where the body needs it known, so that the cluster is specialised on it."""
        from headrace.runtime.cluster import NeedStatic

        if self.op.type in ("While", "StatelessWhile"):
            return
        for inner, outer in zip(self.function.inputs, arguments_of(self.op, self.function), strict=True):
            if inner is need.tensor:
                raise NeedStatic(outer, self.op) from None


def lower_call(trace: Any, op: Operation, function: Any, operands: Sequence[Any]) -> list[Any]:
    """Traces a call: the body's nodes become part of the cluster."""
    return _inline(trace, function_named(op._graph, function.name), operands)


def lower_branch(trace: Any, op: Operation, index: Any, branches: Sequence[Any], operands: Any) -> list[Any]:
    """Traces a choice among functions."""
    functions = [function_named(op._graph, b.name) for b in branches]
    if isinstance(index, (int, np.ndarray)):
        i = int(index)
        taken = functions[i if 0 <= i < len(functions) else -1]
        outputs = _inline(trace, taken, operands)
        return [_stand_in(t) if v is _UNUSED else v for v, t in zip(outputs, op._outputs, strict=True)]
    bodies = [_Body(trace, op, f) for f in functions]
    before = dict(trace.values)
    shapes = [_shapes_of(body, operands, before) for body in bodies]
    n = len(functions[0].outputs)
    common: list[Any] = []
    for i in range(n):
        known = {s[i] for s in shapes if s[i] is not None}
        if len(known) > 1:
            raise NeedHost(op, f"the branches give output {i} different shapes")
        common.append(known.pop() if known else ((), op._outputs[i]._dtype.storage))
    written = list(dict.fromkeys(s for body in bodies for s in body.written))
    for s in written:
        if before.get(s) is None:
            raise NeedHost(op, f"{s.name} is not initialized before it")

    def branch(body: _Body) -> Callable[[], Any]:
        def run() -> Any:
            outputs, values, ok = body.run(operands, before)
            flat = [
                jnp.zeros(*shape) if v is _UNUSED else jnp.asarray(v)
                for v, shape in zip(outputs, common, strict=True)
            ]
            return flat, [jnp.asarray(values[s]) for s in written], jnp.asarray(ok)

        return run

    for body in bodies:
        for s in written:
            if body.after[s] != (before[s].shape, before[s].dtype):
                raise NeedHost(op, f"{s.name} changes its shape in a branch")
    last = len(bodies) - 1
    index = jnp.where((index < 0) | (index > last), last, index)
    outputs, new, ok = lax.switch(index, [branch(body) for body in bodies])
    for s, v in zip(written, new, strict=True):
        trace.values[s] = v
        trace.written[s] = None
    _pass_checks_on(trace, op, bodies, ok)
    return outputs  # type: ignore[no-any-return]


def _stand_in(tensor: Any) -> Any:
    return np.zeros([d or 0 for d in tensor._dims or ()], tensor._dtype.storage)


def _shapes_of(body: _Body, operands: Any, before: dict[VariableState, Any]) -> list[Any]:
    """Traces a branch once for what it returns and writes; returns (shape, dtype) of each output, None if unused."""

    def probe() -> Any:
        outputs, values, _ = body.run(operands, before)
        return [jnp.zeros(()) if v is _UNUSED else jnp.asarray(v) for v in outputs], [
            jnp.asarray(values[s]) for s in body.written
        ]

    outputs, new = jax.eval_shape(probe)
    body.after = {s: (v.shape, v.dtype) for s, v in before.items() if v is not None}
    body.after.update({s: (v.shape, v.dtype) for s, v in zip(body.written, new, strict=True)})
    return [None if i in body.unused else (v.shape, v.dtype) for i, v in enumerate(outputs)]


def _pass_checks_on(trace: Any, op: Operation, bodies: Sequence[_Body], ok: Any) -> None:
    for body in bodies:
        if body.has_checks:
            message, error = body.checks[0]
            trace.checks.append((ok, message, error, op))
            return


def lower_loop(trace: Any, op: Operation, cond: Any, body: Any, operands: Sequence[Any]) -> list[Any]:
    """Traces a loop."""
    test = _Body(trace, op, function_named(op._graph, cond.name))
    work = _Body(trace, op, function_named(op._graph, body.name))
    f = work.function
    moving = [i for i, (a, b) in enumerate(zip(f.inputs, f.outputs, strict=True)) if a is not b]
    work.unmoved.update(set(range(len(operands))) - set(moving))
    for i in moving:
        if isinstance(operands[i], VariableState):
            raise NeedHost(op, "a handle changes in it")
    start = [jnp.asarray(operands[i], op._outputs[i]._dtype.storage) for i in moving]
    before = dict(trace.values)

    def all_operands(carried: Sequence[Any]) -> list[Any]:
        full = list(operands)
        for i, v in zip(moving, carried, strict=True):
            full[i] = v
        return full

    written: list[VariableState] = []

    def step(carry: Any) -> Any:
        carried, new, ok = carry
        outputs, values, good = work.run(
            all_operands(carried), {**before, **dict(zip(written, new, strict=True))}
        )
        if any(s not in written for s in work.written):
            written.extend(s for s in work.written if s not in written)
            return None
        after = [jnp.asarray(outputs[i]) for i in moving]
        return after, [jnp.asarray(values[s]) for s in written], jnp.logical_and(ok, good)

    def go_on(carry: Any) -> Any:
        carried, new, ok = carry
        outputs, _, _ = test.run(all_operands(carried), {**before, **dict(zip(written, new, strict=True))})
        if test.written or test.has_checks:
            raise NeedHost(op, "its condition does more than compute")
        # A failed check ends the loop: the step is run again by the interpreter, which words the error.
        return jnp.logical_and(ok, jnp.asarray(outputs[0]).astype(bool).reshape(()))

    # The first trace finds the variables that are written; they are carried from the next one on.
    carry: Any = None
    shape: Any = None
    for _ in range(2):
        for s in written:
            if before.get(s) is None:
                raise NeedHost(op, f"{s.name} is not initialized before it")
        carry = (start, [jnp.asarray(before[s]) for s in written], jnp.asarray(True))
        shape = jax.eval_shape(step, carry)
        if shape is not None:
            break
    same = jax.tree.map(lambda a, b: a.shape == b.shape and a.dtype == b.dtype, carry, shape)
    if not all(jax.tree.leaves(same)):
        raise NeedHost(op, "shapes change from one iteration to the next")
    carried, new, ok = lax.while_loop(go_on, step, carry)
    for s, v in zip(written, new, strict=True):
        trace.values[s] = v
        trace.written[s] = None
    _pass_checks_on(trace, op, [work], ok)
    return all_operands(carried)
