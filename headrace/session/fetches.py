"""Fetches and feeds: from the structures that users write to tensors and back."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import errors
from headrace.dtypes import string
from headrace.graph import Graph, IndexedSlices, Operation, Tensor
from headrace.session.handles import HANDLE_OPS, TensorHandle

Rebuild = Callable[[list[Any]], Any]


class Fetches:
    """A structure of fetches, laid flat.

    Args:
      graph: The session's graph.
      fetches: A tensor, operation, name, Variable, IndexedSlices, SparseTensor or RaggedTensor; or lists, tuples, named
        tuples and dictionaries of those, nested.
      session: The session that runs them, which handles need.

    Attributes:
      tensors: The tensors whose values are needed, without duplicates.
      targets: The operations that must run.

    Raises:
      TypeError: Something is no fetch.
      ValueError: A name, or an element of another graph.
    """

    def __init__(self, graph: Graph, fetches: Any, session: Any = None):
        self._graph = graph
        self._session = session
        self._places: dict[Tensor, int] = {}
        self.targets: list[Operation] = []
        self._rebuild = self._map(fetches)
        self.tensors = list(self._places)

    def rebuild(self, values: list[Any]) -> Any:
        """Returns the values of `tensors` in the structure that was asked for; operations give None."""
        return self._rebuild(values)

    def _map(self, fetch: Any) -> Rebuild:
        cls = type(fetch)
        if cls is Tensor or cls is Operation:
            return self._element(fetch, fetch)
        if fetch is None:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}")
        if isinstance(fetch, (list, tuple)):
            parts = [self._map(f) for f in fetch]
            if hasattr(fetch, "_fields"):
                return lambda values: cls(*[p(values) for p in parts])
            if isinstance(fetch, tuple):
                return lambda values: tuple([p(values) for p in parts])
            return lambda values: [p(values) for p in parts]
        if isinstance(fetch, collections.abc.Mapping):
            keyed = {k: self._map(f) for k, f in fetch.items()}
            if cls is dict or not hasattr(cls, "keys"):
                return lambda values: {k: p(values) for k, p in keyed.items()}
            return lambda values: _mapping_like(cls, {k: p(values) for k, p in keyed.items()})
        if isinstance(fetch, IndexedSlices):
            return self._composite(fetch, _slices_value)
        if hasattr(fetch, "_is_composite_tensor"):
            return self._composite(fetch, getattr(fetch, "_value_of", fetch._value_class))
        if hasattr(type(fetch), "__attrs_attrs__"):
            names = [a.name for a in cls.__attrs_attrs__]
            parts = [self._map(getattr(fetch, n)) for n in names]
            return lambda values: cls(*[p(values) for p in parts])
        return self._element(fetch, self._resolve(fetch))

    def _resolve(self, fetch: Any) -> Any:
        try:
            return self._graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
        except TypeError as e:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}, must be a string or Tensor. ({e})"
            ) from None
        except ValueError as e:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({e})") from None
        except KeyError as e:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({e})") from None

    @staticmethod
    def _inaccessible(element: Any) -> Exception:
        op = element.op if isinstance(element, Tensor) else element
        return errors.InaccessibleTensorError(
            f"Operation {op.name!r} has been marked as not fetchable. It may belong to another function or block; "
            "hand its value on by a return value, a Python variable or a collection."
        )

    def _element(self, original: Any, element: Any) -> Rebuild:
        if element.graph is not self._graph:
            if element.graph._way_out is not None:
                raise self._inaccessible(element)
            kind = "Tensor" if isinstance(element, Tensor) else "Operation"
            raise ValueError(
                f"Fetch argument {original!r} cannot be interpreted as a Tensor. ({kind} {element!s} is not an "
                "element of this graph.)"
            )
        if self._graph._unfetchable and not self._graph.is_fetchable(element):
            raise self._inaccessible(element)
        if isinstance(element, Operation):
            if element not in self.targets:
                self.targets.append(element)
            return lambda values: None
        place = self._places.setdefault(element, len(self._places))
        if element._op.type in HANDLE_OPS and self._session is not None:
            return self._handle(place, element._op.attrs["T"])
        return lambda values: values[place]

    def _handle(self, place: int, dtype: Any) -> Rebuild:
        def rebuild(values: list[Any]) -> Any:
            if type(values[place]) is not TensorHandle:
                # One object, however often it is fetched: the tensor goes with it.
                values[place] = TensorHandle(values[place], dtype, self._session)
            return values[place]

        return rebuild

    def _composite(self, fetch: Any, make: Callable[..., Any]) -> Rebuild:
        if isinstance(fetch, IndexedSlices):
            parts = [fetch.values, fetch.indices, fetch.dense_shape]
        elif hasattr(fetch, "_component_tensors"):
            parts = fetch._component_tensors()
        else:
            parts = [fetch.indices, fetch.values, fetch.dense_shape]
        maps = [None if p is None else self._element(p, p) for p in parts]
        return lambda values: make(*[None if m is None else m(values) for m in maps])


def _slices_value(values: Any, indices: Any, dense_shape: Any) -> Any:
    return IndexedSlicesValue(values, indices, dense_shape)


IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])


def _mapping_like(cls: Any, items: dict[Any, Any]) -> Any:
    if issubclass(cls, collections.defaultdict):
        return items
    try:
        return cls(items)
    except TypeError:
        return items


def feed_pairs(graph: Graph, feed_dict: Any) -> list[tuple[Tensor, Any]]:
    """Returns the tensors and array values of a feed dictionary.

    Raises:
      TypeError: A key is no tensor, or a value is one.
      ValueError: A tensor can't be fed, or a value has the wrong shape.
    """
    pairs: list[tuple[Tensor, Any]] = []
    if not isinstance(feed_dict, collections.abc.Mapping):
        raise TypeError("input must be a dictionary")
    for key, value in feed_dict.items():
        if type(key) is Tensor and key._op._graph is graph:
            pairs.append((key, feed_value(graph, key, value)))
        else:
            for tensor, part in _expand(graph, key, value):
                pairs.append((tensor, feed_value(graph, tensor, part)))
    return pairs


def _expand(graph: Graph, key: Any, value: Any) -> list[tuple[Tensor, Any]]:
    if isinstance(key, IndexedSlices):
        parts = [key.values, key.indices, key.dense_shape]
        return [(p, v) for p, v in zip(parts, value, strict=False) if p is not None]
    if hasattr(key, "_feed_parts"):
        tensors, parts = key._component_tensors(), key._feed_parts(value)
        if len(tensors) != len(parts):
            raise ValueError(
                f"Cannot feed a value of {len(parts) - 1} ragged dimensions for {key}, which has {len(tensors) - 1}"
            )
        return list(zip(tensors, parts, strict=True))
    if hasattr(key, "_is_composite_tensor"):
        return list(zip((key.indices, key.values, key.dense_shape), value, strict=True))
    if isinstance(key, tuple):
        if len(key) != len(value):
            raise ValueError(f"Feed tuple {key} has {len(key)} tensors but {len(value)} values")
        return [pair for k, v in zip(key, value, strict=True) for pair in _expand(graph, k, v)]
    try:
        return [(graph.as_graph_element(key, allow_tensor=True, allow_operation=False), value)]
    except Exception as e:
        text = e.args[0] if e.args else str(e)
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {text}") from None


def feed_value(graph: Graph, tensor: Tensor, value: Any) -> Any:
    """Returns a value to feed as an array of the tensor's type.

    Raises:
      TypeError: The value is a tensor, or does not fit the type.
      ValueError: The tensor can't be fed, or the value's shape does not fit.
    """
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
            f"lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was {value!s} which was passed "
            f"to the feed with key {tensor!s}."
        )
    dtype = tensor._dtype.base_dtype
    if type(value) is TensorHandle:
        return value.fed_to(dtype)
    if graph._unfeedable and not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    if dtype is string:
        array = np.asarray(value, dtype=object)
        if isinstance(value, int):
            raise _does_not_fit(value, object)
        if array.size:
            for v in array.ravel().tolist():
                if not isinstance(v, (str, bytes)):
                    raise errors.InternalError(None, None, f"Unsupported object type {type(v).__name__}")
            flat = [v.encode() if isinstance(v, str) else v for v in array.ravel().tolist()]
            out = np.empty(len(flat), object)
            out[:] = flat
            array = out.reshape(array.shape)
    elif type(value) is np.ndarray and value.dtype == dtype.storage:
        array = value
    else:
        if isinstance(value, int) and not _holds(dtype.storage, value):
            raise _does_not_fit(value, dtype.as_numpy_dtype)
        try:
            array = np.asarray(value, dtype=dtype.storage)
        except OverflowError:
            # Integers inside lists wrap around, as they did in the NumPy of TensorFlow's days.
            array = np.asarray(value).astype(dtype.storage)
    dims = tensor._dims
    if dims is not None and not _fits(array.shape, dims):
        raise ValueError(
            f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, which has shape "
            f"{str(tensor.shape)!r}"
        )
    return array


def _holds(storage: Any, value: int) -> bool:
    """Whether a type can hold a Python integer without changing it."""
    if storage.kind in "iu":
        info = np.iinfo(storage)
        return bool(info.min <= value <= info.max)
    if storage.kind == "b":
        return value in (0, 1)
    if storage.kind == "c" or not hasattr(storage, "type"):
        return True
    with np.errstate(over="ignore"):
        return float(storage.type(float(value))) == float(value)


def _does_not_fit(value: Any, kind: Any) -> TypeError:
    return TypeError(
        f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {kind}. Try "
        "explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
    )


def _fits(shape: tuple[int, ...], dims: tuple[int | None, ...]) -> bool:
    if shape == dims:
        return True
    return len(shape) == len(dims) and all(d is None or d == s for s, d in zip(shape, dims, strict=True))
