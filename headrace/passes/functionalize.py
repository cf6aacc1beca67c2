"""Gives regions of TensorFlow 1's control flow their functional form: If and While nodes that call functions.

Nodes that run under a predicate go into the branches of an If. Branches of one predicate that need each other's values
across nodes outside (a gradient needs its forward branch) become several Ifs, one after another; what a later one
takes from an earlier one is a further output of the earlier. Loops become While nodes (`functional_loops`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.graph import Graph, Operation, Tensor
from headrace.passes.liveness import ALWAYS, Alternative, Condition, Literal, Liveness
from headrace.passes.loops import ENTERS, EXITS, MERGES, NEXTS, SWITCHES, Item, Loop, Structure, ordered
from headrace.passes.targets import Body, Resists, Target, function_name, has_effects

_NOTHING: Alternative = frozenset()


class Group:
    """What becomes one If: nodes, loops and Merges under one predicate.

    Attributes:
      predicate: The tensor that decides.
      sides: The items that run if it is false, and if it is true, in order.
      merges: The Merge nodes that take the result of one side or the other.
    """

    def __init__(self, predicate: Any, stage: int, first: int):
        self.predicate = predicate
        self.stage = stage
        self.sides: tuple[list[Item], list[Item]] = ([], [])
        self.merges: list[Operation] = []
        self.first = first

    def members(self) -> Iterable[Item]:
        yield from self.sides[0]
        yield from self.sides[1]
        yield from self.merges


Unit = Item | Group


class Functionalizer:
    """Turns the items of a region into nodes of a target.

    Args:
      structure: The step's loops.
      liveness: When its values are there.
      wanted: Tensors that are asked for outside their region.
      counted: Whether loops count their iterations, as the gradient of a While node asks of it.
    """

    def __init__(self, structure: Structure, liveness: Liveness, wanted: set[Tensor], counted: bool = False):
        self.structure = structure
        self.counted = counted
        self.liveness = liveness
        self.wanted = wanted
        self._takers: dict[Tensor, list[Operation]] = {}
        for op in structure.ops:
            if op.type not in SWITCHES:
                for t in self.uses(op):
                    self._takers.setdefault(t, []).append(op)
        self._paths: dict[Item, tuple[Literal, ...]] = {}
        for op in structure.ops:
            self._path(op)  # from the first to the last, so that none asks far back

    # -- what stands for what ------------------------------------------------------------------------------------
    def seen_through(self, t: Tensor) -> Tensor:
        """Returns what a tensor holds where it is there: a Switch passes its data on."""
        while t not in self.structure.fed and (t._op.type in SWITCHES or _is_pivot(t._op)):
            t = self.structure.inputs(t._op)[0]
        return t

    def inputs(self, op: Operation) -> tuple[Tensor, ...]:
        return tuple(self.seen_through(t) for t in self.structure.inputs(op))

    def uses(self, op: Operation) -> list[Tensor]:
        """Returns a node's inputs and the predicates that it is under."""
        found = dict.fromkeys(self.inputs(op))
        for term in self.liveness.nodes.get(op, ALWAYS):
            found.update(dict.fromkeys(p for p, _ in term if isinstance(p, Tensor)))
        return list(found)

    def controls(self, op: Operation) -> list[Operation]:
        """Returns what a node waits for, without what is sure to have run where the node runs."""
        out: list[Operation] = []
        for c in op._control_inputs:
            if c.type in SWITCHES or _is_pivot(c):
                out.extend(t._op for t in self.inputs(c) if t not in self.structure.fed and t._op not in out)
            elif c.type == "ControlTrigger":
                out.extend(b for b in self.controls(c) if b not in out)
            else:
                out.append(c)
        return out

    def relative(self, condition: Condition, context: Alternative) -> Condition:
        """Returns what is left of a condition where the literals of `context` hold."""
        left = set()
        for term in condition:
            if not any((p, not holds) in term for p, holds in context):
                left.add(term - context)
        return ALWAYS if _NOTHING in left else frozenset(left)

    def condition(self, item: Item) -> Condition:
        return self.liveness.loops[item] if isinstance(item, Loop) else self.liveness.nodes[item]

    def _only(self, item: Item, context: Alternative) -> Alternative:
        """Returns the literals that an item runs under, within a context.

        Raises:
          Resists: It runs under one of several.
        """
        found = self.relative(self.condition(item), context)
        if len(found) != 1:
            raise Resists(f"{item.name} runs under one of {len(found)} conditions")
        return next(iter(found))

    def _path(self, item: Item) -> tuple[Literal, ...]:
        """Returns the literals that an item runs under, the outermost first: that is how values came to it."""
        found = self._paths.get(item)
        if found is None:
            found = ()
            if isinstance(item, Operation) and item.type in EXITS:
                found = self._path(self.structure.owner[item])
            else:
                ops = item.enters if isinstance(item, Loop) else [item]
                paths = [self._path_of(t) for op in ops for t in self._forward_inputs(op)]
                if ops[0].type not in MERGES:
                    paths += [self._path(c) for op in ops for c in op._control_inputs if c.type not in ENTERS]
                for path in sorted(paths, key=len, reverse=True):
                    found += tuple(x for x in path if x not in found)
            self._paths[item] = found
        return found

    def _path_of(self, t: Tensor) -> tuple[Literal, ...]:
        if t in self.structure.fed or t._op.type in ENTERS:
            return ()
        path = self._path(t._op)
        if t._op.type in SWITCHES:
            pred, sense = self.liveness.predicate(self.structure.inputs(t._op)[1])
            literal = pred, sense == bool(t._value_index)
            return path if literal in path else (*path, literal)
        if t._op.type in MERGES:
            mine = {x for term in self.liveness.nodes[t._op] for x in term}
            return tuple(x for x in path if x in mine)
        return path

    def _forward_inputs(self, op: Operation) -> list[Tensor]:
        return [t for t in self.structure.inputs(op) if t in self.structure.fed or t._op.type not in NEXTS]

    def _outermost(self, item: Item, term: Alternative) -> Literal:
        for literal in self._path(item):
            if literal in term:
                return literal
        return min(term, key=lambda x: x[0]._op._id if isinstance(x[0], Tensor) else x[0]._id)

    def _joined(self, merge: Operation, context: Alternative) -> tuple[Any, Tensor, Tensor] | None:
        """Returns the predicate that a Merge joins the branches of, and its inputs where that fails and holds."""
        inputs = self.structure.inputs(merge)
        if len(inputs) != 2 or any(t._op.type in NEXTS for t in inputs if t not in self.structure.fed):
            return None
        mine = self.relative(self.liveness.nodes[merge], context)
        sides = [self.relative(self.liveness.of(t), context) for t in inputs]
        if len(mine) != 1 or any(len(s) != 1 for s in sides):
            return None
        own = next(iter(mine))
        first, second = (next(iter(s)) - own for s in sides)
        if len(first) != 1:
            return None
        ((p, holds),) = first
        # A second input that is always there is taken where the first is not.
        if second not in (_NOTHING, {(p, not holds)}):
            return None
        return (p, inputs[1], inputs[0]) if holds else (p, inputs[0], inputs[1])

    # -- blocks --------------------------------------------------------------------------------------------------
    def block(self, items: Sequence[Item], context: Alternative, target: Target) -> None:
        """Puts items that run one after another into a target.

        Args:
          items: The items, in order; among them no Exit, NextIteration or Enter.
          context: What is known to hold where they run.
          target: Where they go.

        Raises:
          Resists: They have no functional form that this pass knows.
        """
        from headrace.passes.functional_loops import add_loop

        for unit in self._units(items, context):
            if isinstance(unit, Loop):
                add_loop(self, unit, target)
            elif isinstance(unit, Group):
                self._add_group(unit, context, target)
            elif unit.type in MERGES:
                i = self._sure_input(unit, context)
                assert i is not None
                target.values[unit._outputs[0]] = target.value(self.inputs(unit)[i])
                if self.is_used(unit._outputs[1]):
                    target.values[unit._outputs[1]] = self.number(target, unit, i)
            else:
                target.keep(unit, self.inputs(unit), self.controls(unit))

    def _sure_input(self, merge: Operation, context: Alternative) -> int | None:
        """Returns which input a Merge always takes: the first that may be there at all, if that always is."""
        for i, t in enumerate(self.structure.inputs(merge)):
            condition = self.relative(self.liveness.of(t), context)
            if condition:
                return i if condition == ALWAYS else None
        return None

    def number(self, target: Target, like: Operation, value: int) -> Tensor:
        attrs = {"value": np.array(value, np.int32), "dtype": dtypes.int32}
        return target.add("Const", like, [], attrs, [dtypes.int32], [()])._outputs[0]

    def _units(self, items: Sequence[Item], context: Alternative) -> list[Unit]:
        """Returns items with those under a predicate gathered, in an order in which they can run."""
        home: dict[Item, Unit] = {}
        groups: dict[tuple[Any, int], Group] = {}
        after: dict[
            Unit, dict[Any, int]
        ] = {}  # unit -> for each predicate the last stage that it comes after
        before: dict[Unit, set[Unit]] = {}
        known = set(items)
        for item in items:
            if isinstance(item, Operation) and (
                item.type in SWITCHES or item.type == "ControlTrigger" or _is_pivot(item)
            ):
                continue  # others see through these
            if not self.relative(self.condition(item), context):
                continue  # never runs here
            sources, joined = self._sources(item, known, home)
            place = self._place(item, context)
            if place is None:
                home[item] = item
                seen: dict[Any, int] = {}
                for s in sources:
                    _later(seen, after[s])
                    if isinstance(s, Group):
                        _later(seen, {s.predicate: s.stage})
                after[item], before[item] = seen, set(sources)
                continue
            predicate, side = place
            stage = 0
            for s in sources:
                if isinstance(s, Group) and s.predicate is predicate:
                    # What a Merge gives is there once both sides are.
                    stage = max(stage, s.stage + (s in joined))
                else:
                    stage = max(stage, after[s].get(predicate, -1) + 1)
            group = groups.get((predicate, stage))
            if group is None:
                first = item.first if isinstance(item, Loop) else item._id
                group = groups[predicate, stage] = Group(predicate, stage, first)
                after[group], before[group] = {}, set()
            home[item] = group
            if side is None:
                assert isinstance(item, Operation)
                group.merges.append(item)
            else:
                group.sides[side].append(item)
            for s in sources:
                if s is not group:
                    _later(after[group], after[s])
                    if isinstance(s, Group):
                        _later(after[group], {s.predicate: s.stage})
                    before[group].add(s)
        units = list(dict.fromkeys(home.values()))
        return ordered(units, lambda u: set(before[u]), lambda u: Resists("branches need each other"))

    def _sources(self, item: Item, known: set[Item], home: dict[Item, Unit]) -> tuple[list[Unit], set[Unit]]:
        """Returns the units among a block's that an item takes from or waits for, and those whose Merges it takes."""
        out: dict[Unit, None] = {}
        joined: set[Unit] = set()
        for op in item.enters if isinstance(item, Loop) else [item]:
            found = [t._op for t in self.uses(op) if t not in self.structure.fed] + self.controls(op)
            for b in found:
                owner: Item = b
                if owner not in known and b.type in EXITS:
                    owner = self.structure.owner[b]
                if owner in home:
                    out[home[owner]] = None
                    unit = home[owner]
                    if isinstance(unit, Group) and owner in unit.merges:
                        joined.add(home[owner])
        return list(out), joined

    def _place(self, item: Item, context: Alternative) -> tuple[Any, int | None] | None:
        """Returns the predicate that an item is under and on which side it is, None where it runs in any case.

        A Merge that joins two sides is on none.
        """
        term = self._only(item, context)
        if term:
            predicate, holds = self._outermost(item, term)
            return predicate, int(holds)
        if isinstance(item, Operation) and item.type in MERGES:
            if self._sure_input(item, context) is not None:
                return None
            joined = self._joined(item, context)
            if joined is None or self._is_taken_as_reference(item._outputs[0]):
                raise Resists(f"{item.name} takes what is not the results of two branches")
            return joined[0], None
        return None

    def _is_taken_as_reference(self, t: Tensor) -> bool:
        if not t._dtype.is_ref:
            return False
        for op in self.takers(t):
            plan = op.kind.plan
            wanted: list[bool] = []
            for arg, n in zip(
                plan.signature.inputs, plan.sizes(plan.signature.inputs, op.attrs), strict=True
            ):
                wanted += [arg.is_ref] * (1 if n is None else n)
            if any(w and mine is t for w, mine in zip(wanted, self.inputs(op), strict=True)):
                return True
        return False

    # -- branches ------------------------------------------------------------------------------------------------
    def _add_group(self, group: Group, context: Alternative, target: Target) -> None:
        predicate = group.predicate
        if not isinstance(predicate, Tensor):
            raise Resists("what decides is not known")
        inside = set(self._all_nodes(group))
        joined = [self._joined(m, context) for m in group.merges]
        left = [self._leaving(side, inside) for side in group.sides]
        like = group.merges[0] if group.merges else min(inside, key=lambda op: op._id)
        bodies = []
        results: list[list[Tensor]] = []
        for i, which in enumerate(("false", "true")):
            body = Body(target, function_name(like, which))
            self.block(group.sides[i], context | {(predicate, bool(i))}, body)
            out: list[Tensor] = []
            for merge, join in zip(group.merges, joined, strict=True):
                assert join is not None
                taken = join[1 + i]
                out.append(body.value(self.seen_through(taken)))
                if self.is_used(merge._outputs[1]):
                    number = self.structure.inputs(merge).index(taken)
                    out.append(self.number(body, merge, number))
            for j, tensors in enumerate(left):
                for t in tensors:
                    out.append(body.value(t) if i == j else self._nothing(body, t))
            bodies.append(body)
            results.append(out)
        outputs: list[Tensor] = []
        for merge in group.merges:
            outputs.append(merge._outputs[0])
            if self.is_used(merge._outputs[1]):
                outputs.append(merge._outputs[1])
        outputs += [*left[0], *left[1]]
        captured = list(dict.fromkeys(t for body in bodies for t in body.captured))
        references = [body.finish(out, captured) for body, out in zip(bodies, results, strict=True)]
        effects = any(has_effects(op) for body in bodies for op in body.ops)
        inputs = [target.value(t) for t in captured]
        types = [t._dtype.base_dtype for t in outputs]
        attrs = {
            "Tcond": dtypes.bool,
            "Tin": tuple(t._dtype for t in inputs),
            "Tout": tuple(types),
            "then_branch": references[1],
            "else_branch": references[0],
            "output_shapes": (),
            "_lower_using_switch_merge": True,  # its predicate was a Switch's
        }
        node = target.add(
            "If" if effects else "StatelessIf",
            like,
            [target.value(predicate), *inputs],
            attrs,
            types,
            [t._dims for t in outputs],
        )
        self.wait(node, bodies, [c for m in group.merges for c in self.controls(m)], inside, target)
        for t, new in zip(outputs, node._outputs, strict=True):
            target.values[t] = new
            new._handle_data = t._handle_data
        target.nodes.update(dict.fromkeys(inside, node))

    def wait(
        self,
        node: Operation,
        bodies: list[Body],
        controls: list[Operation],
        inside: set[Operation],
        target: Target,
    ) -> None:
        """Has a new node wait for what its functions' nodes wait for outside, and for `controls`."""
        waits = [w for body in bodies for w in body.awaited if w not in inside]
        waits += [n for n in (target.node(c) for c in controls if c not in inside) if n is not None]
        for w in dict.fromkeys(waits):
            node._control_inputs.append(w)
            if target.around is not None:
                w._control_outputs.append(node)

    def _all_nodes(self, group: Group) -> Iterable[Operation]:
        for item in group.members():
            if isinstance(item, Loop):
                yield from item.nodes()
            else:
                yield item

    def takers(self, t: Tensor) -> list[Operation]:
        """Returns the nodes that take a tensor, or are under it as a predicate."""
        return self._takers.get(t, [])

    def is_used(self, t: Tensor) -> bool:
        """Whether anything takes a tensor."""
        return t in self.wanted or t in self._takers

    def _leaving(self, items: list[Item], inside: set[Operation]) -> list[Tensor]:
        """Returns the tensors of a side that nodes outside its group take."""
        out: list[Tensor] = []
        for item in items:
            for op in item.nodes() if isinstance(item, Loop) else [item]:
                if isinstance(item, Loop) and (op.type not in EXITS or self.structure.owner[op] is not item):
                    continue
                for t in op._outputs:
                    if t in self.structure.fed:
                        continue
                    if t in self.wanted:
                        raise Resists(f"{t.name} is fetched, and may not be there")
                    if any(c not in inside for c in self._takers.get(t, ())):
                        out.append(t)
        return out

    def _nothing(self, body: Body, t: Tensor) -> Tensor:
        if t._dtype.is_ref or t._dtype is dtypes.resource:
            raise Resists(f"a handle, {t.name}, comes out of a branch")
        attrs = {"dtype": t._dtype, "shape": t._dims}
        return body.add("FakeParam", t._op, [], attrs, [t._dtype], [t._dims])._outputs[0]


