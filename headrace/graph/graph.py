"""Graph: the nodes, their names, and the scopes that new nodes fall under."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from headrace.dtypes import as_dtype
from headrace.export import export
from headrace.graph import hooks, numbering, stack
from headrace.graph.leaving import awaited
from headrace.graph.names import VALID_OP_NAME, VALID_SCOPE_NAME, NameTable
from headrace.graph.operation import Operation
from headrace.graph.scopes import ControlDependencies, DeviceScopes, control_inputs_for
from headrace.graph.tensor import Tensor
from headrace.graph.traceback import Frames, capture

_valid_name = VALID_OP_NAME.match
_PRODUCER = 134  # the GraphDef version that TensorFlow 1.15 writes


@export("Graph")
class Graph:
    """A dataflow graph: operations, and the tensors that flow between them.

    The attributes that start with an underscore and are assigned below are read by ops on the hot path of graph
    building; each is empty or None where the feature is not in use.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._ops: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._names = NameTable()
        self._name_stack = ""
        # Of the body of a branch or a loop, the scope that names of variables made inside start with.
        self._scope_around = ""
        self._control_stack: list[ControlDependencies] = []
        self._devices = DeviceScopes()
        self._init_devices = DeviceScopes()
        self._colocation: tuple[tuple[Operation, DeviceScopes], ...] = ()
        self._attr_scope_map: dict[str, Any] = {}
        self._gradient_overrides: dict[str, str] = {}
        self._kernel_labels: dict[str, str] = {}
        self._op_shape_functions: dict[str, Callable[..., Any]] = {}
        self._control_flow_context: Any = None
        self._collections: dict[Any, list[Any]] = {}
        self._seed: int | None = None
        self._finalized = False
        self._version = 0
        self._structure = 0  # changes whenever plans made before may be stale
        self._unfeedable: set[Any] = set()
        self._unfetchable: set[Any] = set()
        self._functions: dict[str, Any] = {}
        self._derived_functions: dict[str, Any] = {}  # made while it runs; no part of its GraphDef
        self._container = ""
        self._producer = _PRODUCER
        self._min_consumer = 0  # of what was imported
        self._function_gradients: dict[
            str, str
        ] = {}  # of imported functions: name -> gradient function's name
        self._last_loss_reduction: Any = None
        self._is_loss_scaled_by_optimizer = False
        self._variable_creator_stack: list[Any] = []
        self.outer_graph: Graph | None = None
        # Of a branch that is done: takes a node or tensor of it to what stands for it in a graph, or in one around it.
        self._way_out: Callable[[Any, Graph], Any] | None = None
        self.gradient_of: Graph | None = None
        # Names that TensorFlow's nodes would have (`cond/Merge`, `while/Exit_1`) -> what stands for their output here.
        self._aliases: dict[str, Tensor] = {}
        # Called with the graph, ys and xs before a gradient: makes what was imported differentiable.
        self._before_gradients: Callable[..., None] | None = None
        # See graph/numbering.py.
        self._numbered_with: Graph | None = None
        self._open_bodies: list[Any] = []
        self._bodies: list[Any] = []
        self._known: set[Any] = set()
        self._shift = 0

    # -- nodes -------------------------------------------------------------------------------------------------
    def add(
        self,
        kind: Any,
        name: str | None,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        types: list[Any],
        frames: Frames | None = None,
    ) -> Operation:
        """Adds one node; the caller has checked inputs and attrs against the op.

        Args:
          kind: The op.
          name: A name to be made unique; one that ends with `/` is taken as it is; None for the op's own.
          inputs: Its inputs, tensors of this graph.
          attrs: Its attrs, as plain values.
          types: The dtypes of its outputs.
          frames: Where it was made, the caller's stack if None.
        """
        if self._finalized:
            self._check_not_finalized()
        if name is None:
            name = kind.name
        if name and name[-1] == "/":
            name = name[:-1]
        else:
            name = self.unique_name(name)
        if not _valid_name(name):
            raise ValueError(f"'{name}' is not a valid node name")
        op = Operation(self, kind, name, inputs, attrs, [], capture(2) if frames is None else frames)
        return self._insert(op, types, kind)

    def _insert(self, op: Operation, types: list[Any], kind: Any) -> Operation:
        attrs, inputs = op.attrs, op._inputs
        if self._attr_scope_map:
            for key, value in self._attr_scope_map.items():
                value = value(op) if callable(value) else value
                if value is not None:
                    attrs.setdefault(key, value)
        if self._kernel_labels:
            label = self._kernel_labels.get(kind.name)
            if label is not None:
                attrs["_kernel"] = label
        if self._gradient_overrides:
            override = self._gradient_overrides.get(kind.name)
            if override is not None:
                attrs["_gradient_op_type"] = override
        outputs = op._outputs
        i = 0
        for dtype in types:
            outputs.append(Tensor(op, i, dtype))
            i += 1
        kind.infer_shapes(op)
        if self._control_stack:
            controls = control_inputs_for(self._control_stack, inputs)
            if controls:
                op._control_inputs = controls
                for c in controls:
                    c._control_outputs.append(op)
            for block in self._control_stack:
                block.seen.add(op)
        if self._control_flow_context is not None:
            op._control_flow_context = self._control_flow_context
            self._control_flow_context.AddOp(op)
        if self._devices:
            self._devices.apply(op)
        if self._colocation:
            self._colocate(op)
        elif self._container and "container" in attrs and not attrs["container"]:
            attrs["container"] = self._container
        self._append(op)
        return op

    def _append(self, op: Operation) -> None:
        with self._lock:
            if op._name in self._by_name:
                raise ValueError(f"cannot add op with name {op._name} as that name is already used")
            self._by_name[op._name] = op
            op._id = len(self._ops)
            self._ops.append(op)
            self._version = op._id + 1
        for t in op._inputs:
            consumers = t._consumers
            if not consumers or consumers[-1] is not op:
                consumers.append(op)

    def _colocate(self, op: Operation) -> None:
        groups: list[str] = []
        for other, _ in self._colocation:
            groups.extend(g.decode() for g in other.colocation_groups())
            # The device of what it is placed with wins over the scopes.
            op._device = other._device or op._device
        if "container" in op.attrs and self._container and not op.attrs["container"]:
            op.attrs["container"] = self._container
        op.attrs["_class"] = tuple(sorted(set(groups)))

    def create_op(
        self,
        op_type: str,
        inputs: Any,
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: Any = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds one node, as TensorFlow's `Graph.create_op` does; `attrs` holds AttrValue messages.

        Raises:
          TypeError: An input is not a tensor.
          ValueError: There is no such op, or the name or an attr is wrong.
        """
        self._check_not_finalized()
        for i, t in enumerate(inputs):
            if not isinstance(t, Tensor):
                raise TypeError(f"Input #{i} is not a tensor: {t}")
            if t.graph is not self:
                raise ValueError(f"Tensor {t} is not an element of this graph.")
        kind = hooks.lookup_kind(op_type)
        plain = {key: hooks.attr_from_proto(value) for key, value in (attrs or {}).items()}
        plain, types = kind.complete(
            tuple(inputs), plain, None if dtypes is None else [as_dtype(d) for d in dtypes]
        )
        return self.add(kind, name, tuple(inputs), plain, types, capture(2))

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _version_changed(self) -> None:
        self._structure += 1

    # -- look-ups ----------------------------------------------------------------------------------------------
    def get_operations(self) -> list[Operation]:
        """Returns the operations in the order of their creation."""
        return list(self._ops)

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the operation of this name.

        Raises:
          TypeError: `name` is not a string.
          KeyError: There is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)  # type: ignore[no-any-return]

    _get_operation_by_name_unsafe = get_operation_by_name

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor of this name (`node:0`).

        Raises:
          TypeError: `name` is not a string.
          ValueError: It is a node's name, not a tensor's.
          KeyError: There is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)  # type: ignore[no-any-return]

    def _get_tensor_by_tf_output(self, output: Any) -> Any:
        return output

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Returns the Tensor or Operation that `obj` (one of those, a name, a Variable) means in this graph.

        Raises:
          TypeError: `obj` is nothing of the kind, or a kind that is not allowed.
          ValueError: It is of another graph, or a malformed name.
          KeyError: The name is not in the graph.
        """
        if allow_tensor and allow_operation:
            wanted = "Tensor or Operation"
        elif allow_tensor:
            wanted = "Tensor"
        elif allow_operation:
            wanted = "Operation"
        else:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            converted = convert()
            if converted is not None:
                obj = converted
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation)
        if (allow_tensor and isinstance(obj, Tensor)) or (allow_operation and isinstance(obj, Operation)):
            home = obj.graph
            if home is not self and (home._numbered_with or home) is not self._numbered_with:
                what = "Tensor" if isinstance(obj, Tensor) else "Operation"
                raise ValueError(f"{what} {obj!s} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _element_by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        if self._numbered_with is not None:
            # TensorFlow 1 makes branches and loops in the graph itself: its names are known there.
            with contextlib.suppress(KeyError):
                return self._numbered_with._element_by_name(name, allow_tensor, allow_operation)
        if ":" in name and allow_tensor:
            op_name, _, index = name.rpartition(":")
            if not op_name or ":" in op_name or not index.isdigit():
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names must be of "
                    'the form "<op_name>:<output_index>".'
                )
            op = self._by_name.get(op_name)
            if op is None and index == "0" and op_name in self._aliases:
                return self._aliases[op_name]
            op = op or numbering.in_bodies(self, op_name)
            if op is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, does "
                    "not exist in the graph."
                )
            if int(index) >= len(op._outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, exists "
                    f"but only has {len(op._outputs)} outputs."
                )
            return op._outputs[int(index)]
        if ":" in name:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        if not allow_operation:
            if name in self._by_name:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
                    '"<op_name>:<output_index>".'
                )
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of "
                'the form "<op_name>:<output_index>".'
            )
        op = self._by_name.get(name)
        if op is None and name in self._aliases:
            return self._aliases[name]._op
        op = op or numbering.in_bodies(self, name)
        if op is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return op

    # -- names -------------------------------------------------------------------------------------------------
    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns `name` inside the current name scope, with a number if it is taken; marks it as used."""
        if self._name_stack:
            name = self._name_stack + "/" + name
        return self._names.unique(name, mark_as_used)

    def get_name_scope(self) -> str:
        """Returns the current name scope, '' outside any."""
        return self._name_stack

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Puts the nodes made inside under a name.

        Args:
          name: A scope to open, made unique; one that ends with `/` is entered again as it is; None or '' goes to
            the top.

        Yields:
          The scope's full name with a `/` at its end, '' at the top.

        Raises:
          ValueError: The name holds characters that node names can't.
        """
        old = self._name_stack, self._scope_around
        new = self._enter_name_scope(name)
        self._name_stack = new
        if not name:
            self._scope_around = ""
        try:
            yield new + "/" if new else ""
        finally:
            self._name_stack, self._scope_around = old

    def _enter_name_scope(self, name: str | None) -> str:
        if not name:
            return ""
        if isinstance(name, bytes):
            name = name.decode()
        # At the top a scope's name starts node names; inside another it may start with any of their characters.
        pattern = VALID_SCOPE_NAME if self._name_stack else VALID_OP_NAME
        if not pattern.match(name):
            raise ValueError(f"'{name}' is not a valid scope name")
        return name[:-1] if name[-1] == "/" else self.unique_name(name)

    # -- scopes ------------------------------------------------------------------------------------------------
    def control_dependencies(self, control_inputs: Any) -> ControlDependencies:
        """Returns a block inside which every new node waits for `control_inputs`; None clears outer blocks."""
        if control_inputs is None:
            return ControlDependencies(self, None)
        ops: list[Operation] = []
        for each in control_inputs:
            handle = getattr(each, "_handle", None)
            if not isinstance(each, (Tensor, Operation)) and isinstance(handle, Tensor):
                # Of a variable as it is after a write, `op` is that write; waiting must not read.
                each = each.op
            if hasattr(each, "values") and hasattr(each, "indices") and not hasattr(each, "_value_class"):
                # IndexedSlices; sparse tensors are refused.
                each = each.op
            each = getattr(each, "flat_values", each)  # of a ragged tensor
            if isinstance(each, (Tensor, Operation)):
                each = awaited(each, self)
            element = self.as_graph_element(each)
            op = element.op if isinstance(element, Tensor) else element
            if op not in ops:
                ops.append(op)
        return ControlDependencies(self, ops)

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Places the nodes made inside on a device; None clears outer blocks.

        Args:
          device_name_or_function: A device name, a DeviceSpec, a function from Operation to device name, or None.
        """
        old = self._devices
        self._devices = old.pushed(device_name_or_function)
        try:
            yield
        finally:
            self._devices = old

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Places the nodes made inside on the device of `op`."""
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        op = None if op is None else as_operation(op, self)
        saved = self._colocation, self._devices
        if ignore_existing:
            self._colocation = ()
        if op is not None:
            self._devices = DeviceScopes()
            self._colocation = (*self._colocation, (op, saved[1]))
        try:
            yield
        finally:
            self._colocation, self._devices = saved

    def _colocate_with_for_gradient(self, op: Any, gradient_uid: Any, ignore_existing: bool = False) -> Any:
        return self.colocate_with(op, ignore_existing)

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Gives the nodes made inside another gradient: op type -> name given to RegisterGradient.

        Raises:
          TypeError: Keys or values are not strings.
        """
        with self._string_map("_gradient_overrides", op_type_map, "op_type_map"):
            yield

    @contextlib.contextmanager
    def _kernel_label_map(self, op_to_kernel_label_map: dict[str, str]) -> Iterator[None]:
        with self._string_map("_kernel_labels", op_to_kernel_label_map, "op_to_kernel_label_map"):
            yield

    @contextlib.contextmanager
    def _string_map(self, slot: str, mapping: Any, what: str) -> Iterator[None]:
        if not isinstance(mapping, dict):
            raise TypeError(f"{what} must be a dictionary mapping strings to strings")
        for key, value in mapping.items():
            if not (isinstance(key, str) and isinstance(value, str)):
                raise TypeError(f"Keys and values in {what} must be strings")
        old = getattr(self, slot)
        setattr(self, slot, {**old, **mapping})
        try:
            yield
        finally:
            setattr(self, slot, old)

    @contextlib.contextmanager
    def _attr_scope(self, attr_map: dict[str, Any]) -> Iterator[None]:
        old = self._attr_scope_map
        merged = dict(old)
        for name, attr in attr_map.items():
            if attr is None:
                merged.pop(name, None)
            else:
                merged[name] = attr if callable(attr) else hooks.attr_from_proto(attr)
        self._attr_scope_map = merged
        try:
            yield
        finally:
            self._attr_scope_map = old

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Puts the state of the nodes made inside into a named container of the session."""
        old = self._container
        self._container = container_name
        try:
            yield container_name
        finally:
            self._container = old

    def as_default(self) -> Any:
        """Returns a block inside which this graph is the default graph."""
        return stack.graphs.entered(self)

    # -- collections -------------------------------------------------------------------------------------------
    def add_to_collection(self, name: Any, value: Any) -> None:
        self._check_not_finalized()
        with self._lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Adds a value to several collections (names given twice count once)."""
        names = (names,) if isinstance(names, str) else dict.fromkeys(names)
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Returns the collection itself, which the caller may change; made if it was not there."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Returns a copy of a collection, or of its items whose name matches `scope` at its start."""
        with self._lock:
            items = list(self._collections.get(name, ()))
        if scope is None:
            return items
        match = re.compile(scope).match
        return [item for item in items if hasattr(item, "name") and match(_full_name(item))]

    def get_all_collection_keys(self) -> list[Any]:
        with self._lock:
            return [k for k in self._collections if isinstance(k, str)]

    def clear_collection(self, name: Any) -> None:
        self._check_not_finalized()
        with self._lock:
            self._collections.pop(name, None)

    @property
    def collections(self) -> list[Any]:
        return list(self._collections)

    # -- the graph as a whole ----------------------------------------------------------------------------------
    def finalize(self) -> None:
        """Forbids any more nodes."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    @property
    def finalized(self) -> bool:
        return self._finalized

    @property
    def seed(self) -> int | None:
        """The graph-level random seed."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def version(self) -> int:
        """A number that grows with the graph."""
        return self._version

    @property
    def _last_id(self) -> int:
        # Op-level seeds are counted from here; it starts at 0 and is the number of nodes so far.
        return numbering.number(self)

    @property
    def graph_def_versions(self) -> Any:
        return hooks.graph_def(self, from_version=len(self._ops)).versions

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Returns the graph as a GraphDef message.

        Args:
          from_version: Leaves out the nodes that were there at that version.
          add_shapes: Adds each node's inferred output shapes as `_output_shapes`.
        """
        return hooks.graph_def(self, from_version, add_shapes)

    @property
    def building_function(self) -> bool:
        return False

    def prevent_feeding(self, tensor: Any) -> None:
        """Refuses feeds of this tensor from now on."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Any) -> bool:
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Any) -> None:
        """Refuses fetches of this operation from now on."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    def switch_to_thread_local(self) -> None:
        """Does nothing: scopes belong to the thread that builds the graph."""

    def _get_control_flow_context(self) -> Any:
        return self._control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context

    def _is_function(self, name: str) -> bool:
        return name in self._functions

    def _get_function(self, name: Any) -> Any:
        return self._functions.get(name.decode() if isinstance(name, bytes) else name)


def _full_name(item: Any) -> str:
    """Returns a name as TensorFlow 1 has it: what is made in a branch or a loop stands below the scope around it."""
    around = item.graph._scope_around if isinstance(item, (Tensor, Operation)) else ""
    return f"{around}/{item.name}" if around else item.name


def as_operation(value: Any, graph: Graph) -> Operation:
    """Returns the operation that a Tensor, Variable or Operation is or comes from."""
    handle = getattr(value, "_handle", None)
    if isinstance(handle, Tensor):
        return handle.op
    convert = getattr(value, "_as_graph_element", None)
    if convert is not None:
        value = convert()  # a variable may well be of a graph around this one
    elif not isinstance(value, (Operation, Tensor)) and isinstance(getattr(value, "op", None), Operation):
        return value.op  # type: ignore[no-any-return]
    if isinstance(value, Operation):
        return value
    if isinstance(value, Tensor):
        return value.op
    element = graph.as_graph_element(value)
    return element.op if isinstance(element, Tensor) else element
