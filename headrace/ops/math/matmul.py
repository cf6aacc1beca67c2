"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes, shapes
from headrace.blas import multiply, transposed_lower
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.graph.tensor import Tensor
from headrace.lazy import jnp
from headrace.native import products as native
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.math.building import cast_to, conjugate, int32, shape_of

_TYPES = "{bfloat16, half, float, double, int32, int64, complex64, complex128}"


def _narrow(x: Any) -> bool:
    return x.dtype.itemsize == 2


def product(a: Any, b: Any) -> Any:
    """Returns the NumPy matrix product in the operands' type; 16-bit floats add up in float32."""
    if _narrow(a):
        return multiply(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    return multiply(a, b)


def product_lower(a: Any, b: Any) -> Any:
    if _narrow(a):
        return jnp.matmul(a, b, preferred_element_type=np.float32).astype(a.dtype)
    return jnp.matmul(a, b)


MatMul = op(f"""
    MatMul(a: T, b: T) -> (product: T)
      transpose_a: bool = false
      transpose_b: bool = false
      T: {_TYPES}

    The product of two matrices.
""")  # fmt: skip


@MatMul.shape
def matmul_shape(a, b, *, transpose_a, transpose_b):
    a = shapes.with_rank(a, 2)
    b = shapes.with_rank(b, 2)
    if transpose_a:
        a = a[::-1]
    if transpose_b:
        b = b[::-1]
    shapes.merge_dim(a[1], b[0])
    return a[0], b[1]


def _refuse(a: Any, b: Any, op_name: str) -> InvalidArgumentError:
    def spell(x: Any) -> str:
        return "[" + ",".join(map(str, x.shape)) + "]"

    if a.ndim != 2:
        return InvalidArgumentError(None, None, f"In[0] is not a matrix. Instead it has shape {spell(a)}")
    if b.ndim != 2:
        return InvalidArgumentError(None, None, f"In[1] is not a matrix. Instead it has shape {spell(b)}")
    return InvalidArgumentError(None, None, f"Matrix size-incompatible: In[0]: {spell(a)}, In[1]: {spell(b)}")


@MatMul.host
def matmul_host(a, b, *, transpose_a, transpose_b):
    if a.ndim != 2 or b.ndim != 2:
        raise _refuse(a, b, "MatMul")
    left, right = a.T if transpose_a else a, b.T if transpose_b else b
    if left.shape[1] != right.shape[0]:
        raise _refuse(a, b, "MatMul")
    return product(left, right)


@MatMul.lower
def matmul_lower(a, b, *, transpose_a, transpose_b):
    found = native.product(a, b, transpose_a, transpose_b)
    if found is not None:
        return found
    if transpose_a and not transpose_b and not _narrow(a) and a.dtype.kind == "f":
        return transposed_lower(a, b)
    return product_lower(a.T if transpose_a else a, b.T if transpose_b else b)


@MatMul.grad
def matmul_grad(op, dy):
    ta, tb = op.attrs["transpose_a"], op.attrs["transpose_b"]
    a = conjugate(op.inputs[0])
    b = conjugate(op.inputs[1])
    if not ta and not tb:
        return raw.MatMul(dy, b, transpose_b=True), raw.MatMul(a, dy, transpose_a=True)
    if not ta:
        return raw.MatMul(dy, b), raw.MatMul(dy, a, transpose_a=True)
    if not tb:
        return raw.MatMul(b, dy, transpose_b=True), raw.MatMul(a, dy)
    return (
        raw.MatMul(b, dy, transpose_a=True, transpose_b=True),
        raw.MatMul(dy, a, transpose_a=True, transpose_b=True),
    )


@MatMul.cases
def matmul_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0]], gives=[[17.0], [39.0]])
    case(
        np.array([[1, 2]], np.int32),
        np.array([[3], [2**30]], np.int32),
        gives=np.array([[-(2**31) + 3]], np.int32),
    )
    for ta in (False, True):
        for tb in (False, True):
            a, b = case.normal(3, 2), case.normal(2, 4)
            case(a.T if ta else a, b.T if tb else b, transpose_a=ta, transpose_b=tb)
    case(np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32), gives=np.zeros((2, 3), np.float32))
    case.shapes("[2,?];[3,?]", "[2,?]")
    case.shapes("?;[3,4]", "[?,4]")
    case.shapes("[3,2];[4,3]", "[2,4]", transpose_a=True, transpose_b=True)
    case.fails("[2,3];[2,3]", match="Dimensions must be equal, but are 3 and 2")
    case.fails("[3];[2,3]", match="must be rank 2 but is rank 1")


