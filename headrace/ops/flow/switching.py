"""Switch and Merge by hand: the functions of TensorFlow 1 that programs pick one of several computations with."""

from __future__ import annotations

from headrace.graph import IndexedSlices, name_scope
from headrace.graph.structure import components, is_composite, pack_like
from headrace.opdef import convert_to_tensor, raw


def switch(data, pred, dtype=None, name=None):
    """Returns data twice: what is there if `pred` is False, and what is there if it is True.

    Args:
      data: A Tensor, IndexedSlices, or another composite.
      pred: A scalar bool.
      dtype: The type that `data` is to have.
      name: The scope's name.
    """
    with name_scope(name, "Switch", [data, pred]) as scope:
        if not _is_composite(data):
            data = convert_to_tensor(data, dtype, name="data", as_ref=True)
        pred = convert_to_tensor(pred, name="pred")
        if not _is_composite(data):
            return raw.Switch(data, pred, name=scope)
        parts = [raw.Switch(t, pred, name="Switch") for t in components(data)]
        return tuple(_like(data, [part[side] for part in parts]) for side in (0, 1))


def merge(inputs, name=None):
    """Returns the one of several values that is there, and which it is.

    Args:
      inputs: A list of Tensors, or of composites of one kind. Tensors beside IndexedSlices become such.
      name: The scope's name.

    Raises:
      ValueError: One of them is None.
    """
    if any(v is None for v in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with name_scope(name, "Merge", inputs) as scope:
        inputs = [v if _is_composite(v) else convert_to_tensor(v, as_ref=True) for v in inputs]
        if not any(map(_is_composite, inputs)):
            kind = raw.RefMerge if all(t.dtype.is_ref for t in inputs) else raw.Merge
            return kind(inputs, name=scope)
        if any(isinstance(v, IndexedSlices) for v in inputs):
            inputs = [v if isinstance(v, IndexedSlices) else _rows_of(v) for v in inputs]
        parts = [raw.Merge(list(each), name="Merge") for each in zip(*map(components, inputs), strict=True)]
        return _like(inputs[0], [part[0] for part in parts]), parts[0][1]


def _is_composite(value):
    return isinstance(value, IndexedSlices) or is_composite(value)


def _like(value, parts):
    return IndexedSlices(*parts) if isinstance(value, IndexedSlices) else pack_like(value, parts, True)


def _rows_of(tensor):
    shape = raw.Shape(tensor, name="Shape")
    return IndexedSlices(tensor, raw.Range(0, shape[0], 1, name="range"), shape)
