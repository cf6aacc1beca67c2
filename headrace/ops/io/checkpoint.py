"""Checkpoints: SaveV2, RestoreV2 and what names and joins their files."""

from __future__ import annotations

import os
import re

import numpy as np

from headrace import errors
from headrace.formats import bundle, slices
from headrace.opdef import op, raw
from headrace.shapes import scalar, to_text, with_rank

SaveV2 = op("""
    SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes) -> ()
      dtypes: list(type) >= 1
      stateful

    Writes tensors to a bundle under `prefix`, whole or as slices of larger ones.
""")  # fmt: skip


def texts_of(array):
    return [v.decode() for v in np.asarray(array, object).ravel().tolist()]


def parse_slice(spec):
    """Returns the whole shape and the slice that `10 4 0,5:0,4` says, (None, None) for ''.

    Raises:
      InvalidArgumentError: The text is something else.
      InternalError: The slice does not lie in the shape.
    """
    if not spec:
        return None, None
    *dims, extents = spec.split(" ")
    if not dims:
        raise errors.InvalidArgumentError(
            None, None, f"Need least two elements in shape_and_slice specification: {spec}"
        )
    if not all(re.fullmatch("[0-9]+", d) for d in dims):
        raise errors.InvalidArgumentError(None, None, f"Non numerical dimension in shape_and_slice: {spec}")
    shape = tuple(int(d) for d in dims)
    part = []
    for i, extent in enumerate(extents.split(":")):
        if extent == "-":
            part.append((0, shape[i] if i < len(shape) else 0))
            continue
        if re.fullmatch("-?[0-9]+,-?[0-9]+", extent) is None:
            raise errors.InvalidArgumentError(
                None, None, f"Expected a pair of numbers or '-' but got '{extent}': string = {extents}"
            )
        start, length = (int(n) for n in extent.split(","))
        if start < 0 or length <= 0:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected non-negative start and positive length but got start = {start}, length = {length}: string = "
                f"{extents}",
            )
        part.append((start, length))
    shown = f"shape = [{','.join(dims)}], slice = {extents}"
    if len(part) != len(shape):
        raise errors.InternalError(None, None, f"Mismatching ranks: {shown}")
    for i, ((start, length), d) in enumerate(zip(part, shape, strict=True)):
        if start + length > d:
            raise errors.InternalError(None, None, f"Extent in dimension {i} out of bounds: {shown}")
    return shape, tuple(part)


def static_part(spec):
    """Returns the shape of the slice that a spec describes, for shape rules; None if it names none.

    Raises:
      ValueError: The text is no such spec.
    """
    try:
        _, part = parse_slice(spec)
    except errors.InvalidArgumentError as e:
        raise ValueError(e.message) from None
    return None if part is None else tuple(n for _, n in part)


def _check_names(prefix, tensor_names, shape_and_slices):
    """Checks the shapes of what RestoreV2 begins with."""
    with_rank(prefix, 0)
    [names] = with_rank(tensor_names, 1)
    [specs] = with_rank(shape_and_slices, 1)
    if None not in (names, specs) and names != specs:
        raise ValueError(
            f"Dimension 0 in both shapes must be equal, but are {names} and {specs}. "
            f"Shapes are [{names}] and [{specs}]."
        )


def _check_vectors(names, specs):
    if names.ndim != 1 or specs.ndim != 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Input tensor_names and shape_and_slices should be an 1-D tensors, got "
            f"{to_text(names.shape)} and {to_text(specs.shape)} instead.",
        )
    if len(names) != len(specs):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"tensor_names and shape_and_slices have different number of elements: {len(names)} vs. {len(specs)}",
        )


@SaveV2.shape
def save_shape(prefix, tensor_names, shape_and_slices, tensors):
    with_rank(prefix, 0)
    for [count] in (with_rank(tensor_names, 1), with_rank(shape_and_slices, 1)):
        if count not in (None, len(tensors)):
            raise ValueError(f"Dimension must be {len(tensors)} but is {count}")
    return []


@SaveV2.host
def save_host(prefix, tensor_names, shape_and_slices, tensors):
    _check_vectors(tensor_names, shape_and_slices)
    names, specs = texts_of(tensor_names), texts_of(shape_and_slices)
    if len(names) != len(tensors):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Got {len(tensors)} tensors but {len(names)} names and {len(specs)} shapes and slices",
        )
    rows = []
    for name, spec, tensor in zip(names, specs, tensors, strict=True):
        shape, part = parse_slice(spec)
        rows.append((name, tensor, shape, part))
    path = prefix.item().decode()
    try:
        bundle.write(path, rows)
    except OSError as e:
        raise errors.NotFoundError(None, None, f"{path}; {e.strerror}") from None
    return ()


@SaveV2.cases
def save_cases(case):
    import tempfile

    @case.program
    def saved_and_restored(step):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ckpt")
            step(raw.SaveV2(path, ["b", "a"], ["", ""], [np.float32([1, 2]), np.int64(3)]))
            a, b = raw.RestoreV2(path, ["a", "b"], ["", "2 1,1"], dtypes=["int64", "float32"])
            step([a, b], gives=[3, [2.0]])
            missing = raw.RestoreV2(path, ["c"], [""], dtypes=["float32"])
            step(missing, fails=errors.NotFoundError, match="Key c not found in checkpoint")
            other = raw.RestoreV2(path, ["a"], [""], dtypes=["float32"])
            step(
                other,
                fails=errors.InvalidArgumentError,
                match="expected dtype float does not equal original dtype int64",
            )


