"""tf.vectorized_map: a function of one row, applied to all rows."""

from __future__ import annotations

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.structure import flatten, pack_like
from headrace.opdef import convert_to_tensor, export, raw


@export("vectorized_map")
def vectorized_map(fn, elems):
    """Returns what a function gives for each row of tensors, as the rows of tensors.

    The values are those of TensorFlow, which rewrites the function's nodes into ones for all rows. Here the rows go
    through a loop as in `tf.map_fn`, and the nodes are that loop's. The function is called twice: once on
    placeholders to see what it returns, and once in the loop.

    Args:
      fn: A function of one row: a tensor, or a structure like `elems` of them. It returns a tensor or a structure.
      elems: A tensor of at least one dimension, or a structure of such tensors with equally many rows.

    Returns:
      A structure like the one that `fn` returns; None if that returns None.

    Raises:
      ValueError: A tensor has no rows.
      IndexError: There are no tensors.
    """
    given = [convert_to_tensor(each) for each in flatten(elems)]
    if given[0]._dims == ():
        raise ValueError(
            "slice index 0 of dimension 0 out of bounds: `elems` are scalars, which have no rows"
        )
    elems = pack_like(elems, given)
    with name_scope("loop_body"):
        rows = [
            raw.Placeholder(
                dtype=each.dtype.base_dtype, shape=None if each._dims is None else each._dims[1:], name="row"
            )
            for each in given
        ]
        result = fn(pack_like(elems, rows))
    if result is None:
        return None
    kinds = [convert_to_tensor(each).dtype for each in flatten(result)]
    scope = NAMES["get_variable_scope"]()

    def again(row):
        # The first call has made the variables.
        with NAMES["variable_scope"](scope, reuse=NAMES["AUTO_REUSE"], auxiliary_name_scope=False):
            made = fn(row)
        return pack_like(made, [convert_to_tensor(each) for each in flatten(made)])

    return NAMES["map_fn"](again, elems, dtype=pack_like(result, kinds), name="pfor")
