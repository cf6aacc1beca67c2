"""Diagonals of tensors and of batches of matrices, and the identity matrix."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, shapes
from headrace.graph import colocate_with, name_scope
from headrace.lazy import jnp
from headrace.opdef import constant_node, export, nodes, op, raw
from headrace.ops.array.concat import concat
from headrace.ops.array.failing import invalid, shown

Diag = op("""
    Diag(diagonal: T) -> (output: T)
      T: {bfloat16, half, float, double, int32, int64, complex64, complex128}

    A tensor of twice the rank with `diagonal` on its diagonal and zeros elsewhere.
""")


@Diag.shape
def diag_shape(diagonal):
    shapes.with_rank_at_least(diagonal, 1)
    return shapes.concatenate(diagonal, diagonal)


def _diag(diagonal, xp):
    if diagonal.ndim < 1:
        invalid("Input must be at least rank 1, got 0")
    return xp.diag(diagonal.reshape(-1)).reshape(diagonal.shape * 2)


@Diag.host
def diag_host(diagonal):
    return _diag(diagonal, np)


@Diag.lower
def diag_lower(diagonal):
    return _diag(diagonal, jnp)


@Diag.grad
def diag_grad(op, dy):
    return raw.DiagPart(dy)


@Diag.cases
def diag_cases(case):
    case([1.0, 2.0], gives=[[1.0, 0.0], [0.0, 2.0]])
    case([[1.0, 2.0]], gives=[[[[1.0, 0.0]], [[0.0, 2.0]]]])
    case.shapes("[2,?]", "[2,?,2,?]")
    case.fails("[]", match="Shape must be at least rank 1 but is rank 0")


DiagPart = op("""
    DiagPart(input: T) -> (diagonal: T)
      T: {bfloat16, half, float, double, int32, int64, complex64, complex128}

    The diagonal of a tensor of even rank.
""")


@DiagPart.shape
def diag_part_shape(input):
    if input is None:
        return None
    rank = len(input)
    if rank % 2 or rank == 0:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {rank}")
    half = rank // 2
    return tuple([shapes.merge_dim(a, b) for a, b in zip(input[:half], input[half:], strict=True)])


def _diag_part(input, xp):
    half = input.ndim // 2
    if input.ndim % 2 or not half:
        invalid(f"The rank of the tensor should be even and positive, got shape {shown(input.shape)}")
    for i in range(half):
        if input.shape[i] != input.shape[half + i]:
            invalid(f"Invalid shape {shown(input.shape)}: dimensions {i} and {half + i} do not match.")
    n = int(np.prod(input.shape[:half]))
    return xp.diagonal(input.reshape(n, n)).reshape(input.shape[:half])


@DiagPart.host
def diag_part_host(input):
    return _diag_part(input, np)


@DiagPart.lower
def diag_part_lower(input):
    return _diag_part(input, jnp)


@DiagPart.grad
def diag_part_grad(op, dy):
    return raw.Diag(dy)


@DiagPart.cases
def diag_part_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], gives=[1.0, 4.0])
    case.shapes("[2,3,2,?]", "[2,3]")
    case.fails("[3,4]", match="Dimensions must be equal, but are 3 and 4")
    case.fails("[3,3,3]", match="Input must have even and non-zero rank, input rank is 3")


MatrixDiag = op("""
    MatrixDiag(diagonal: T) -> (output: T)
      T: type

    A batch of square matrices with the vectors `diagonal` on their diagonals.
