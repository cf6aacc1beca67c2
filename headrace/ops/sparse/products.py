"""Sparse tensors with dense ones: products, sums, and the operators of SparseTensor."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.dtypes import as_dtype
from headrace.export import NAMES
from headrace.graph import Tensor, name_scope
from headrace.graph.sparse_tensor import SparseTensor, as_sparse
from headrace.lazy import jnp, lax
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.strings import invalid
from headrace.ops.sparse.checks import check_prefixed, check_sizes

_NUMBERS = "numbertype"

SparseTensorDenseMatMul = op("""
    SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64, b: T) -> (product: T)
      T: type
      Tindices: {int32, int64} = int64
      adjoint_a: bool = false
      adjoint_b: bool = false

    The product of a sparse matrix and a dense one.
""")


@SparseTensorDenseMatMul.shape
def sparse_matmul_shape(a_indices, a_values, a_shape, b, *, adjoint_a, adjoint_b, ctx):
    a = shapes.with_rank(ctx.as_shape("a_shape"), 2)
    b = shapes.with_rank(b, 2)
    rows, inner = a[::-1] if adjoint_a else a
    other, columns = b[::-1] if adjoint_b else b
    shapes.merge_dim(inner, other)
    return (rows, columns)


def _multiply(xp, a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
    rows, columns = a_indices[:, 0], a_indices[:, 1]
    values = a_values
    n = int(a_shape[0])
    if adjoint_a:
        rows, columns, n = columns, rows, int(a_shape[1])
        # Complex values are not conjugated, whatever the attr's name says: so TensorFlow has it.
    if adjoint_b:
        b = xp.conj(b.T) if xp.iscomplexobj(b) else b.T
    return rows, values[:, None] * b[columns], (n, b.shape[1])


def _check_matmul(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
    parts = (("b", b, 2), ("a_shape", a_shape, 1), ("a_values", a_values, 1), ("a_indices", a_indices, 2))
    for name, part, rank in parts:
        if part.ndim != rank:
            invalid(f"Tensor '{name}' is not a {'matrix' if rank == 2 else 'vector'}")
    if len(a_shape) != 2:
        invalid("Tensor 'a_shape' must have 2 elements")
    if a_indices.shape[0] != a_values.shape[0]:
        invalid("Number of rows of a_indices does not match number of entries in a_values")
    if a_indices.shape[1] != 2:
        invalid("Number of columns of a_indices does not match number of entries in a_shape")
    check_sizes(a_shape)


@SparseTensorDenseMatMul.host
def sparse_matmul_host(a_indices, a_values, a_shape, b, *, adjoint_a, adjoint_b):
    _check_matmul(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b)
    inner = int(a_shape[0 if adjoint_a else 1])
    if b.shape[1 if adjoint_b else 0] != inner:
        invalid(
            f"Cannot multiply A and B because inner dimension does not match: {inner} vs. "
            f"{b.shape[1 if adjoint_b else 0]}.  Did you forget a transpose?  Dimensions of A: [{a_shape[0]}, "
            f"{a_shape[1]}).  Dimensions of B: [{b.shape[0]},{b.shape[1]}]"
        )
    for axis in (0, 1):
        outside = (a_indices[:, axis] < 0) | (a_indices[:, axis] >= a_shape[axis])
        if outside.any():
            i = int(np.argmax(outside))
            name = ("m", "k")[axis if not adjoint_a else 1 - axis]
            invalid(f"{name} ({a_indices[i, axis]}) from index[{i},{axis}] out of bounds (>={a_shape[axis]})")
    rows, terms, shape = _multiply(np, a_indices, a_values, a_shape, b, adjoint_a, adjoint_b)
    out = np.zeros(shape, b.dtype)
    np.add.at(out, rows, terms)
    return out


@SparseTensorDenseMatMul.lower(static="a_shape")
def sparse_matmul_lower(a_indices, a_values, a_shape, b, *, adjoint_a, adjoint_b, ctx):
    _check_matmul(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b)
    if b.shape[1 if adjoint_b else 0] != a_shape[0 if adjoint_a else 1]:
        invalid("Cannot multiply A and B because inner dimension does not match")
    inside = (a_indices >= 0) & (a_indices < np.asarray(a_shape))
    ctx.check(jnp.all(inside), "an index is out of bounds")
    rows, terms, shape = _multiply(jnp, a_indices, a_values, a_shape, b, adjoint_a, adjoint_b)
    return jnp.zeros(shape, b.dtype).at[rows].add(terms)


@SparseTensorDenseMatMul.grad
def sparse_matmul_grad(op, dy):
    indices, values, dense_shape, b = op.inputs
    if values.dtype.is_complex:
        raise NotImplementedError("SparseTensorDenseMatMul op does not support complex gradients.")
    adjoint_a, adjoint_b = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
    to_b = raw.SparseTensorDenseMatMul(indices, values, dense_shape, dy, adjoint_a=not adjoint_a)
    if adjoint_b:
        to_b = NAMES["transpose"](to_b)
    rows, columns = indices[:, 0], indices[:, 1]
    mine = raw.GatherV2(dy, columns if adjoint_a else rows, 0)
    other = NAMES["transpose"](b) if adjoint_b else b
    theirs = raw.GatherV2(other, rows if adjoint_a else columns, 0)
    to_values = raw.Sum(raw.Mul(mine, theirs, name="mul"), 1)
    return None, to_values, None, to_b


@SparseTensorDenseMatMul.cases
def sparse_matmul_cases(case):
    where, values, shape = np.array([[0, 1], [2, 0]]), [3.0, 4.0], np.array([3, 4])
    b = np.arange(8, dtype=np.float32).reshape(4, 2)
    case(where, values, shape, b, gives=[[6.0, 9.0], [0.0, 0.0], [0.0, 4.0]])
    case(where, values, shape, np.arange(6, dtype=np.float32).reshape(2, 3), adjoint_a=True, adjoint_b=True,
         gives=[[8.0, 20.0], [0.0, 9.0], [0.0, 0.0], [0.0, 0.0]])  # fmt: skip
    case.shapes("[?,2];[?];[2];[4,5]", "[3,5]", values={"a_shape": np.array([3, 4])})
    case.fails((np.array([[3, 0]]), [1.0], shape, b), match=r"out of bounds \(>=3\)")


SparseTensorDenseAdd = op(f"""
    SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> (output: T)
      T: {_NUMBERS}
      Tindices: {{int32, int64}}

    A dense tensor with the elements of a sparse one added.
