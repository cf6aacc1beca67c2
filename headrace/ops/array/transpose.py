"""Transpose, ConjugateTranspose and InvertPermutation."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.graph import name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, export, op, raw

_ATTRS = """
      T: type
      Tperm: {int32, int64} = int32
"""

Transpose = op(f"""
    Transpose(x: T, perm: Tperm) -> (y: T){_ATTRS}
    The tensor with its dimensions in the order `perm`.
""")

ConjugateTranspose = op(f"""
    ConjugateTranspose(x: T, perm: Tperm) -> (y: T){_ATTRS}
    The complex conjugate of the tensor with its dimensions in the order `perm`.
""")


@Transpose.shape
@ConjugateTranspose.shape
def transpose_shape(x, perm, *, ctx):
    order = ctx.constant("perm")
    asked, ctx.asked = ctx.asked, {}
    if perm is not None and len(perm) != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(perm)}")
    if order is not None:
        rank = len(order)
    elif perm is not None and perm[0] is not None:
        rank = perm[0]
    elif x is not None:
        rank = len(x)
    else:
        return None
    if x is not None and len(x) != rank:
        if perm is not None and perm[0] is not None and len(x) > 1:
            raise ValueError(f"Dimension must be {len(x)} but is {rank}")
        raise ValueError(f"Shape must be rank {rank} but is rank {len(x)}")
    if rank <= 1:
        return shapes.with_rank(x, rank)
    if order is None:
        return (None,) * rank
    ctx.asked = asked
    for axis in order.tolist():
        if not -rank <= axis < rank:
            raise ValueError(f"perm dim {axis} is out of range of input rank {rank}")
    if x is None:
        return (None,) * rank
    return tuple(x[axis] for axis in order.tolist())


def _order(rank, perm):
    if np.ndim(perm) != 1:
        raise errors.InvalidArgumentError(None, None, f"perm must be a vector, not {_shown(np.shape(perm))}")
    if len(perm) != rank:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"transpose expects a vector of size {rank}. But input(1) is a vector of size {len(perm)}",
        )
    axes = []
    for d in perm.tolist():
        if not 0 <= d < rank:
            raise errors.InvalidArgumentError(None, None, f"{d} is out of range [0 .. {rank})")
        axes.append(d)
    for i in range(rank):
        if i not in axes:
            raise errors.InvalidArgumentError(
                None, None, f"{i} is missing from {{{','.join(str(d) for d in perm.tolist())}}}."
            )
    return axes


def _shown(shape):
    return "[" + ",".join(map(str, shape)) + "]"


@Transpose.host
def transpose_host(x, perm):
    return np.transpose(x, _order(x.ndim, perm))


@Transpose.lower(static="perm")
def transpose_lower(x, perm):
    return jnp.transpose(x, _order(x.ndim, np.asarray(perm)))


@ConjugateTranspose.host
def conjugate_transpose_host(x, perm):
    y = np.transpose(x, _order(x.ndim, perm))
    return np.conj(y) if y.dtype.kind == "c" else y


@ConjugateTranspose.lower(static="perm")
def conjugate_transpose_lower(x, perm):
    y = jnp.transpose(x, _order(x.ndim, np.asarray(perm)))
    return jnp.conj(y) if jnp.iscomplexobj(y) else y


@Transpose.grad
def transpose_grad(op, dy):
    return raw.Transpose(dy, raw.InvertPermutation(op.inputs[1]), name="transpose"), None


@ConjugateTranspose.grad
def conjugate_transpose_grad(op, dy):
    p = raw.InvertPermutation(op.inputs[1])
    kind = raw.ConjugateTranspose if dy.dtype.base_dtype.is_complex else raw.Transpose
    return kind(dy, p, name="transpose"), None


@Transpose.cases
def transpose_cases(case):
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    case(x, [2, 0, 1], gives=x.transpose(2, 0, 1))
    case(np.float32(1.0), np.zeros([0], np.int32), gives=1.0)
    case.shapes("[2,?,4];[3]", "[2,4,?]", values={"perm": [0, 2, 1]})
    case.shapes("[2,3];?", "[?,?]")
    case.shapes("?;[2]", "[?,?]")
    case.fails("[2,3];[3]", match="Dimension must be 2 but is 3", values={"perm": [0, 1, 2]})
    case.fails("[2,3];[2]", match="perm dim 2 is out of range of input rank 2", values={"perm": [0, 2]})
    case.fails((x, [-1, 0, 1]), match=r"-1 is out of range \[0 .. 3\)")
    case.fails((x, [0, 0, 1]), match=r"2 is missing from \{0,0,1\}")


@ConjugateTranspose.cases
def conjugate_transpose_cases(case):
    case(np.array([[1 + 2j, 3]], np.complex64), [1, 0], gives=np.array([[1 - 2j], [3]], np.complex64))
    case([[1.0, 2.0]], [1, 0], gives=[[1.0], [2.0]])
    case.shapes("[2,3];[2]", "[3,2]", values={"perm": [1, 0]})


InvertPermutation = op("""
    InvertPermutation(x: T) -> (y: T)
      T: {int32, int64} = int32

    The permutation that undoes `x`: y[x[i]] = i.
