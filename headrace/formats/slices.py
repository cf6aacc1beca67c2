"""Checkpoints of the first version: one sorted table of tensor slices.

Under the empty key stand the names, types, shapes and slices of all tensors (SavedTensorSlices.meta); each slice has
an entry of its own (SavedTensorSlices.data), under a key that sorts by name, then by place.
"""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace import errors
from headrace.dtypes import as_dtype, string
from headrace.formats import bundle, table
from headrace.platform.file_io import files_of

_WHOLE = (0, -1)  # what stands in a key for all of a dimension

# The TensorProto field that holds a type's values.
_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int32": "int_val",
    "uint8": "int_val",
    "int16": "int_val",
    "int8": "int_val",
    "uint16": "int_val",
    "qint8": "int_val",
    "quint8": "int_val",
    "qint32": "int_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "float16": "half_val",
    "string": "string_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
}


def _field(dtype: Any, verb: str) -> str:
    field = _FIELDS.get(dtype.name)
    if field is None:
        raise errors.UnimplementedError(None, None, f"{verb} data type {dtype.wire_name} not yet supported")
    return field


def _key(name: str, part: Iterable[tuple[int, int]], shape: tuple[int, ...]) -> bytes:
    extents = [_WHOLE if e == (0, d) else e for e, d in zip(part, shape, strict=True)]
    return bundle.slice_key(name, tuple(extents))


def _put_slice(proto: Any, part: bundle.Slice, shape: tuple[int, ...]) -> None:
    for (start, length), size in zip(part, shape, strict=True):
        extent = proto.extent.add()
        if (start, length) != (0, size):
            if start:
                extent.start = start
            extent.length = length


def write(path: str, tensors: Iterable[tuple[str, Any, tuple[int, ...] | None, bundle.Slice | None]]) -> None:
    """Writes a file of slices; it appears under its name when it is complete.

    Args:
      path: The file.
      tensors: (name, array, whole shape, slice): the latter two None for a whole tensor.

    Raises:
      UnimplementedError: The format has no place for a type.
      InternalError: A tensor is of two shapes or types.
      OSError: The file can't be written.
    """
    from headrace.proto import SavedTensorSlices

    metas: dict[str, Any] = {}
    items: dict[bytes, bytes] = {}
    for name, array, whole, given in tensors:
        dtype = string if array.dtype == object else as_dtype(array.dtype)
        field = _field(dtype, "Saving")
        shape = tuple(array.shape) if whole is None else whole
        part = tuple((0, d) for d in shape) if given is None else given
        meta = metas.get(name)
        if meta is None:
            meta = metas[name] = SavedTensorSlices().meta.tensor.add(name=name, type=dtype.as_datatype_enum)
            meta.shape.SetInParent()
            for d in shape:
                meta.shape.dim.add(size=d)
        elif meta.type != dtype.as_datatype_enum or [d.size for d in meta.shape.dim] != list(shape):
            raise errors.InternalError(None, None, f"Mismatching types or shapes of the slices of {name}")
        _put_slice(meta.slice.add(), part, shape)
        entry = SavedTensorSlices()
        entry.data.name = name
        entry.data.slice.SetInParent()
        _put_slice(entry.data.slice, part, shape)
        entry.data.data.SetInParent()
        getattr(entry.data.data, field).extend(_plain(array, dtype))
        items[_key(name, part, shape)] = entry.SerializeToString(deterministic=True)
    head = SavedTensorSlices()
    for name in sorted(metas):
        head.meta.tensor.append(metas[name])
    head.meta.versions.producer = 1
    rows = [(b"", head.SerializeToString(deterministic=True)), *sorted(items.items())]
    files, local = files_of(path)
    data = table.build(rows)
    unfinished = f"{local}.tempstate{os.getpid()}"
    with files.open(unfinished, "wb") as f:
        f.write(data)
    try:
        os.replace(unfinished, local)
    except OSError:
        # Elsewhere than in a folder of this machine there may be no renaming.
        with files.open(local, "wb") as f:
            f.write(data)


def _plain(array: Any, dtype: Any) -> list[Any]:
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype is string:
        return [v if isinstance(v, bytes) else str(v).encode() for v in flat.tolist()]
    if dtype.name == "float16":
        return flat.view(np.uint16).tolist()  # type: ignore[no-any-return]
    if flat.dtype.kind == "c":
        return flat.view(flat.real.dtype).tolist()  # type: ignore[no-any-return]
    return flat.tolist()  # type: ignore[no-any-return]