""")


@MatrixDiag.shape
def matrix_diag_shape(diagonal):
    shapes.with_rank_at_least(diagonal, 1)
    return None if diagonal is None else (*diagonal, diagonal[-1])


@MatrixDiag.host
def matrix_diag_host(diagonal):
    if diagonal.ndim < 1:
        invalid("input must be at least 1-dim, received shape: []")
    n = diagonal.shape[-1]
    out = np.zeros((*diagonal.shape, n), diagonal.dtype)
    out[..., np.arange(n), np.arange(n)] = diagonal
    return out


@MatrixDiag.lower
def matrix_diag_lower(diagonal):
    n = diagonal.shape[-1]
    return jnp.where(np.eye(n, dtype=bool), diagonal[..., None], jnp.zeros((), diagonal.dtype))


@MatrixDiag.grad
def matrix_diag_grad(op, dy):
    return raw.MatrixDiagPart(dy, name="diag_part")


@MatrixDiag.cases
def matrix_diag_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], gives=[[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 4.0]]])
    case.shapes("[2,?]", "[2,?,?]")
    case.fails("[]", match="Shape must be at least rank 1 but is rank 0")


MatrixDiagPart = op("""
    MatrixDiagPart(input: T) -> (diagonal: T)
      T: type

    The diagonals of a batch of matrices.
""")


def _least(a, b):
    """Returns the lesser of two dimensions, None if that is not known."""
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else min(a, b)


@MatrixDiagPart.shape
def matrix_diag_part_shape(input):
    shapes.with_rank_at_least(input, 2)
    return None if input is None else (*input[:-2], _least(input[-2], input[-1]))


def _matrix_diag_part(input, xp):
    if input.ndim < 2:
        invalid(f"input must be at least 2-dim, received shape: {shown(input.shape)}")
    return xp.diagonal(input, axis1=-2, axis2=-1)


@MatrixDiagPart.host
def matrix_diag_part_host(input):
    return _matrix_diag_part(input, np).copy()


@MatrixDiagPart.lower
def matrix_diag_part_lower(input):
    return _matrix_diag_part(input, jnp)


@MatrixDiagPart.grad
def matrix_diag_part_grad(op, dy):
    dims = op.inputs[0]._dims
    matrix = None if dims is None else dims[-2:]
    if shapes.is_full(matrix) and matrix[0] == matrix[1]:
        return raw.MatrixDiag(dy, name="diag")
    return raw.MatrixSetDiag(nodes.zeros_like(op.inputs[0]), dy, name="set_diag")


@MatrixDiagPart.cases
def matrix_diag_part_cases(case):
    case([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], gives=[[1.0, 5.0]])
    case([[1.0, 2.0], [3.0, 4.0]], gives=[1.0, 4.0])
    case.shapes("[2,3,4]", "[2,3]")
    case.shapes("[?,?]", "[?]")
    case.fails("[2]", match="Shape must be at least rank 2 but is rank 1")


MatrixSetDiag = op("""
    MatrixSetDiag(input: T, diagonal: T) -> (output: T)
      T: type

    A batch of matrices with their diagonals replaced.
