"""Joining strings: elementwise, along axes, and by segments."""

from __future__ import annotations

import itertools

import numpy as np

from headrace import shapes
from headrace.errors import OutOfRangeError
from headrace.graph import name_scope
from headrace.opdef import constant_node, convert_to_tensor, export, op, raw
from headrace.opdef.strings import attr_bytes, flat, invalid, strings

StringJoin = op("""
    StringJoin(inputs: N * string) -> (output: string)
      N: int >= 1
      separator: string = ""

    Joins the strings at the same place of several tensors; scalars go with every place.
""", grad=None)  # fmt: skip


@StringJoin.shape
def string_join_shape(inputs):
    out = ()
    for x in inputs:
        if x is None:
            return _known(inputs)
        if x != ():
            out = x if out == () else shapes.merge(out, x)
    return out


def _known(inputs):
    # A tensor of unknown rank may be a scalar; any other tells the shape.
    found = None
    for x in inputs:
        if x:
            found = x if found is None else shapes.merge(found, x)
    return found


@StringJoin.host
def string_join_host(inputs, *, separator):
    full = [x.shape for x in inputs if x.ndim]
    for i, shape in enumerate(full):
        if shape != full[0]:
            invalid(
                f"Input shapes do not match: {_shown(full[0])} vs. {_shown(shape)}"
                if i
                else "Input shapes do not match"
            )
    shape = full[0] if full else ()
    between = attr_bytes(separator)
    n = int(np.prod(shape, dtype=np.int64))
    columns = [flat(x) if x.ndim else flat(x) * n for x in inputs]
    return strings([between.join(row) for row in zip(*columns, strict=True)], shape)


def _shown(shape):
    return "[" + ",".join(map(str, shape)) + "]"


@StringJoin.cases
def string_join_cases(case):
    case((["a", "b"], "!"), separator=" ", gives=np.array([b"a !", b"b !"], object))
    case(("x", "y"), gives=np.array(b"xy", object))
    case.shapes("[2,?];[];[?,3]", "[2,3]")
    case.shapes("?;[];[?,3]", "[?,3]")
    case.fails("[2];[3]", match="must be equal")


ReduceJoin = op("""
    ReduceJoin(inputs: string, reduction_indices: int32) -> (output: string)
      keep_dims: bool = false
      separator: string = ""

    Joins the strings along axes, first along the first that is listed.
""", grad=None)  # fmt: skip


@ReduceJoin.shape
def reduce_join_shape(inputs, reduction_indices, *, keep_dims, ctx):
    axes = ctx.constant("reduction_indices")
    if inputs is None:
        return None
    if axes is None:
        return None if not keep_dims else (None,) * len(inputs)
    gone: set[int] = set()
    for axis in np.ravel(axes).tolist():
        if not -len(inputs) <= axis < len(inputs):
            raise ValueError(f"Invalid reduction dimension {axis} for input with {len(inputs)} dimensions.")
        axis %= len(inputs)
        gone.add(axis)
    if keep_dims:
        return tuple(1 if i in gone else d for i, d in enumerate(inputs))
    return tuple(d for i, d in enumerate(inputs) if i not in gone)


@ReduceJoin.host
def reduce_join_host(inputs, reduction_indices, *, keep_dims, separator):
    rank = inputs.ndim
    axes = []
    for axis in np.ravel(reduction_indices).tolist():
        if not -rank <= axis < rank:
            raise OutOfRangeError(
                None, None, f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
            )
        if axis % rank in axes:
            invalid(f"Duplicate reduction dimension {axis % rank}")
        axes.append(axis % rank)
    kept = [i for i in range(rank) if i not in axes]
    outer = tuple(inputs.shape[i] for i in kept)
    moved = np.transpose(inputs, kept + axes[::-1]).reshape((*outer, -1)) if axes else inputs[..., None]
    between = attr_bytes(separator)
    rows = moved.reshape(-1, moved.shape[-1]) if moved.size else np.empty((int(np.prod(outer)), 0), object)
    joined = [between.join(row) for row in rows.tolist()]
    shape = tuple(1 if i in axes else d for i, d in enumerate(inputs.shape)) if keep_dims else outer
    return strings(joined, shape)


@ReduceJoin.cases
def reduce_join_cases(case):
    square = [["a", "b"], ["c", "d"]]
    case(square, np.int32(0), gives=np.array([b"ac", b"bd"], object))
    case(square, np.array([1, 0], np.int32), separator=".", gives=np.array(b"a.b.c.d", object))
    case(square, np.array([0, 1], np.int32), separator=".", gives=np.array(b"a.c.b.d", object))
    case(square, np.int32(-1), keep_dims=True, gives=np.array([[b"ab"], [b"cd"]], object))
    case(square, np.array([], np.int32), gives=np.array(square, object))
    case.shapes("[2,?];[]", "[2]", values={"reduction_indices": np.int32(1)})
    case.fails("[2];[]", values={"reduction_indices": np.int32(2)}, match="Invalid reduction dimension 2")