def _adjoint(x: Any) -> Any:
    y = x.swapaxes(-1, -2)
    return y.conj() if y.dtype.kind == "c" else y


def _batch_dims(x: Any, y: Any, adj_x: bool, adj_y: bool) -> tuple[Any, Any]:
    """Returns the shapes of the matrices, once turned."""
    a, b = x[-2:], y[-2:]
    if adj_x:
        a = a[::-1]
    if adj_y:
        b = b[::-1]
    shapes.merge_dim(a[1], b[0])
    return a[0], b[1]


def _check_batches(x: Any, y: Any, broadcasts: bool) -> None:
    """Checks ranks as kernels do, and where nothing is broadcast that the batches are the same."""
    one, two = (f"[{','.join(map(str, v.shape))}]" for v in (x, y))
    text = ""
    if broadcasts:
        low = next((i for i, v in enumerate((x, y)) if v.ndim < 2), None)
        if low is not None:
            text = f"In[{low}] ndims must be >= 2: {(x, y)[low].ndim}"
    elif x.ndim != y.ndim:
        text = f"In[0] and In[1] has different ndims: {one} vs. {two}"
    elif x.ndim < 2:
        text = f"In[0] and In[1] ndims must be >= 2: {x.ndim}"
    else:
        for i in range(x.ndim - 2):
            if x.shape[i] != y.shape[i]:
                text = f"In[0].dim({i}) and In[1].dim({i}) must be the same: {one} vs {two}"
                break
    if text:
        raise InvalidArgumentError(None, None, text)


def _batch_host(x: Any, y: Any, adj_x: bool, adj_y: bool, broadcasts: bool = True) -> Any:
    _check_batches(x, y, broadcasts)
    a, b = _adjoint(x) if adj_x else x, _adjoint(y) if adj_y else y
    if a.shape[-1] != b.shape[-2]:
        one, two = (f"[{','.join(map(str, v.shape))}]" for v in (x, y))
        flags = [int(f) for f in (adj_x, adj_y)]
        raise InvalidArgumentError(
            None,
            None,
            f"In[0] mismatch In[1] shape: {a.shape[-1]} vs. {b.shape[-2]}: {one} {two} {flags[0]} {flags[1]}",
        )
    try:
        return product(a, b)
    except ValueError:
        one, two = (f"[{','.join(map(str, v.shape))}]" for v in (x, y))
        raise InvalidArgumentError(
            None, None, f"In[0] and In[1] must have compatible batch dimensions: {one} vs. {two}"
        ) from None


def _batch_lower(x: Any, y: Any, adj_x: bool, adj_y: bool) -> Any:
    found = native.product(x, y, adj_x, adj_y)
    if found is not None:
        return found
    a, b = _adjoint(x) if adj_x else x, _adjoint(y) if adj_y else y
    return product_lower(a, b)


def _batch_grads(op: Any, dy: Any) -> tuple[Any, Any]:
    x, y = op.inputs
    adj_x, adj_y = op.attrs["adj_x"], op.attrs["adj_y"]
    if not adj_x and not adj_y:
        return matmul(dy, y, adjoint_b=True), matmul(x, dy, adjoint_a=True)
    if not adj_x:
        return matmul(dy, y), matmul(dy, x, adjoint_a=True)
    if not adj_y:
        return matmul(y, dy, adjoint_b=True), matmul(x, dy)
    return matmul(y, dy, adjoint_a=True, adjoint_b=True), matmul(dy, x, adjoint_a=True, adjoint_b=True)


_BATCH_SIGNATURE = f"""(x: T, y: T) -> (output: T)
      T: {_TYPES}
      adj_x: bool = false
      adj_y: bool = false
"""

BatchMatMul = op(f"    BatchMatMul{_BATCH_SIGNATURE}\n    Products of matrices in the last two axes.\n")


@BatchMatMul.shape
def batch_matmul_shape(x, y, *, adj_x, adj_y):
    shapes.with_rank_at_least(x, 2)
    shapes.with_rank_at_least(y, 2)
    if x is None or y is None:
        return None if x is None and y is None else (None,) * len(x or y)
    batch = shapes.merge(x[:-2], y[:-2])
    return batch + _batch_dims(x, y, adj_x, adj_y)


@BatchMatMul.host
def batch_matmul_host(x, y, *, adj_x, adj_y):
    return _batch_host(x, y, adj_x, adj_y, broadcasts=False)


@BatchMatMul.lower
def batch_matmul_lower(x, y, *, adj_x, adj_y):
    return _batch_lower(x, y, adj_x, adj_y)