""", grad=None, shape=shapes.unchanged_rank(1))  # fmt: skip


@InvertPermutation.host
def invert_permutation_host(x):
    if x.ndim != 1:
        raise errors.InvalidArgumentError(None, None, "invert_permutation expects a 1D vector.")
    y = np.full(x.shape, -1, x.dtype)
    for i, d in enumerate(x.tolist()):
        if not 0 <= d < len(x):
            raise errors.InvalidArgumentError(None, None, f"{d} is not between 0 and {len(x)}")
        if y[d] != -1:
            raise errors.InvalidArgumentError(None, None, f"{d} is duplicated in the input.")
        y[d] = i
    return y


@InvertPermutation.lower
def invert_permutation_lower(x, *, ctx):
    n = x.shape[0]
    ctx.check(jnp.all((x >= 0) & (x < n)), "invert_permutation: an element is out of range")
    y = jnp.full(x.shape, -1, x.dtype).at[x].set(jnp.arange(n, dtype=x.dtype))
    ctx.check(jnp.all(y >= 0), "invert_permutation: an element is duplicated")
    return y


@InvertPermutation.cases
def invert_permutation_cases(case):
    case([2, 0, 1], gives=np.array([1, 2, 0], np.int32))
    case(np.zeros([0], np.int64), gives=np.zeros([0], np.int64))
    case.shapes("[?]", "[?]")
    case.fails("[2,2]", match="Shape must be rank 1 but is rank 2")
    case.fails(([0, 0],), match="0 is duplicated in the input")
    case.fails(([0, 2],), match="2 is not between 0 and 2")


@export("transpose")
def transpose(a, perm=None, name="transpose", conjugate=False):
    """Returns a tensor with its dimensions in another order.

    Args:
      a: The tensor.
      perm: The order; by default the dimensions are reversed.
      name: The node's name.
      conjugate: Whether complex elements are conjugated as well.
    """
    with name_scope(name, "transpose", [a]) as name:
        a = convert_to_tensor(a, name="a")
        kind = raw.ConjugateTranspose if conjugate and a.dtype.base_dtype.is_complex else raw.Transpose
        if perm is not None:
            return kind(a, perm, name=name)
        if not a._dims:
            # Of a scalar too; that is how TensorFlow asks whether the rank is known.
            rank = raw.Rank(a)
            order = raw.Sub(raw.Sub(rank, 1, name="sub"), raw.Range(0, rank, 1), name="sub")
            result = kind(a, order, name=name)
            if a._dims is not None:
                result.set_shape(a._dims[::-1])
            return result
        return kind(a, np.arange(len(a._dims) - 1, -1, -1, dtype=np.int32), name=name)


@export("matrix_transpose", "linalg.matrix_transpose", "linalg.transpose")
def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """Swaps the last two dimensions of a tensor.

    Args:
      a: The tensor.
      name: The scope's name.
      conjugate: Whether complex elements are conjugated as well.

    Raises:
      ValueError: The tensor is no batch of matrices.
    """
    with name_scope(name, values=[a]):
        a = convert_to_tensor(a, name="a")
        dims = a._dims
        if dims is not None:
            n = len(dims)
            if n < 2:
                raise ValueError(
                    f"Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: {a.shape}"
                )
            return transpose(a, perm=[*range(n - 2), n - 1, n - 2], conjugate=conjugate)
        rank = raw.Rank(a)
        kept = raw.Range(0, raw.Sub(rank, 2, name="sub"), 1)
        last = [raw.Sub(rank, 1, name="sub"), raw.Sub(rank, 2, name="sub")]
        return transpose(a, perm=raw.ConcatV2([kept, last], 0, name="concat"), conjugate=conjugate)


@export("invert_permutation", "math.invert_permutation")
def invert_permutation(x, name=None):
    """Returns the permutation that undoes one.

    Args:
      x: A vector that holds each of 0, 1 ... n - 1 once.
      name: The node's name.
    """
    return raw.InvertPermutation(x, name=name)


@export("linalg.adjoint")
def adjoint(matrix, name=None):
    """Returns the conjugate transposes of matrices.

    Args:
      matrix: The matrices, in the last two dimensions.
      name: The scope's name.
    """
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)
