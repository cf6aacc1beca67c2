"""Resource variables: VarHandleOp and ReadVariableOp; each use reads, in the order that control edges say."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import as_dtype
from headrace.graph import Tensor, control_dependencies, get_default_graph, init_scope, name_scope, numbering
from headrace.graph.default import colocate_with, device, prepend_name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.tensor_shape import TensorShape, to_tuple
from headrace.variables.base import Variable
from headrace.variables.initial import (
    check_initial_value,
    checked_collections,
    guarded,
    initializer_block,
    placed_with,
)
from headrace.variables.modes import checked_modes
from headrace.variables.reference import restore_from_def, variable_def_of


class ResourceVariable(Variable):
    """A variable that is reached through a handle; a read gives the value at that point of the step."""

    def __init__(
        self,
        initial_value: Any = None,
        trainable: Any = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        dtype: Any = None,
        variable_def: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        distribute_strategy: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        expected_shape: Any = None,
    ):
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._from_def(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        modes = checked_modes(synchronization, aggregation, trainable, name)
        self._synchronization, self._aggregation, self._trainable = modes
        found = checked_collections(collections, self._trainable)
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._constraint = constraint
        self._caching_device = caching_device
        check_initial_value(initial_value, name)
        with init_scope():
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._make(initial_value, dtype, shape, scope)
            get_default_graph().add_to_collections(found, self)

    def _make(self, initial_value: Any, dtype: Any, shape: Any, scope: str) -> None:
        dtype = None if dtype is None else as_dtype(dtype).base_dtype
        name = scope.rstrip("/")
        with placed_with(name):
            with initializer_block():
                value = initial_value() if callable(initial_value) else initial_value
                value = convert_to_tensor(value, dtype, name="initial_value")
            if shape is not None:
                if not value.shape.is_compatible_with(shape):
                    raise ValueError(
                        f"The initial value's shape ({value.shape}) is not compatible with the explicitly supplied "
                        f"`shape` argument ({shape})."
                    )
                dims = to_tuple(shape)
            else:
                dims = value._dims
            self._handle = raw.VarHandleOp(
                shape=dims, dtype=value.dtype.base_dtype, shared_name=name, name=scope
            )
        self._dims = dims
        self._dtype = value.dtype.base_dtype
        self._initial_value = value
        with name_scope("IsInitialized"):
            self._is_initialized_op = raw.VarIsInitializedOp(self._handle)
        with (
            name_scope("Assign") as assign_scope,
            colocate_with(None, ignore_existing=True),
            device(self._handle.device or None),
        ):
            self._initializer_op = raw.AssignVariableOp(self._handle, guarded(name, value), name=assign_scope)
        self._cached_value: Any = None
        with name_scope("Read"), device(self._handle.device or None):
            read = self._read()
            self._graph_element = read
            if self._caching_device is not None:
                with device(self._caching_device):
                    self._cached_value = raw.Identity(read)

    def _from_def(self, variable_def: Any, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._handle = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        self._initial_value = (
            element(variable_def.initial_value_name) if variable_def.initial_value_name else None
        )
        self._cached_value = None
        if variable_def.snapshot_name:
            snapshot = element(variable_def.snapshot_name)
            if snapshot.op.type != "ReadVariableOp":
                self._cached_value = snapshot
            while snapshot.op.type != "ReadVariableOp":
                snapshot = snapshot.op.inputs[0]
            self._graph_element = snapshot
        else:
            self._graph_element = graph.get_tensor_by_name(self._handle.op.name + "/Read/ReadVariableOp:0")
        restore_from_def(self, variable_def, import_scope)
        self._caching_device = None
        self._is_initialized_op = None
        held = self._handle._handle_data
        self._dims = to_tuple(self._handle.op.attrs["shape"]) if held is None else held[0][1]
        self._dtype = self._handle.op.attrs["dtype"]

    # -- what it is ----------------------------------------------------------------------------------------------
    @property
    def handle(self) -> Tensor:
        """The handle through which the variable is reached."""
        return self._handle  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return TensorShape.of(self._dims)

    def _shape_as_list(self) -> Any:
        return None if self._dims is None else list(self._dims)

    def _shape_tuple(self) -> Any:
        return self._dims

    def set_shape(self, shape: Any) -> None:
        """Is what reference variables have; a resource variable's shape is fixed."""
        raise NotImplementedError("ResourceVariable does not implement set_shape()")

    @property
    def op(self) -> Any:
        return self._handle.op

    @property
    def create(self) -> Any:
        """The operation that gives the variable its initial value."""
        return self._initializer_op

    @property
    def name(self) -> str:
        return self._handle.name  # type: ignore[no-any-return]

    _handle_name = name

    @property
    def _shared_name(self) -> str:
        return self._handle.op.name  # type: ignore[no-any-return]

    _unique_id = _shared_name
    _in_graph_mode = True

    def _as_graph_element(self) -> Tensor:
        return self._graph_element  # type: ignore[no-any-return]

    def numpy(self) -> Any:
        """Is what variables have in eager execution."""
        raise NotImplementedError("numpy() is only available when eager execution is enabled.")

    # -- reading -------------------------------------------------------------------------------------------------
    def _read(self) -> Tensor:
        return raw.ReadVariableOp(self._handle, dtype=self._dtype)  # type: ignore[no-any-return]

    def value(self) -> Tensor:
        """Returns a new tensor with the value, or the cached one."""
        if self._cached_value is not None:
            return self._cached_value  # type: ignore[no-any-return]
        with colocate_with(None, ignore_existing=True), device(self._handle.device or None):
            return self._read()

    def read_value(self) -> Tensor:
        """Returns a new tensor with the value, read when control dependencies of now are met."""
        with (
            name_scope("Read"),
            colocate_with(None, ignore_existing=True),
            device(self._handle.device or None),
        ):
            value = self._read()
        return raw.Identity(value)  # type: ignore[no-any-return]

    _read_variable_op = _read

    def _dense_var_to_tensor(self, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        if dtype is not None and not as_dtype(dtype).is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{as_dtype(dtype).name}' for variable of type "
                f"'{self.dtype.name}'"
            )
        return self.read_value().op.inputs[0] if as_ref else self.value()

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Returns whether the variable has a value, as a bool tensor."""
        return raw.VarIsInitializedOp(self._handle, name=name)  # type: ignore[no-any-return]

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Returns the rows that `indices` names, without reading the others."""
        with name_scope("Gather" if name is None else name) as scope:
            value = raw.ResourceGather(self._handle, indices, dtype=self._dtype, name=scope)
        return raw.Identity(value)  # type: ignore[no-any-return]

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Returns the slices that `indices` names; see `tf.gather_nd`."""
        with name_scope("GatherNd" if name is None else name) as scope:
            value = raw.ResourceGatherNd(self._handle, indices, dtype=self._dtype, name=scope)
        return raw.Identity(value)  # type: ignore[no-any-return]

    # -- writing -------------------------------------------------------------------------------------------------
    def _after(self, write: Any) -> UnreadVariable:
        return UnreadVariable(self, write)

    def assign(
        self, value: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Returns the variable as it is after a value was put into it.

        Args:
          value: The new value.
          use_locking: Not used.
          name: The node's name.
          read_value: Whether to return the variable, not the operation that writes.

        Raises:
          ValueError: The value's shape does not fit.
        """
        new = convert_to_tensor(value, self._dtype)
        self.shape.assert_is_compatible_with(new.shape)
        write = raw.AssignVariableOp(self._handle, new, name=name)
        return self._after(write) if read_value else write

    def assign_add(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Returns the variable as it is after an addition; see `assign`."""
        write = raw.AssignAddVariableOp(self._handle, convert_to_tensor(delta, self._dtype), name=name)
        return self._after(write) if read_value else write

    def assign_sub(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Returns the variable as it is after a subtraction; see `assign`."""
        write = raw.AssignSubVariableOp(self._handle, convert_to_tensor(delta, self._dtype), name=name)
        return self._after(write) if read_value else write

    def _scatter(self, op: str, sparse_delta: Any, name: str | None) -> Any:
        self._check_slices(sparse_delta)
        updates = convert_to_tensor(sparse_delta.values, self._dtype)
        return self._after(getattr(raw, op)(self._handle, sparse_delta.indices, updates, name=name))

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtracts the rows of an IndexedSlices."""
        return self._scatter("ResourceScatterSub", sparse_delta, name)

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Adds the rows of an IndexedSlices."""
        return self._scatter("ResourceScatterAdd", sparse_delta, name)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Keeps the greater of each row and that of an IndexedSlices."""
        return self._scatter("ResourceScatterMax", sparse_delta, name)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Keeps the lesser of each row and that of an IndexedSlices."""
        return self._scatter("ResourceScatterMin", sparse_delta, name)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiplies by the rows of an IndexedSlices."""
        return self._scatter("ResourceScatterMul", sparse_delta, name)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Divides by the rows of an IndexedSlices."""
        return self._scatter("ResourceScatterDiv", sparse_delta, name)

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Puts in the rows of an IndexedSlices."""
        return self._scatter("ResourceScatterUpdate", sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Puts values into rows, batch by batch; see `tf.batch_scatter_update`."""
        return self._after(super().batch_scatter_update(sparse_delta, use_locking, name).op)

    def _scatter_nd(self, op: str, indices: Any, updates: Any, name: str | None) -> Any:
        new = convert_to_tensor(updates, self._dtype)
        return self._after(getattr(raw, op)(self._handle, indices, new, name=name))

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtracts slices at the places `indices` says; see `tf.scatter_nd_sub`."""
        return self._scatter_nd("ResourceScatterNdSub", indices, updates, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Adds slices at the places `indices` says; see `tf.scatter_nd_add`."""
        return self._scatter_nd("ResourceScatterNdAdd", indices, updates, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Puts in slices at the places `indices` says; see `tf.scatter_nd_update`."""
        return self._scatter_nd("ResourceScatterNdUpdate", indices, updates, name)

    def count_up_to(self, limit: int) -> Tensor:
        """Returns a node that counts one up and gives the old value, an OutOfRangeError at the limit."""
        return raw.ResourceCountUpTo(self._handle, limit=limit, T=self._dtype)  # type: ignore[no-any-return]

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: Any, **masks: Any
    ) -> Any:
        new = convert_to_tensor(value, self._dtype)
        return self._after(
            raw.ResourceStridedSliceAssign(self._handle, begin, end, strides, new, name=name, **masks)
        )

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns a VariableDef, or None if the variable is not in `export_scope`."""
        snapshot = self._graph_element if self._cached_value is None else self._cached_value
        out = variable_def_of(self, self._handle.name, snapshot.name, export_scope)
        if out is not None:
            out.is_resource = True
        return out

    def __int__(self) -> int:
        raise TypeError("Non-integer variable can't be converted to integer.")

    def __bool__(self) -> bool:
        return bool(self.read_value())


class UnreadVariable(ResourceVariable):
    """A resource variable as it is after a write: reads wait for that write."""

    def __init__(self, variable: ResourceVariable, write: Any):
        for each in ("_dims", "_dtype", "_initial_value", "_initializer_op", "_constraint", "_trainable",
                     "_synchronization", "_aggregation", "_caching_device", "_is_initialized_op"):  # fmt: skip
            setattr(self, each, getattr(variable, each))
        self._handle = variable._handle
        self._cached_value = None
        self._parent_op = write
        self._graph_element: Any = None
        # Inside a function nothing fetches the variable; whoever uses it reads for himself.
        graph = get_default_graph()
        if not graph.building_function:
            with control_dependencies([write]):
                self._graph_element = self._read()
        elif numbering.is_numbered(graph):
            numbering.shift(graph, 1)  # TensorFlow reads it there, too

    @property
    def name(self) -> str:
        return self._parent_op.name  # type: ignore[no-any-return]

    @property
    def op(self) -> Any:
        """The operation that writes."""
        return self._parent_op

    def _as_graph_element(self) -> Tensor:
        if self._graph_element is None:
            with control_dependencies([self._parent_op]):
                self._graph_element = self._read()
        return self._graph_element  # type: ignore[no-any-return]

    def value(self) -> Tensor:
        """Returns a new tensor with the value after the write."""
        with control_dependencies([self._parent_op]):
            return super().value()

    def read_value(self) -> Tensor:
        """Returns a new tensor with the value after the write."""
        with control_dependencies([self._parent_op]):
            return super().read_value()

    def set_shape(self, shape: Any) -> None:
        """Adds to what is known of the shape."""
        from headrace import shapes

        self._dims = shapes.merge(self._dims, to_tuple(shape))
