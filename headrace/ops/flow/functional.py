"""tf.map_fn, tf.foldl, tf.foldr and tf.scan: loops over the rows of tensors."""

from __future__ import annotations

import contextlib

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.sparse_tensor import SparseTensor
from headrace.graph.structure import check_same, flatten, is_nested, pack_like
from headrace.opdef import convert_to_tensor, export, nodes


@contextlib.contextmanager
def _variables_cached():
    """Has variables that are made in a loop's body be read once, outside the loop."""
    scope = NAMES["get_variable_scope"]()
    if scope.caching_device is not None:
        yield
        return
    scope.set_caching_device(lambda op: op.device)
    try:
        yield
    finally:
        scope.set_caching_device(None)


def _rows(first):
    """Returns how many rows a tensor has: an int if that is known, else a scalar tensor.

    Raises:
      IndexError: It is a scalar.
    """
    if first._dims == ():
        raise IndexError("list index out of range")
    n = first.shape.with_rank_at_least(1)[0].value
    return n or nodes.shape_of(first)[0]


def _arrays(elems, n, **options):
    arrays = [
        NAMES["TensorArray"](
            dtype=elem.dtype.base_dtype,
            size=n,
            dynamic_size=False,
            **({key: value(elem) for key, value in options.items()}),
        )
        for elem in elems
    ]
    return [array.unstack(elem) for array, elem in zip(arrays, elems, strict=True)]


def _check_callable(fn):
    if not callable(fn):
        raise TypeError("fn must be callable.")


def _one_or_many(like):
    """Returns what makes one tensor, or a structure like another, of a list of tensors."""
    if is_nested(like):
        return lambda flat: pack_like(like, flat)
    return lambda flat: flat[0]


def _merged_length(elems):
    n = elems[0].shape.with_rank_at_least(1)[0]
    for elem in elems[1:]:
        n = n.merge_with(elem.shape.with_rank_at_least(1)[0])
    return n