""")


@SparseTensorDenseAdd.shape
def sparse_dense_add_shape(a_indices, a_values, a_shape, b):
    return b


def _check_dense_add(a_indices, a_values, a_shape, b):
    check_prefixed("a", a_indices, a_values, a_shape)
    if a_shape.shape[0] != b.ndim:
        invalid(f"Two operands have different ranks; received: {a_shape.shape[0]} and {b.ndim}")
    if a_indices.shape != (a_values.shape[0], b.ndim):
        # TensorFlow takes the shorter of the two, or ends the process.
        invalid(
            f"Input a_indices should be of shape {[a_values.shape[0], b.ndim]}, not {list(a_indices.shape)}"
        )


@SparseTensorDenseAdd.host
def sparse_dense_add_host(a_indices, a_values, a_shape, b):
    _check_dense_add(a_indices, a_values, a_shape, b)
    for i, (sparse, dense) in enumerate(zip(a_shape.tolist(), b.shape, strict=True)):
        if sparse != dense:
            invalid(
                f"Dimension {i} does not equal (no broadcasting is supported): sparse side {sparse} vs dense side "
                f"{dense}"
            )
    outside = (a_indices < 0) | (a_indices >= a_shape)
    if outside.any():
        at = int(np.argwhere(outside)[0, 1])
        invalid(
            f"Sparse tensor has some invalid index on dimension {at}; dense tensor shape: {shapes.to_text(b.shape)}"
        )
    out = b.copy()
    np.add.at(out, tuple(a_indices.T), a_values)
    return out


@SparseTensorDenseAdd.lower
def sparse_dense_add_lower(a_indices, a_values, a_shape, b, *, ctx):
    _check_dense_add(a_indices, a_values, a_shape, b)
    dims = jnp.asarray(b.shape, a_indices.dtype)
    ctx.check(jnp.all(a_shape == dims), "the sparse tensor has another shape")
    ctx.check(jnp.all((a_indices >= 0) & (a_indices < dims)), "an index is out of bounds")
    return b.at[tuple(a_indices[:, i] for i in range(b.ndim))].add(a_values)


@SparseTensorDenseAdd.grad
def sparse_dense_add_grad(op, dy):
    return None, raw.GatherNd(dy, op.inputs[0]), None, dy


@SparseTensorDenseAdd.cases
def sparse_dense_add_cases(case):
    case(
        np.array([[0, 1]]), [2.0], np.array([2, 2]), [[1.0, 1.0], [1.0, 1.0]], gives=[[1.0, 3.0], [1.0, 1.0]]
    )
    case.shapes("[?,2];[?];[2];[2,3]", "[2,3]")


def _cwise(kind, compute):
    divides = kind == "Div"
    made = op(f"""
        SparseDenseCwise{kind}(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> (output: T)
          T: {_NUMBERS}

        The elements of a sparse tensor with those at their places of a dense one, which is broadcast: {kind}.
    """)

    @made.shape
    def shape(sp_indices, sp_values, sp_shape, dense):
        return (shapes.with_rank(sp_indices, 2)[0],)

    def here(xp, sp_indices, sp_values, sp_shape, dense):
        check_prefixed("sp", sp_indices, sp_values, sp_shape)
        check_sizes(sp_shape)
        if sp_indices.shape != (sp_values.shape[0], sp_shape.shape[0]):
            # TensorFlow reads beside them.
            invalid(
                f"{shapes.to_text(sp_indices.shape)} are not the coordinates of {sp_values.shape[0]} values"
            )
        dims = tuple(int(d) for d in sp_shape)
        if 0 in dims and dense.shape and (dense.ndim > len(dims) or dims[-dense.ndim :] != dense.shape):
            raise ValueError("TensorFlow spreads nothing over nothing")
        return xp.broadcast_to(dense, dims)

    @made.host
    def host(sp_indices, sp_values, sp_shape, dense):
        with np.errstate(all="ignore"):
            try:
                spread = here(np, sp_indices, sp_values, sp_shape, dense)
            except ValueError:
                dims = ",".join(map(str, dense.shape))
                invalid(
                    "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
                    f"[{','.join(map(str, sp_shape))}] vs. [{dims}]"
                )
            if ((sp_indices < 0) | (sp_indices >= sp_shape)).any():
                invalid("Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape")
            places = tuple(sp_indices[:, i] for i in range(len(sp_shape)))
            there = spread[places] if places else spread
            if divides and sp_values.dtype.kind in "iu":
                if not there.all():
                    invalid("Integer division by zero")
                quotient = np.floor_divide(sp_values, there)
                inexact = sp_values % there != 0
                return (quotient + (inexact & (quotient < 0))).astype(sp_values.dtype)
            return compute(sp_values, there).astype(sp_values.dtype)

    @made.lower(static="sp_shape")
    def lower(sp_indices, sp_values, sp_shape, dense, *, ctx):
        spread = here(jnp, sp_indices, sp_values, sp_shape, dense)
        ctx.check(jnp.all((sp_indices >= 0) & (sp_indices < sp_shape)), "an index is out of bounds")
        places = tuple(sp_indices[:, i] for i in range(len(sp_shape)))
        there = spread[places] if places else spread
        if divides and jnp.issubdtype(sp_values.dtype, jnp.integer):
            ctx.check(jnp.all(there != 0), "integer division by zero")
            # Integers are divided as C does it, rounding toward zero.
            return lax.div(sp_values, jnp.where(there == 0, jnp.ones_like(there), there))
        return compute(sp_values, there).astype(sp_values.dtype)

    @made.cases
    def cases(case):
        case(np.array([[0, 1], [1, 0]]), [2.0, 3.0], np.array([2, 2]), [[4.0, 5.0]], grad=False,
             gives=[float(compute(2.0, 5.0)), float(compute(3.0, 4.0))], tol=1e-6)  # fmt: skip
        case.shapes("[5,2];[5];[2];[2,2]", "[5]")

    return made


SparseDenseCwiseMul = _cwise("Mul", lambda a, b: a * b)
SparseDenseCwiseDiv = _cwise("Div", lambda a, b: a / b)
SparseDenseCwiseAdd = _cwise("Add", lambda a, b: a + b)


def _places_in_dense(op):
    """Returns where a sparse operand's elements lie in the dense operand, which was broadcast, and that one's shape."""
    indices, _, whole, dense = op.inputs
    concat, size = NAMES["concat"], NAMES["size"]
    shape = raw.Cast(NAMES["shape"](dense), DstT="int64")
    missing = NAMES["expand_dims"](size(whole) - size(shape), 0)
    scaling = whole // concat([NAMES["ones"](missing, "int64"), shape], 0)
    places = NAMES["slice"](indices // scaling, concat([[0], missing], 0), [-1, -1])
    return places, shape


@SparseDenseCwiseMul.grad
def sparse_cwise_mul_grad(op, dy):
    x, y = op.inputs[1], op.inputs[3]
    places, shape = _places_in_dense(op)
    to_x = raw.Mul(dy, raw.GatherNd(y, places), name="mul")
    to_y = raw.Mul(dy, x, name="mul")
    return None, to_x, None, raw.SparseTensorDenseAdd(places, to_y, shape, NAMES["zeros_like"](y))


@SparseDenseCwiseDiv.grad
def sparse_cwise_div_grad(op, dy):
    x, y = op.inputs[1], op.inputs[3]
    places, shape = _places_in_dense(op)
    divisor = raw.GatherNd(y, places)
    to_x = raw.RealDiv(dy, divisor, name="truediv")
    square = raw.RealDiv(raw.Neg(x), raw.Square(divisor), name="truediv")
    to_y = raw.Mul(dy, square, name="mul")
    return None, to_x, None, raw.SparseTensorDenseAdd(places, to_y, shape, NAMES["zeros_like"](y))


@SparseDenseCwiseAdd.grad
def sparse_cwise_add_grad(op, dy):
    raise NotImplementedError("Gradient for SparseDenseCwiseAdd is currently not implemented yet.")


def _operator(name, kind):
    def apply(sparse, dense):
        with name_scope(None, name, [sparse.indices, sparse.values, dense]) as scope:
            dense = convert_to_tensor(dense, dtype=sparse.values.dtype.base_dtype, name="y")
            values = kind(sparse.indices, sparse.values, sparse.dense_shape, dense, name=scope)
            return SparseTensor(sparse.indices, values, sparse.dense_shape)

    return apply


# What the elements of a true quotient are; None says that they stay as they are.
_QUOTIENT = {
    **dict.fromkeys(("uint8", "int8", "uint16", "int16"), "float32"),
    **dict.fromkeys(("int32", "int64"), "float64"),
    **dict.fromkeys(("bfloat16", "float16", "float32", "float64", "complex64", "complex128")),
}


def _quotient(indices, values, dense_shape, dense, name):
    dtype = values.dtype.base_dtype
    if dtype.name not in _QUOTIENT:
        raise TypeError(f"Invalid dtype {dtype!r} in __truediv__")
    wanted = _QUOTIENT[dtype.name]
    if wanted is not None:
        values, dense = NAMES["cast"](values, wanted), NAMES["cast"](dense, wanted)
    return raw.SparseDenseCwiseDiv(indices, values, dense_shape, dense, name=name)


SparseTensor.operators.update(
    mul=_operator("mul", SparseDenseCwiseMul),
    div=_operator("div", SparseDenseCwiseDiv),
    truediv=_operator("truediv", _quotient),
)


@export("sparse_tensor_dense_matmul", "sparse.matmul", "sparse.sparse_dense_matmul")
def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """Returns the product of a sparse matrix and a dense one.

    Args:
      sp_a: A SparseTensor, a matrix.
      b: A dense matrix.
      adjoint_a: Whether the adjoint of the sparse matrix is meant.
      adjoint_b: Whether the adjoint of the dense matrix is meant.
      name: The scope's name.
    """
    sp_a = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, b]):
        b = convert_to_tensor(b, name="b")
        return raw.SparseTensorDenseMatMul(
            sp_a.indices, sp_a.values, sp_a.dense_shape, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )


@export("sparse_tensor_to_dense", "sparse.to_dense")
def sparse_tensor_to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """Returns a sparse tensor as a dense one.

    Args:
      sp_input: The SparseTensor.
      default_value: What stands where it has no element; zero by default.
      validate_indices: Whether the coordinates must be sorted and differ.
      name: The node's name.

    Raises:
      TypeError: The input is no SparseTensor.
    """
    sp_input = as_sparse(sp_input)
    if default_value is None:
        default_value = NAMES["zeros"]([], dtype=sp_input.dtype)
    return raw.SparseToDense(
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


@export("sparse_placeholder", "sparse.placeholder")
def sparse_placeholder(dtype, shape=None, name=None):
    """Returns a SparseTensor that must be fed with a SparseTensorValue, or a tuple of its three parts.

    Args:
      dtype: The values' type.
      shape: The whole tensor's shape, as far as it is known.
      name: What the names of the three placeholders begin with.
    """
    dtype = as_dtype(dtype)
    rank = None
    made = {
        part: (name + "/" + part) if name is not None else None for part in ("shape", "values", "indices")
    }
    placeholder = NAMES["placeholder"]
    if shape is None:
        dense_shape = placeholder("int64", shape=[None], name=made["shape"])
    else:
        rank = shape.shape[0].value if isinstance(shape, Tensor) else len(shape)
        if isinstance(shape, (list, tuple)) and None in shape:
            dense_shape = placeholder("int64", shape=[rank], name=made["shape"])
        else:
            dense_shape = convert_to_tensor(shape, dtype="int64", name=made["shape"])
    values = placeholder(dtype, shape=[None], name=made["values"])
    indices = placeholder("int64", shape=[None, rank], name=made["indices"])
    return SparseTensor(indices=indices, values=values, dense_shape=dense_shape)


@export("sparse.from_dense")
def from_dense(tensor, name=None):
    """Returns the elements of a dense tensor that are not zero, as a SparseTensor.

    Args:
      tensor: A dense tensor.
      name: The scope's name.
    """
    with name_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        zero = NAMES["constant"](0, tensor.dtype.base_dtype)
        indices = raw.Where(raw.NotEqual(tensor, zero))
        values = raw.GatherNd(tensor, indices)
        return SparseTensor(indices, values, NAMES["shape"](tensor, out_type="int64"))
