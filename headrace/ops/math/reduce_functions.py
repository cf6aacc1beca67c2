"""The public reductions: tf.reduce_sum and its like, and those made of several nodes."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.graph.tensor import Tensor
from headrace.opdef import constant_node, convert_to_tensor, raw
from headrace.ops.math.aliases import renamed
from headrace.ops.math.building import cast_to, int32, rank_of, shape_of, zeros, zeros_like
from headrace.ops.math.ranges import range_v1
from headrace.ops.math.sparse_values import is_sparse


def reduction_axes(x: Any, axis: Any) -> Any:
    """Returns the axes to reduce: `axis`, or all of `x` if it is None."""
    if axis is not None:
        return axis
    if isinstance(x, Tensor) and x._dims is not None:
        return constant_node(int32(list(range(len(x._dims)))))
    if is_sparse(x) and x.dense_shape._dims is not None and x.dense_shape._dims[0] is not None:
        return constant_node(int32(list(range(x.dense_shape._dims[0]))))
    return range_v1(0, rank_of(x))


def reduce_with(op_name: str, x: Any, axis: Any, keepdims: Any, name: str | None) -> Any:
    """Adds one reduction node."""
    keep = bool(keepdims)
    out = getattr(raw, op_name)(x, reduction_axes(x, axis), keep_dims=keep, name=name)
    if axis is None and not keep:
        out.set_shape(())
    return out


_DOC = """Returns {what} over some axes of a tensor.

    Args:
      input_tensor: The tensor.
      axis: The axis or axes; by default all.
      keepdims: Whether the axes stay, with size 1.
      name: The node's name.
      reduction_indices: The old name of `axis`.
      keep_dims: The old name of `keepdims`.

    Raises:
      ValueError: An argument is given by its old and its new name.
    """


def _declare(public: str, op_name: str, what: str) -> None:
    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Any:
        axis = renamed("axis", axis, "reduction_indices", reduction_indices)
        keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
        return reduce_with(op_name, input_tensor, axis, keepdims, name)

    reduce.__name__ = reduce.__qualname__ = public
    reduce.__doc__ = _DOC.format(what=what)
    export(public, "math." + public)(reduce)


_declare("reduce_sum", "Sum", "the sum")
_declare("reduce_mean", "Mean", "the mean")
_declare("reduce_prod", "Prod", "the product")
_declare("reduce_max", "Max", "the greatest element")
_declare("reduce_min", "Min", "the least element")
_declare("reduce_all", "All", "whether all elements are true")
_declare("reduce_any", "Any", "whether any element is true")


@export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):
    """Returns the Euclidean norm over some axes of a tensor.

    Args:
      input_tensor: The tensor.
      axis: The axis or axes; by default all.
      keepdims: Whether the axes stay, with size 1.
      name: The node's name.
    """
    return reduce_with("EuclideanNorm", input_tensor, axis, keepdims, name)


@export("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None
):
    """Returns log(sum(exp(x))) over some axes of a tensor, without overflow.

    Args:
      input_tensor: The tensor.
      axis: The axis or axes; by default all.
      keepdims: Whether the axes stay, with size 1.
      name: The scope of the nodes.
      reduction_indices: The old name of `axis`.
      keep_dims: The old name of `keepdims`.

    Raises:
      ValueError: An argument is given by its old and its new name.
    """
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "ReduceLogSumExp", [input_tensor]):
        greatest = reduce_with("Max", input_tensor, axis, True, None)
        # The gradient does not depend on what is taken out, and an infinity must not be.
        taken_out = raw.StopGradient(raw.Select(raw.IsFinite(greatest), greatest, zeros_like(greatest)))
        result = raw.Log(reduce_with("Sum", raw.Exp(raw.Sub(input_tensor, taken_out)), axis, keepdims, None))
        if not keepdims:
            taken_out = raw.Reshape(taken_out, shape_of(result))
        result = raw.Add(result, taken_out)
        if axis is None and not keepdims:
            result.set_shape(())
        return result


@export("math.reduce_variance")
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """Returns the variance over some axes of a tensor: the mean square distance from the mean.

    Args:
      input_tensor: The tensor.
      axis: The axis or axes; by default all.
      keepdims: Whether the axes stay, with size 1.
      name: The scope of the nodes.
    """
    with name_scope(name or "reduce_variance"):
        mean = reduce_with("Mean", input_tensor, axis, True, None)
        return reduce_with("Mean", raw.Square(input_tensor - mean), axis, keepdims, None)


@export("math.reduce_std")
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """Returns the standard deviation over some axes of a tensor.

    Args:
      input_tensor: The tensor.
      axis: The axis or axes; by default all.
      keepdims: Whether the axes stay, with size 1.
      name: The scope of the nodes.
    """
    with name_scope(name or "reduce_std"):
        return raw.Sqrt(reduce_variance(input_tensor, axis, keepdims))


@export("count_nonzero", "math.count_nonzero")
def count_nonzero(
    input_tensor=None,
    axis=None,
    keepdims=None,
    dtype=dtypes.int64,
    name=None,
    reduction_indices=None,
    keep_dims=None,
    input=None,
):
    """Returns how many elements are not zero (not empty, for strings) over some axes of a tensor.

    Args:
      input_tensor: The tensor.
      axis: The axis or axes; by default all.
      keepdims: Whether the axes stay, with size 1.
      dtype: The type of the result.
      name: The scope of the nodes.
      reduction_indices: The old name of `axis`.
      keep_dims: The old name of `keepdims`.
      input: Another name of `input_tensor`.

    Raises:
      ValueError: An argument is given by both of its names.
    """
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    x = renamed("input", input, "input_tensor", input_tensor)
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(name, "count_nonzero", [x]):
        x = convert_to_tensor(x, name="input")
        nonzero = raw.NotEqual(x, zeros([], x.dtype.base_dtype))
        total = reduce_with("Sum", cast_to(nonzero, dtypes.int64), axis, keepdims, None)
        return cast_to(total, as_dtype(dtype))
