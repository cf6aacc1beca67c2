"""import_graph_def: puts the nodes of a GraphDef into the default graph.

The nodes' messages are read once, straight into what operations hold; no message outlives the call. If anything is
wrong the graph is left as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import proto
from headrace.errors import NotFoundError, UnimplementedError
from headrace.export import export
from headrace.graph import get_default_graph
from headrace.graph.names import VALID_OP_NAME
from headrace.graph.operation import Operation
from headrace.graph.tensor import Tensor
from headrace.graph.traceback import capture
from headrace.graphdef.collector import held_back
from headrace.graphdef.decoding import OpReader, reader_for
from headrace.graphdef.functions import import_library
from headrace.graphdef.order import split_input, topological
from headrace.opdef import OPS, convert_to_tensor
from headrace.shapes import merge

_MAX_OUTPUTS = 2**20
_VERSION = 134  # the GraphDef version of TensorFlow 1.15


@export("import_graph_def", "graph_util.import_graph_def")
def import_graph_def(
    graph_def: Any,
    input_map: Any = None,
    return_elements: Any = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Adds the nodes of a GraphDef to the default graph.

    Args:
      graph_def: The GraphDef.
      input_map: Which inputs to take from elsewhere: a tensor's name in `graph_def` (`^name` for a control input) ->
        a Tensor of the default graph, or a value that converts to one.
      return_elements: The names of the operations (`name`) and tensors (`name:0`) to return.
      name: The name scope for the nodes, "import" if None; '' puts them under their own names.
      op_dict: Not used.
      producer_op_list: An OpList of the program that wrote the graph. Attrs that are not known here are left out where
        they have the default that is said there.

    Returns:
      The operations and tensors of `return_elements`, or None.

    Raises:
      TypeError: An argument is of a wrong type.
      ValueError: The graph is malformed, or does not fit `input_map` or `return_elements`.
      NotFoundError: A node is of an op that is not known.
    """
    if not isinstance(graph_def, proto.GraphDef):
        graph_def = _from_elsewhere(graph_def, "GraphDef", "graph_def must be a GraphDef proto.")
    if input_map is None:
        input_map = {}
    elif not (isinstance(input_map, dict) and all(isinstance(k, str) for k in input_map)):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    if return_elements is not None:
        return_elements = tuple(return_elements)
        if not all(isinstance(e, str) for e in return_elements):
            raise TypeError("return_elements must be a list of strings.")
    _check_versions(graph_def.versions)
    graph = get_default_graph()
    graph._check_not_finalized()
    if name is not None and name.endswith("/"):
        scope = name
    else:
        with graph.name_scope("import" if name is None else name or None) as scope:
            pass
    outside = _input_tensors(graph, input_map, scope)
    with graph._lock, held_back():
        work = _Import(graph, scope, outside, _dropped_attrs(producer_op_list), graph_def.versions.producer)
        before = len(graph._ops), dict(graph._functions)
        try:
            import_library(graph, graph_def.library)
            work.add_all(graph_def.node, capture(2))
            found = None if return_elements is None else [work.returned(e) for e in return_elements]
        except BaseException:
            work.undo(before[0])
            graph._functions.clear()
            graph._functions.update(before[1])
            raise
        _merge_versions(graph, graph_def.versions, before[0] == 0)
    unused = [key for key in outside if not work.knows(key)]
    if unused:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(unused)}]")
    return found


def _from_elsewhere(message: Any, kind: str, complaint: str) -> Any:
    """Returns headrace's own message for one of the same type made by other generated code.

    Raises:
      TypeError: It is no such message.
    """
    descriptor = getattr(message, "DESCRIPTOR", None)
    if descriptor is None or descriptor.full_name != "tensorflow." + kind:
        raise TypeError(complaint)
    return getattr(proto, kind).FromString(message.SerializePartialToString())


def _check_versions(versions: Any) -> None:
    if versions.min_consumer > _VERSION:
        raise ValueError(
            f"GraphDef min consumer version {versions.min_consumer} above current version {_VERSION} for TensorFlow "
            "1.15.  Please upgrade TensorFlow."
        )
    if _VERSION in versions.bad_consumers:
        raise ValueError(
            f"GraphDef disallows consumer version {_VERSION}.  Please upgrade TensorFlow: this version is likely buggy."
        )


