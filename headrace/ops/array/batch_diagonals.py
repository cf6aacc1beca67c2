"""The ops on diagonals of graphs of old versions, from before the plain ones took batches."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.opdef import op
from headrace.ops.array import diagonal


def _batch(name, arguments, result, like):
    made = op(
        f"{name}({arguments}) -> ({result}: T)\n      T: type\n      deprecated 14", shape=shapes.unknown
    )
    made.declare("host", getattr(diagonal, f"{like}_host"))
    made.declare("lower", getattr(diagonal, f"{like}_lower"))
    return made


BatchMatrixBandPart = _batch(
    "BatchMatrixBandPart", "input: T, num_lower: int64, num_upper: int64", "band", "matrix_band_part"
)
BatchMatrixDiag = _batch("BatchMatrixDiag", "diagonal: T", "output", "matrix_diag")
BatchMatrixDiagPart = _batch("BatchMatrixDiagPart", "input: T", "diagonal", "matrix_diag_part")
BatchMatrixSetDiag = _batch("BatchMatrixSetDiag", "input: T, diagonal: T", "output", "matrix_set_diag")


@BatchMatrixBandPart.cases
def batch_matrix_band_part_cases(case):
    case([[[1.0, 2.0], [3.0, 4.0]]], np.int64(0), np.int64(1), gives=[[[1.0, 2.0], [0.0, 4.0]]])


@BatchMatrixDiag.cases
def batch_matrix_diag_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], gives=[[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 4.0]]])


@BatchMatrixDiagPart.cases
def batch_matrix_diag_part_cases(case):
    case([[[1.0, 2.0], [3.0, 4.0]]], gives=[[1.0, 4.0]])


@BatchMatrixSetDiag.cases
def batch_matrix_set_diag_cases(case):
    case([[[1.0, 2.0], [3.0, 4.0]]], [[5.0, 6.0]], gives=[[[5.0, 2.0], [3.0, 6.0]]])
