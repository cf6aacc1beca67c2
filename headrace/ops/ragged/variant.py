"""Ragged tensors as variants, in which ops that know no ragged tensors carry them."""

from __future__ import annotations

import itertools

import numpy as np

from headrace import shapes
from headrace.dtypes import as_dtype
from headrace.opdef import op, raw
from headrace.opdef.strings import invalid

RaggedTensorToVariant = op("""
    RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: Tvalues)
        -> (encoded_ragged: variant)
      RAGGED_RANK: int >= 1
      Tvalues: type
      Tsplits: {int32, int64}
      batched_input: bool

    A variant that holds a ragged tensor, or one for each of its rows.
""", grad=None)  # fmt: skip

RaggedTensorFromVariant = op("""
    RaggedTensorFromVariant(encoded_ragged: variant)
        -> (output_nested_splits: output_ragged_rank * Tsplits, output_dense_values: Tvalues)
      input_ragged_rank: int >= -1
      output_ragged_rank: int >= 1
      Tvalues: type
      Tsplits: {int32, int64}

    The ragged tensor that a variant holds, or the one whose rows the variants hold.
""")


class Encoded:
    """A ragged tensor as a value: its splits, outermost first, and its values.

    Attributes:
      splits: Arrays, none if it is a plain tensor.
      values: The array of values.
    """

    __slots__ = ("splits", "values")

    def __init__(self, splits, values):
        self.splits = list(splits)
        self.values = values


@RaggedTensorToVariant.shape
def to_variant_shape(rt_nested_splits, rt_dense_values, *, batched_input):
    for splits in rt_nested_splits:
        shapes.with_rank(splits, 1)
    if not batched_input:
        return ()
    rows = None if rt_nested_splits[0] is None else rt_nested_splits[0][0]
    return (None if rows is None else max(rows - 1, 0),)


def _check(nested, values):
    if values.ndim == 0:
        invalid("values must be at least a vector")
    for i, splits in enumerate(nested):
        if splits.ndim != 1 or not splits.size:
            invalid("ragged splits must be vectors of at least one element")
        if splits[0] < 0 or (np.diff(splits) < 0).any():
            invalid("Ragged splits must be sorted")
        size = nested[i + 1].size - 1 if i + 1 < len(nested) else len(values)
        if splits[-1] > size:
            invalid("Ragged splits must not point past values")


@RaggedTensorToVariant.host
def to_variant_host(rt_nested_splits, rt_dense_values, *, batched_input):
    if not batched_input:
        return Encoded(rt_nested_splits, rt_dense_values)
    _check(rt_nested_splits, rt_dense_values)
    outer, inner = rt_nested_splits[0], rt_nested_splits[1:]
    rows = np.empty(len(outer) - 1, object)
    for i, (start, end) in enumerate(itertools.pairwise(outer.tolist())):
        nested = []
        for splits in inner:
            part = splits[start : end + 1]
            nested.append(part - part[0])
            start, end = int(part[0]), int(part[-1])
        rows[i] = Encoded(nested, rt_dense_values[start:end])
    return rows


@RaggedTensorFromVariant.shape
def from_variant_shape(encoded_ragged, *, input_ragged_rank, output_ragged_rank):
    if input_ragged_rank >= 0:
        shapes.with_rank(encoded_ragged, output_ragged_rank - input_ragged_rank)
    return [(None,)] * output_ragged_rank + [None]


def _check_type(what, array, wanted):
    found = as_dtype("string") if array.dtype == object else as_dtype(array.dtype)
    wanted = as_dtype(wanted)
    if found is not wanted:
        invalid(f"Expected {what} Tensor dtype: {wanted.as_datatype_enum}, found: {found.as_datatype_enum}")