def _merge_versions(graph: Any, versions: Any, was_empty: bool) -> None:
    if was_empty:
        graph._producer, graph._min_consumer = versions.producer, versions.min_consumer
    else:
        graph._producer = min(graph._producer, versions.producer)
        graph._min_consumer = max(graph._min_consumer, versions.min_consumer)


def _input_tensors(graph: Any, input_map: dict[str, Any], scope: str) -> dict[str, Any]:
    """Returns `input_map` with full names (`node:0`, `^node`) and with tensors for values."""
    named: dict[str, Any] = {}
    for key, value in input_map.items():
        if key[:1] == "^":
            named[key] = value
            continue
        node, colon, index = key.partition(":")
        if colon and not index.isdigit():
            raise ValueError(f"Cannot convert {key!r} to a tensor name.")
        named[f"{node}:{index or 0}"] = value
    values = [k for k, v in named.items() if not isinstance(v, (Tensor, Operation))]
    if values:
        if not scope:
            raise ValueError(
                "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. Try "
                "calling tf.convert_to_tensor() on `input_map` values before calling tf.import_graph_def()."
            )
        with graph.name_scope(scope), graph.name_scope("_inputs"):
            for key in values:
                named[key] = convert_to_tensor(named[key])
    for key, value in named.items():
        if value.graph is not graph:
            raise ValueError(f"{value} must be from the same graph as the default graph.")
        if isinstance(value, Operation) and key[:1] != "^":
            raise TypeError(f"Can't convert Operation '{value.name}' to Tensor (input_map[{key!r}])")
    return named


def _dropped_attrs(op_list: Any) -> dict[str, dict[str, bytes]]:
    """Returns the defaults that the producer had: op -> attr -> serialized AttrValue."""
    if op_list is None:
        return {}
    if not hasattr(op_list, "op"):
        raise TypeError("producer_op_list must be an OpList proto.")
    return {
        op.name: {
            a.name: a.default_value.SerializeToString(deterministic=True)
            for a in op.attr
            if a.HasField("default_value")
        }
        for op in op_list.op
    }  # fmt: skip