""")


@MatrixSetDiag.shape
def matrix_set_diag_shape(input, diagonal):
    shapes.with_rank_at_least(input, 2)
    shapes.with_rank_at_least(diagonal, 1)
    if input is not None:
        least = _least(input[-2], input[-1])
        if diagonal is not None:
            if len(diagonal) != len(input) - 1:
                raise ValueError(f"Shape must be rank {len(input) - 1} but is rank {len(diagonal)}")
            shapes.merge_dim(least, diagonal[-1])
    if diagonal is None:
        return input
    batch = diagonal[:-1]
    if input is None:
        return (*batch, None, None)
    return (*shapes.merge(input[:-2], batch), *input[-2:])


def _check_set_diag(input, diagonal):
    if input.ndim < 2:
        invalid(f"input must be at least 2-dim, received shape: {shown(input.shape)}")
    if diagonal.shape != (*input.shape[:-2], min(input.shape[-2:])):
        invalid(
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to "
            "the longests diagonal in range [lower_diag_index:upper_diag_index]."
        )
    return diagonal.shape[-1]


@MatrixSetDiag.host
def matrix_set_diag_host(input, diagonal):
    n = _check_set_diag(input, diagonal)
    out = input.copy()
    out[..., np.arange(n), np.arange(n)] = diagonal
    return out


@MatrixSetDiag.lower
def matrix_set_diag_lower(input, diagonal):
    n = _check_set_diag(input, diagonal)
    return jnp.asarray(input).at[..., np.arange(n), np.arange(n)].set(diagonal)


@MatrixSetDiag.grad
def matrix_set_diag_grad(op, dy):
    input, diagonal = op.inputs
    known = shapes.merge(None if input._dims is None else input._dims[:-2],
                         None if diagonal._dims is None else diagonal._dims[:-1])  # fmt: skip
    matrix = None if input._dims is None else input._dims[-2:]
    if shapes.is_full(known) and shapes.is_full(matrix):
        diagonal_shape = [*known, min(matrix)]
    else:
        with colocate_with(dy):
            shape = nodes.shape_of(dy)
            rank = nodes.rank_of(dy)
            batch = raw.Slice(shape, [0], [raw.Sub(rank, 2, name="sub")])
            last = raw.Slice(shape, [raw.Sub(rank, 2, name="sub")], [2])
            least = raw.Min(last, constant_node(np.array([0], np.int32), name="Const"))
            diagonal_shape = concat([batch, [least]], 0)
    kept = raw.MatrixSetDiag(dy, nodes.zeros(diagonal_shape, dtype=dy.dtype), name="set_diag")
    return kept, raw.MatrixDiagPart(dy, name="diag_part")


@MatrixSetDiag.cases
def matrix_set_diag_cases(case):
    case([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [7.0, 8.0], gives=[[7.0, 2.0, 3.0], [4.0, 8.0, 6.0]])
    case.shapes("[2,3,4];[2,3]", "[2,3,4]")
    case.shapes("?;[2,3]", "[2,?,?]")
    case.fails("[2,3,4];[2,4]", match="Dimensions must be equal, but are 3 and 4")


MatrixBandPart = op("""
    MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> (band: T)
      T: type
      Tindex: {int32, int64} = int64

    Matrices with zeros outside a band around the diagonal; a negative number keeps that whole triangle.
