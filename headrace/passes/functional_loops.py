"""Gives a loop of Enter, Merge, Switch, NextIteration and Exit the form of a While node."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.graph import Operation, Tensor
from headrace.passes.functionalize import Functionalizer
from headrace.passes.liveness import ALWAYS, Alternative
from headrace.passes.loops import ENTERS, EXITS, MERGES, NEXTS, SWITCHES, Item, Loop
from headrace.passes.targets import Body, Resists, Target, function_name, has_effects


class _Parts:
    """A loop taken apart.

    Attributes:
      merges: The Merges that start an iteration, one a loop variable.
      starts: For each the tensor, outside, that it starts with.
      nexts: For each the tensor, inside, that it goes on with.
      test: The items that run to find out whether there is a further iteration.
      work: The items that run in a further iteration.
      end: The items that run where there is none.
      exits: The Exit nodes.
      go_on: The predicate.
    """

    def __init__(self, work: Functionalizer, loop: Loop):
        self.merges: list[Operation] = []
        self.starts: list[Tensor] = []
        self.nexts: list[Tensor] = []
        self.test: list[Item] = []
        self.work: list[Item] = []
        self.end: list[Item] = []
        self.exits: list[Operation] = []
        conditions = [i for i in loop.items if isinstance(i, Operation) and i.type == "LoopCond"]
        if len(conditions) != 1:
            raise Resists(f"the loop {loop.name} has {len(conditions)} conditions")
        self.go_on = conditions[0]
        literal = (self.go_on._outputs[0], True)
        over = (self.go_on._outputs[0], False)
        self.context: Alternative = frozenset([literal])
        self.over: Alternative = frozenset([over])
        for item in loop.items:
            if isinstance(item, Operation):
                if (
                    item is self.go_on
                    or item.type in SWITCHES
                    or item.type in NEXTS
                    or item.type == "ControlTrigger"
                ):
                    continue
                if item.type in EXITS:
                    self.exits.append(item)
                    continue
                if item.type in MERGES and any(t._op.type in NEXTS for t in work.structure.inputs(item)):
                    self._add_variable(work, item)
                    continue
            condition = work.condition(item)
            if condition == ALWAYS:
                self.test.append(item)
            elif all(literal in term for term in condition):
                self.work.append(item)
            elif all(over in term for term in condition):
                self.end.append(item)
            else:
                raise Resists(f"{item.name} runs whether the loop {loop.name} goes on or not")

    def _add_variable(self, work: Functionalizer, merge: Operation) -> None:
        inputs = work.structure.inputs(merge)
        enters = [t for t in inputs if t._op.type in ENTERS]
        nexts = [t for t in inputs if t._op.type in NEXTS]
        if len(inputs) != 2 or len(enters) != 1 or not nexts or merge.type != "Merge":
            raise Resists(f"{merge.name} is no usual loop variable")
        if enters[0]._op.attrs["is_constant"] or work.is_used(merge._outputs[1]):
            raise Resists(f"{merge.name} is no usual loop variable")
        if len(work.takers(enters[0])) > 1 or len(work.takers(nexts[0])) > 1:
            raise Resists(f"what {merge.name} takes is used elsewhere too")
        last = nexts[0]._op
        if work.relative(work.condition(last), self.context) != ALWAYS:
            raise Resists(f"{last.name} is on a branch")
        self.merges.append(merge)
        self.starts.append(work.inputs(enters[0]._op)[0])
        self.nexts.append(work.inputs(last)[0])


def add_loop(work: Functionalizer, loop: Loop, target: Target) -> None:
    """Puts a loop into a target, as a While node.

    Raises:
      Resists: It has no functional form that this pass knows.
    """
    parts = _Parts(work, loop)
    starting = {t._op for m in parts.merges for t in m._inputs if t._op.type in ENTERS}
    constant: dict[Tensor, Tensor] = {}
    for op in loop.enters:
        if op not in starting:
            if not op.attrs["is_constant"]:
                raise Resists(f"{op.name} gives a value to the first iteration only")
            constant[op._outputs[0]] = work.inputs(op)[0]
    like = parts.exits[0] if parts.exits else parts.go_on
    test, turn = (_Turn(target, function_name(like, which), constant) for which in ("cond", "body"))
    counters = [_counters(body) for body in (test, turn)] if work.counted else []
    for body in (test, turn):
        for merge in parts.merges:
            t = merge._outputs[0]
            body.values[t] = body.argument(t._dtype.base_dtype, t._dims, t._handle_data)
    work.block(parts.test, frozenset(), test)
    again = _needed_again(work, parts, parts.work, parts.nexts)
    work.block([*again, *parts.work], parts.context, turn)
    go_on = test.value(work.inputs(parts.go_on)[0])
    after = [turn.value(t) for t in parts.nexts]
    first = []
    if counters:
        count, most = counters[1]
        after[:0] = [_one_more(work, turn, like, count), most]
        first = [work.number(target, like, 0), work.number(target, like, -1)]
    captured = list(dict.fromkeys([*test.captured, *turn.captured]))
    references = test.finish([go_on], captured), turn.finish_turn(after, captured)
    effects = any(has_effects(op) for op in [*test.ops, *turn.ops])
    inputs = [*first, *[target.value(t) for t in [*parts.starts, *captured]]]
    arguments = turn.arguments
    types = [t._dtype for t in arguments] + [t._dtype for t in inputs[len(arguments) :]]
    dims = [t._dims for t in arguments] + [t._dims for t in inputs[len(arguments) :]]
    attrs: dict[str, Any] = {
        "T": tuple(types),
        "cond": references[0],
        "body": references[1],
        "output_shapes": (),
        "parallel_iterations": 10,
        "_lower_using_switch_merge": True,  # its condition was a Switch's
    }
    node = target.add("While" if effects else "StatelessWhile", like, inputs, attrs, types, dims)
    entering = [c for op in loop.enters for c in work.controls(op)]
    work.wait(node, [test, turn], entering, set(loop.nodes()), target)
    for merge, t in zip(parts.merges, node._outputs[len(first) :], strict=False):
        target.values[merge._outputs[0]] = t
    for inside, outside in constant.items():
        target.values[inside] = target.value(outside)
    target.nodes.update(dict.fromkeys(loop.nodes(), node))
    # What is computed where the loop ends is computed after it.
    left = [work.inputs(op)[0] for op in parts.exits]
    work.block([*_needed_again(work, parts, parts.end, left), *parts.end], parts.over, target)
    for op, t in zip(parts.exits, left, strict=True):
        condition = work.liveness.of(work.structure.inputs(op)[0])
        if condition == ALWAYS or work.relative(condition, parts.over) != ALWAYS:
            raise Resists(f"{op.name} does not take what is there where the loop ends")
        target.values[op._outputs[0]] = target.value(t)


class _Turn(Body):
    """The function of a loop's condition or of its body, which sees what comes into the loop as it is outside."""

    def __init__(self, around: Target, name: str, constant: dict[Tensor, Tensor]):
        super().__init__(around, name)
        self._constant = constant

    def value(self, t: Tensor) -> Tensor:
        outside = self._constant.get(t)
        return super().value(t if outside is None else outside)

    def finish_turn(self, after: list[Tensor], captured: list[Tensor]) -> Any:
        """Makes the function of a loop's body: what it captures it hands on.

        Args:
          after: What its own variables are next, tensors of the body.
          captured: What it takes from outside, tensors of the region.
        """
        return self.finish([*after, *[self.value(t) for t in captured]], captured)


