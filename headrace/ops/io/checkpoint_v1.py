"""Checkpoints of the first version: Save, SaveSlices, Restore, RestoreSlice."""

from __future__ import annotations

import os

import numpy as np

from headrace import errors
from headrace.formats import slices
from headrace.opdef import op, raw
from headrace.ops.io.checkpoint import parse_slice, static_part, texts_of
from headrace.shapes import with_rank

Save = op("""
    Save(filename: string, tensor_names: string, data: T) -> ()
      T: list(type) >= 1
      stateful

    Writes tensors to one file.
""")  # fmt: skip

SaveSlices = op("""
    SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: T) -> ()
      T: list(type) >= 1
      stateful

    Writes tensors, whole or as slices of larger ones, to one file.
""")  # fmt: skip


def _check_count(names, count):
    (length,) = with_rank(names, 1)
    if length not in (None, count):
        raise ValueError(f"Dimension must be {count} but is {length}")


@Save.shape
def save_shape(filename, tensor_names, data):
    with_rank(filename, 0)
    _check_count(tensor_names, len(data))
    return []


@SaveSlices.shape
def save_slices_shape(filename, tensor_names, shapes_and_slices, data):
    with_rank(filename, 0)
    _check_count(tensor_names, len(data))
    _check_count(shapes_and_slices, len(data))
    return []


def _file_name(filename):
    if filename.size != 1:
        raise errors.InvalidArgumentError(
            None, None, f"Input 0 (filename) must be a string scalar; got a tensor of {filename.size}elements"
        )
    return filename.item().decode()


def _write(filename, tensor_names, specs, data):
    path, names = _file_name(filename), texts_of(tensor_names)
    if len(names) != len(data):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The number of tensor_names ({len(names)}) is not the number of tensors ({len(data)})",
        )
    rows = []
    for name, spec, tensor in zip(names, specs, data, strict=True):
        shape, part = parse_slice(spec)
        if part is not None and tuple(n for _, n in part) != tensor.shape:
            shown = ",".join(map(str, tensor.shape))
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Slice in shape_and_slice specification does not match the shape of the tensor to  save: {spec}, "
                f"tensor: [{shown}]",
            )
        rows.append((name, tensor, shape, part))
    try:
        slices.write(path, rows)
    except OSError as e:
        raise errors.NotFoundError(None, None, f"{path}; {e.strerror}") from None
    return ()


@Save.host
def save_host(filename, tensor_names, data):
    return _write(filename, tensor_names, [""] * len(data), data)


@SaveSlices.host
def save_slices_host(filename, tensor_names, shapes_and_slices, data):
    specs = texts_of(shapes_and_slices)
    if len(specs) != len(data):
        raise errors.InvalidArgumentError(
            None, None, f"Expected {len(data)} elements for shapes and slices but got {len(specs)}"
        )
    return _write(filename, tensor_names, specs, data)


Restore = op("""
    Restore(file_pattern: string, tensor_name: string) -> (tensor: dt)
      dt: type
      preferred_shard: int = -1
      stateful

    Reads a tensor from the files that match a pattern.
""")  # fmt: skip

RestoreSlice = op("""
    RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string) -> (tensor: dt)
      dt: type
      preferred_shard: int = -1
      stateful

    Reads a slice of a tensor from the files that match a pattern.
""")  # fmt: skip


@Restore.shape
def restore_shape(file_pattern, tensor_name):
    with_rank(file_pattern, 0)
    with_rank(tensor_name, 0)


@RestoreSlice.shape
def restore_slice_shape(file_pattern, tensor_name, shape_and_slice, *, ctx):
    with_rank(file_pattern, 0)
    with_rank(tensor_name, 0)
    with_rank(shape_and_slice, 0)
    spec = ctx.constant("shape_and_slice")
    return None if spec is None else static_part(spec.item().decode())


def _read(file_pattern, tensor_name, spec, dt):
    pattern, name = _file_name(file_pattern), tensor_name.item().decode()
    reader = slices.open_checkpoint(pattern) if not _is_pattern(pattern) else slices.Reader(pattern)
    known = reader.entries().get(name)
    if known is None:
        raise errors.NotFoundError(
            None, None, f'Tensor name "{name}" not found in checkpoint files {pattern}'
        )
    dtype, shape = known
    if dtype is not dt:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Expected to restore a tensor of type {dt.wire_name}, got a tensor of type {dtype.wire_name} instead: "
            f"tensor_name = {name}",
        )
    whole, part = parse_slice(spec)
    if part is None:
        return reader.read(name)
    if whole != shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Shape in shape_and_slice spec does not match the shape in the save file: "
            f"[{','.join(map(str, whole))}], save file shape: [{','.join(map(str, shape))}]",
        )
    return reader.read_slice(name, part)


def _is_pattern(path):
    return any(c in path for c in "*?[") and not os.path.exists(path)


@Restore.host
def restore_host(file_pattern, tensor_name, *, dt):
    return _read(file_pattern, tensor_name, "", dt)


@RestoreSlice.host
def restore_slice_host(file_pattern, tensor_name, shape_and_slice, *, dt):
    return _read(file_pattern, tensor_name, shape_and_slice.item().decode(), dt)


@Save.cases
@Restore.cases
def save_cases(case):
    import tempfile

    @case.program
    def saved_and_restored(step):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ckpt")
            step(raw.Save(path, ["b", "a"], [np.float32([1, 2]), np.int64(3)]))
            step(raw.Restore(path, "a", dt="int64"), gives=np.int64(3))
            step(raw.RestoreV2(path, ["b"], [""], dtypes=["float32"]), gives=[1.0, 2.0])
            missing = raw.Restore(path, "c", dt="float32")
            step(missing, fails=errors.NotFoundError, match='Tensor name "c" not found in checkpoint files')
            other = raw.Restore(path, "a", dt="float32")
            step(
                other,
                fails=errors.InvalidArgumentError,
                match="Expected to restore a tensor of type float, got a tensor of type int64 instead",
            )
            nowhere = raw.Restore(path + "x", "a", dt="float32")
            step(nowhere, fails=errors.NotFoundError, match="Failed to find any matching files for")


@SaveSlices.cases
@RestoreSlice.cases
def save_slices_cases(case):
    import tempfile

    @case.program
    def saved_in_parts(step):
        with tempfile.TemporaryDirectory() as folder:
            one, two, both = (os.path.join(folder, n) for n in ("p1", "p2", "p?"))
            step(raw.SaveSlices(one, ["a"], ["4 2 0,2:-"], [np.float32([[1, 2], [3, 4]])]))
            half = raw.Restore(one, "a", dt="float32")
            step(half, fails=errors.InvalidArgumentError, match="Error copying slice data")
            step(raw.SaveSlices(two, ["a"], ["4 2 2,2:-"], [np.float32([[5, 6], [7, 8]])]))
            middle = raw.RestoreSlice(both, "a", "4 2 1,2:1,1", dt="float32")
            step(middle, gives=[[4.0], [6.0]])
            wrong = raw.SaveSlices(two, ["a"], ["4 2 2,1:-"], [np.float32([[5, 6], [7, 8]])])
            step(wrong, fails=errors.InvalidArgumentError, match="does not match the shape of the tensor")
