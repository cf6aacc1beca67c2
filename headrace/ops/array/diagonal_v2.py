"""MatrixDiagV2, MatrixDiagPartV2 and MatrixSetDiagV2: bands of diagonals of batches of matrices."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.lazy import jnp
from headrace.opdef import constant_value, nodes, op, raw
from headrace.ops.array.failing import invalid, shown

MatrixDiagV2 = op("""
    MatrixDiagV2(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> (output: T)
      T: type

    Matrices with the diagonals numbered `k`, a number or (least, greatest), taken from `diagonal`.
""")

MatrixDiagPartV2 = op("""
    MatrixDiagPartV2(input: T, k: int32, padding_value: T) -> (diagonal: T)
      T: type

    The diagonals numbered `k` of matrices, the shorter ones padded at their ends.
""")

MatrixSetDiagV2 = op("""
    MatrixSetDiagV2(input: T, diagonal: T, k: int32) -> (output: T)
      T: type

    Matrices with the diagonals numbered `k` replaced.
""")


def _static_range(k):
    """Returns the same as `_range`, whose checks have other words while building."""
    k = k.reshape(-1)
    if k.size not in (1, 2):
        raise ValueError(f"diag_index must be a vector with one or two elements. It has {k.size} elements.")
    low, high = int(k[0]), int(k[-1])
    if low > high:
        raise ValueError("lower_diag_index is greater than upper_diag_index")
    return low, high


def _static_check(low, high, rows, columns):
    for name, d in (("lower_diag_index", low), ("upper_diag_index", high)):
        if d and ((rows is not None and d <= -rows) or (columns is not None and d >= columns)):
            raise ValueError(f"{name} is out of bound.")


def _range(k):
    """Returns the least and the greatest diagonal."""
    k = np.asarray(k).reshape(-1)
    if k.size not in (1, 2):
        invalid(
            f"diag_index must be a scalar or vector with one or two elements, received {k.size} elements."
        )
    low, high = int(k[0]), int(k[-1])
    if low > high:
        invalid(f"lower_diag_index must not be larger than upper_diag_index: {low} > {high}")
    return low, high


def _length(rows, columns, low, high):
    """Returns the length of the longest diagonal in a range."""
    return min(rows + min(high, 0), columns - max(low, 0))


def _places(rows, columns, d):
    """Returns the row and column numbers of a diagonal."""
    n = min(rows + min(d, 0), columns - max(d, 0))
    at = np.arange(max(n, 0))
    return at - min(d, 0), at + max(d, 0)


@MatrixDiagV2.shape
def matrix_diag_v2_shape(diagonal, k, num_rows, num_cols, padding_value, *, ctx):
    shapes.with_rank_at_least(diagonal, 1)
    shapes.with_rank_at_most(k, 1)
    shapes.with_rank(padding_value, 0)
    band = ctx.constant("k")
    if diagonal is None:
        return None
    if band is None:
        return None
    low, high = _static_range(band)
    one = low == high
    if not one and len(diagonal) < 2:
        raise _uneven(1, low, high)
    if not one and diagonal[-2] not in (None, high - low + 1):
        raise _uneven(diagonal[-2], low, high)
    batch, longest = (diagonal[:-1] if one else diagonal[:-2]), diagonal[-1]
    rows, columns = ctx.constant("num_rows"), ctx.constant("num_cols")
    if longest is None or rows is None or columns is None:
        return (*batch, None, None)
    try:
        return (*batch, *_matrix_size(longest, low, high, int(rows), int(columns)))
    except Exception as e:
        raise ValueError(str(e)) from None


def _uneven(count, low, high):
    return ValueError(
        "The number of rows of `diagonal` doesn't match the number of diagonals implied from `d_lower` and `d_upper`. "
        f"num_diags = {count}, d_lower = {low}, d_upper = {high}"
    )


def _matrix_size(longest, low, high, rows, columns):
    least_rows = longest - min(high, 0)
    least_columns = longest + max(low, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least_rows, least_columns)
    elif rows == -1:
        rows = least_rows
    elif columns == -1:
        columns = least_columns
    if max(rows, columns) >= 2**31:
        invalid(f"A matrix of {rows} rows and {columns} columns is too large.")
    if rows < least_rows:
        invalid("The number of rows is too small.")
    if columns < least_columns:
        invalid("The number of columns is too small.")
    if rows != least_rows and columns != least_columns:
        invalid(
            "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal."
        )
    return rows, columns


def _bands(rows, columns, low, high):
    """Yields (place in the band, row numbers, column numbers), the greatest diagonal first."""
    for i, d in enumerate(range(high, low - 1, -1)):
        r, c = _places(rows, columns, d)
        yield i, r, c


def _as_bands(diagonal, low, high):
    return diagonal[..., None, :] if low == high else diagonal


def _diag(diagonal, k, num_rows, num_cols, padding_value, xp):
    low, high = _range(k)
    bands = _as_bands(diagonal, low, high)
    if bands.ndim < 2 or bands.shape[-2] != high - low + 1:
        invalid(
            "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index "
            "range."
        )
    rows, columns = _matrix_size(bands.shape[-1], low, high, int(num_rows), int(num_cols))
    out = xp.broadcast_to(padding_value, (*bands.shape[:-2], rows, columns))
    return _write(out, bands, rows, columns, low, high, xp)


def _write(out, bands, rows, columns, low, high, xp):
    out = np.array(out) if xp is np else jnp.asarray(out)
    for i, r, c in _bands(rows, columns, low, high):
        values = bands[..., i, : len(r)]
        if xp is np:
            out[..., r, c] = values
        else:
            out = out.at[..., r, c].set(values)
    return out


@MatrixDiagV2.host
def matrix_diag_v2_host(diagonal, k, num_rows, num_cols, padding_value):
    return _diag(diagonal, k, num_rows, num_cols, padding_value, np)


@MatrixDiagV2.lower(static="k num_rows num_cols")
def matrix_diag_v2_lower(diagonal, k, num_rows, num_cols, padding_value):
    return _diag(diagonal, k, num_rows, num_cols, padding_value, jnp)


@MatrixDiagV2.grad
def matrix_diag_v2_grad(op, dy):
    return raw.MatrixDiagPart(dy, name="diag_part"), None, None, None, None


def _check_band(low, high, rows, columns, error):
    for name, d in (("lower_diag_index", low), ("upper_diag_index", high)):
        if not (-rows < d < columns or d == 0):
            error(f"{name} is out of bound: {d} It must be between {-rows} and {columns}")


@MatrixDiagPartV2.shape
def matrix_diag_part_v2_shape(input, k, padding_value, *, ctx):
    shapes.with_rank_at_least(input, 2)
    shapes.with_rank_at_most(k, 1)
    shapes.with_rank(padding_value, 0)
    band = ctx.constant("k")
    if input is None or band is None:
        return None
    low, high = _static_range(band)
    rows, columns = input[-2:]
    _static_check(low, high, rows, columns)
    longest = None if rows is None or columns is None else _length(rows, columns, low, high)
    return (*input[:-2], *(() if low == high else (high - low + 1,)), longest)


def _part(input, k, padding_value, xp):
    low, high = _range(k)
    rows, columns = input.shape[-2:]
    _check_band(low, high, rows, columns, invalid)
    longest = _length(rows, columns, low, high)
    bands = []
    for _, r, c in _bands(rows, columns, low, high):
        values = input[..., r, c]
        rest = xp.broadcast_to(padding_value, (*input.shape[:-2], longest - len(r)))
        bands.append(xp.concatenate([values, rest], -1))
    return bands[0] if low == high else xp.stack(bands, -2)


@MatrixDiagPartV2.host
def matrix_diag_part_v2_host(input, k, padding_value):
    return _part(input, k, padding_value, np)


@MatrixDiagPartV2.lower(static="k")
def matrix_diag_part_v2_lower(input, k, padding_value):
    return _part(jnp.asarray(input), k, padding_value, jnp)


@MatrixDiagPartV2.grad
def matrix_diag_part_v2_grad(op, dy):
    # TensorFlow 1.15 takes the main diagonal here whatever `k` is.
    dims = op.inputs[0]._dims
    matrix = None if dims is None else dims[-2:]
    if shapes.is_full(matrix):
        return raw.MatrixDiag(dy, name="diag"), None, None
    return raw.MatrixSetDiag(nodes.zeros_like(op.inputs[0]), dy, name="set_diag"), None, None


@MatrixSetDiagV2.shape
def matrix_set_diag_v2_shape(input, diagonal, k, *, ctx):
    shapes.with_rank_at_least(input, 2)
    shapes.with_rank_at_least(diagonal, 1)
    shapes.with_rank_at_most(k, 1)
    band = ctx.constant("k")
    if band is not None:
        low, high = _static_range(band)
        if input is not None:
            if diagonal is not None:
                shapes.with_rank(diagonal, len(input) - (low == high))
            _static_check(low, high, *input[-2:])
    return input


def _set(input, diagonal, k, xp):
    low, high = _range(k)
    rows, columns = input.shape[-2:]
    _check_band(low, high, rows, columns, invalid)
    longest = _length(rows, columns, low, high)
    want = (*input.shape[:-2], *(() if low == high else (high - low + 1,)), longest)
    if diagonal.shape != want:
        invalid(
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to "
            f"the longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: {shown(input.shape)}\n"
            f"Diagonal shape: {shown(diagonal.shape)}\nlower_diag_index: {low}\nupper_diag_index: {high}\n"
        )
    return _write(input, _as_bands(diagonal, low, high), rows, columns, low, high, xp)


@MatrixSetDiagV2.host
def matrix_set_diag_v2_host(input, diagonal, k):
    return _set(input, diagonal, k, np)


@MatrixSetDiagV2.lower(static="k")
def matrix_set_diag_v2_lower(input, diagonal, k):
    return _set(jnp.asarray(input), diagonal, k, jnp)


@MatrixSetDiagV2.grad
def matrix_set_diag_v2_grad(op, dy):
    input, diagonal, k = op.inputs
    band = constant_value(k)
    known = input._dims is not None and shapes.is_full(input._dims)
    if known and band is not None:
        low, high = _range(band)
        rows, columns = input._dims[-2:]
        longest = _length(rows, columns, low, high)
        shape = [*input._dims[:-2], *(() if low == high else (high - low + 1,)), longest]
    else:
        shape = nodes.shape_of(diagonal)
    kept = raw.MatrixSetDiag(dy, nodes.zeros(shape, dtype=dy.dtype), name="set_diag")
    return kept, raw.MatrixDiagPart(dy, name="diag_part"), None


@MatrixDiagV2.cases
def matrix_diag_v2_cases(case):
    minus, zero, nine = np.int32(-1), np.int32(0), np.float32(9.0)
    case([1.0, 2.0], zero, minus, minus, nine, gives=[[1.0, 9.0], [9.0, 2.0]], grad=False)
    case([1.0, 2.0], np.int32(1), minus, minus, np.float32(0.0),
         gives=[[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]], grad=False)  # fmt: skip
    case([[5.0, 6.0, 0.0], [1.0, 2.0, 3.0]], [0, 1], minus, minus, np.float32(0.0),
         gives=[[1.0, 5.0, 0.0], [0.0, 2.0, 6.0], [0.0, 0.0, 3.0]], grad=False)  # fmt: skip
    case.shapes("[2,3];[];[];[];[]", "[2,3,3]", values={"k": 0, "num_rows": -1, "num_cols": -1})


@MatrixDiagPartV2.cases
def matrix_diag_part_v2_cases(case):
    x = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    case(x, np.int32(1), np.float32(0.0), gives=[2.0, 6.0], grad=False)
    case(x, [-1, 1], np.float32(0.0), gives=[[2.0, 6.0, 0.0], [1.0, 5.0, 9.0], [4.0, 8.0, 0.0]], grad=False)
    case.shapes("[2,3,4];[];[]", "[2,3]", values={"k": 1})


@MatrixSetDiagV2.cases
def matrix_set_diag_v2_cases(case):
    x = np.zeros([2, 3], np.float32)
    case(x, [7.0, 8.0], np.int32(1), gives=[[0.0, 7.0, 0.0], [0.0, 0.0, 8.0]], grad=False)
    case.shapes("[2,3,4];[2,3];[]", "[2,3,4]", values={"k": 0})
