"""TypeSpecs: what a value is like before it is there (its class, shapes and dtypes)."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dtypes import DType, as_dtype, float32, int64
from headrace.export import export, export_value
from headrace.graph.indexed_slices import IndexedSlices
from headrace.graph.sparse_tensor import SparseTensor, SparseTensorValue
from headrace.graph.tensor import Tensor
from headrace.tensor_shape import TensorShape, dimension_value


def _key(value: Any) -> Any:
    """Returns something hashable that is equal for equal parts of specs."""
    if isinstance(value, TensorShape):
        return ("shape", None if value.dims is None else tuple(value.as_list()))
    if isinstance(value, np.ndarray):
        return ("array", value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, (list, tuple)):
        return tuple(_key(v) for v in value)
    if isinstance(value, dict):
        return tuple(sorted((k, _key(v)) for k, v in value.items()))
    return value


@export("TypeSpec")
class TypeSpec:
    """Describes values: their class, and the shapes and dtypes of the tensors that they consist of.

    A subclass says what it is made of: `_serialize` returns the arguments that make an equal one, `_component_specs`
    is a structure of TensorSpecs, `_to_components` takes a value apart and `_from_components` puts one together.
    """

    value_type: Any = None

    def _serialize(self) -> tuple[Any, ...]:
        raise NotImplementedError(f"{type(self).__name__}._serialize")

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> Any:
        return cls(*serialization)

    @property
    def _component_specs(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._component_specs")

    def _to_components(self, value: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_components")

    def _from_components(self, components: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._from_components")

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or every value that a spec describes, may be one of this spec."""
        spec = spec_or_value if isinstance(spec_or_value, TypeSpec) else _spec_or_none(spec_or_value)
        if spec is None or type(spec) is not type(self):
            return False
        return _fits(self._serialize(), spec._serialize())

    def most_specific_compatible_type(self, other: TypeSpec) -> Any:
        """Returns the narrowest spec that describes the values of this spec and those of another.

        Raises:
          ValueError: There is none.
        """
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return self._deserialize(_common(self._serialize(), other._serialize()))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _key(self._serialize()) == _key(other._serialize())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), _key(self._serialize())))

    def __reduce__(self) -> Any:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        parts = self._serialize()
        return f"{type(self).__name__}({', '.join(repr(p) for p in parts)})"

    __str__ = __repr__


def _fits(general: Any, special: Any) -> bool:
    if isinstance(general, TensorShape):
        return general.is_compatible_with(special)
    if isinstance(general, TypeSpec):
        return general.is_compatible_with(special)
    if isinstance(general, (list, tuple)) and isinstance(special, (list, tuple)):
        return len(general) == len(special) and all(
            _fits(a, b) for a, b in zip(general, special, strict=True)
        )
    return bool(_key(general) == _key(special))


def _common(a: Any, b: Any) -> Any:
    if isinstance(a, TensorShape):
        return a.most_specific_compatible_shape(b)
    if isinstance(a, TypeSpec):
        return a.most_specific_compatible_type(b)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        return type(a)(_common(x, y) for x, y in zip(a, b, strict=True))
    if _key(a) != _key(b):
        raise ValueError(f"Types are not compatible: {a!r} vs {b!r}")
    return a