@BatchMatMul.grad
def batch_matmul_grad(op, dy):
    return _batch_grads(op, dy)


@BatchMatMul.cases
def batch_matmul_cases(case):
    case(case.normal(5, 2, 3), case.normal(5, 3, 4))
    case(case.normal(5, 3, 2), case.normal(5, 4, 3), adj_x=True, adj_y=True)
    case(np.array([[[1 + 1j]]], np.complex64), np.array([[[2j]]], np.complex64), adj_x=True,
         gives=np.array([[[2 + 2j]]], np.complex64), grad=False)  # fmt: skip
    case.shapes("[5,2,?];[5,3,4]", "[5,2,4]")
    case.fails("[5,2,3];[5,4,2]", match="Dimensions must be equal, but are 3 and 4")


BatchMatMulV2 = op(
    f"    BatchMatMulV2{_BATCH_SIGNATURE}\n    Products of matrices in the last two axes; the others broadcast.\n"
)


@BatchMatMulV2.shape
def batch_matmul_v2_shape(x, y, *, adj_x, adj_y):
    shapes.with_rank_at_least(x, 2)
    shapes.with_rank_at_least(y, 2)
    if x is None or y is None:
        return None
    rows_columns = _batch_dims(x, y, adj_x, adj_y)
    return shapes.broadcast(x[:-2], y[:-2]) + rows_columns


@BatchMatMulV2.host
def batch_matmul_v2_host(x, y, *, adj_x, adj_y):
    return _batch_host(x, y, adj_x, adj_y)


@BatchMatMulV2.lower
def batch_matmul_v2_lower(x, y, *, adj_x, adj_y):
    return _batch_lower(x, y, adj_x, adj_y)


@BatchMatMulV2.grad
def batch_matmul_v2_grad(op, dy):
    x, y = op.inputs
    dx, dy = _batch_grads(op, dy)
    if x._dims is not None and None not in x._dims and x._dims == y._dims:
        # Nothing was broadcast. TensorFlow sees that only where the whole shapes are equal.
        return dx, dy
    shape_x = shape_of(x)
    shape_y = shape_of(y)
    axes_x, axes_y = raw.BroadcastGradientArgs(shape_x[:-2], shape_y[:-2])
    dx = raw.Reshape(raw.Sum(dx, axes_x), shape_x)
    return dx, raw.Reshape(raw.Sum(dy, axes_y), shape_y)


@BatchMatMulV2.cases
def batch_matmul_v2_cases(case):
    case(case.normal(5, 2, 3), case.normal(5, 3, 4))
    case(case.normal(5, 2, 3), case.normal(3, 4))
    case(case.normal(2, 1, 2, 3), case.normal(4, 5, 3), adj_y=True)
    case.shapes("[5,2,?];[3,4]", "[5,2,4]")
    case.shapes("?;[3,4]", "?")
    case.fails("[5,2,3];[6,3,2]", match="Dimensions must be equal, but are 5 and 6")


SparseMatMul = op("""
    SparseMatMul(a: Ta, b: Tb) -> (product: float)
      transpose_a: bool = false
      transpose_b: bool = false
      a_is_sparse: bool = false
      b_is_sparse: bool = false
      Ta: {float, bfloat16} = DT_FLOAT
      Tb: {float, bfloat16} = DT_FLOAT

    The product of two matrices of which many elements are 0.
""")  # fmt: skip


