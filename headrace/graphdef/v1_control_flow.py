"""Writes a graph with TensorFlow 1's control flow: Switch and Merge for If and Case, frames for While.

Programs that know no functional nodes can read such a graph. Each node keeps its name: where an If stood, an IdentityN
of that name gives the results, so `cond:1` can be fetched and `^cond` waited for. What takes a single result takes it
from where it comes, so that the others need not run for its sake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace import dtypes
from headrace.errors import UnimplementedError
from headrace.graph import Graph, Operation, get_default_graph
from headrace.graph.func_graph import Function, function_named
from headrace.graphdef.nodes import node_into_proto
from headrace.opdef.attrs import FuncRef
from headrace.opdef.functions import called_functions

BRANCHES = frozenset({"If", "StatelessIf", "Case"})
LOOPS = frozenset({"While", "StatelessWhile"})


def v1_graph_def(graph: Graph | None = None) -> Any:
    """Returns a graph as a GraphDef without functional control flow.

    Args:
      graph: The graph, the default graph if None.

    Raises:
      UnimplementedError: The predicate of a branch is of a type that has no v1 form.
    """
    graph = get_default_graph() if graph is None else graph
    message = graph.as_graph_def()
    kept = list(message.node)
    del message.node[:]
    writer = _Writer(graph, message)
    for op, node in zip(graph._ops, kept, strict=True):
        if op.type in BRANCHES or op.type in LOOPS:
            writer.lower(op, op._name, [t._as_node_def_input() for t in op._inputs], _waits(op))
        else:
            message.node.add().CopyFrom(node)
    writer.connect()
    writer.drop_functions()
    return message


def _waits(op: Operation) -> list[str]:
    return sorted({"^" + c._name for c in op._control_inputs})


class _Writer:
    """One graph being written.

    Args:
      graph: The graph.
      message: The GraphDef that nodes are added to.
    """

    def __init__(self, graph: Graph, message: Any):
        self.graph = graph
        self.message = message
        self.taken = {op._name for op in graph._ops}
        self.direct: dict[str, list[str]] = {}  # name of a functional node -> where each result comes from

    # -- nodes -------------------------------------------------------------------------------------------------
    def name(self, wanted: str) -> str:
        """Returns a name that no node has."""
        found, i = wanted, 0
        while found in self.taken:
            i += 1
            found = f"{wanted}_{i}"
        self.taken.add(found)
        return found

    def add(self, op: str, name: str, inputs: Sequence[str], **types: Any) -> str:
        """Adds a node; `types` are its type attrs. Returns its name."""
        node = self.message.node.add(op=op, name=name)
        data = [i for i in inputs if i[0] != "^"]
        node.input.extend(data + sorted({i for i in inputs if i[0] == "^"}))
        for attr, value in types.items():
            if isinstance(value, (list, tuple)):
                node.attr[attr].list.type.extend(t.as_datatype_enum for t in value)
            elif isinstance(value, bool):
                node.attr[attr].b = value
            elif isinstance(value, int):
                node.attr[attr].i = value
            elif isinstance(value, str):
                node.attr[attr].s = value.encode()
            else:
                node.attr[attr].type = value.as_datatype_enum
        return name

    def lower(self, op: Operation, name: str, inputs: list[str], waits: list[str]) -> None:
        """Writes a functional node.

        Args:
          op: The node.
          name: The name that its results get.
          inputs: What it takes, as nodes are written.
          waits: What it waits for.
        """
        if op.type in LOOPS:
            results, after = self._loop(op, name, inputs, waits)
        elif op.type == "Case":
            functions = [self._function(op, f) for f in op.attrs["branches"]]
            results, after = self._case(op, name, inputs[0], functions, inputs[1:], waits, 0)
        else:
            functions = [self._function(op, op.attrs[which]) for which in ("else_branch", "then_branch")]
            pred = self._as_bool(op, name, inputs[0], waits)
            results, after = self._branches(op, name, pred, functions, inputs[1:], waits)
        types = [t._dtype.base_dtype for t in op._outputs]
        if results:
            self.add("IdentityN", name, [*results, *after], T=types)
            if not any(function.controls for function in called_functions(op)):
                self.direct[name] = results
        else:
            self.add("NoOp", name, after)

    def _function(self, op: Operation, reference: FuncRef) -> Function:
        found: Function = function_named(op._graph, reference.name)
        return found

    def _as_bool(self, op: Operation, name: str, pred: str, waits: list[str]) -> str:
        dtype = op._inputs[0]._dtype.base_dtype
        if dtype is dtypes.bool:
            return pred
        if op._inputs[0]._dims != () or not (dtype.is_floating or dtype.is_integer):
            raise UnimplementedError(
                None, op, f"{op.name}: only a boolean or a number can decide between branches in this form"
            )
        return self.add("Cast", self.name(f"{name}/pred"), [pred, *waits], SrcT=dtype, DstT=dtypes.bool)

    # -- branches ----------------------------------------------------------------------------------------------
    def _case(
        self,
        op: Operation,
        name: str,
        index: str,
        functions: list[Function],
        inputs: list[str],
        waits: list[str],
        first: int,
    ) -> tuple[list[str], list[str]]:
        """Writes a choice among functions as one between the first and the rest."""
        if len(functions) == 1:
            return self._inlined(op, self.name(f"{name}/only"), functions[0], inputs, waits)
        number = self._number(self.name(f"{name}/branch_index"), first, waits)
        pred = self.add("Equal", self.name(f"{name}/is_branch"), [index, number], T=dtypes.int32)
        rest: Any = functions[1]
        if len(functions) > 2:

            def rest(scope: str, given: list[str], pivot: list[str]) -> tuple[list[str], list[str]]:
                return self._case(op, scope, given[0], functions[1:], given[1:], pivot, first + 1)

            return self._branches(op, name, pred, [rest, functions[0]], [index, *inputs], waits, True)
        return self._branches(op, name, pred, [rest, functions[0]], inputs, waits)

    def _number(self, name: str, value: int, waits: list[str]) -> str:
        node = self.message.node.add(op="Const", name=name)
        node.input.extend(waits)
        node.attr["dtype"].type = dtypes.int32.as_datatype_enum
        tensor = node.attr["value"].tensor
        tensor.dtype = dtypes.int32.as_datatype_enum
        tensor.tensor_shape.SetInParent()
        tensor.int_val.append(value)
        return name

    def _branches(
        self,
        op: Operation,
        name: str,
        pred: str,
        sides: Sequence[Function | Callable[..., Any]],
        inputs: list[str],
        waits: list[str],
        with_index: bool = False,
    ) -> tuple[list[str], list[str]]:
        """Writes a choice between two sides, the first for false; returns the results and what to wait for."""
        types = [t._dtype for t in op._inputs[0 if with_index else 1 :]]
        switched: tuple[list[str], list[str]] = ([], [])
        for text, dtype in zip(inputs, types, strict=True):
            kind = "RefSwitch" if dtype.is_ref else "Switch"
            node = self.add(kind, self.name(f"{name}/Switch"), [text, pred, *waits], T=dtype.base_dtype)
            switched[0].append(node)
            switched[1].append(f"{node}:1")
        chosen = self.add("Switch", self.name(f"{name}/Switch_pred"), [pred, pred, *waits], T=dtypes.bool)
        results: list[list[str]] = []
        ends: list[str] = []
        for i, which in enumerate(("else", "then")):
            pivot = self.add(
                "Identity",
                self.name(f"{name}/switch_{which}"),
                [f"{chosen}:1" if i else chosen],
                T=dtypes.bool,
            )
            scope = self.name(f"{name}/{which}")
            side = sides[i]
            if i and with_index:
                out, after = self._inlined(op, scope, side, switched[i][1:], ["^" + pivot])
            elif isinstance(side, Function):
                out, after = self._inlined(op, scope, side, switched[i], ["^" + pivot])
            else:
                out, after = side(scope, switched[i], ["^" + pivot])
            results.append(out)
            ends.append(
                self.add("Identity", self.name(f"{name}/end_{which}"), [pivot, *after], T=dtypes.bool)
            )
        merged = []
        for a, b, t in zip(*results, op._outputs, strict=True):
            merged.append(self.add("Merge", self.name(f"{name}/Merge"), [a, b], T=t._dtype.base_dtype, N=2))
        end = self.add("Merge", self.name(f"{name}/end"), ends, T=dtypes.bool, N=2)
        return merged, ["^" + end]

    # -- bodies ------------------------------------------------------------------------------------------------
    def _inlined(
        self,
        op: Operation,
        scope: str,
        function: Any,
        inputs: list[str],
        pivot: list[str],
        constant: frozenset[str] = frozenset(),
    ) -> tuple[list[str], list[str]]:
        """Writes a function's nodes under a scope.

        Args:
          op: The node that calls it.
          scope: The scope.
          function: The function.
          inputs: Its arguments, as nodes are written.
          pivot: What nodes wait for that would run else whether the function is called or not.
          constant: Those of its arguments that are there whether it is called or not.

        Returns:
          Its results, and what to wait for so that all of it has run.
        """
        known = dict(zip(function.inputs, inputs, strict=True))
        names: dict[Operation, str] = {}
        free = set(constant)  # what does not hang on the call
        for inner in function.body:
            name = names[inner] = self.name(f"{scope}/{inner._name}")
            given = [known[t] for t in inner._inputs]
            waits = ["^" + names[c] for c in inner._control_inputs if c in names]
            if not waits and free.issuperset(given):
                waits = pivot
            if inner.type in BRANCHES or inner.type in LOOPS:
                self.lower(inner, name, given, waits)
            else:
                node = self.message.node.add()
                node_into_proto(inner, node)
                node.name = name
                del node.input[:]
                node.input.extend([*given, *sorted(set(waits))])
                node.attr.pop("_class", None)
            for i, t in enumerate(inner._outputs):
                known[t] = name if i == 0 else f"{name}:{i}"
        results = []
        for t in function.outputs:
            results.append(known[t])
        return results, ["^" + names[c] for c in function.controls]

    # -- loops -------------------------------------------------------------------------------------------------
    def _loop(
        self, op: Operation, name: str, inputs: list[str], waits: list[str]
    ) -> tuple[list[str], list[str]]:
        test, work = (self._function(op, op.attrs[which]) for which in ("cond", "body"))
        frame = {
            "frame_name": name,
            "parallel_iterations": int(op.attrs.get("parallel_iterations", 10)),
        }
        count = len(inputs)
        moving = [i for i in range(count) if work.inputs[i] is not work.outputs[i]]
        inside: list[str] = [""] * count
        for i in range(count):
            dtype = op._inputs[i]._dtype
            stays = i not in moving
            inside[i] = self.add(
                "RefEnter" if dtype.is_ref and stays else "Enter",
                self.name(f"{name}/Enter"),
                [inputs[i], *waits],
                T=dtype.base_dtype,
                is_constant=stays,
                **frame,
            )
        if not moving:
            raise UnimplementedError(None, op, f"{op.name}: nothing changes in this loop")
        merges = []
        for i in moving:
            merge = self.name(f"{name}/Merge")
            self.add("Merge", merge, [inside[i]], T=op._inputs[i]._dtype.base_dtype, N=2)
            merges.append(self.message.node[-1])
            inside[i] = merge
        constant = frozenset(inside[i] for i in range(count) if i not in moving)
        pivot = ["^" + inside[moving[0]]]
        found, after = self._inlined(op, self.name(f"{name}/cond"), test, inside, pivot, constant)
        go_on = self.add("LoopCond", self.name(f"{name}/LoopCond"), [found[0], *after])
        results = list(inputs)
        for i in moving:
            dtype = op._inputs[i]._dtype.base_dtype
            switch = self.add("Switch", self.name(f"{name}/Switch"), [inside[i], go_on], T=dtype)
            results[i] = self.add("Exit", self.name(f"{name}/Exit"), [switch], T=dtype)
            inside[i] = self.add("Identity", self.name(f"{name}/Identity"), [f"{switch}:1"], T=dtype)
        pivot = ["^" + inside[moving[0]]]
        found, after = self._inlined(op, self.name(f"{name}/body"), work, inside, pivot, constant)
        for i, merge_node in zip(moving, merges, strict=True):
            dtype = op._inputs[i]._dtype.base_dtype
            merge_node.input.append(
                self.add("NextIteration", self.name(f"{name}/NextIteration"), [found[i], *after], T=dtype)
            )
        return results, ["^" + results[moving[0]]]

    # -- the whole ---------------------------------------------------------------------------------------------
    def connect(self) -> None:
        """Has nodes take each result of a functional node from where it comes."""
        for node in self.message.node:
            for i, text in enumerate(node.input):
                found = self._source(text)
                if found != text:
                    node.input[i] = found

    def _source(self, text: str) -> str:
        name, _, place = text.partition(":")
        results = self.direct.get(name)
        return text if results is None else self._source(results[int(place or 0)])

    def drop_functions(self) -> None:
        """Leaves out the functions that nothing calls any more."""
        library = {f.signature.name: f for f in self.message.library.function}
        todo = [node for node in self.message.node]
        used: set[str] = set()
        while todo:
            node = todo.pop()
            names = {node.op}
            for value in node.attr.values():
                if value.HasField("func"):
                    names.add(value.func.name)
                names.update(f.name for f in value.list.func)
            for name in names & library.keys() - used:
                used.add(name)
                todo.extend(library[name].node_def)
        kept = [f for n, f in library.items() if n in used]
        gradients = [g for g in self.message.library.gradient if g.function_name in used]
        self.message.ClearField("library")
        self.message.library.function.extend(kept)
        self.message.library.gradient.extend(gradients)
        if not kept:
            self.message.ClearField("library")