class _Import:
    """One call of import_graph_def at work.

    Attributes:
      tensors: What a data input may be called in the file -> the tensor it is.
      ops: Node name in the file -> Operation.
    """

    def __init__(
        self, graph: Any, scope: str, outside: dict[str, Any], dropped: dict[str, Any], producer: int
    ):
        self.graph = graph
        self.scope = scope
        self.outside = outside
        self.dropped = dropped
        self.producer = producer
        self.tensors: dict[str, Tensor] = {}
        self.ops: dict[str, Operation] = {}
        self.patches: list[tuple[Operation, int, str]] = []
        self.colocated: list[tuple[Operation, str, tuple[str, ...]]] = []
        self.used: set[str] = set()
        self.marked: list[str] = []
        # Both spellings of output 0 are looked up with one dictionary.
        self.mapped: dict[str, Any] = {}
        for key, value in outside.items():
            self.mapped[key] = value
            if key.endswith(":0"):
                self.mapped[key[:-2]] = value

    def add_all(self, nodes: Any, frames: Any) -> None:
        """Adds all nodes.

        Raises:
          ValueError: A node is malformed, or the nodes do not fit together.
        """
        nodes = list(nodes)
        names = [node.name for node in nodes]
        inputs = [list(node.input) for node in nodes]
        self._check_names(names)
        if self.mapped:
            mapped = self.mapped
            waits = [[text for text in mine if text not in mapped] for mine in inputs]
            self.used = {text for mine in inputs for text in mine if text in mapped}
        else:
            waits = inputs
        kinds = [node.op for node in nodes]
        try:
            order, loops = topological(names, kinds, waits)
        except ValueError as e:
            if "cycle" not in str(e):
                raise ValueError(self._with_node(names, inputs, str(e))) from None
            raise
        stack, self.graph._control_stack = self.graph._control_stack, []
        try:
            self._add_in_order(nodes, names, kinds, inputs, order, loops, frames)
        finally:
            self.graph._control_stack = stack
        if stack:
            self._wait_for(stack)
        for op, i, text in self.patches:
            found = self._tensor(text, text)
            self._check_types(op.name, [found], [op._inputs[i]._dtype], i)
            op._update_input(i, found)
        for op, name, classes in self.colocated:
            self._colocate(op, name, classes)

    def _add_in_order(
        self,
        nodes: list[Any],
        names: list[str],
        kinds: list[str],
        inputs: list[list[str]],
        order: list[int],
        loops: set[int],
        frames: Any,
    ) -> None:
        readers: dict[str, OpReader] = {}
        full_names = self._full_names(names)
        for i in order:
            op_type = kinds[i]
            reader = readers.get(op_type)
            if reader is None:
                reader = readers[op_type] = self._reader(op_type)
            name = names[i]
            self._add(nodes[i], name, full_names[name], reader, inputs[i], frames, i in loops)

    def _wait_for(self, stack: list[Any]) -> None:
        """Makes all nodes wait for what the `control_dependencies` blocks around the import say.

        Unlike nodes that a program adds, imported ones wait even where they take a tensor that waits already.
        """
        first = [c for block in stack for c in block.control_inputs]
        for op in self.ops.values():
            op._add_control_inputs(first)
            for block in stack:
                block.seen.add(op)

    def _check_names(self, names: list[str]) -> None:
        if len(set(names)) < len(names):
            seen: set[str] = set()
            for name in names:
                if name in seen:
                    raise ValueError(f"Node '{name}' is not unique")
                seen.add(name)
        valid = VALID_OP_NAME.match
        for name in names:
            if not valid(name):
                raise ValueError(f"Node '{name}': Node name contains invalid characters")

    def _with_node(self, names: list[str], inputs: list[list[str]], text: str) -> str:
        for name, mine in zip(names, inputs, strict=True):
            for each in mine:
                try:
                    split_input(each)
                except ValueError:
                    return f"Node '{name}': {text}"
        return text

    def _full_names(self, names: list[str]) -> dict[str, str]:
        """Returns the name that each node gets in the graph."""
        scope, taken = self.scope, self.graph._by_name
        full = {name: scope + name for name in names}
        if taken:
            new = set(full.values())
            for name, wanted in full.items():
                if wanted in taken:
                    i = 1
                    while f"{wanted}_{i}" in taken or f"{wanted}_{i}" in new:
                        i += 1
                    full[name] = f"{wanted}_{i}"
                    new.add(full[name])
        return full

    def _reader(self, op_type: str) -> OpReader:
        kind = OPS.find(op_type)
        if kind is None:
            function = self.graph._functions.get(op_type)
            kind = getattr(function, "op", None)
        if kind is None:
            raise NotFoundError(
                None,
                None,
                f"Op type not registered '{op_type}' in headrace. If the graph uses ops from tf.contrib or from a "
                "library of its own, touch that module (or load the library) before importing the graph.",
            )
        deprecated = kind.signature.deprecated
        if deprecated is not None and self.producer >= deprecated:
            raise UnimplementedError(
                None,
                None,
                f"Op {op_type} is not available in GraphDef version {self.producer}. It has been removed in version "
                f"{deprecated}.",
            )
        return reader_for(kind)

    def _add(
        self,
        node: Any,
        name: str,
        full_name: str,
        reader: OpReader,
        texts: list[str],
        frames: Any,
        in_loop: bool,
    ) -> Operation:
        kind = reader.kind
        attrs = reader.read(node, full_name, self.dropped.get(kind.name) if self.dropped else None)
        shapes = attrs.pop("_output_shapes", None)
        tensors = self.tensors
        mapped = self.mapped
        inputs: list[Tensor] = []
        controls: list[Operation] = []
        for text in texts:
            t = mapped.get(text) if mapped else None
            if t is None:
                t = tensors.get(text)
            if t is None or text[0:1] == "^":
                if text[0:1] == "^":
                    controls.append(self._control(text, t, name))
                    continue
                t = (
                    self._hole(kind, text, attrs)
                    if in_loop and self._is_open(text)
                    else self._tensor(text, name)
                )
            if controls:
                raise ValueError(f"Node '{name}': Control dependencies must come after regular dependencies")
            inputs.append(t)
        plan = kind.plan
        self._check_inputs(plan, full_name, kind, inputs, attrs)
        for arg in plan.signature.outputs if not plan.simple_outputs else ():
            if arg.number_attr is not None and attrs[arg.number_attr] > _MAX_OUTPUTS:
                raise ValueError(f"Node '{name}': {attrs[arg.number_attr]} outputs are too many")
        if plan.simple_outputs:
            types = [fixed or attrs[type_attr] for fixed, type_attr, _, _ in plan.outputs]
        else:
            types = plan.output_types(attrs)
        classes = attrs.pop("_class", None)
        graph = self.graph
        op = Operation(graph, kind, full_name, tuple(inputs), attrs, [], frames)
        device = node.device
        if device:
            from headrace.graph.device import canonical

            op._device = canonical(device)
        key = full_name.lower()
        if key not in graph._names._next:
            graph._names._next[key] = 1
            self.marked.append(key)
        try:
            graph._insert(op, types, kind)
        except (TypeError, LookupError, ArithmeticError, AttributeError) as e:
            # A rule met attrs that no program could have made; files must not be able to cause anything else.
            raise ValueError(f"Node '{name}': malformed attrs of op {kind.name}: {e!r}") from e
        if classes is not None:
            if not isinstance(classes, tuple) or not all(isinstance(c, str) for c in classes):
                raise ValueError(f"Node '{name}': attr '_class' is not a list of strings")
            self.colocated.append((op, name, classes))
        if controls:
            op._control_inputs = list(op._control_inputs)
            for c in dict.fromkeys(controls):
                if c not in op._control_inputs:
                    op._control_inputs.append(c)
                    c._control_outputs.append(op)
        if in_loop:
            self._note_holes(op, texts)
        outputs = op._outputs
        if isinstance(shapes, tuple) and shapes and (shapes[0] is None or isinstance(shapes[0], tuple)):
            self._set_shapes(op, shapes)
        self.ops[name] = op
        if outputs:
            tensors[name] = outputs[0]
            if len(outputs) > 1:
                for i, t in enumerate(outputs):
                    tensors[f"{name}:{i}"] = t
        return op

    # -- inputs ------------------------------------------------------------------------------------------------
    def _tensor(self, text: str, name: str) -> Tensor:
        node, index = split_input(text)
        op = self.ops.get(node)
        if op is None:
            raise ValueError(f"Node '{name}': Unknown input node '{text}'")
        if index >= len(op._outputs):
            raise ValueError(
                f"Node '{name}': Connecting to invalid output {index} of source node {node} which has "
                f"{len(op._outputs)} outputs."
            )
        return op._outputs[index]

    def _control(self, text: str, mapped: Any, name: str) -> Operation:
        if mapped is not None:
            return mapped._op if isinstance(mapped, Tensor) else mapped
        op = self.ops.get(text[1:])
        if op is None:
            raise ValueError(f"Node '{name}': Unknown input node '{text}'")
        return op

    def _check_inputs(
        self, plan: Any, name: str, kind: Any, inputs: list[Tensor], attrs: dict[str, Any]
    ) -> None:
        if plan.simple:
            if len(inputs) == plan.n_inputs:
                for t, (_, fixed, type_attr, _, _) in zip(inputs, plan.inputs, strict=True):
                    want = fixed or attrs[type_attr]
                    if t._dtype is not want and t._dtype._base is not want:
                        break
                else:
                    return
            wanted = [fixed or attrs[type_attr] for _, fixed, type_attr, _, _ in plan.inputs]
        else:
            wanted = []
            for arg in plan.signature.inputs:
                if arg.type_list_attr is not None:
                    types = list(attrs[arg.type_list_attr])
                else:
                    dtype = arg.dtype if arg.dtype is not None else attrs[arg.type_attr]
                    types = [dtype._as_ref if arg.is_ref else dtype]
                    if arg.number_attr is not None:
                        types *= (
                            attrs[arg.number_attr]
                            if attrs[arg.number_attr] <= len(inputs)
                            else len(inputs) + 1
                        )
                wanted.extend(types)
        if len(wanted) != len(inputs):
            raise ValueError(
                f"NodeDef expected inputs '{', '.join(t.wire_name for t in wanted)}' do not match {len(inputs)} inputs "
                f"specified; Op<name={kind.name}>; NodeDef: {{{{node {name}}}}}"
            )
        self._check_types(name, inputs, wanted)

    @staticmethod
    def _check_types(name: str, inputs: Sequence[Tensor], wanted: Sequence[Any], first: int = 0) -> None:
        for i, (t, want) in enumerate(zip(inputs, wanted, strict=True), first):
            if t._dtype is not want and t._dtype._base is not want:
                raise ValueError(
                    f"Input {i} of node {name} was passed {t._dtype.wire_name} from {t.name} incompatible with "
                    f"expected {want.wire_name}."
                )

    # -- loops: a Merge is added before the NextIteration that it takes ------------------------------------------
    def _is_open(self, text: str) -> bool:
        return split_input(text)[0] not in self.ops

    def _hole(self, kind: Any, text: str, attrs: dict[str, Any]) -> Tensor:
        stand_in = Operation(self.graph, kind, text, (), {}, [], ())
        dtype = attrs["T"]
        return Tensor(stand_in, 0, dtype._as_ref if kind.name.startswith("Ref") else dtype)

    def _note_holes(self, op: Operation, texts: list[str]) -> None:
        for i, t in enumerate(op._inputs):
            if t._op._id < 0:
                self.patches.append((op, i, texts[i]))

    # -- marks -------------------------------------------------------------------------------------------------
    def _colocate(self, op: Operation, name: str, classes: tuple[str, ...]) -> None:
        """Gives a node the groups that it had in the file, under the new names, and the device of the first."""
        groups: list[str] = []
        placed = False
        for group in classes:
            if group[:5] == "loc:@":
                other = self.ops.get(group[5:])
                if other is None:
                    raise ValueError(f"Node '{name}' expects to be colocated with unknown node '{group[5:]}'")
                group = "loc:@" + other._name
                if not placed:
                    placed = True
                    op._device = other._device
            groups.append(group)
        around = op.attrs.get("_class", ()) if self.graph._colocation else ()
        op.attrs["_class"] = (*groups, *(g for g in around if g not in groups))

    def _set_shapes(self, op: Operation, shapes: Any) -> None:
        if len(shapes) != len(op._outputs):
            return
        for i, (t, dims) in enumerate(zip(op._outputs, shapes, strict=True)):
            try:
                t._dims = merge(t._dims, dims)
            except ValueError as e:
                raise ValueError(
                    f"Node '{op.name}' has an _output_shapes attribute inconsistent with the GraphDef for output "
                    f"#{i}: {e}"
                ) from None

    # -- results -----------------------------------------------------------------------------------------------
    def returned(self, element: str) -> Any:
        """Returns the operation or tensor that an item of `return_elements` names.

        Raises:
          ValueError: There is none.
        """
        node, colon, index = element.partition(":")
        if not colon:
            if element not in self.ops:
                raise ValueError(f"Requested return node '{element}' not found in graph def")
            return self.ops[element]
        if not node or not index.isdigit():
            raise ValueError(f"Cannot convert {element!r} to a tensor name.")
        if element in self.mapped:
            return self.mapped[element]
        op = self.ops.get(node)
        if op is None:
            raise ValueError(f"Requested return tensor '{element}' not found in graph def")
        if int(index) >= len(op._outputs):
            raise ValueError(
                f"Invalid return output {index} of node '{node}', which has {len(op._outputs)} output(s)"
            )
        return op._outputs[int(index)]

    def knows(self, key: str) -> bool:
        """Whether the file has the input that a key of `input_map` names."""
        if key in self.used or key.removesuffix(":0") in self.used:
            return True
        node, index = split_input(key)
        op = self.ops.get(node)
        return op is not None and index < max(len(op._outputs), 1)

    def undo(self, size: int) -> None:
        """Takes back what was added to the graph."""
        graph = self.graph
        for op in reversed(graph._ops[size:]):
            for t in op._inputs:
                if t._consumers and op in t._consumers:
                    t._consumers.remove(op)
            for c in op._control_inputs:
                if op in c._control_outputs:
                    c._control_outputs.remove(op)
            graph._by_name.pop(op._name, None)
        del graph._ops[size:]
        graph._version = size
        graph._version_changed()
        for key in self.marked:
            graph._names._next.pop(key, None)
