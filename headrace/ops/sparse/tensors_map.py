"""Sparse tensors kept between steps, by numbers."""

from __future__ import annotations

import threading

import numpy as np

from headrace.export import export_value
from headrace.graph import Operation, colocate_with
from headrace.graph.sparse_tensor import as_sparse
from headrace.opdef import op, raw
from headrace.opdef.strings import invalid
from headrace.ops.sparse.serialize import check_sparse, joined, rows_of, with_parts
from headrace.shapes import to_text, with_rank

_KEPT = """
      container: string = ""
      shared_name: string = ""
"""

AddSparseToTensorsMap = op(f"""
    AddSparseToTensorsMap(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> (sparse_handle: int64)
      T: type{_KEPT}      stateful
    Keeps a sparse tensor and gives its number.
""")

AddManySparseToTensorsMap = op(f"""
    AddManySparseToTensorsMap(sparse_indices: int64, sparse_values: T, sparse_shape: int64)
        -> (sparse_handles: int64)
      T: type{_KEPT}      stateful
    Keeps the rows of a sparse tensor and gives their numbers.
""")

TakeManySparseFromTensorsMap = op(f"""
    TakeManySparseFromTensorsMap(sparse_handles: int64)
        -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)
      dtype: type{_KEPT}      stateful
    Gives the sparse tensor whose rows were kept, and forgets them.
""")


class TensorsMap:
    """Sparse tensors by number.

    Attributes:
      name: What messages call it.
    """

    def __init__(self, name):
        self.name = name
        self._lock = threading.Lock()
        self._items = {}
        self._count = 0

    def add(self, parts):
        """Keeps a triple of coordinates, values and shape; returns its number."""
        with self._lock:
            number = self._count
            self._count += 1
            self._items[number] = parts
        return number

    def take(self, numbers):
        """Returns triples and forgets them.

        Raises:
          errors.InvalidArgumentError: There is none of a number.
        """
        found = []
        with self._lock:
            for number in numbers:
                if number not in self._items:
                    invalid(f"Unable to find SparseTensor: {number} in map: {self.name}")
                found.append(self._items.pop(number))
        return found


def _map_of(ctx, container, shared_name):
    text = [v.decode() if isinstance(v, bytes) else v for v in (container, shared_name)]
    name = text[1] or ctx.op.name
    return ctx.resources.lookup_or_create(text[0], name, TensorsMap, lambda: TensorsMap(name))


@AddSparseToTensorsMap.shape
def add_sparse_shape(sparse_indices, sparse_values, sparse_shape):
    with_rank(sparse_indices, 2)
    with_rank(sparse_values, 1)
    with_rank(sparse_shape, 1)
    return ()


@AddManySparseToTensorsMap.shape
def add_many_sparse_shape(sparse_indices, sparse_values, sparse_shape):
    add_sparse_shape(sparse_indices, sparse_values, sparse_shape)
    return (None,)


@TakeManySparseFromTensorsMap.shape
def take_many_sparse_shape(sparse_handles):
    with_rank(sparse_handles, 1)
    return [(None, None), (None,), (None,)]


@AddSparseToTensorsMap.host
def add_sparse_host(sparse_indices, sparse_values, sparse_shape, *, container, shared_name, ctx):
    check_sparse(sparse_indices, sparse_values, sparse_shape)
    number = _map_of(ctx, container, shared_name).add((sparse_indices, sparse_values, sparse_shape))
    return np.array(number, np.int64)


@AddManySparseToTensorsMap.host
def add_many_sparse_host(sparse_indices, sparse_values, sparse_shape, *, container, shared_name, ctx):
    rows = rows_of(sparse_indices, sparse_values, sparse_shape)
    kept = _map_of(ctx, container, shared_name)
    return np.array([kept.add(row) for row in rows], np.int64)


@TakeManySparseFromTensorsMap.host
def take_many_sparse_host(sparse_handles, *, dtype, container, shared_name, ctx):
    if sparse_handles.ndim != 1:
        invalid(f"sparse_handles should be a vector but received shape {to_text(sparse_handles.shape)}")
    if not len(sparse_handles):
        invalid("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows")
    parts = _map_of(ctx, container, shared_name).take(sparse_handles.tolist())
    return joined(parts, (len(parts),), dtype)


def _cases(case):
    @case.program
    def kept_once(step):
        sparse = ([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])
        whole = raw.AddSparseToTensorsMap(*sparse, shared_name="one")
        step(whole, gives=0)
        step(whole, gives=1)
        take = raw.TakeManySparseFromTensorsMap([1, 0], dtype="float32", shared_name="one")
        step(list(take)[1], gives=[1.0, 2.0, 1.0, 2.0])
        step(list(take)[1], fails=Exception, match="Unable to find SparseTensor: 1 in map: one")
        rows = raw.AddManySparseToTensorsMap(*sparse, shared_name="rows")
        step(rows, gives=[0, 1, 2])
        back = raw.TakeManySparseFromTensorsMap([0, 2], dtype="float32", shared_name="rows")
        step(list(back), gives=([[0, 1], [1, 0]], [1.0, 2.0], [2, 4]))


for _kind in (AddSparseToTensorsMap, AddManySparseToTensorsMap, TakeManySparseFromTensorsMap):
    _kind.cases(_cases)


def _add_sparse_to_tensors_map(sp_input, container=None, shared_name=None, name=None):
    """Keeps a sparse tensor for later steps; returns its number."""
    sp = as_sparse(sp_input)
    kept = dict(container=container or "", shared_name=shared_name or "")
    return raw.AddSparseToTensorsMap(sp.indices, sp.values, sp.dense_shape, name=name, **kept)


def _add_many_sparse_to_tensors_map(sp_input, container=None, shared_name=None, name=None):
    """Keeps the rows of a sparse tensor for later steps; returns their numbers."""
    sp = as_sparse(sp_input)
    kept = dict(container=container or "", shared_name=shared_name or "")
    return raw.AddManySparseToTensorsMap(sp.indices, sp.values, sp.dense_shape, name=name, **kept)


_ADDING = ("AddSparseToTensorsMap", "AddManySparseToTensorsMap")


def _take_many_sparse_from_tensors_map(sparse_map_op, sparse_handles, rank=None, name=None):
    """Returns the sparse tensor of rows that one of the other two functions kept.

    Raises:
      TypeError: `sparse_map_op` is no operation that keeps sparse tensors.
    """
    if not isinstance(sparse_map_op, Operation):
        raise TypeError("sparse_map_op be an Operation")
    if sparse_map_op.type not in _ADDING:
        raise TypeError(
            "sparse_map_op must be one of AddSparseToTensorsMap or AddSparseToTensorsMap. Instead, found "
            f"`{sparse_map_op.type}`."
        )
    with colocate_with(sparse_map_op):
        shared_name = sparse_map_op.attrs["shared_name"] or sparse_map_op.name
        found = raw.TakeManySparseFromTensorsMap(
            sparse_handles,
            dtype=sparse_map_op.attrs["T"],
            container=sparse_map_op.attrs["container"],
            shared_name=shared_name,
            name=name,
        )
    return with_parts(found, rank)


for _function in (
    _add_sparse_to_tensors_map,
    _add_many_sparse_to_tensors_map,
    _take_many_sparse_from_tensors_map,
):
    export_value(f"python.ops.sparse_ops.{_function.__name__}", _function)