@SparseMatMul.shape
def sparse_matmul_shape(a, b, *, transpose_a, transpose_b):
    return matmul_shape(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


@SparseMatMul.host
def sparse_matmul_host(a, b, *, transpose_a, transpose_b):
    return matmul_host(
        a.astype(np.float32), b.astype(np.float32), transpose_a=transpose_a, transpose_b=transpose_b
    )


@SparseMatMul.lower
def sparse_matmul_lower(a, b, *, transpose_a, transpose_b):
    return matmul_lower(
        a.astype(np.float32), b.astype(np.float32), transpose_a=transpose_a, transpose_b=transpose_b
    )


@SparseMatMul.grad
def sparse_matmul_grad(op, dy):
    a, b = op.inputs
    ta, tb = op.attrs["transpose_a"], op.attrs["transpose_b"]
    sparse = {a: op.attrs["a_is_sparse"], b: op.attrs["b_is_sparse"], dy: dy.op.type == "ReluGrad"}

    def product_of(x, y, like, transpose_x=False, transpose_y=False):
        is_sparse = sparse[x], sparse[y]
        if transpose_y:
            y = raw.Transpose(y, int32([1, 0]), name="transpose")
        out = matmul(x, y, transpose_a=transpose_x, a_is_sparse=is_sparse[0], b_is_sparse=is_sparse[1])
        return cast_to(out, like.dtype)

    if not ta and not tb:
        return product_of(dy, b, a, False, True), product_of(a, dy, b, True)
    if not ta:
        return product_of(dy, b, a), product_of(dy, a, b, True)
    if not tb:
        return product_of(b, dy, a, False, True), product_of(a, dy, b)
    return product_of(b, dy, a, True, True), product_of(dy, a, b, True, True)


@SparseMatMul.cases
def sparse_matmul_cases(case):
    case([[1.0, 0.0], [0.0, 4.0]], [[5.0], [6.0]], gives=[[5.0], [24.0]], a_is_sparse=True)
    case.shapes("[2,?];[3,?]", "[2,?]")


@export("matmul", "linalg.matmul")
def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    """Returns the product of two matrices, or of the matrices in the last two axes of larger tensors.

    Args:
      a: The left tensor, of rank 2 or more.
      b: The right tensor.
      transpose_a: Whether to transpose the left matrices.
      transpose_b: Whether to transpose the right matrices.
      adjoint_a: Whether to transpose and conjugate the left matrices.
      adjoint_b: Whether to transpose and conjugate the right matrices.
      a_is_sparse: Says that many elements of `a` are 0.
      b_is_sparse: Says that many elements of `b` are 0.
      name: The node's name.

    Raises:
      ValueError: A matrix is to be both transposed and adjoint.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        if not isinstance(a, Tensor):
            a = convert_to_tensor(a, name="a")
        if not isinstance(b, Tensor):
            b = convert_to_tensor(b, name="b")
        ranks = [None if t._dims is None else len(t._dims) for t in (a, b)]
        if ((ranks[0] is None or ranks[0] > 2) and (ranks[1] is None or ranks[1] > 1)) or (
            (ranks[1] is None or ranks[1] > 2) and (ranks[0] is None or ranks[0] > 1)
        ):
            # The batch ops only know adjoints.
            if transpose_a:
                a = conjugate(a)
                adjoint_a = True
            if transpose_b:
                b = conjugate(b)
                adjoint_b = True
            return raw.BatchMatMulV2(a, b, adj_x=adjoint_a, adj_y=adjoint_b, name=scope)
        # And the op for single matrices knows transposes only.
        if adjoint_a:
            a = conjugate(a)
            transpose_a = True
        if adjoint_b:
            b = conjugate(b)
            transpose_b = True
        sparse_types = (dtypes.float32, dtypes.bfloat16)
        sparse = (a_is_sparse or b_is_sparse) and all(t.dtype.base_dtype in sparse_types for t in (a, b))
        mixed = (
            dtypes.bfloat16 in (a.dtype.base_dtype, b.dtype.base_dtype)
            and a.dtype.base_dtype is not b.dtype.base_dtype
        )
        if sparse or mixed:
            return raw.SparseMatMul(
                a, b, transpose_a=transpose_a, transpose_b=transpose_b, a_is_sparse=a_is_sparse,
                b_is_sparse=b_is_sparse, name=scope,
            )  # fmt: skip
        return raw.MatMul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=scope)


@export("sparse_matmul")
def sparse_matmul(
    a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False, name=None
):
    """Returns the product of two matrices of which many elements are 0.

    Args:
      a: The left matrix.
      b: The right matrix.
      transpose_a: Whether to transpose the left matrix.
      transpose_b: Whether to transpose the right matrix.
      a_is_sparse: Says that many elements of `a` are 0.
      b_is_sparse: Says that many elements of `b` are 0.
      name: The node's name.
    """
    return raw.SparseMatMul(
        a, b, transpose_a=transpose_a, transpose_b=transpose_b, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse,
        name=name,
    )  # fmt: skip


@export("linalg.matvec")
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """Returns the product of a matrix and a vector, or of those in the last axes of larger tensors.

    Args:
      a: The matrices.
      b: The vectors.
      transpose_a: Whether to transpose the matrices.
      adjoint_a: Whether to transpose and conjugate the matrices.
      a_is_sparse: Says that many elements of `a` are 0.
      b_is_sparse: Says that many elements of `b` are 0.
      name: The scope of the nodes.
    """
    with name_scope(name, "MatVec", [a, b]):
        column = raw.ExpandDims(b, -1)
        out = matmul(
            a,
            column,
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return raw.Squeeze(out, squeeze_dims=[-1])
