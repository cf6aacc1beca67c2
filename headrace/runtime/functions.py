"""Calls of functions on the host: branches, loops and plain calls.

A function's body is a plan of its own that works on the step's state, so its nodes are interpreted or compiled as any
plan's. `traced_calls` and `traced_loop` make calls part of a cluster instead.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import errors, shapes
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function, check_arguments, function_named, holds_resource
from headrace.lazy import jnp
from headrace.opdef.functions import called_functions
from headrace.resources.variable import VariableState
from headrace.runtime.context import Step
from headrace.runtime.interrupts import Interrupts
from headrace.runtime.straight_loop import StraightLoop, straight_loop

# A loop that has been interpreted for so long, in all steps together, is compiled from where it is.
_WORTH_COMPILING_S = 0.25
_LARGE = 1 << 14  # bytes
# Iterations after which it is seen whether a loop is one over numbers, and how many of those are run before others may
# say something.
_FEW, _AT_A_TIME = 8, 2000


class NeedHost(Exception):
    """A node that calls functions can't be part of a cluster after all."""

    def __init__(self, op: Operation, why: str):
        super().__init__(f"{op.name}: {why}")
        self.op = op


class NeedStatic(Exception):
    """A rule needs an operand's value before its cluster can be compiled."""

    def __init__(self, tensor: Tensor, consumer: Operation):
        super().__init__(tensor.name)
        self.tensor = tensor
        self.consumer = consumer


# -- on the host ---------------------------------------------------------------------------------------------


def call(step: Step, function: Function, operands: Sequence[Any]) -> list[Any]:
    """Runs a function as part of a step and returns its outputs.

    Raises:
      InvalidArgumentError: It takes another number of arguments.
      ResourceExhaustedError: It calls itself, and never stops.
    """
    check_arguments(function, len(operands))
    try:
        return _plan(step, function).call(step, host_arguments(function, operands))  # type: ignore[no-any-return]
    except RecursionError:
        raise errors.ResourceExhaustedError(
            None, None, f"Function {function.name} calls itself too many times"
        ) from None


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
        plan = Plan(
            state,
            list(function.outputs),
            list(function.controls),
            list(function.inputs),
            step.tier,
            function=function,
        )
        found = state.function_plans[function] = plan, version
    return found[0]


def becomes_switch(op: Operation) -> bool:
    """Whether TensorFlow runs a branch or loop as Switch and Merge, which take scalar predicates only."""
    return bool(op.attrs.get("_lower_using_switch_merge"))


def branch_index(value: Any, op: Operation) -> int:
    """Returns 1 if a predicate holds, else 0: numbers that are not zero, strings and arrays that are not empty.

    Raises:
      InvalidArgumentError: It is an array, and `op` is one that TensorFlow makes a Switch of.
    """
    array = np.asarray(value)
    if array.ndim:
        if becomes_switch(op):
            shape = shapes.to_text(array.shape)
            raise errors.InvalidArgumentError(
                None, None, f"The second input must be a scalar, but it has shape {shape}"
            )
        return int(array.size > 0)
    return int(bool(array[()]))


def host_branch(step: Step, op: Operation, index: int, branches: Sequence[Any], operands: Any) -> list[Any]:
    """Runs one of several functions, the last one where the index is out of range."""
    if not 0 <= index < len(branches):
        index = len(branches) - 1
    return call(step, function_named(op._graph, branches[index].name), operands)


def host_loop(step: Step, op: Operation, cond: Any, body: Any, operands: Any) -> list[Any]:
    """Runs a loop; once it has cost enough, as a program for any number of iterations."""
    interrupts = Interrupts()
    try:
        return _host_loop(step, op, cond, body, operands, interrupts)
    finally:
        interrupts.end()


def _host_loop(
    step: Step, op: Operation, cond: Any, body: Any, operands: Any, interrupts: Interrupts
) -> list[Any]:
    from headrace.runtime.loop_program import program_of

    test = _plan(step, function_named(op._graph, cond.name))
    work = _plan(step, function_named(op._graph, body.name))
    function = function_named(op._graph, body.name)
    values = host_arguments(function, operands)
    unmoved = [i for i, (a, b) in enumerate(zip(function.inputs, function.outputs, strict=True)) if a is b]
    own = program = program_of(step, op) if step.tier == "auto" else None
    straight: StraightLoop | None = None
    spent = 0.0 if own is None else own.spent_s
    start = time.monotonic()
    on_host = True
    iterations = 0
    while straight is not None or branch_index(test.call(step, values)[0], op):
        if step.closing.is_set:
            raise errors.CancelledError(None, None, "Loop execution was cancelled.")
        if iterations == _FEW:
            interrupts.watch()
        elif interrupts.came:
            break
        if program is not None:
            elapsed = time.monotonic() - start
            if spent + elapsed > _WORTH_COMPILING_S:
                rest = program.run_rest(step, values, elapsed / iterations if iterations else 0.0)
                if rest is not None:
                    return rest
                program = None
        if iterations == _FEW and not work.is_compiled and not test.is_compiled:
            straight = straight_loop(test, work, values)
        if straight is not None:
            values, done, is_over = straight.run(values, _AT_A_TIME)
            iterations += done
            if is_over:
                break
            if done < _AT_A_TIME:
                straight = None
            elif step.deadline is not None and time.monotonic() > step.deadline:
                raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
            elif program is not None and iterations < 2 * _AT_A_TIME:
                # What is seen to take long is not interpreted until it has.
                rest = program.run_rest(step, values, (time.monotonic() - start) / iterations, known=True)
                if rest is not None:
                    return rest
            continue
        iterations += 1
        if on_host and work.is_compiled:
            # What the body only looks at goes to the device once, not in each iteration.
            on_host = False
            values = [
                jnp.asarray(v) if i in unmoved and type(v) is np.ndarray and v.nbytes > _LARGE else v
                for i, v in enumerate(values)
            ]
        before, values = values, work.call(step, values)
        for i in unmoved:
            values[i] = before[i]  # a reference stays one
        if step.deadline is not None and time.monotonic() > step.deadline:
            raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
    if own is not None:
        own.spent_s = spent + time.monotonic() - start
        own.longest = max(own.longest, iterations)
    return values


# -- in a cluster --------------------------------------------------------------------------------------------


def can_call(op: Operation) -> bool:
    """Whether a node calls functions."""
    rule = op.kind.rules.get("host")
    return rule is not None and bool(rule.options.get("calls"))


def can_lower_calls(op: Operation) -> bool:
    """Whether the bodies of the functions that a node calls can be part of a cluster."""
    return all(_can_lower_body(f) for f in called_functions(op))


def _can_lower_body(function: Function) -> bool:
    from headrace.runtime.kernel import is_plain
    from headrace.runtime.trace import can_lower

    found = function.facts.get("lower")
    if found is None:
        function.facts["lower"] = False  # the answer to a function that calls itself
        found = function.facts["lower"] = all(
            is_plain(op._outputs[0]._dtype) if op.type == "Const" else op.type == "FakeParam" or can_lower(op)
            for op in function.body
        )
    return found