RestoreV2 = op("""
    RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> (tensors: dtypes)
      dtypes: list(type) >= 1
      stateful

    Reads tensors, or slices of them, from a bundle.
""")  # fmt: skip


@RestoreV2.shape
def restore_shape(prefix, tensor_names, shape_and_slices, *, dtypes, ctx):
    _check_names(prefix, tensor_names, shape_and_slices)
    specs = ctx.constant("shape_and_slices")
    if specs is not None and len(specs) != len(dtypes):
        raise ValueError("The number of shape_and_slice doesn't match tensor outputs.")
    out = []
    for i in range(len(dtypes)):
        spec = None if specs is None else specs.ravel()[i].decode()
        out.append(static_part(spec) if spec else None)
    return out


@RestoreV2.host
def restore_host(prefix, tensor_names, shape_and_slices, *, dtypes):
    _check_vectors(tensor_names, shape_and_slices)
    if len(tensor_names) != len(dtypes):
        raise errors.InvalidArgumentError(
            None, None, f"Got {len(tensor_names)} tensor names, but {len(dtypes)} expected dtypes."
        )
    if prefix.size != 1:
        raise errors.InvalidArgumentError(
            None, None, f"Input prefix should have a single element, got {prefix.size} instead."
        )
    reader = slices.open_checkpoint(prefix.item().decode())
    known = reader.entries()
    out = []
    for name, spec, dtype in zip(texts_of(tensor_names), texts_of(shape_and_slices), dtypes, strict=True):
        if name not in known:
            raise errors.NotFoundError(None, None, f"Key {name} not found in checkpoint")
        if known[name][0] is not dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"tensor_name = {name}; expected dtype {dtype.wire_name} does not equal original dtype "
                f"{known[name][0].wire_name}",
            )
        shape, part = parse_slice(spec)
        if shape is not None and shape != known[name][1]:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"tensor_name = {name}; shape in shape_and_slice spec {list(shape)} does not match the shape stored in "
                f"checkpoint: {list(known[name][1])}",
            )
        out.append(reader.read(name) if part is None else reader.read_slice(name, part))
    return out


@RestoreV2.cases
def restore_cases(case):
    save_cases(case)


def _file_name_op(text, make):
    declared = op(text, shape=scalar)
    declared.host(lambda basename, *numbers: np.array(make(basename.item(), *map(int, numbers)), object))
    return declared


ShardedFilename = _file_name_op("""
    ShardedFilename(basename: string, shard: int32, num_shards: int32) -> (filename: string)

    Names one file of a sharded set.
""", lambda base, shard, shards: base + b"-%05d-of-%05d" % (shard, shards))  # fmt: skip


@ShardedFilename.cases
def sharded_filename_cases(case):
    case("a/b", np.int32(1), np.int32(12), gives=np.array(b"a/b-00001-of-00012", object))


ShardedFilespec = _file_name_op("""
    ShardedFilespec(basename: string, num_shards: int32) -> (filename: string)

    Gives a pattern that the files of a sharded set match.
""", lambda base, shards: base + b"-?????-of-%05d" % shards)  # fmt: skip


@ShardedFilespec.cases
def sharded_filespec_cases(case):
    case("a/b", np.int32(12), gives=np.array(b"a/b-?????-of-00012", object))


MergeV2Checkpoints = op("""
    MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string) -> ()
      delete_old_dirs: bool = true
      stateful

    Joins several bundles into one.
""")  # fmt: skip


@MergeV2Checkpoints.host
def merge_host(checkpoint_prefixes, destination_prefix, *, delete_old_dirs):
    rows = []
    prefixes = texts_of(checkpoint_prefixes)
    for prefix in prefixes:
        rows.extend(bundle.Reader(prefix).rows())
    bundle.write(destination_prefix.item().decode(), rows)
    if delete_old_dirs:
        for prefix in prefixes:
            for path in bundle.paths(prefix):
                os.remove(path)
            folder = os.path.dirname(prefix)
            if folder and not os.listdir(folder):
                os.rmdir(folder)
    return ()


@MergeV2Checkpoints.cases
def merge_cases(case):
    import tempfile

    @case.program
    def two_become_one(step):
        with tempfile.TemporaryDirectory() as folder:
            one, two, both = (os.path.join(folder, n) for n in ("one", "two", "both"))
            step(raw.SaveV2(one, ["a"], [""], [np.float32([1, 2])]))
            step(raw.SaveV2(two, ["b"], ["4 0,2"], [np.float32([3, 4])]))
            step(raw.MergeV2Checkpoints([one, two], both))
            step(raw.RestoreV2(both, ["a"], [""], dtypes=["float32"]), gives=[1.0, 2.0])
            step(
                raw.RestoreV2(one, ["a"], [""], dtypes=["float32"]),
                fails=errors.NotFoundError,
                match="Failed to find",
            )
