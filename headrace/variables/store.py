"""The variables that `tf.get_variable` made in a graph, by name."""

from __future__ import annotations

import enum
import inspect
import traceback
from typing import Any

from headrace.dtypes import as_dtype
from headrace.export import export_value
from headrace.graph import GraphKeys, Tensor, get_default_graph, init_scope, name_scope
from headrace.graph.default import colocate_with
from headrace.graph.traceback import is_internal
from headrace.opdef import convert_to_tensor, raw
from headrace.tensor_shape import TensorShape
from headrace.variables.base import Variable
from headrace.variables.modes import checked_modes
from headrace.variables.partitions import (
    PartitionedVariable,
    PartitionInfo,
    call_partitioner,
    slice_plan,
    slices,
)

_STORE_KEY = ("__variable_store",)
_NOT_VALID = (
    "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be "
    "provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."
)


class ReuseMode(enum.Enum):
    """How a variable scope finds variables, apart from True and False."""

    AUTO_REUSE = 1

    def __str__(self) -> str:
        return "_ReuseMode.AUTO_REUSE"

    def __repr__(self) -> str:
        return "<_ReuseMode.AUTO_REUSE: 1>"


ReuseMode.__name__ = "_ReuseMode"
AUTO_REUSE = ReuseMode.AUTO_REUSE
export_value("AUTO_REUSE", AUTO_REUSE)


def default_store() -> VariableStore:
    """Returns the store of the default graph."""
    found = get_default_graph().get_collection_ref(_STORE_KEY)
    if not found:
        found.append(VariableStore())
    return found[0]  # type: ignore[no-any-return]