@export("TensorSpec", "contrib.framework.TensorSpec")
class TensorSpec(TypeSpec):
    """Describes a tensor.

    Args:
      shape: Its shape, as far as it is known.
      dtype: Its dtype.
      name: A name for it.
    """

    value_type = Tensor

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None):
        self._shape = TensorShape(shape)
        try:
            self._shape_tuple: Any = tuple(self._shape.as_list())
        except ValueError:
            self._shape_tuple = None
        self._dtype: DType = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Returns a spec with the shape and dtype of another."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Returns the spec of a tensor.

        Raises:
          ValueError: `tensor` is none.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError("`tensor` should be a tf.Tensor")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def name(self) -> str | None:
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or every tensor that a spec describes, may be one of this spec."""
        if not isinstance(spec_or_tensor, (TensorSpec, Tensor)) and not hasattr(
            spec_or_tensor, "_shape_tuple"
        ):
            return isinstance(spec_or_tensor, np.ndarray) and (
                as_dtype(spec_or_tensor.dtype) is self._dtype
                and self._shape.is_compatible_with(spec_or_tensor.shape)
            )
        return bool(
            self._dtype.is_compatible_with(spec_or_tensor.dtype)
            and self._shape.is_compatible_with(spec_or_tensor.shape)
        )

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        """Returns the narrowest spec that describes the tensors of this spec and those of another.

        Raises:
          ValueError: The dtypes differ.
        """
        if type(self) is not type(other) or self._dtype is not other._dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        return TensorSpec(self._shape.most_specific_compatible_shape(other._shape), self._dtype)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    @property
    def _component_specs(self) -> Any:
        return self

    def _to_components(self, value: Any) -> Any:
        return value

    def _from_components(self, components: Any) -> Any:
        return components

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    __str__ = __repr__


class BoundedTensorSpec(TensorSpec):
    """Describes a tensor whose elements lie between two bounds, which are included.

    Args:
      shape: Its shape.
      dtype: Its dtype.
      minimum: The lower bound: a number, or an array that broadcasts to the shape.
      maximum: The upper bound.
      name: A name for it.

    Raises:
      ValueError: A bound is missing or does not fit the shape.
    """

    def __init__(self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None):
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError(f"minimum and maximum must be provided; but saw '{minimum}' and '{maximum}'")
        self._minimum = self._bound(minimum, "minimum")
        self._maximum = self._bound(maximum, "maximum")

    def _bound(self, value: Any, name: str) -> Any:
        shape = np.shape(value)
        if self._shape_tuple is not None:
            known = [d for d in self._shape_tuple]
            padded = [1] * (len(known) - len(shape)) + list(shape)
            if len(padded) > len(known) or any(
                d not in (1, k) for d, k in zip(padded, known, strict=True) if k is not None
            ):
                shown = f"Incompatible shapes for broadcasting: {TensorShape(shape)} and {self._shape}"
                error = f"ValueError('{shown}')"
                raise ValueError(f"{name} is not compatible with shape. Message: {error}.")
        bound = np.array(value, dtype=self._dtype.as_numpy_dtype)
        bound.setflags(write=False)
        return bound

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """Returns a spec like another, bounded by what its dtype can hold where it has no bounds."""
        dtype = as_dtype(spec.dtype)
        low = getattr(spec, "minimum", dtype.min)
        high = getattr(spec, "maximum", dtype.max)
        return cls(spec.shape, dtype, low, high, name or spec.name)

    @property
    def minimum(self) -> Any:
        """The lower bound, an array."""
        return self._minimum

    @property
    def maximum(self) -> Any:
        """The upper bound, an array."""
        return self._maximum

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._minimum, self._maximum, self._name

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )

    __str__ = __repr__


export_value("python.framework.tensor_spec.BoundedTensorSpec", BoundedTensorSpec)
export_value("contrib.framework.BoundedTensorSpec", BoundedTensorSpec)


@export("SparseTensorSpec")
class SparseTensorSpec(TypeSpec):
    """Describes a SparseTensor.

    Args:
      shape: Its dense shape, as far as it is known.
      dtype: The dtype of its values.
    """

    value_type = SparseTensor

    def __init__(self, shape: Any = None, dtype: Any = float32):
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """Returns the description of a SparseTensor or SparseTensorValue.

        Raises:
          TypeError: It is neither.
        """
        if not isinstance(value, (SparseTensor, SparseTensorValue)):
            raise TypeError("Expected SparseTensor or SparseTensorValue")
        sparse = SparseTensor.from_value(value)
        return cls(sparse.shape, sparse.dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> Any:
        rank = self._shape.ndims
        return [
            TensorSpec([None, rank], int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], int64),
        ]

    def _to_components(self, value: Any) -> Any:
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components: Any) -> Any:
        return SparseTensor(*components)


@export("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """Describes an IndexedSlices.

    Args:
      shape: The dense shape, as far as it is known.
      dtype: The dtype of the values.
      indices_dtype: The dtype of the indices.
      dense_shape_dtype: The dtype of `dense_shape`, None if there is none.
      indices_shape: The shape of the indices.
    """

    value_type = IndexedSlices

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = float32,
        indices_dtype: Any = int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ):
        self._shape = TensorShape(shape)
        self._values_dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = TensorShape([None] if indices_shape is None else indices_shape).with_rank(1)

    def _serialize(self) -> tuple[Any, ...]:
        return (
            self._shape, self._values_dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape,
        )  # fmt: skip

    @property
    def _component_specs(self) -> Any:
        values = TensorShape([dimension_value(self._indices_shape[0])]).concatenate(self._shape[1:])
        specs = (
            TensorSpec(values, self._values_dtype),
            TensorSpec(self._indices_shape, self._indices_dtype),
        )
        if self._dense_shape_dtype is None:
            return specs
        return (*specs, TensorSpec([self._shape.ndims], self._dense_shape_dtype))

    def _to_components(self, value: Any) -> Any:
        if value.dense_shape is None:
            return value.values, value.indices
        return value.values, value.indices, value.dense_shape

    def _from_components(self, components: Any) -> Any:
        return IndexedSlices(*components)


def _indexed_slices_spec(value: IndexedSlices) -> IndexedSlicesSpec:
    indices = value.indices.shape
    rest = value.values.shape[1:]
    shape = TensorShape([None]).concatenate(rest)
    dense = value.dense_shape
    return IndexedSlicesSpec(
        shape, value.values.dtype, value.indices.dtype, None if dense is None else dense.dtype, indices
    )


IndexedSlices._type_spec = property(_indexed_slices_spec)  # type: ignore[attr-defined]
SparseTensor._type_spec = property(lambda self: SparseTensorSpec(self.shape, self.dtype))  # type: ignore[attr-defined]


def _varying_slices(self: IndexedSlices, shape: TensorShape) -> IndexedSlicesSpec:
    dense = self.dense_shape
    return IndexedSlicesSpec(
        shape,
        self.values.dtype,
        self.indices.dtype,
        None if dense is None else dense.dtype,
        shape[:1],
    )


def _varying_sparse(self: SparseTensor, shape: TensorShape) -> SparseTensorSpec:
    if shape.ndims is None:
        return SparseTensorSpec(None, self.dtype)
    if shape.ndims != 1:
        raise ValueError("Expected a shape with 1 dimension")
    rank = dimension_value(shape[0])
    return SparseTensorSpec(None if rank is None else [None] * rank, self.dtype)


# The spec of a loop variable for which a program gives a shape: that of the slices' values, or that of a sparse
# tensor's dense shape.
IndexedSlices._varying_spec = _varying_slices  # type: ignore[attr-defined]
SparseTensor._varying_spec = _varying_sparse  # type: ignore[attr-defined]


def _spec_or_none(value: Any) -> Any:
    if isinstance(value, TypeSpec):
        return value
    spec = getattr(value, "_type_spec", None)
    if spec is not None:
        return spec
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    return None


def type_spec_from_value(value: Any) -> Any:
    """Returns the spec of a value: a tensor, a composite of tensors, or what converts to a tensor.

    Raises:
      TypeError: `value` is none of these.
    """
    found = _spec_or_none(value)
    if found is not None:
        return found
    from headrace.graph import hooks

    try:
        t = hooks.convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}"
        ) from None
    return TensorSpec(t.shape, t.dtype)


export_value("python.framework.type_spec.type_spec_from_value", type_spec_from_value)