def _parts(encoded, rank, splits_type, values_type):
    """Returns the splits and values of one variant, checked.

    Raises:
      errors.InvalidArgumentError: It holds something else.
    """
    if not isinstance(encoded, Encoded):
        invalid(f"Input Variant element at index 0 doesn't hold a Tensor: {type(encoded).__name__}")
    if len(encoded.splits) != rank and encoded.splits:
        invalid(
            "Encoded input Variant must hold either input_ragged_rank + 1 Tensors or an empty Tensor (zero splits "
            f"Tensors, 1 values Tensor), input_ragged_rank: {rank}, encoded input Variant: {encoded!r}"
        )
    for splits in encoded.splits:
        _check_type("splits", splits, splits_type)
    _check_type("values", encoded.values, values_type)
    return encoded.splits, encoded.values


def _stacked(parts, rank, kind):
    """Returns the splits and values of ragged tensors one after the other, without the rows they become."""
    nested = []
    for level in range(rank):
        joined, offset = [np.zeros(1, kind)], 0
        for splits, _ in parts:
            if splits:
                joined.append(splits[level][1:] + kind.type(offset))
                offset += int(splits[level][-1])
        nested.append(np.concatenate(joined).astype(kind))
    arrays = [values for _, values in parts]
    for i, each in enumerate(arrays):
        if each.ndim != arrays[0].ndim:
            shown = [str(list(a.shape)).replace(" ", "") for a in (arrays[0], each)]
            invalid(
                "Rank of values must match for all components; values shape at index 0: "
                f"{shown[0]}, values shape at index {i}: {shown[1]}"
            )
        if each.shape[1:] != arrays[0].shape[1:]:
            invalid("Shapes of values must match for all components")
    return nested, arrays


@RaggedTensorFromVariant.host
def from_variant_host(encoded_ragged, *, input_ragged_rank, output_ragged_rank, Tvalues, Tsplits):
    if isinstance(encoded_ragged, np.ndarray):
        shape, flat = encoded_ragged.shape, encoded_ragged.ravel().tolist()
    else:
        shape, flat = (), [encoded_ragged]
    rank = input_ragged_rank
    if rank == -1:
        rank = output_ragged_rank - len(shape)
        if rank < 0:
            invalid(
                f"Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found "
                f"output_ragged_rank: {output_ragged_rank}, encoded_variant.dims(): {len(shape)}, inferred "
                f"input_ragged_rank: {rank}"
            )
    if output_ragged_rank != rank + len(shape):
        invalid(
            "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: "
            f"{output_ragged_rank}, input_ragged_rank: {rank}, encoded_variant.dims(): {len(shape)}."
        )
    parts = [_parts(each, rank, Tsplits, Tvalues) for each in flat]
    if not shape:
        return [*parts[0][0], parts[0][1]]
    kind = np.dtype(as_dtype(Tsplits).storage)
    nested, count = [], 1
    for outer, inner in itertools.pairwise(shape):
        count *= outer
        nested.append((np.arange(count + 1) * inner).astype(kind))
    lengths = [(len(splits[0]) - 1 if splits else 0) if rank else len(values) for splits, values in parts]
    nested.append(np.cumsum([0, *lengths]).astype(kind))
    inner_splits, arrays = _stacked(parts, rank, kind)
    if not arrays:
        return [*nested, *inner_splits, np.zeros(0, as_dtype(Tvalues).storage)]
    return [*nested, *inner_splits, np.concatenate(arrays)]


def _cases(case):
    @case.program
    def rows_and_back(step):
        attrs = dict(Tvalues="float32", Tsplits="int64")
        splits, values = [[0, 2, 3]], [1.0, 2.0, 3.0]
        whole = raw.RaggedTensorToVariant(splits, values, batched_input=False, Tsplits="int64")
        back = raw.RaggedTensorFromVariant(whole, input_ragged_rank=1, output_ragged_rank=1, **attrs)
        step([*back[0], back[1]], gives=([0, 2, 3], values))
        rows = raw.RaggedTensorToVariant(splits, values, batched_input=True, Tsplits="int64")
        back = raw.RaggedTensorFromVariant(rows, input_ragged_rank=0, output_ragged_rank=1, **attrs)
        step([*back[0], back[1]], gives=([0, 2, 3], values))


RaggedTensorToVariant.cases(_cases)
RaggedTensorFromVariant.cases(_cases)
