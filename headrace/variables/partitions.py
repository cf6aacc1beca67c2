"""Variables in parts: PartitionedVariable, and the partitioners that say into how many parts to cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from headrace.dtypes import float32
from headrace.export import NAMES, export
from headrace.graph import Tensor, name_scope
from headrace.opdef import raw
from headrace.tensor_shape import TensorShape, as_shape


class PartitionInfo:
    """Tells an initializer which part of a larger variable it is asked for.

    Attributes:
      full_shape: The shape of the whole.
      var_offset: Where the part starts, for each dimension.
    """

    def __init__(self, full_shape: Any, var_offset: Any):
        if not isinstance(full_shape, (list, tuple)):
            raise TypeError(
                f"`full_shape` must be a sequence (like tuple or list) instead of {type(full_shape).__name__}"
            )
        if not isinstance(var_offset, (list, tuple)):
            raise TypeError(
                f"`var_offset` must be a sequence (like tuple or list) instead of {type(var_offset).__name__}"
            )
        if len(var_offset) != len(full_shape):
            raise ValueError(
                f"Expected equal length, but `var_offset` is of length {len(var_offset)} while full_shape is of length "
                f"{len(full_shape)}."
            )
        for offset, size in zip(var_offset, full_shape, strict=True):
            if offset < 0 or offset >= size:
                raise ValueError(
                    f"Expected 0 <= offset < shape but found offset={offset}, shape={size} for "
                    f"var_offset={var_offset}, full_shape={full_shape}"
                )
        self.full_shape = full_shape
        self.var_offset = var_offset

    def single_offset(self, shape: Any) -> int:
        """Returns where a part of this shape starts in the one dimension that is cut."""
        dim = self.single_slice_dim(shape)
        return 0 if dim is None else self.var_offset[dim]

    def single_slice_dim(self, shape: Any) -> int | None:
        """Returns the one dimension in which a part of this shape is smaller than the whole, None if there is none.

        Raises:
          ValueError: The shape does not fit, or several dimensions are cut.
        """
        if not isinstance(shape, (list, tuple)):
            raise TypeError(
                f"`shape` must be a sequence (like tuple or list) instead of {type(shape).__name__}"
            )
        if len(shape) != len(self.full_shape):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while self.full_shape="
                f"{self.full_shape} is of length {len(self.full_shape)}."
            )
        found = None
        for i, (part, whole, offset) in enumerate(zip(shape, self.full_shape, self.var_offset, strict=True)):
            if offset + part > whole:
                raise ValueError(
                    f"With self.var_offset={self.var_offset}, a partition of shape={shape} would exceed "
                    f"self.full_shape={self.full_shape} in dimension {i}."
                )
            if part < whole:
                if found is not None:
                    raise ValueError(
                        f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={self.full_shape} since "
                        f"slice dim could be either dimension {i} or {found}."
                    )
                found = i
        return found


class PartitionedVariable:
    """Several variables that are the parts of one tensor, cut along one dimension.

    Args:
      name: The name of the whole.
      shape: Its shape.
      dtype: Its type.
      variable_list: The parts, in order.
      partitions: Into how many parts each dimension is cut.

    Raises:
      TypeError: The list holds other things than variables.
      ValueError: The parts are no parts, or of another whole.
    """

    def __init__(self, name: Any, shape: Any, dtype: Any, variable_list: Any, partitions: Any):
        from headrace.variables.base import Variable

        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for v in variable_list:
            if not isinstance(v, Variable):
                raise TypeError(f"All variables in variable_list must be Variables: {variable_list}")
            info = v._get_save_slice_info()
            if info is None:
                raise ValueError(
                    f"All variables must have a save_slice_info available: {[str(x) for x in variable_list]}"
                )
            if as_shape(shape).as_list() != list(info.full_shape):
                raise ValueError(
                    f"All variables' full shapes must match shape: {shape}; but full shapes were: "
                    f"{[x._get_save_slice_info().full_shape for x in variable_list]}"
                )
        self._variable_list = sorted(variable_list, key=lambda v: v._get_save_slice_info().var_offset)
        self._name = name
        self._shape = as_shape(shape)
        self._dtype = dtype
        self._partitions = partitions

    def __iter__(self) -> Iterator[Any]:
        """Yields the parts."""
        return iter(self._variable_list)

    def __len__(self) -> int:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise ValueError(f"Cannot get a length for {len(axes)} > 1 partition axes")
        return len(self._variable_list)

    def _partition_axes(self) -> list[int]:
        if all(p == 1 for p in self._partitions):
            return [0]
        return [i for i, p in enumerate(self._partitions) if p > 1]

    def _concat(self) -> Tensor:
        if len(self._variable_list) == 1:
            with name_scope(None):
                return raw.Identity(self._variable_list[0], name=self._name)  # type: ignore[no-any-return]
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(f"Cannot concatenate along more than one dimension: {axes}.")
        with name_scope(self._name + "/ConcatPartitions/"):
            whole = raw.ConcatV2(self._variable_list, axes[0], name="concat")
        with name_scope(None):
            return raw.Identity(whole, name=self._name)  # type: ignore[no-any-return]

    def as_tensor(self) -> Tensor:
        """Returns the whole as one tensor."""
        with name_scope(None):
            return self._concat()

    def _dense_var_to_tensor(self, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        if as_ref:
            raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
        return self.as_tensor()

    @property
    def name(self) -> str:
        return self._name  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    @property
    def _distribute_strategy(self) -> None:
        return None

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> Any:
        return self._partitions

    def _pieces(self, value: Any) -> list[Any]:
        if isinstance(value, (list, tuple, PartitionedVariable)):
            return list(value)
        dim, count = slice_plan(self._partitions)
        if count == 1:
            return [value]
        sizes = [v._get_save_slice_info().var_shape[dim] for v in self._variable_list]
        return list(NAMES["split"](value, sizes, axis=dim))

    def _apply(self, method: str, value: Any, use_locking: bool, name: Any, read_value: bool) -> list[Any]:
        pieces = self._pieces(value)
        return [
            getattr(v, method)(p, use_locking=use_locking, name=name, read_value=read_value)
            for v, p in zip(self._variable_list, pieces, strict=True)
        ]

    def assign(
        self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> list[Any]:
        """Puts a whole value into the parts; returns what the parts' `assign` returns."""
        return self._apply("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> list[Any]:
        """Adds to the parts; see `assign`."""
        return self._apply("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True
    ) -> list[Any]:
        """Subtracts from the parts; see `assign`."""
        return self._apply("assign_sub", value, use_locking, name, read_value)


def call_partitioner(partitioner: Any, shape: TensorShape, dtype: Any) -> Any:
    """Returns what a partitioner says for a shape, checked.

    Raises:
      ValueError: The shape is not known, or the answer is no list of positive counts for it.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    found = partitioner(shape=shape, dtype=dtype)
    if not isinstance(found, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {found}")
    if len(found) != len(shape):
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {found} vs. {shape}"
        )
    if not all(p >= 1 for p in found):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {found}")
    if sum(p > 1 for p in found) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {found}"
        )
    return found


def slice_plan(partitions: Any) -> tuple[int, int]:
    """Returns which dimension is cut, and into how many parts."""
    for dim, count in enumerate(partitions):
        if count > 1:
            return dim, count
    return 0, 1


def slices(shape: list[int], count: int, dim: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yields offset and size of each part; the first ones are larger where it does not come out even."""
    size, extra = divmod(shape[dim], count)
    start = [0] * len(shape)
    for i in range(count):
        part = list(shape)
        part[dim] = size + (1 if i < extra else 0)
        yield list(start), part
        start[dim] += part[dim]


def _element_bytes(dtype: Any, string_bytes: int) -> int:
    return string_bytes if dtype.base_dtype.name == "string" else dtype.size


def _check_shape(shape: Any) -> None:
    if not isinstance(shape, TensorShape):
        raise ValueError(f"shape is not a TensorShape: {shape}")
    if not shape.is_fully_defined():
        raise ValueError(f"shape is not fully defined: {shape}")


@export("variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Callable[..., list[int]]:
    """Returns a partitioner that keeps parts below a size.

    Args:
      max_shard_bytes: The most bytes of a part.
      axis: The dimension to cut.
      bytes_per_string_element: What a string counts.
      max_shards: The most parts.

    Raises:
      ValueError: A limit is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        _check_shape(shape)
        element = _element_bytes(dtype, bytes_per_string_element)
        found = [1] * shape.ndims
        total = shape.num_elements() * element
        if max_shard_bytes >= total:
            return found
        size = shape[axis].value
        slice_bytes = (shape.num_elements() // size) * element
        per_shard = max(1, max_shard_bytes // slice_bytes)
        count = math.ceil(size / per_shard)
        found[axis] = min(max_shards, count) if max_shards else count
        return found

    return partitioner


@export("min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Callable[..., list[int]]:
    """Returns a partitioner that makes as many parts as allowed, of at least some size.

    Args:
      max_partitions: The most parts.
      axis: The dimension to cut.
      min_slice_size: The bytes below which a part is not worth it.
      bytes_per_string_element: What a string counts.
    """

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        if axis >= len(shape):
            raise ValueError(f"Can not partition variable along axis {axis} when shape is only {shape}")
        total = shape.num_elements() * _element_bytes(dtype, bytes_per_string_element)
        count = max(1, math.ceil(total / min_slice_size))
        found = [1] * len(shape)
        found[axis] = min(max_partitions, count, max(1, shape[axis].value))
        return found

    return partitioner


@export("fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable[..., list[int]]:
    """Returns a partitioner that always makes `num_shards` parts along `axis`, or one for each row."""

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        found = [1] * len(shape)
        found[axis] = min(num_shards, shape.dims[axis].value)
        return found

    return partitioner


@export("create_partitioned_variables")
def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: Any,
    dtype: Any = float32,
    trainable: bool = True,
    collections: Any = None,
    name: Any = None,
    reuse: Any = None,
) -> list[Any]:
    """Returns the parts of a new partitioned variable.

    Args:
      shape: The shape of the whole.
      slicing: Into how many parts to cut each dimension; only one may be cut.
      initializer: What it starts with; see `tf.get_variable`.
      dtype: Its type.
      trainable: Whether optimizers train it.
      collections: The collections the parts go to.
      name: The name of the whole.
      reuse: The reuse mode of its scope.

    Raises:
      ValueError: More than one dimension is cut.
    """
    from headrace.variables.scope import get_variable, variable_scope

    def partitioner(shape: Any, dtype: Any) -> Any:
        if len(slicing) != len(shape):
            raise ValueError(
                f"Input slicing had length {len(slicing)} for a variable of shape {shape}: the same rank is needed"
            )
        return slicing

    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        whole = get_variable(
            name=None,  # type: ignore[arg-type]
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            partitioner=partitioner,
            collections=collections,
        )
        return list(whole)