@export("map_fn")
def map_fn(
    fn,
    elems,
    dtype=None,
    parallel_iterations=None,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    name=None,
):
    """Returns what a function gives for each row of tensors, as the rows of tensors.

    Args:
      fn: A function of one row: a tensor, or a structure like `elems` of them. It returns a tensor or a structure.
      elems: A tensor of at least one dimension, or a structure of such tensors with equally many rows.
      dtype: The types of what `fn` returns, in the same structure; may be left out where they are those of `elems`.
      parallel_iterations: How many iterations TensorFlow may run at once; it has no effect on results.
      back_prop: Whether gradients may be asked for.
      swap_memory: Not used.
      infer_shape: Whether what `fn` returns has the same shape for all rows.
      name: The scope's name.

    Raises:
      TypeError: `fn` can't be called, or `elems` is sparse.
      ValueError: A tensor has no rows, or `fn` returns another structure.
    """
    _check_callable(fn)
    if isinstance(elems, SparseTensor):
        raise TypeError(
            "To perform a map on the values of a sparse tensor use either  SparseTensor(input.indices, "
            "fn(input.values), input.dense_shape) or  SparseTensor(input.indices, map_fn(fn, input.values), "
            "input.dense_shape)"
        )
    many = is_nested(elems)
    given = flatten(elems)
    pack_in = _one_or_many(elems)
    pack_out = _one_or_many(elems if dtype is None else dtype)
    with name_scope(name, "map", given), _variables_cached():
        given = [convert_to_tensor(elem, name="elem") for elem in given]
        out_types = [t.dtype for t in given] if dtype is None else [as_dtype(d) for d in flatten(dtype)]
        if given[0]._dims == ():
            raise ValueError(
                "elements in elems must be 1+ dimensional Tensors, not scalars"
                if many
                else "elems must be a 1+ dimensional Tensor, not a scalar"
            )
        n = _rows(given[0])
        rows = _arrays(given, n, infer_shape=lambda elem: True)
        start = convert_to_tensor(0, dtypes.int32)
        results = [
            NAMES["TensorArray"](dtype=d.base_dtype, size=n, dynamic_size=False, infer_shape=infer_shape)
            for d in out_types
        ]

        def work(i, arrays):
            values = fn(pack_in([array.read(i) for array in rows]))
            check_same(elems if dtype is None else dtype, values)
            flat = flatten(values)
            arrays = [array.write(i, v) for array, v in zip(arrays, flat, strict=True)]
            return (i + 1, arrays)

        _, results = NAMES["while_loop"](
            lambda i, _: i < n,
            work,
            (start, results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )
        return pack_out(_stacked(results, given))


def _stacked(arrays, elems):
    flat = [array.stack() for array in arrays]
    n = _merged_length(elems)
    for t in flat:
        t.set_shape([n, *t.shape[1:]] if t.shape.rank is not None else None)
    return flat


_FOLD = """

    Args:
      fn: A function of what came out so far and of one row, which returns a tensor, or a structure of tensors, like
        the initializer.
      elems: A tensor of at least one dimension, or a structure of such tensors with equally many rows.
      initializer: What to start with, by default the {which} row.
      parallel_iterations: How many iterations TensorFlow may run at once; it has no effect on results.
      back_prop: Whether gradients may be asked for.
      swap_memory: Not used.
      name: The scope's name.

    Raises:
      TypeError: `fn` can't be called.
"""


@export("foldl")
def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """Combines the rows of tensors, first to last: `fn(fn(fn(initializer, row 0), row 1), row 2)` ..."""
    options = {
        "parallel_iterations": parallel_iterations, "back_prop": back_prop, "swap_memory": swap_memory,
    }  # fmt: skip
    return _fold(fn, elems, initializer, "foldl", options, name, False)


@export("foldr")
def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """Combines the rows of tensors, last to first: `fn(fn(initializer, last row), row before)` ..."""
    options = {
        "parallel_iterations": parallel_iterations, "back_prop": back_prop, "swap_memory": swap_memory,
    }  # fmt: skip
    return _fold(fn, elems, initializer, "foldr", options, name, True)


foldl.__doc__ = f"{foldl.__doc__}{_FOLD.format(which='first')}"
foldr.__doc__ = f"{foldr.__doc__}{_FOLD.format(which='last')}"


def _fold(fn, elems, initializer, default_name, options, name, backwards):
    _check_callable(fn)
    given = flatten(elems)
    with name_scope(name, default_name, given), _variables_cached():
        given = [convert_to_tensor(elem, name="elem") for elem in given]
        n = _rows(given[0])
        rows = _arrays(given, n, infer_shape=lambda elem: True)

        def row(i):
            return (
                pack_like(elems, [array.read(i) for array in rows]) if is_nested(elems) else rows[0].read(i)
            )

        if backwards:
            if initializer is None:
                i = n - 1
                so_far = row(i)
            else:
                i, so_far = n, initializer

            def work(i, so_far):
                i -= 1
                return [i, fn(so_far, row(i))]

            goes_on = _above_zero
        else:
            i, so_far = (1, row(0)) if initializer is None else (0, initializer)
            i = convert_to_tensor(i, dtypes.int32)

            def work(i, so_far):
                value = fn(so_far, row(i))
                return [i + 1, value]

            def goes_on(i, _):
                return i < n

        _, result = NAMES["while_loop"](goes_on, work, [i, so_far], maximum_iterations=n, **options)
        return result


def _above_zero(i, _):
    return i > 0


@export("scan")
def scan(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    reverse=False,
    name=None,
):
    """Combines the rows of tensors, first to last, and returns what came out after each row.

    Args:
      fn: A function of what came out so far and of one row, which returns a tensor, or a structure of tensors, like
        the initializer.
      elems: A tensor of at least one dimension, or a structure of such tensors with equally many rows.
      initializer: What to start with, by default the first row, which is then also the first result.
      parallel_iterations: How many iterations TensorFlow may run at once; it has no effect on results.
      back_prop: Whether gradients may be asked for.
      swap_memory: Not used.
      infer_shape: Whether what `fn` returns has the same shape for all rows.
      reverse: Goes from the last row to the first; results stay in the order of the rows.
      name: The scope's name.

    Raises:
      TypeError: `fn` can't be called.
      ValueError: `fn` returns another structure.
    """
    _check_callable(fn)
    given = flatten(elems)
    pack_in = _one_or_many(elems)
    like = elems if initializer is None else initializer
    pack_out = _one_or_many(like)
    with name_scope(name, "scan", given), _variables_cached():
        given = [convert_to_tensor(elem, name="elem") for elem in given]
        n = _rows(given[0])
        rows = _arrays(given, n, element_shape=lambda elem: elem.shape[1:], infer_shape=lambda elem: True)
        if initializer is None:
            so_far = [array.read(n - 1 if reverse else 0) for array in rows]
            i = 1
        else:
            so_far = [convert_to_tensor(v) for v in flatten(initializer)]
            i = 0
        results = [
            NAMES["TensorArray"](
                dtype=v.dtype.base_dtype,
                size=n,
                element_shape=v.shape if infer_shape else None,
                dynamic_size=False,
                infer_shape=infer_shape,
            )
            for v in so_far
        ]
        if initializer is None:
            first = n - 1 if reverse else 0
            results = [array.write(first, v) for array, v in zip(results, so_far, strict=True)]

        def work(i, so_far, arrays):
            values = fn(pack_out(so_far), pack_in([array.read(i) for array in rows]))
            check_same(like, values)
            flat = flatten(values)
            arrays = [array.write(i, v) for array, v in zip(arrays, flat, strict=True)]
            return (i - 1 if reverse else i + 1, flat, arrays)

        def goes_on(i, *_):
            return i >= 0 if reverse else i < n

        _, _, results = NAMES["while_loop"](
            goes_on,
            work,
            (n - 1 - i if reverse else convert_to_tensor(i, dtypes.int32), so_far, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )
        return pack_out(_stacked(results, given))
