"""What a program says of the features to read from Examples, and the operands that follow from it."""

from __future__ import annotations

import collections

import numpy as np

from headrace.dtypes import as_dtype
from headrace.export import NAMES, export_value
from headrace.opdef import convert_to_tensor
from headrace.tensor_shape import TensorShape, as_shape


class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A feature with any number of values, read as a SparseTensor.

    Args:
      dtype: The values' type.
    """

    __slots__ = ()


class SparseFeature(
    collections.namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"])
):
    """A sparse feature whose places and values are two features of the Example.

    Args:
      index_key: The feature that holds the places; or a list of such, one for each axis.
      value_key: The feature that holds the values.
      dtype: The values' type.
      size: The length of the axis, or a list of lengths.
      already_sorted: Whether the places are in ascending order.
    """

    __slots__ = ()

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


class FixedLenFeature(collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A feature with a fixed number of values, read as a dense tensor.

    Args:
      shape: The values' shape.
      dtype: The values' type.
      default_value: The value where an Example lacks the feature; without one it must not.
    """

    __slots__ = ()

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(
    collections.namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing", "default_value"])
):
    """A feature with any number of elements of a fixed shape, read as a dense tensor that is filled up.

    Args:
      shape: The shape of one element.
      dtype: The values' type.
      allow_missing: Whether an Example may lack it; must be true for `parse_example`.
      default_value: What fills up, by default zero or the empty string.
    """

    __slots__ = ()

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


for _class in (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature):
    export_value(_class.__name__, _class)
    export_value("io." + _class.__name__, _class)


class Wanted:
    """The features of one call, sorted into sparse ones and dense ones.

    Attributes:
      sparse: Key -> type.
      dense: Key -> (type, shape with an unknown first dimension for sequences, default or None).
      composed: Name -> SparseFeature.
    """

    def __init__(self, features):
        if not features:
            raise ValueError(f"Missing: features was {features}.")
        self.sparse = {}
        self.dense = {}
        self.composed = {}
        for key in sorted(features):
            feature = features[key]
            if isinstance(feature, VarLenFeature):
                self._typed(key, feature)
                self._add_sparse(key, feature.dtype)
            elif isinstance(feature, SparseFeature):
                self._typed(key, feature)
                keys = (
                    feature.index_key if isinstance(feature.index_key, (list, tuple)) else [feature.index_key]
                )
                for index_key in sorted(keys):
                    self._add_sparse(index_key, "int64")
                self._add_sparse(feature.value_key, feature.dtype)
                self.composed[key] = feature
            elif isinstance(feature, FixedLenFeature):
                self._typed(key, feature)
                if feature.shape is None:
                    raise ValueError(f"Missing shape for feature {key}.")
                shape = as_shape(feature.shape)
                if not shape.is_fully_defined() and shape.ndims:
                    raise ValueError(
                        f"All dimensions of shape for feature {key} need to be known but received {shape!s}."
                    )
                self.dense[key] = (as_dtype(feature.dtype), shape, feature.default_value, False)
            elif isinstance(feature, FixedLenSequenceFeature):
                self._typed(key, feature)
                if feature.shape is None:
                    raise ValueError(f"Missing shape for feature {key}.")
                if not feature.allow_missing:
                    raise ValueError(
                        "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
                    )
                shape = TensorShape([None]).concatenate(as_shape(feature.shape))
                self.dense[key] = (as_dtype(feature.dtype), shape, feature.default_value, True)
            else:
                raise ValueError(f"Invalid feature {key}:{feature}.")

    @staticmethod
    def _typed(key, feature):
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")

    def _add_sparse(self, key, dtype):
        dtype = as_dtype(dtype)
        if self.sparse.setdefault(key, dtype) is not dtype:
            raise ValueError(f"Conflicting type {dtype} vs {self.sparse[key]} for feature {key}.")

    def sparse_keys(self):
        return sorted(self.sparse)

    def dense_keys(self):
        return sorted(self.dense)

    def defaults(self, reshaped=True):
        """Returns the operands with the dense features' defaults; an empty one means that there is none."""
        made = []
        for key in self.dense_keys():
            dtype, shape, value, is_sequence = self.dense[key]
            if value is None and not is_sequence:
                made.append(NAMES["constant"]([], dtype=dtype))
                continue
            if value is None:
                made.append(NAMES["constant"]("" if dtype.name == "string" else 0, dtype=dtype))
                continue
            name = "key_" + "".join(c if c.isalnum() or c in "_.\\-/" else "_" for c in key)
            default = convert_to_tensor(value, dtype=dtype, name=name)
            if not reshaped:
                made.append(default)
            elif is_sequence:
                made.append(NAMES["reshape"](default, []) if default._dims else default)
            else:
                made.append(NAMES["reshape"](default, np.array(shape.as_list(), np.int32)))
        return made

    def shapes(self):
        return [self.dense[key][1] for key in self.dense_keys()]

    def dense_types(self):
        return [self.dense[key][0] for key in self.dense_keys()]

    def sparse_types(self):
        return [self.sparse[key] for key in self.sparse_keys()]