""", shape=shapes.unchanged)  # fmt: skip


def _band(input, num_lower, num_upper, xp):
    rows, columns = input.shape[-2:]
    i = np.arange(rows)[:, None]
    j = np.arange(columns)[None, :]
    keep = ((num_lower < 0) | (i - j <= num_lower)) & ((num_upper < 0) | (j - i <= num_upper))
    zero = b"" if input.dtype == object else xp.zeros((), input.dtype)
    return xp.where(keep, input, zero)


def _check_scalar(value, what):
    if value.ndim:
        invalid(f"{what} must be scalar, got shape {shown(value.shape)}")


@MatrixBandPart.host
def matrix_band_part_host(input, num_lower, num_upper):
    if input.ndim < 2:
        invalid(f"input must be at least 2-dim, received shape: {shown(input.shape)}")
    _check_scalar(num_lower, "num_lower")
    _check_scalar(num_upper, "num_upper")
    rows, columns = input.shape[-2:]
    if num_lower > rows:
        invalid(
            f"num_lower must be negative or less or equal to number of rows ({rows}) got: {int(num_lower)}"
        )
    if num_upper > columns:
        invalid(
            f"num_upper must be negative or less or equal to number of columns ({columns}) got: {int(num_upper)}"
        )
    return _band(input, num_lower, num_upper, np)


@MatrixBandPart.lower
def matrix_band_part_lower(input, num_lower, num_upper, *, ctx):
    _check_scalar(num_lower, "num_lower")
    _check_scalar(num_upper, "num_upper")
    fits = (num_lower <= input.shape[-2]) & (num_upper <= input.shape[-1])
    ctx.check(jnp.asarray(fits), "the band is wider than the matrix")
    return _band(jnp.asarray(input), jnp.asarray(num_lower), jnp.asarray(num_upper), jnp)


@MatrixBandPart.grad
def matrix_band_part_grad(op, dy):
    return raw.MatrixBandPart(dy, op.inputs[1], op.inputs[2]), None, None


@MatrixBandPart.cases
def matrix_band_part_cases(case):
    x = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    case(x, np.int64(0), np.int64(-1), gives=np.triu(x))
    case(x, np.int32(1), np.int32(0), gives=np.tril(x) - np.tril(x, -2))
    case.shapes("[2,?];[];[]", "[2,?]")
    case.fails(
        (x, np.int64(5), np.int64(0)),
        match=r"num_lower must be negative or less or equal to number of rows \(3\)",
    )


@export("diag", "linalg.tensor_diag")
def diag(diagonal, name=None):
    """Returns a tensor of twice the rank with another on its diagonal.

    Args:
      diagonal: What stands on the diagonal.
      name: The node's name.
    """
    return raw.Diag(diagonal, name=name)


@export("diag_part", "linalg.tensor_diag_part")
def diag_part(input, name=None):
    """Returns the diagonal of a tensor of even rank.

    Args:
      input: The tensor.
      name: The node's name.
    """
    return raw.DiagPart(input, name=name)


@export("matrix_diag", "linalg.diag")
def matrix_diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0):
    """Returns square matrices with vectors on their diagonals.

    Args:
      diagonal: The vectors, in the last dimension.
      name: The node's name.
      k: Has no effect in this version, as in TensorFlow 1.15.
      num_rows: The same.
      num_cols: The same.
      padding_value: The same.
    """
    del k, num_rows, num_cols, padding_value
    return raw.MatrixDiag(diagonal, name=name)


@export("matrix_diag_part", "linalg.diag_part")
def matrix_diag_part(input, name="diag_part", k=0, padding_value=0):
    """Returns the diagonals of matrices.

    Args:
      input: The matrices, in the last two dimensions.
      name: The node's name.
      k: Has no effect in this version, as in TensorFlow 1.15.
      padding_value: The same.
    """
    del k, padding_value
    return raw.MatrixDiagPart(input, name=name)


@export("matrix_set_diag", "linalg.set_diag")
def matrix_set_diag(input, diagonal, name="set_diag", k=0):
    """Returns matrices with their diagonals replaced.

    Args:
      input: The matrices, in the last two dimensions.
      diagonal: The new diagonals, in the last dimension.
      name: The node's name.
      k: Has no effect in this version, as in TensorFlow 1.15.
    """
    del k
    return raw.MatrixSetDiag(input, diagonal, name=name)


@export("matrix_band_part", "linalg.band_part")
def matrix_band_part(input, num_lower, num_upper, name=None):
    """Returns matrices with zeros outside a band around the diagonal.

    Args:
      input: The matrices, in the last two dimensions.
      num_lower: How many diagonals below the main one stay; all if negative.
      num_upper: How many above it; all if negative.
      name: The node's name.
    """
    return raw.MatrixBandPart(input, num_lower, num_upper, name=name)


@export("eye", "linalg.eye")
def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
    """Returns identity matrices.

    Args:
      num_rows: How many rows a matrix has.
      num_columns: How many columns, by default as many as rows.
      batch_shape: The shape of the batch of matrices, by default a single one.
      dtype: The type.
      name: The scope's name.
    """
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        square = num_columns is None
        batch = [] if batch_shape is None else batch_shape
        num_columns = num_rows if num_columns is None else num_columns
        if _is_number(num_rows) and _is_number(num_columns):
            least = min(num_rows, num_columns)
        else:
            least = raw.Minimum(num_rows, num_columns)
        static = all(map(_is_number, (num_rows, num_columns))) and _is_static(batch)
        if static:
            diagonal_shape = [*batch, least]
            shape = None if square else [*batch, num_rows, num_columns]
        else:
            batch = nodes.convert_to_tensor(batch, dtype=dtypes.int32, name="shape")
            diagonal_shape = concat([batch, [least]], 0)
            shape = None if square else concat([batch, [num_rows, num_columns]], 0)
        ones = nodes.ones(diagonal_shape, dtype=dtype)
        if square:
            return matrix_diag(ones)
        return matrix_set_diag(nodes.zeros(shape, dtype=dtype), ones)


def _is_number(value):
    return isinstance(value, (int, np.integer))


def _is_static(batch):
    return isinstance(batch, (list, tuple)) and all(map(_is_number, batch))