class VariableStore:
    """Variables by name: those that are whole, and those in parts."""

    def __init__(self) -> None:
        self._vars: dict[str | None, Any] = {}
        self._partitioned_vars: dict[str | None, Any] = {}

    def get_variable(
        self,
        name: str | None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: Any = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: Any = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
    ) -> Any:
        """Finds or makes a variable; see `tf.get_variable`.

        Raises:
          ValueError: It exists and must not, or the other way round, or it is of another shape or type.
        """
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        dtype = as_dtype(dtype).base_dtype
        synchronization, aggregation, trainable = checked_modes(synchronization, aggregation, trainable, name)
        options = dict(
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            reuse=reuse,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            partitioner=partitioner,
            validate_shape=validate_shape,
            use_resource=use_resource,
            constraint=constraint,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        if custom_getter is not None:
            return custom_getter(self._get, name=name, **options)
        return self._get(name, **options)

    def _get(
        self,
        name: str | None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: Any = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
    ) -> Any:
        dtype = as_dtype("float32" if dtype is None else dtype).base_dtype
        synchronization, aggregation, trainable = checked_modes(synchronization, aggregation, trainable, name)
        options = dict(
            reuse=reuse,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            validate_shape=validate_shape,
            use_resource=use_resource,
            constraint=constraint,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        is_scalar = isinstance(shape, (list, tuple)) and len(shape) == 0
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            with name_scope(None):
                return self._in_parts(name, shape, dtype, initializer, regularizer, partitioner, options)
        if reuse is True and partitioner is None and name in self._partitioned_vars:
            return self._in_parts(name, shape, dtype, initializer, regularizer, None, options)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was found: "
                f"{name}/part_0. Perhaps a variable of the same name was already created with partitioning?"
            )
        return self._whole(name, shape, dtype, initializer, regularizer, None, options)

    # -- whole variables -----------------------------------------------------------------------------------------
    def _whole(
        self,
        name: str | None,
        shape: Any,
        dtype: Any,
        initializer: Any,
        regularizer: Any,
        partition_info: Any,
        options: dict[str, Any],
    ) -> Any:
        options = dict(options)
        reuse = options.pop("reuse")
        from_value = initializer is not None and not callable(initializer)
        if from_value and shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        wanted = TensorShape(shape)
        if name in self._vars:
            return self._found(name, wanted, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer = default_initializer(name, dtype)
        with init_scope():
            initial_value, variable_dtype = self._initial(
                initializer, from_value, wanted, dtype, partition_info
            )
        if options["use_resource"] is None:
            from headrace.variables.creation import resource_variables_enabled

            options["use_resource"] = resource_variables_enabled()
        made = Variable(initial_value=initial_value, name=name, dtype=variable_dtype, **options)
        self._vars[name] = made
        if regularizer is not None:
            self._regularize(made, name, regularizer)
        return made

    def _found(self, name: str | None, shape: TensorShape, dtype: Any, reuse: Any) -> Any:
        found = self._vars[name]
        if reuse is False or reuse is None:
            raise ValueError(_exists_already(name, found))
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape {found.get_shape()}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                f"{found.dtype.name}."
            )
        return found

    @staticmethod
    def _initial(
        initializer: Any, from_value: bool, shape: TensorShape, dtype: Any, partition_info: Any
    ) -> tuple[Any, Any]:
        """Returns the initial value, or a function for it, and the type to ask for."""
        if from_value:
            return initializer, None
        if inspect.isclass(initializer):
            initializer = initializer()
        if shape.is_fully_defined():
            dims = shape.as_list()
            return lambda: initializer(dims, dtype=dtype, partition_info=partition_info), dtype
        if not _needs_arguments(initializer):
            return initializer, None
        raise ValueError(_NOT_VALID)

    @staticmethod
    def _regularize(variable: Any, name: str | None, regularizer: Any) -> None:
        with colocate_with(variable.op), name_scope(f"{name}/Regularizer/"), init_scope():
            loss = regularizer(variable)
        if loss is not None:
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    # -- variables in parts --------------------------------------------------------------------------------------
    def _in_parts(
        self,
        name: str | None,
        shape: Any,
        dtype: Any,
        initializer: Any,
        regularizer: Any,
        partitioner: Any,
        options: dict[str, Any],
    ) -> Any:
        reuse = options["reuse"]
        if name in self._vars:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was found: "
                f"{name}.  Perhaps a variable of the same name was already created without partitioning?"
            )
        whole = TensorShape(shape)
        if isinstance(initializer, (Tensor, Variable)):
            whole = whole.merge_with(initializer.get_shape())
        partitions = None
        if not reuse or partitioner is not None:
            partitions = call_partitioner(partitioner, whole, dtype)
        if name in self._partitioned_vars:
            return self._found_in_parts(name, whole, dtype, partitions, reuse)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you mean "
                "to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        dims = whole.as_list()
        dim, count = slice_plan(partitions)
        parts = []
        for i, (offset, size) in enumerate(slices(dims, count, dim)):
            part_name = f"{name}/part_{i}"
            part_shape: Any = size
            with name_scope(part_name + "/PartitionedInitializer"):
                if initializer is None:
                    start = default_initializer(name, dtype)
                elif callable(initializer):
                    start = initializer
                else:
                    full = initializer
                    if not isinstance(initializer, Tensor):
                        full = convert_to_tensor(initializer, dtype)
                    start = raw.Slice(full, offset, size)
                    part_shape = None
            with name_scope(None):
                part = self._whole(
                    part_name, part_shape, dtype, start, regularizer, PartitionInfo(dims, offset), options
                )
            part._set_save_slice_info(Variable.SaveSliceInfo(name, dims, offset, size))
            parts.append(part)
        made = PartitionedVariable(
            name=name, shape=whole, dtype=dtype, variable_list=parts, partitions=partitions
        )
        self._partitioned_vars[name] = made
        return made

    def _found_in_parts(
        self, name: str | None, shape: TensorShape, dtype: Any, partitions: Any, reuse: Any
    ) -> Any:
        if not reuse:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        found = self._partitioned_vars[name]
        start = f"Trying to reuse partitioned variable {name}, but specified"
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(f"{start} shape {shape} and found shape {found.get_shape()}.")
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(f"{start} dtype {dtype.name} and found dtype {found.dtype.name}.")
        if partitions is not None and found._get_partitions() != partitions:
            raise ValueError(
                f"{start} partitions {partitions} and found partitions {found._get_partitions()}."
            )
        return found


def default_initializer(name: str | None, dtype: Any) -> Any:
    """Returns what a variable starts with where nothing is said: Glorot's uniform numbers, or zeros.

    Raises:
      ValueError: There is no such thing for the type.
    """
    from headrace.variables.initializers import basic, scaling

    if dtype.is_floating:
        return scaling.GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype.name == "string":
        return basic.Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _needs_arguments(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(p.kind in positional and p.default is inspect.Parameter.empty for p in parameters)


def _exists_already(name: str | None, variable: Any) -> str:
    text = (
        f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
        "VarScope?"
    )
    op = variable.op
    rows = [
        row
        for row, (code, _) in zip(reversed(op.traceback), op._traceback, strict=True)
        if not is_internal(code)
    ]
    lines = "".join(traceback.format_list([(r[0], r[1], r[2], r[3]) for r in rows[:5]]))
    return f"{text} Originally defined at:\n\n{lines}" if lines else text
