"""RaggedTensor: rows of different lengths."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import DType, as_dtype, int32, int64
from headrace.export import NAMES, export
from headrace.graph import Tensor, name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.array.concat import concat
from headrace.ops.array.gather import gather
from headrace.ops.array.pack import stack
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.math.cast import cast
from headrace.ragged import building, segments
from headrace.ragged.value import RaggedTensorValue
from headrace.tensor_shape import TensorShape


@export("RaggedTensor")
class RaggedTensor:
    """A tensor some of whose dimensions differ in size from row to row.

    Row i holds the elements `row_splits[i]` to `row_splits[i + 1]` of `values`, which may be ragged itself. Ragged
    tensors are made by the methods `from_...` and by functions of `tf.ragged`.

    Raises:
      ValueError: The constructor is called by a program, or shapes do not fit.
    """

    _is_composite_tensor = True
    _value_class = RaggedTensorValue
    # NumPy arrays leave `array * ragged` to the ragged tensor.
    __array_priority__ = 100

    def __init__(
        self,
        values: Any,
        row_splits: Any,
        cached_row_lengths: Any = None,
        cached_value_rowids: Any = None,
        cached_nrows: Any = None,
        internal: bool = False,
    ):
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead "
                "(e.g., RaggedTensor.from_row_lengths())"
            )
        parts = (row_splits, cached_row_lengths, cached_value_rowids, cached_nrows)
        for i, part in enumerate(parts):
            if part is None and i:
                continue
            if not isinstance(part, Tensor):
                raise TypeError(f"Row-partitioning argument must be a Tensor, got {part!r}")
            if part.dtype not in (int32, int64):
                raise ValueError("Row-partitioning argument must be int32 or int64")
        if not isinstance(values, (RaggedTensor, Tensor)):
            raise TypeError(f"values must be a Tensor or RaggedTensor, got {values!r}")
        row_splits.shape.assert_has_rank(1)
        if isinstance(values, RaggedTensor):
            if row_splits.dtype is not values.row_splits.dtype:
                raise ValueError("row_splits and values.row_splits must have the same dtype")
        else:
            values.shape.with_rank_at_least(1)
        self._values = values
        self._row_splits = row_splits
        self._cached_row_lengths = cached_row_lengths
        self._cached_value_rowids = cached_value_rowids
        self._cached_nrows = cached_nrows

    from_value_rowids = classmethod(building.from_value_rowids)
    from_row_splits = classmethod(building.from_row_splits)
    from_row_lengths = classmethod(building.from_row_lengths)
    from_row_starts = classmethod(building.from_row_starts)
    from_row_limits = classmethod(building.from_row_limits)
    from_nested_value_rowids = classmethod(building.from_nested_value_rowids)
    from_nested_row_splits = classmethod(building.from_nested_row_splits)
    from_nested_row_lengths = classmethod(building.from_nested_row_lengths)

    # -- what it consists of ----------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """The static shape; ragged dimensions are None."""
        rows = self._row_splits.shape[0].value
        outer = TensorShape([None if rows is None else rows - 1, None])
        return outer.concatenate(self._values.shape[1:])

    @property
    def ragged_rank(self) -> int:
        """How many dimensions, counted from the second one, are ragged or divided by splits."""
        return self._values.ragged_rank + 1 if isinstance(self._values, RaggedTensor) else 1

    @property
    def values(self) -> Any:
        """The rows one after the other: a Tensor or a RaggedTensor."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """Where each row begins among the values, and where the last one ends."""
        return self._row_splits  # type: ignore[no-any-return]

    @property
    def flat_values(self) -> Tensor:
        """The values without any splits."""
        value = self._values
        while isinstance(value, RaggedTensor):
            value = value._values
        return value  # type: ignore[no-any-return]

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of all ragged dimensions, the outermost first."""
        return tuple(each._row_splits for each in self._levels())

    def _levels(self) -> list[RaggedTensor]:
        levels = [self]
        while isinstance(levels[-1]._values, RaggedTensor):
            levels.append(levels[-1]._values)
        return levels

    # -- rows -------------------------------------------------------------------------------------------------

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Returns the row that each value is in.

        Args:
          name: The scope's name.
        """
        if self._cached_value_rowids is not None:
            return self._cached_value_rowids  # type: ignore[no-any-return]
        with name_scope(name, "RaggedValueRowIds", [self]):
            return segments.row_splits_to_segment_ids(self._row_splits)  # type: ignore[no-any-return]

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Returns the row ids of all ragged dimensions, the outermost first.

        Args:
          name: The scope's name.
        """
        with name_scope(name, "RaggedNestedValueRowIds", [self]):
            return tuple(each.value_rowids() for each in self._levels())

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """Returns the number of rows.

        Args:
          out_type: int32 or int64; by default that of the splits.
          name: The scope's name.
        """
        out_type = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        if self._cached_nrows is not None:
            return cast(self._cached_nrows, out_type)  # type: ignore[no-any-return]
        with name_scope(name, "RaggedNRows", [self]):
            return shape_of(self._row_splits, out_type=out_type)[0] - 1  # type: ignore[no-any-return]

    def row_starts(self, name: str | None = None) -> Tensor:
        """Returns where each row begins among the values.

        Args:
          name: The scope's name.
        """
        with name_scope(name, "RaggedRowStarts", [self]):
            return self._row_splits[:-1]  # type: ignore[no-any-return]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Returns where each row ends among the values.

        Args:
          name: The scope's name.
        """
        with name_scope(name, "RaggedRowLimits", [self]):
            return self._row_splits[1:]  # type: ignore[no-any-return]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Returns the lengths of the rows of a dimension.

        Args:
          axis: The dimension.
          name: The scope's name.

        Returns:
          A tensor; a RaggedTensor for a dimension further in.
        """
        if self._cached_row_lengths is not None and axis == 1:
            return self._cached_row_lengths
        with name_scope(name, "RaggedRowLengths", [self]):
            axis = building.positive_axis(axis, self.shape.ndims)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._row_splits[1:] - self._row_splits[:-1]
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            shape = shape_of(self._values, out_type=self._row_splits.dtype)
            return self.with_values(
                raw.Mul(_ones(shape[: axis - 1], self._row_splits.dtype), shape[axis - 1], name="mul")
            )

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Returns the row lengths of all ragged dimensions, the outermost first.

        Args:
          name: The scope's name.
        """
        with name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple(each.row_lengths() for each in self._levels())

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """Returns the shape of the smallest dense tensor that holds all rows.

        Args:
          axis: A dimension, or several, whose size alone is wanted.
          name: The scope's name.
          out_type: int32 or int64; by default that of the splits.
        """
        out_type = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox", [self, axis]):
            splits = self.nested_row_splits
            if isinstance(axis, int):
                if axis == 0:
                    return shape_of(splits[0], out_type=out_type)[0] - 1  # type: ignore[no-any-return]
                if axis == 1:
                    return raw.Maximum(NAMES["reduce_max"](self.row_lengths()), 0)  # type: ignore[no-any-return]
            splits_shape = shape_of(self._row_splits, out_type=out_type)
            values_shape = shape_of(self.flat_values, out_type=out_type)
            sizes = [splits_shape[0] - 1]
            sizes += [raw.Maximum(NAMES["reduce_max"](s[1:] - s[:-1]), 0) for s in splits]
            bounding = concat([stack(sizes), values_shape[1:]], axis=0)
            return bounding if axis is None else gather(bounding, axis)  # type: ignore[no-any-return]

    # -- other values -----------------------------------------------------------------------------------------

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Returns a ragged tensor with the same rows of other values.

        Args:
          new_values: A Tensor or RaggedTensor with as many elements as there are values.

        Raises:
          ValueError: There are more or fewer.
        """
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        if isinstance(new_values, RaggedTensor) and self._row_splits.dtype is not new_values.row_splits.dtype:
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to "
                "convert them to compatible dtypes."
            )
        return RaggedTensor(
            new_values,
            self._row_splits,
            self._cached_row_lengths,
            self._cached_value_rowids,
            self._cached_nrows,
            internal=True,
        )

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Returns a ragged tensor with the same rows in all dimensions and other innermost values.

        Args:
          new_values: A tensor with as many elements as there are values.
        """
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """Returns a ragged tensor whose splits are int32 or int64.

        Args:
          dtype: The type.

        Raises:
          ValueError: It is another one.
        """
        dtype = as_dtype(dtype)
        if dtype not in (int32, int64):
            raise ValueError("dtype must be int32 or int64")
        if self._row_splits.dtype is dtype:
            return self
        row_splits = cast(self._row_splits, dtype)
        values = self._values
        if isinstance(values, RaggedTensor):
            return RaggedTensor(values.with_row_splits_dtype(dtype), row_splits, internal=True)
        cached = [
            None if part is None else cast(part, dtype)
            for part in (self._cached_row_lengths, self._cached_value_rowids, self._cached_nrows)
        ]
        return RaggedTensor(values, row_splits, *cached, internal=True)

    def to_list(self) -> Any:
        """Refuses: a graph's ragged tensor has no values before a session runs.

        Raises:
          ValueError: Always.
        """
        raise ValueError(
            "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the RaggedTensor first "
            "and then use RaggedTensorValue.to_list()."
        )

    def consumers(self) -> list[Any]:
        """Returns the operations that take its values or splits."""
        found: dict[Any, None] = {}
        for part in (self.flat_values, *self.nested_row_splits):
            found.update(dict.fromkeys(part.consumers()))
        return list(found)

    # -- for structures, sessions and conversion ---------------------------------------------------------------

    def _component_tensors(self) -> list[Tensor]:
        return [self.flat_values, *self.nested_row_splits]

    def _from_components(self, parts: Any) -> RaggedTensor:
        values, *splits = parts
        return from_parts(values, splits)

    @staticmethod
    def _value_of(values: Any, *splits: Any) -> RaggedTensorValue:
        for each in reversed(splits):
            values = RaggedTensorValue(values, each)
        return values  # type: ignore[no-any-return]

    @staticmethod
    def _feed_parts(value: Any) -> list[Any]:
        return [value.flat_values, *value.nested_row_splits]

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")


def _ones(shape: Any, dtype: Any) -> Any:
    from headrace.ops.array.fill import ones

    return ones(shape, dtype)


def from_parts(values: Any, splits: Any) -> Any:
    """Returns the ragged tensor of values and splits (the outermost first) without adding nodes."""
    for each in reversed(list(splits)):
        values = RaggedTensor(values, each, internal=True)
    return values


def is_ragged(value: Any) -> bool:
    """Whether a value is a RaggedTensor or a RaggedTensorValue."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def convert_to_tensor_or_ragged_tensor(
    value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """Returns a RaggedTensor for ragged values, and a Tensor for others.

    Args:
      value: A RaggedTensor, a RaggedTensorValue, or what converts to a tensor.
      dtype: The type it must have.
      preferred_dtype: The type to give a new tensor where it fits.
      name: A name for a node that has to be made.

    Raises:
      ValueError: A RaggedTensor has another type.
    """
    if isinstance(value, RaggedTensor):
        if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {as_dtype(dtype).name} for RaggedTensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, RaggedTensorValue):
        with name_scope(name, "ConvertToTensorOrRaggedTensor", []):
            flat = convert_to_tensor(
                value.flat_values, dtype=dtype, preferred_dtype=preferred_dtype, name="flat_values"
            )
            return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits, validate=False)
    return convert_to_tensor(value, dtype=dtype, preferred_dtype=preferred_dtype, name=name)


def integer_tensor(value: Any, name: str, dtype: Any = int32) -> Any:
    """Returns a tensor of integers of a type; a node converts it even where it has that type, as in TensorFlow.

    Raises:
      TypeError: It is no integer.
    """
    tensor = convert_to_tensor(value, name=name, preferred_dtype=dtype)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype}")
    return raw.Cast(tensor, DstT=dtype, name="Cast")


def match_row_splits_dtypes(*tensors: Any) -> list[Any]:
    """Returns tensors of which all ragged ones have splits of one type.

    Raises:
      ValueError: They have different ones.
    """
    found = {t.row_splits.dtype for t in tensors if isinstance(t, RaggedTensor)}
    if len(found) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to "
            "convert them to compatible dtypes."
        )
    return list(tensors)