@export("reduce_join", "strings.reduce_join")
def reduce_join(
    inputs, axis=None, keep_dims=None, separator="", name=None, reduction_indices=None, keepdims=None
):
    """Joins strings along axes of a tensor.

    Args:
      inputs: A tensor of strings.
      axis: The axes, the one to join along first at the front; all of them by default, the last one first.
      keep_dims: The old name of `keepdims`.
      separator: What stands between two strings.
      name: The node's name.
      reduction_indices: The old name of `axis`.
      keepdims: Whether the axes are kept, with length 1.

    Raises:
      ValueError: An argument is given under both of its names.
    """
    if axis is not None and reduction_indices is not None:
        raise ValueError("Cannot specify both 'axis' and 'reduction_indices'")
    if keep_dims is not None and keepdims is not None:
        raise ValueError("Cannot specify both 'keep_dims' and 'keepdims'")
    axis = reduction_indices if axis is None else axis
    keep = bool(keep_dims if keepdims is None else keepdims)
    with name_scope("ReduceJoin", values=[inputs, axis]):
        strings_in = convert_to_tensor(inputs)
        if axis is None:
            rank = strings_in._rank()
            if rank is not None:
                axis = constant_node(np.arange(rank - 1, -1, -1, dtype=np.int32))
            else:
                axis = raw.Range(raw.Sub(raw.Rank(strings_in), 1, name="sub"), -1, -1, name="range")
        return raw.ReduceJoin(strings_in, axis, keep_dims=keep, separator=separator, name=name)


UnsortedSegmentJoin = op("""
    UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: string)
      separator: string = ""
      Tindices: {int32, int64}
      Tnumsegments: {int32, int64} = int32

    Joins the strings of each segment.
""")  # fmt: skip


@UnsortedSegmentJoin.shape
def unsorted_segment_join_shape(inputs, segment_ids, num_segments, *, ctx):
    shapes.with_rank(num_segments, 0)
    n = ctx.constant("num_segments")
    if n is not None and n < 0:
        raise ValueError(f"Dimension size, given by scalar input 2, must be non-negative but is {int(n)}")
    if inputs is None or segment_ids is None:
        return None
    shapes.with_rank_at_least(inputs, len(segment_ids))
    for a, b in zip(inputs, segment_ids, strict=False):
        shapes.merge_dim(a, b)
    return (None if n is None else int(n), *inputs[len(segment_ids) :])


@UnsortedSegmentJoin.host
def unsorted_segment_join_host(inputs, segment_ids, num_segments, *, separator):
    n = int(num_segments.reshape(-1)[0]) if num_segments.size == 1 else -1
    if n < 0:
        invalid("Number of segments must be non-negative.")
    if segment_ids.ndim == 0:
        invalid("Segment_id cannot have rank 0")
    if segment_ids.ndim > inputs.ndim:
        raise OutOfRangeError(
            None,
            None,
            f"Invalid segment_id rank {segment_ids.ndim} for input with {inputs.ndim} dimension(s)",
        )
    for i, (segments, size) in enumerate(zip(segment_ids.shape, inputs.shape, strict=False)):
        if segments != size:
            invalid(f"Segment dimension is {segments} while input dimension is {size} in rank {i}")
    if ((segment_ids < 0) | (segment_ids >= n)).any():
        invalid("segment_ids are not allowed to exceed num_segments or to have negative values.")
    inner = inputs.shape[segment_ids.ndim :]
    rows = inputs.reshape((segment_ids.size, *inner))
    between = attr_bytes(separator)
    width = int(np.prod(inner, dtype=np.int64))
    parts = [[[] for _ in range(width)] for _ in range(n)]
    for where, row in zip(segment_ids.ravel().tolist(), rows, strict=True):
        for place, s in zip(parts[where], flat(row), strict=True):
            place.append(s)
    return strings([between.join(p) for p in itertools.chain(*parts)], (n, *inner))


@UnsortedSegmentJoin.cases
def unsorted_segment_join_cases(case):
    ids = np.array([0, 2, 0], np.int32)
    case(["a", "b", "c"], ids, np.int32(3), separator=":", gives=np.array([b"a:c", b"", b"b"], object))
    case([["a", "q"], ["b", "r"], ["c", "s"]], np.array([1, 1, 0], np.int32), np.int32(2),
         gives=np.array([[b"c", b"s"], [b"ab", b"qr"]], object))  # fmt: skip
    case.shapes("[?,4];[?];[]", "[3,4]", values={"num_segments": np.int32(3)})


@export("string_join", "strings.join")
def string_join(inputs, separator="", name=None):
    """Joins the strings at the same place of several tensors.

    Args:
      inputs: Tensors of strings of one shape, or scalars.
      separator: What stands between two strings.
      name: The node's name.
    """
    return raw.StringJoin(inputs, separator=separator, name=name)


@export("strings.unsorted_segment_join")
def unsorted_segment_join(inputs, segment_ids, num_segments, separator="", name=None):
    """Joins the strings of each segment.

    Args:
      inputs: A tensor of strings.
      segment_ids: The segment of each row.
      num_segments: How many segments there are.
      separator: What stands between two strings.
      name: The node's name.
    """
    return raw.UnsortedSegmentJoin(inputs, segment_ids, num_segments, separator=separator, name=name)