def _later(stages: dict[Any, int], more: dict[Any, int]) -> None:
    for p, stage in more.items():
        if stages.get(p, -1) < stage:
            stages[p] = stage


def _is_pivot(op: Operation) -> bool:
    """Whether a node only marks a branch: the identity of a predicate that is switched by itself."""
    if op.type != "Identity" or op._inputs[0]._op.type not in SWITCHES:
        return False
    data, pred = op._inputs[0]._op._inputs
    return data is pred


def functionalized(
    work: Functionalizer, items: Sequence[Item], asked: Sequence[Tensor], graph: Graph
) -> Target:
    """Returns a region's functional form.

    Args:
      work: What is known of the step.
      items: The region's items, in order.
      asked: Those of its tensors that are asked for outside.
      graph: The graph that new nodes belong to.

    Raises:
      Resists: This pass knows none.
    """
    structure = work.structure
    for t in asked:
        if work.liveness.of(t) != ALWAYS or structure.output_frame(t._op).parent is not None:
            raise Resists(f"{t.name} is fetched, and may not be there once")
    target = Target(graph, structure.fed)
    work.block(items, _NOTHING, target)
    made = {t for op in target.ops for t in op._outputs}
    home = {op for item in items for op in (item.nodes() if isinstance(item, Loop) else [item])}
    for op in target.ops:
        for t in target.late.get(op, op._inputs):
            if t not in made and t not in structure.fed and t._op in home:
                raise Resists(f"{op.name} takes {t.name}, which is inside a branch or a loop")
    return target
