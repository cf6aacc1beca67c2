"""Running on while nodes wait: a step whose dequeue finds a queue empty may have the enqueue that fills it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace import ending, errors
from headrace.graph import Operation
from headrace.graph.func_graph import Function
from headrace.opdef.functions import called_functions
from headrace.resources.waiting import Closing, Pending, wait_for_any
from headrace.runtime.context import Deferred, Step
from headrace.runtime.failure import at_node


def can_wait(op: Operation) -> bool:
    """Whether a node's rule, or something in a function that it calls, may have to wait for other nodes or steps."""
    rule = op.kind.rules.get("host")
    if rule is None:
        return False
    if rule.options.get("waits"):
        return True
    return bool(rule.options.get("calls")) and any(_may_wait(function) for function in called_functions(op))


def _may_wait(function: Function) -> bool:
    found = function.facts.get("waits")
    if found is None:
        function.facts["waits"] = False  # the answer to a function that calls itself
        found = function.facts["waits"] = any(can_wait(op) for op in function.body)
    return bool(found)


def run_beside(step: Step, op: Operation, call: Callable[[Step], list[Any]]) -> list[Any]:
    """Runs a call of functions; in a thread of its own if it may wait for what other nodes of the step do.

    Args:
      step: The step.
      op: The node.
      call: Makes the call as part of a step.

    Raises:
      Deferred: It runs in a thread.
    """
    if op not in step.defers or len(step.defers) < 2:
        return call(step)
    closing = Closing()
    part = step.beside(closing)

    def cancel(pending: Pending) -> None:
        closing.set()
        pending.fail(errors.CancelledError(None, None, f"{op.name} was cancelled"))

    pending = Pending(cancel)

    def work() -> None:
        ending.enter()
        try:
            with np.errstate(all="ignore"):
                result = call(part)
        except BaseException as e:  # the step's own thread raises it
            if not pending.done:
                pending.fail(e)
        else:
            if not pending.done:
                pending.finish(result)
        finally:
            ending.leave()

    threading.Thread(target=work, name=f"headrace {op.name}", daemon=True).start()
    raise Deferred(op, pending)


def run_around(
    run: Callable[[Sequence[Any], list[Any], Step], None],
    store: Callable[[Any, Any, list[Any]], None],
    first: Deferred,
    instructions: Sequence[Any],
    values: list[Any],
    step: Step,
    waits: Mapping[Operation, Sequence[Operation]],
    later: Callable[[], Sequence[Any]] | None,
) -> bool:
    """Runs what does not need the results that are waited for, and the rest as they come.

    Args:
      run: Runs instructions on the table of values; raises Deferred.
      store: Puts an instruction's results into the table.
      first: What the first instruction that waits raised.
      instructions: That instruction and all that are left.
      values: The table.
      step: The step.
      waits: Nodes that must run before a node, besides its inputs and control inputs.
      later: Gives further instructions that may end the waiting, None if there are none.

    Returns:
      Whether the instructions of `later` were run.
    """
    waiting: dict[Pending, Any] = {first.pending: instructions[0]}
    todo = list(instructions[1:])
    took_later = False
    try:
        while True:
            todo = _run_ready(run, todo, waiting, values, step, waits)
            if not any(p.done for p in waiting):
                if not waiting:
                    return took_later
                if later is not None:
                    todo += later()
                    later, took_later = None, True
                    continue
                wait_for_any(list(waiting), step.closing, step.deadline)
            for pending in [p for p in waiting if p.done]:
                ins = waiting.pop(pending)
                try:
                    results = pending.result()
                except Exception as e:
                    raise at_node(e, ins.op, [values[i] for i in ins.inputs]) from e.__cause__
                store(ins, results, values)
    except BaseException:
        for pending in waiting:
            pending.cancel()
        raise


def _run_ready(
    run: Callable[[Sequence[Any], list[Any], Step], None],
    todo: list[Any],
    waiting: dict[Pending, Any],
    values: list[Any],
    step: Step,
    waits: Mapping[Operation, Sequence[Operation]],
) -> list[Any]:
    """Runs the instructions that can run, adds those that start to wait, and returns the others."""
    missing = {slot for ins in waiting.values() for slot in ins.outputs}
    held = {ins.op for ins in waiting.values()}
    left = []
    for ins in todo:
        op = ins.op
        ready = (
            missing.isdisjoint(ins.inputs)
            and held.isdisjoint(op._control_inputs)
            and held.isdisjoint(waits.get(op, ()))
        )
        if ready:
            try:
                run((ins,), values, step)
                continue
            except Deferred as deferred:
                waiting[deferred.pending] = ins
        else:
            left.append(ins)
        held.add(op)
        missing.update(ins.outputs)
    return left