class Reader:
    """Reads tensors of a set of slice files; it has the methods of `bundle.Reader`.

    Args:
      pattern: The file, or a pattern that the files match.

    Raises:
      NotFoundError: There is no such file.
      DataLossError: A file is corrupt.
    """

    def __init__(self, pattern: str):
        from headrace.proto import SavedTensorSlices

        self._pattern = pattern
        self._entries: dict[str, tuple[Any, tuple[int, ...]]] = {}
        self._parts: dict[str, dict[bundle.Slice, bytes]] = {}
        files, local = files_of(pattern)
        paths = [local] if files.exists(local) else sorted(glob.glob(local))
        if not paths:
            raise errors.NotFoundError(
                None,
                None,
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {pattern}",
            )
        for path in paths:
            with files.open(path, "rb") as f:
                items = _items(f.read(), path)
            head = bundle._parse(SavedTensorSlices, items[b""], path) if b"" in items else None
            if head is None or not head.HasField("meta"):
                raise errors.DataLossError(None, None, f"{path}: the table of tensors is missing")
            for meta in head.meta.tensor:
                self._add(meta, items, path)

    def _add(self, meta: Any, items: dict[bytes, bytes], path: str) -> None:
        shape = tuple(d.size for d in meta.shape.dim)
        found = self._entries.setdefault(meta.name, (as_dtype(meta.type), shape))
        if found[1] != shape or found[0] is not as_dtype(meta.type) or any(d < 0 for d in shape):
            raise errors.DataLossError(None, None, f"{path}: {meta.name} is of two shapes or types")
        parts = self._parts.setdefault(meta.name, {})
        for proto in meta.slice:
            part = tuple(
                (e.start, e.length) if e.WhichOneof("has_length") else (0, d)
                for e, d in zip(proto.extent, shape, strict=False)
            )
            if len(part) != len(shape) or any(
                s < 0 or n < 0 or s + n > d for (s, n), d in zip(part, shape, strict=True)
            ):
                raise errors.DataLossError(None, None, f"{path}: a slice of {meta.name} lies outside of it")
            key = _key(meta.name, part, shape)
            if key not in items:
                raise errors.DataLossError(None, None, f"{path}: a slice of {meta.name} is missing")
            parts[part] = items[key]

    def entries(self) -> dict[str, tuple[Any, tuple[int, ...]]]:
        """Returns name -> (dtype, shape) of all whole tensors."""
        return dict(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Returns a whole tensor, put together from its slices.

        Raises:
          NotFoundError: There is no such tensor.
          InvalidArgumentError: The slices do not cover it.
          DataLossError: The data is corrupt.
        """
        if name not in self._entries:
            raise errors.NotFoundError(
                None, None, f'Tensor name "{name}" not found in checkpoint files {self._pattern}'
            )
        return self.read_slice(name, tuple((0, d) for d in self._entries[name][1]))

    def read_slice(self, name: str, part: bundle.Slice) -> np.ndarray[Any, Any]:
        """Returns a part of a tensor.

        Raises:
          InvalidArgumentError: The slices do not cover it.
          DataLossError: The data is corrupt.
        """
        dtype, _ = self._entries[name]
        pieces = []  # all is read before anything as large as the file says is made
        covered = 0
        for at, data in self._parts[name].items():
            both = [(max(s, p), min(s + n, p + m)) for (s, n), (p, m) in zip(at, part, strict=True)]
            if all(low < high for low, high in both):
                covered += math.prod(high - low for low, high in both)
                pieces.append((at, both, self._array(name, at, data)))
        if covered < math.prod(n for _, n in part):
            raise errors.InvalidArgumentError(None, None, "Error copying slice data")
        out = np.zeros([n for _, n in part], object if dtype is string else dtype.storage)
        for at, both, array in pieces:
            from_there = tuple(slice(lo - s, hi - s) for (lo, hi), (s, _) in zip(both, at, strict=True))
            to_here = tuple(slice(lo - s, hi - s) for (lo, hi), (s, _) in zip(both, part, strict=True))
            out[to_here] = array[from_there]
        return out

    def _array(self, name: str, part: bundle.Slice, data: bytes) -> np.ndarray[Any, Any]:
        from headrace.proto import SavedTensorSlices

        dtype, _ = self._entries[name]
        proto = bundle._parse(SavedTensorSlices, data, self._pattern).data.data
        values = getattr(proto, _field(dtype, "Restoring"))
        shape = [n for _, n in part]
        if dtype.name == "float16":
            flat: Any = np.array(list(values), np.uint16).view(np.float16)
        elif dtype.name.startswith("complex"):
            half = np.float32 if dtype.name == "complex64" else np.float64
            flat = np.array(list(values), half)
            flat = flat[: len(flat) // 2 * 2].view(dtype.storage)
        elif dtype is string:
            flat = np.empty(len(values), object)
            flat[:] = list(values)
        else:
            flat = np.array(list(values)).astype(dtype.storage)
        if flat.size != math.prod(shape):
            raise errors.DataLossError(
                None,
                None,
                f"{self._pattern}: a slice of {name} has {flat.size} values, not {math.prod(shape)}",
            )
        return flat.reshape(shape)  # type: ignore[no-any-return]

    def rows(self) -> list[tuple[str, Any, tuple[int, ...] | None, bundle.Slice | None]]:
        """Returns everything in the form that `write` takes."""
        out: list[tuple[str, Any, tuple[int, ...] | None, bundle.Slice | None]] = []
        for name, (_, shape) in self._entries.items():
            for part, data in self._parts[name].items():
                whole = part == tuple((0, d) for d in shape)
                array = self._array(name, part, data)
                out.append((name, array, None, None) if whole else (name, array, shape, part))
        return out


def _items(data: bytes, path: str) -> dict[bytes, bytes]:
    try:
        return table.read(data, path)
    except errors.DataLossError as e:
        raise errors.DataLossError(
            None,
            None,
            f"Unable to open table file {path}: Data loss: {e.message}: perhaps your file is in a different file "
            "format and you need to use a different restore operator?",
        ) from None


def open_checkpoint(prefix: str) -> Any:
    """Returns a reader of the checkpoint at a path, whichever its version.

    Raises:
      NotFoundError: There is none.
      DataLossError: It is corrupt.
    """
    files, local = files_of(prefix)
    if not files.exists(local + ".index") and (files.exists(local) and not files.isdir(local)):
        return Reader(prefix)
    return bundle.Reader(prefix)
