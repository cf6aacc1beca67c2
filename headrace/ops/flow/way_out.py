"""The way out of a branch: what its function made may be used outside, where it is there if the branch is taken.

In TensorFlow 1 a branch is part of the graph around it. What was made inside can be waited for and computed with
elsewhere, say the updates of batch normalization in `GraphKeys.UPDATE_OPS`; what does so runs only where the branch is
taken. Here it becomes a further output of the branch. Outside of functions it comes through a Switch, and is not there
if the branch was not taken. In a function (another branch, or one around that is still being built) everything is
there; using what is not is an error there.

A gradient with respect to a tensor of a branch is that of a further argument of the branch, which stands for what
might be added to the tensor.

Tensors do not leave a loop so, but what its body does can be waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.graph import Graph, Operation, Tensor, get_default_graph, numbering
from headrace.graph.func_graph import FuncGraph
from headrace.graph.hooks import lookup_kind
from headrace.graph.leaving import around_branches, brought_out, outwards
from headrace.opdef import GRADIENTS, convert_to_tensor, raw
from headrace.opdef.bodies import (
    add_function,
    branches_node,
    function_name,
    give_out,
    more_variables,
    outputs_with,
)
from headrace.opdef.functions import called_functions


def let_out(node: Operation, bodies: list[FuncGraph]) -> None:
    """Lets what the branches of an If made be used outside: the true branch's, then the false one's."""
    for place, body in enumerate(bodies):
        body._way_out = _WayOut(node, place, body)


def keep_in(body: FuncGraph) -> None:
    """Says of a branch that is built that no more than it is: what it made is never there in the other branch."""
    body._way_out = _Missing(body)


def close(node: Operation, bodies: list[FuncGraph]) -> None:
    """Says of a loop that it is built: of its condition and body operations can be waited for outside, no more."""
    for body in bodies:
        body._way_out = _LoopExit(node, body)


class _Missing:
    """Takes nodes and tensors of the true branch to what stands for them in the false one."""

    def __init__(self, body: FuncGraph):
        self._body = body

    def watched(self, tensor: Tensor, graph: Graph) -> tuple[Tensor, None]:
        """Returns the tensor: nothing in the other branch depends on it."""
        return tensor, None

    def __call__(self, thing: Any, graph: Graph) -> Any:
        outer = self._body.outer_graph
        around = [each for each in outwards(graph) if each.outer_graph is outer]
        there = around[0] if around else graph
        with numbering.counted_as(there, 0), there.as_default(), there.control_dependencies(None):
            with there.name_scope(None):
                found = _missing(thing)
        return found if isinstance(thing, Tensor) else found.op


class _WayOut:
    """Takes nodes and tensors of one branch to what stands for them elsewhere."""

    def __init__(self, node: Operation, place: int, body: FuncGraph):
        self._node = node
        self._place = place
        self._body = body
        self._inside: dict[Any, Tensor] = {}
        self._out: dict[Any, Tensor] = {}
        self._watched: dict[Tensor, tuple[Tensor, Tensor]] = {}

    def __call__(self, thing: Any, graph: Graph) -> Any:
        chosen = self._lies_in_it(graph)
        where = None if chosen else self._where(graph)
        found = self._out.get((thing, where))
        if found is None:
            out = self._output(self._leaving(thing))
            if where is None and not isinstance(thing, Tensor):
                # Waiting for the If alone asks for none of its results.
                with out.graph.as_default(), out.graph.control_dependencies(None):
                    with numbering.counted_as(out.graph, 0), out.graph.name_scope(None):
                        out = raw.Identity(out)
            if where is not None:
                # Into another branch everything comes through a Switch.
                with numbering.counted_as(where, int(where not in outwards(self._node.graph))):
                    # Of a branch in a branch both are there wherever the branch around is taken.
                    out, pred = brought_out(out, where), brought_out(self._node.inputs[0], where)
                    out = self._checked(thing, out, pred, where)
            found = self._out[thing, where] = out
        return found if isinstance(thing, Tensor) else found.op

    def _lies_in_it(self, graph: Graph) -> bool:
        """Whether a graph is in a branch of the same predicate that is taken when this one is."""
        pred, which = _source(self._node.inputs[0]), self._place == 0
        return any(
            each.choice is not None and each.choice[1] is which and _source(each.choice[0]) is pred
            for each in outwards(graph)
            if isinstance(each, FuncGraph)
        )

    def _where(self, graph: Graph) -> Graph:
        """Returns the graph that what leaves is checked in: the outermost other branch, unless that is in a loop.

        What comes into a loop is there in all its iterations or in none, whatever takes it inside.
        """
        home = self._node.graph
        around = list(outwards(home))
        found = None
        for each in outwards(graph):
            if each in around:
                return each if found is None else found
            found = each if isinstance(each, FuncGraph) and each.choice is not None else None
        return home

    def _checked(self, thing: Any, out: Tensor, pred: Tensor, where: Graph) -> Tensor:
        """Returns a tensor that is there if the branch was taken."""
        op = thing.op if isinstance(thing, Tensor) else thing
        name = f"{self._body._scope_around}/{op.name}"
        with where.as_default(), where.control_dependencies(None), where.name_scope(None):
            if isinstance(where, FuncGraph):
                found = _if_taken(thing, out, pred, self._place)
            else:
                there = raw.Switch(out, pred, name=f"{name}/Switch")[1 - self._place]
                found = raw.Identity(there, name=name)
        found._handle_data = out._handle_data
        return found

    def _leaving(self, thing: Any) -> Tensor:
        """Returns the tensor of the branch that leaves it; of a node, one that is made once it has run."""
        if thing in self._watched:
            return self._watched[thing][1]
        if isinstance(thing, Tensor) and not thing.dtype.is_ref:
            return thing
        found = self._inside.get(thing)
        if found is None:
            body = self._body
            with numbering.counted_as(body, 0), body.as_default(), body.name_scope(None):
                with body.control_dependencies(None if isinstance(thing, Tensor) else [thing]):
                    found = self._inside[thing] = raw.Identity(thing if isinstance(thing, Tensor) else True)
        return found

    def _output(self, inside: Tensor) -> Tensor:
        """Returns the If's output that gives what a tensor of the branch holds; it is made if there is none."""
        node = self._node
        functions = called_functions(node)
        known = list(functions[self._place].outputs)
        if inside in known:
            return node.outputs[known.index(inside)]
        with numbering.counted_as(node.graph, 0):
            more: list[list[Tensor]] = [[], []]
            more[self._place].append(inside)
            new, outputs = outputs_with(functions, more)
            first = give_out(node, functions, new, outputs)
        if any(f.is_stateful for f in called_functions(node)):
            node.kind = lookup_kind("If")
            node.type = node.kind.name
        return node.outputs[first]

    def watched(self, tensor: Tensor, graph: Graph) -> tuple[Tensor, Callable[[Any], Tensor]]:
        """Returns a tensor whose gradient is that of one of the branch, and what makes the latter of the former."""
        if tensor not in self._watched:
            home = around_branches(self._node.graph)
            with numbering.counted_as(home, 0), home.as_default(), home.control_dependencies(None):
                nothing = np.zeros((), tensor.dtype.base_dtype.storage)
                added = raw.Const(
                    value=nothing, dtype=tensor.dtype.base_dtype, name=f"{tensor.op.name}/added"
                )
                added._dims = None  # what the tensor's shape is may not be known
            self._watched[tensor] = added, self._pass_through(tensor, self._let_in(added))

        def gradient(found: Any) -> Tensor:
            where = self._where(graph)
            pred = brought_out(self._node.inputs[0], where)
            out = self._checked(tensor, convert_to_tensor(found), pred, where)
            out._dims = tensor._dims
            return out

        return self._watched[tensor][0], gradient

    def _let_in(self, tensor: Tensor) -> Tensor:
        """Gives the If a further input; returns the placeholder for it in the branch."""
        node = self._node
        if node.graph._way_out is not None:
            tensor = node.graph._way_out._let_in(tensor)  # type: ignore[attr-defined]
        functions = called_functions(node)
        inner = [f.graph.placeholder(tensor.dtype, tensor._dims, "added") for f in functions]
        self._call([[*f.inputs, t] for f, t in zip(functions, inner, strict=True)])
        node.attrs["Tin"] = (*node.attrs["Tin"], tensor.dtype.base_dtype)
        node._inputs = (*node._inputs, tensor)
        tensor._consumers.append(node)
        return inner[self._place]

    def _pass_through(self, tensor: Tensor, added: Tensor) -> Tensor:
        """Has all uses of a tensor go through a node that its gradient comes out of."""
        body = self._body
        for f in self._node.graph._functions.values():
            if getattr(f, "graph", None) is body:
                f.freeze()  # those that are called no more have no such argument
        with numbering.counted_as(body, 0), body.as_default(), body.name_scope(None):
            with body.control_dependencies(None), body.gradient_override_map({"IdentityN": _WATCHED}):
                same: Tensor = raw.IdentityN([tensor, added])[0]
        same._handle_data = tensor._handle_data
        for op in [op for op in tensor._consumers if op is not same._op]:
            for i, t in enumerate(op._inputs):
                if t is tensor:
                    op._update_input(i, same)
        outputs = [same if t is tensor else t for t in called_functions(self._node)[self._place].outputs]
        self._call(None, outputs)
        return same

    def _call(self, inputs: Any, outputs: list[Tensor] | None = None) -> None:
        """Has the If call functions that take other inputs, or whose own branch returns other outputs."""
        node = self._node
        graph, functions = node.graph, called_functions(node)
        for place, (key, f) in enumerate(zip(("then_branch", "else_branch"), functions, strict=True)):
            given = f.outputs if outputs is None or place != self._place else outputs
            taken = f.inputs if inputs is None else inputs[place]
            name = function_name(graph, f.name, "rewritten")
            node.attrs[key] = add_function(graph, f.graph, given, name, taken)