def _counters(body: Body) -> tuple[Tensor, Tensor]:
    """Adds the parameters for how many iterations there were, and for the most that there may be."""
    return body.argument(dtypes.int32, ()), body.argument(dtypes.int32, ())


def _one_more(work: Functionalizer, body: Body, like: Operation, count: Tensor) -> Tensor:
    attrs = {"T": dtypes.int32}
    return body.add("AddV2", like, [count, work.number(body, like, 1)], attrs, [dtypes.int32], [()])._outputs[
        0
    ]


def _needed_again(
    work: Functionalizer, parts: _Parts, items: list[Item], results: list[Tensor]
) -> list[Item]:
    """Returns the items of the condition whose results are needed elsewhere too, where they are computed again.

    Raises:
      Resists: One of them may only run once.
    """
    makers: dict[Operation, Item] = {}
    for item in parts.test:
        for op in item.nodes() if isinstance(item, Loop) else [item]:
            makers[op] = item
    found: set[Item] = set()
    todo: list[Item] = list(items)
    for t in results:
        if t._op in makers:
            todo.append(makers[t._op])
            found.add(makers[t._op])
    while todo:
        item = todo.pop()
        for op in item.nodes() if isinstance(item, Loop) else [item]:
            for t in work.uses(op):
                maker = makers.get(t._op)
                if maker is not None and maker not in found:
                    found.add(maker)
                    todo.append(maker)
    for item in found:
        for op in item.nodes() if isinstance(item, Loop) else [item]:
            if has_effects(op):
                raise Resists(f"{op.name} is part of the condition of a loop and is needed elsewhere too")
    return [item for item in parts.test if item in found]
