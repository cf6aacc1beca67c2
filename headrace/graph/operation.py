"""Operation: one node of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.export import export
from headrace.graph import hooks, traceback
from headrace.graph.leaving import brought_out
from headrace.graph.tensor import Tensor
from headrace.shapes import Shape

if TYPE_CHECKING:
    from headrace.graph.graph import Graph


@export("Operation")
class Operation:
    """A node: an op (its `kind`) applied to input tensors with attrs.

    `attrs` holds plain values: DType, int, float, bool, str, tuples of those, shape tuples, NumPy arrays. Operations
    are made by `Graph.add` and by calling ops, not by programs.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_control_flow_context",
        "_control_inputs",
        "_control_outputs",
        "_device",
        "_graph",
        "_id",
        "_inputs",
        "_name",
        "_outputs",
        "_traceback",
        "attrs",
        "kind",
        "type",
    )

    def __init__(
        self,
        graph: Graph,
        kind: Any,
        name: str,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        control_inputs: list[Operation],
        frames: traceback.Frames,
    ):
        self._graph = graph
        self.kind = kind
        self.type: str = kind.name
        self._name = name
        self._inputs = inputs
        self.attrs = attrs
        self._control_inputs = control_inputs
        self._control_outputs: list[Operation] = []
        self._device = ""
        self._traceback = frames
        self._outputs: list[Tensor] = []
        self._id = -1
        self._control_flow_context: Any = None

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def name(self) -> str:
        return self._name

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        return self._outputs

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that must have run before this one."""
        return list(self._control_inputs)

    @property
    def _control_outputs_list(self) -> list[Operation]:
        return self._control_outputs

    @property
    def device(self) -> str:
        return self._device

    def _set_device(self, device: Any) -> None:
        from headrace.graph.device import canonical

        self._device = canonical(device)
        self._graph._version_changed()

    def colocation_groups(self) -> list[bytes]:
        """Returns the groups of nodes that must share a device with this one, as `loc:@name`."""
        groups = [g.encode() for g in self.attrs.get("_class", ()) if g.startswith("loc:@")]
        return groups or [b"loc:@" + self._name.encode()]

    @property
    def traceback(self) -> list[tuple[Any, ...]]:
        """Where the node was made: (file, line, function, source) for each frame, outermost first."""
        return traceback.as_tuples(self._traceback)

    @property
    def traceback_with_start_lines(self) -> list[tuple[Any, ...]]:
        frames = reversed(self._traceback)
        return [(*row, code.co_firstlineno) for row, (code, _) in zip(self.traceback, frames, strict=True)]

    @property
    def node_def(self) -> Any:
        """The node as a NodeDef message."""
        return hooks.node_def(self)

    @property
    def op_def(self) -> Any:
        """The op as an OpDef message."""
        return self.kind.op_def

    def get_attr(self, name: str) -> Any:
        """Returns an attr's value: DTypes for types, bytes for strings, messages for shapes and tensors.

        Raises:
          ValueError: The operation has no such attr.
        """
        return hooks.attr_to_public(self, name)

    def _set_attr(self, name: str, attr_value: Any) -> None:
        self.attrs[name] = hooks.attr_from_proto(attr_value)
        self._graph._version_changed()

    def attrs_but(self, *left_out: str) -> dict[str, Any]:
        """Returns the op's own attrs without those named and without the marks (`_class`, ...) of this node."""
        return {k: v for k, v in self.attrs.items() if k not in left_out and not k.startswith("_")}

    # -- edges that change after construction ------------------------------------------------------------------
    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _add_control_inputs(self, ops: Iterable[Operation]) -> None:
        self._graph._check_not_finalized()
        for op in ops:
            if not isinstance(op, Operation):
                raise TypeError(f"op must be an Operation: {op}")
            op = brought_out(op, self._graph)
            if op not in self._control_inputs:
                self._control_inputs.append(op)
                op._control_outputs.append(self)
        self._graph._version_changed()

    def _remove_all_control_inputs(self) -> None:
        for op in self._control_inputs:
            op._control_outputs.remove(self)
        self._control_inputs.clear()
        self._graph._version_changed()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Puts another tensor in an input's place (imported loops are closed this way)."""
        self._graph._check_not_finalized()
        old = self._inputs[index]
        inputs = list(self._inputs)
        inputs[index] = tensor
        self._inputs = tuple(inputs)
        if not any(t is old for t in inputs):
            old._consumers.remove(self)
        if self not in tensor._consumers:
            tensor._consumers.append(self)
        self._graph._version_changed()

    def _add_outputs(self, types: Iterable[Any], dims: Iterable[Shape]) -> None:
        for dtype, shape in zip(types, dims, strict=True):
            self._outputs.append(Tensor(self, len(self._outputs), dtype, shape))

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs this operation in `session`, or in the default session."""
        hooks.session_eval(self, feed_dict, session)

    def values(self) -> tuple[Tensor, ...]:
        return tuple(self._outputs)

    def _get_control_flow_context(self) -> Any:
        return self._control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self._name}' type={self.type}>"

    def __copy__(self) -> Operation:
        return self