_WATCHED = "HeadraceWatched"
GRADIENTS[_WATCHED] = lambda op, dy, _: [dy, dy]


class _LoopExit:
    """Takes operations of a loop's condition or body to what has run once the loop has and they ran in it."""

    def __init__(self, node: Operation, body: FuncGraph):
        self._node = node
        self._body = body
        self._out: dict[Operation, Operation] = {}

    def watched(self, tensor: Tensor, graph: Graph) -> tuple[Tensor, None]:
        """Returns the tensor: it differs from one iteration to the next, and has no gradient outside."""
        return tensor, None

    def __call__(self, thing: Any, graph: Graph) -> Any:
        name = f"{self._body._scope_around}/{thing.op.name if isinstance(thing, Tensor) else thing.name}"
        test, work = called_functions(self._node)
        if isinstance(thing, Tensor) or work.graph is not self._body:
            raise ValueError(f"Cannot use '{name}' as input here because '{name}' is in a while loop.")
        found = self._out.get(thing)
        if found is None:
            home = self._node.graph
            with numbering.counted_as(home, 0), home.as_default(), home.control_dependencies(None):
                with home.name_scope(None):
                    start = raw.Const(value=np.array(False), dtype="bool", name=f"{name}/start")
                    inputs = [[f.graph.placeholder(start.dtype, (), "ran")] for f in (test, work)]
                    body = self._body
                    with body.as_default(), body.name_scope(None), body.control_dependencies([thing]):
                        ran = raw.Identity(True)
                    (end,) = more_variables(self._node, (test, work), [start], inputs, [ran])
                    found = self._out[thing] = raw.Identity(end, name=name).op
        return found


