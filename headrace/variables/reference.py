"""Reference variables: VariableV2 and Assign, TensorFlow 1's default."""

from __future__ import annotations

import contextlib
from typing import Any

from headrace.dtypes import as_dtype
from headrace.graph import Tensor, get_default_graph, init_scope, name_scope
from headrace.graph.default import colocate_with, device, prepend_name_scope, strip_name_scope
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


class RefVariable(Variable):
    """A variable whose tensor is a reference: reading it later may or may not see writes of the same step."""

    def __init__(
        self,
        initial_value: Any = None,
        trainable: Any = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
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
                self._make(initial_value, dtype, shape, validate_shape, scope)
                self._initializer_op = raw.Assign(
                    self._variable,
                    guarded(scope.rstrip("/"), self._initial_value),
                    validate_shape=validate_shape,
                ).op
                place = (
                    device(caching_device) if caching_device is not None else colocate_with(self._variable.op)
                )
                with place:
                    self._snapshot = raw.Identity(self._variable, name="read")
            get_default_graph().add_to_collections(found, self)

    def _make(self, initial_value: Any, dtype: Any, shape: Any, validate_shape: bool, scope: str) -> None:
        dtype = None if dtype is None else as_dtype(dtype).base_dtype
        marks: Any = contextlib.nullcontext()
        if callable(initial_value):
            marks = placed_with(scope.rstrip("/"))
        with marks:
            if callable(initial_value):
                with initializer_block():
                    value = convert_to_tensor(initial_value(), dtype, name="initial_value")
            else:
                value = convert_to_tensor(initial_value, dtype, name="initial_value")
            if shape is not None:
                if not value.shape.is_compatible_with(shape):
                    raise ValueError(
                        f"The initial value's shape ({value.shape}) is not compatible with the explicitly supplied "
                        f"`shape` argument ({shape})."
                    )
                dims = to_tuple(shape)
            else:
                dims = value._dims if validate_shape else None
            self._initial_value = value
            self._variable = raw.VariableV2(shape=dims, dtype=value.dtype.base_dtype, name=scope)
        if validate_shape and not value.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value}")

    def _from_def(self, variable_def: Any, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._variable = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        self._initial_value = (
            element(variable_def.initial_value_name) if variable_def.initial_value_name else None
        )
        self._snapshot = element(variable_def.snapshot_name)
        restore_from_def(self, variable_def, import_scope)
        self._caching_device = None

    # -- what it is ----------------------------------------------------------------------------------------------
    @property
    def dtype(self) -> Any:
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        return self._variable.shape  # type: ignore[no-any-return]

    def set_shape(self, shape: Any) -> None:
        """Adds to what is known of the shape.

        Raises:
          ValueError: `shape` contradicts it.
        """
        self._variable.set_shape(shape)
        self.value().set_shape(shape)

    @property
    def op(self) -> Any:
        return self._variable.op

    @property
    def name(self) -> str:
        return self._variable.name  # type: ignore[no-any-return]

    @property
    def _shared_name(self) -> str:
        return self._variable.op.name  # type: ignore[no-any-return]

    _in_graph_mode = True

    def _ref(self) -> Tensor:
        """Returns the reference itself."""
        return self._variable  # type: ignore[no-any-return]

    def _as_graph_element(self) -> Tensor:
        return self._variable  # type: ignore[no-any-return]

    # -- reading -------------------------------------------------------------------------------------------------
    def value(self) -> Tensor:
        """Returns the tensor that the variable's value is read into."""
        return self._snapshot  # type: ignore[no-any-return]

    def read_value(self) -> Tensor:
        """Returns a new tensor with the value, read when control dependencies of now are met."""
        return raw.Identity(self._variable, name="read")  # type: ignore[no-any-return]

    def _dense_var_to_tensor(self, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        if dtype is not None and not as_dtype(dtype).is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{as_dtype(dtype).name}' for variable of type "
                f"'{self.dtype.name}'"
            )
        return self._variable if as_ref else self._snapshot

    @property
    def sparse_read(self) -> Any:
        """Is what resource variables have; reference variables raise AttributeError."""
        raise AttributeError

    @property
    def gather_nd(self) -> Any:
        """Is what resource variables have; reference variables raise AttributeError."""
        raise AttributeError

    # -- writing -------------------------------------------------------------------------------------------------
    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Returns a node that puts a value into the variable.

        Args:
          value: The new value.
          use_locking: Whether other writers wait.
          name: The node's name.
          read_value: Whether to return the new value's tensor, not the operation.
        """
        out = raw.Assign(self._variable, value, use_locking=use_locking, name=name)
        return out if read_value else out.op

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Returns a node that adds to the variable; see `assign`."""
        out = raw.AssignAdd(self._variable, delta, use_locking=use_locking, name=name)
        return out if read_value else out.op

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Returns a node that subtracts from the variable; see `assign`."""
        out = raw.AssignSub(self._variable, delta, use_locking=use_locking, name=name)
        return out if read_value else out.op

    def _scatter(self, op: str, sparse_delta: Any, use_locking: bool, name: str | None) -> Any:
        self._check_slices(sparse_delta)
        return getattr(raw, op)(
            self._variable, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtracts the rows of an IndexedSlices."""
        return self._scatter("ScatterSub", sparse_delta, use_locking, name)

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Adds the rows of an IndexedSlices."""
        return self._scatter("ScatterAdd", sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Keeps the greater of each row and that of an IndexedSlices."""
        return self._scatter("ScatterMax", sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Keeps the lesser of each row and that of an IndexedSlices."""
        return self._scatter("ScatterMin", sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiplies by the rows of an IndexedSlices."""
        return self._scatter("ScatterMul", sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Divides by the rows of an IndexedSlices."""
        return self._scatter("ScatterDiv", sparse_delta, use_locking, name)

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Puts in the rows of an IndexedSlices."""
        return self._scatter("ScatterUpdate", sparse_delta, use_locking, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtracts slices at the places `indices` says; see `tf.scatter_nd_sub`."""
        return raw.ScatterNdSub(self._variable, indices, updates, use_locking=True, name=name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Adds slices at the places `indices` says; see `tf.scatter_nd_add`."""
        return raw.ScatterNdAdd(self._variable, indices, updates, use_locking=True, name=name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Puts in slices at the places `indices` says; see `tf.scatter_nd_update`."""
        return raw.ScatterNdUpdate(self._variable, indices, updates, use_locking=True, name=name)

    def count_up_to(self, limit: int) -> Tensor:
        """Returns a node that counts one up and gives the old value, an OutOfRangeError at the limit."""
        return raw.CountUpTo(self._variable, limit=limit)  # type: ignore[no-any-return]

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, name: Any, **masks: Any
    ) -> Any:
        return raw.StridedSliceAssign(self._variable, begin, end, strides, value, name=name, **masks)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns a VariableDef, or None if the variable is not in `export_scope`."""
        return variable_def_of(self, self._variable.name, self._snapshot.name, export_scope)


def variable_def_of(variable: Any, name: str, snapshot: str, export_scope: str | None) -> Any:
    """Returns the VariableDef of a variable whose tensors have these names."""
    from headrace.proto import VariableDef

    if export_scope is not None and not name.startswith(export_scope):
        return None
    out = VariableDef(
        variable_name=strip_name_scope(name, export_scope),
        initializer_name=strip_name_scope(variable.initializer.name, export_scope),
        snapshot_name=strip_name_scope(snapshot, export_scope),
        trainable=variable.trainable,
        synchronization=variable.synchronization.value,
        aggregation=variable.aggregation.value,
    )
    if variable._initial_value is not None:
        out.initial_value_name = strip_name_scope(variable._initial_value.name, export_scope)
    if variable._save_slice_info is not None:
        out.save_slice_info_def.MergeFrom(variable._save_slice_info.to_proto(export_scope=export_scope))
    return out


def restore_from_def(variable: Any, variable_def: Any, import_scope: str | None) -> None:
    """Sets what both kinds of variables take from a VariableDef."""
    from headrace.variables.modes import VariableAggregation, VariableSynchronization

    variable._trainable = variable_def.trainable
    variable._synchronization = VariableSynchronization(variable_def.synchronization)
    variable._aggregation = VariableAggregation(variable_def.aggregation)
    variable._constraint = None
    if variable_def.HasField("save_slice_info_def"):
        variable._save_slice_info = Variable.SaveSliceInfo(
            save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
        )
