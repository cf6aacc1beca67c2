"""tf.TensorArraySpec: what a TensorArray is like."""

from __future__ import annotations

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.export import NAMES, export
from headrace.graph.type_spec import TensorSpec, TypeSpec
from headrace.ops.flow.tensor_array import TensorArray
from headrace.tensor_shape import TensorShape


@export("TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """Describes a TensorArray.

    Args:
      element_shape: What is known of the elements' shape.
      dtype: The elements' type.
      dynamic_size: Whether it grows when it is written beyond its end.
      infer_shape: Whether all elements have one shape.
    """

    value_type = TensorArray

    def __init__(self, element_shape=None, dtype=dtypes.float32, dynamic_size=False, infer_shape=True):
        self._element_shape = TensorShape(element_shape)
        self._dtype = as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape

    @classmethod
    def from_value(cls, value):
        """Returns the spec of a TensorArray.

        Raises:
          TypeError: The value is none.
        """
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but saw: {type(value)}")
        return cls(value.element_shape, value.dtype, bool(value.dynamic_size), value._infer_shape)

    def is_compatible_with(self, spec_or_value):
        """Whether a TensorArray, or every one that a spec describes, may be one of this spec."""
        if isinstance(spec_or_value, TensorArray):
            spec_or_value = self.from_value(spec_or_value)
        return super().is_compatible_with(spec_or_value)

    def most_specific_compatible_type(self, other):
        """Returns the narrowest spec that describes the arrays of both specs.

        Raises:
          ValueError: There is none.
        """
        mine, its = self._serialize(), other._serialize() if isinstance(other, TensorArraySpec) else None
        if its is None or mine[1:] != its[1:]:
            raise ValueError("Types are not compatible")
        return type(self)(self._element_shape.most_specific_compatible_shape(its[0]), *mine[1:])

    def _serialize(self):
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    @property
    def _component_specs(self):
        return [TensorSpec([], dtypes.variant)]

    def _to_components(self, value):
        return [value.flow]

    def _from_components(self, components):
        return NAMES["TensorArray"](
            self._dtype,
            flow=components[0],
            dynamic_size=self._dynamic_size,
            infer_shape=self._infer_shape,
            element_shape=self._element_shape,
        )