def _source(tensor: Tensor) -> Tensor:
    """Returns the tensor that a placeholder of a body stands for, of whichever graph around it is of."""
    while isinstance(tensor.graph, FuncGraph) and tensor in tensor.graph.stands_for:
        tensor = tensor.graph.stands_for[tensor]
    return tensor


def _if_taken(thing: Any, out: Tensor, pred: Tensor, place: int) -> Tensor:
    """Returns what came out of a branch; it is an error at run time if the branch was not taken."""
    graph = get_default_graph()
    bodies = []
    for which in range(2):
        body = FuncGraph(function_name(graph, "leaving", ("true", "false")[which]), graph)
        with body.as_default():
            body.outputs = [raw.Identity(body.capture(out)) if which == place else _missing(thing, out)]
        bodies.append(body)

    def make(_: bool, inputs: list[Tensor], branches: list[Any]) -> Operation:
        return raw.If.node(  # type: ignore[no-any-return]
            pred,
            inputs,
            Tout=[out.dtype.base_dtype],
            then_branch=branches[0],
            else_branch=branches[1],
            output_shapes=[out._dims],
            _lower_using_switch_merge=True,
        )

    return branches_node(bodies, None, make).outputs[0]


def _missing(thing: Any, like: Tensor | None = None) -> Tensor:
    """Returns a tensor that can't be computed, in place of a node or tensor of a branch that is not taken."""
    op = thing.op if isinstance(thing, Tensor) else thing
    if like is None and isinstance(thing, Tensor):
        like = thing
    graph = get_default_graph()
    stop = raw.Assert(False, [f"{op.name} does not have value: its branch was not taken"])
    with graph.control_dependencies([stop]):
        if like is None:
            return raw.Identity(True)  # type: ignore[no-any-return]
        found: Tensor = raw.FakeParam(dtype=like.dtype.base_dtype, shape=like._dims)
        found._handle_data = like._handle_data
        return found
