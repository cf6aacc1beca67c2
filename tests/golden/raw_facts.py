"""Which of the outcomes in tests/golden/raw_ops are compared: not those that say nothing about the op."""

import numpy as np

# Refusals that say something about this build, not about the op: older graphs have these ops, other devices and
# later versions these types and layouts.
NO_FACTS = (
    "not available in GraphDef",
    "NHWC",
    "CPU",
    "nsupported data type",
    "No OpKernel",
    "memory",
    "OOM",
    "not supported",
    "Signature mismatch",
    "equal length strides",
    "mkldnn",
)

# Ops whose gradients grow without bound, and whose rounding then decides.
ILL = {
    "MatrixSquareRoot",
    "Qr",
    "MatrixInverse",
    "MatrixSolve",
    "MatrixSolveLs",
    "Cholesky",
    "CholeskyGrad",
    "SelfAdjointEigV2",
    "Svd",
    "MatrixTriangularSolve",
    "LogMatrixDeterminant",
    "MatrixDeterminant",
}

# Ops that don't check that their operands have one shape.
UNCHECKED = {"InvGrad", "ReciprocalGrad", "RsqrtGrad", "SqrtGrad", "TanhGrad", "SigmoidGrad"}

# Ops whose values far out depend on the library, or on the order of NaN and of sums.
APPROXIMATE = {
    "Angle",
    "BesselI0e",
    "BesselI1e",
    "Betainc",
    "Digamma",
    "EuclideanNorm",
    "Igamma",
    "LRN",
    "LRNGrad",
    "MaxPool",
    "MaxPool3D",
    "MaxPoolWithArgmax",
    "IgammaGradA",
    "Igammac",
    "Lgamma",
    "Polygamma",
    "Prod",
    "RandomGamma",
    "RandomGammaGrad",
    "SparseMatMul",
    "UnsortedSegmentMax",
    "UnsortedSegmentMin",
    "UnsortedSegmentSum",
    "Zeta",
}


def _is_pooled(op, attrs, flat):
    """Whether a pooling's gradient gets operands that a pooling has given, with windows over the space only."""
    x, y, g = flat[:3]
    if attrs.get("ksize", [1])[0] != 1:
        return False
    if "Argmax" in op:
        return len(x[2]) > 0 and (
            ("GradGrad" in op and x[1] == y[1]) or ("GradGrad" not in op and y[1] == flat[2][1])
        )
    fits = g[1] == (x[1] if "GradGrad" in op else y[1]) and len(x[1]) == len(y[1])
    return fits and bool(x[2]) and bool(y[2]) and set(y[2]) <= set(x[2]) and max(y[2]) == max(x[2])


def is_fact(row):
    """Whether a completed row says something that is to be compared; takes out of it what does not."""
    op, attrs, operands, outcome = row[:4]
    flat = [o for o in operands if isinstance(o, list)]
    if isinstance(outcome, dict):
        if (
            op.startswith("MaxPool")
            and "Negative dimension size caused by subtracting 2 from 0" in outcome["message"]
        ):
            return False  # of nothing; MaxPool itself takes it
        if op == "EnsureShape" and attrs["shape"]["shape"] is None:
            return False  # TensorFlow can't read its own attr
        return outcome["raises"] != "NotImplementedError" and not any(
            p in outcome["message"] for p in NO_FACTS
        )
    values = [v for o in flat if o[0] not in ("string", "bool") for v in o[2]]
    unusual = not all(abs(v) < 1e20 for v in values)
    windows = [v for k in ("ksize", "strides", "dilations") for v in attrs.get(k, ())]
    if any(v < 1 for v in windows):
        return False  # no windows at all
    if op in ("Conv2DBackpropInput", "MaxPoolV2") and 0 in flat[0][1] + flat[1][1] + flat[0][2]:
        return False  # of nothing: the library's error, or one that MaxPool does not have
    if op.startswith("MaxPool") and "Grad" in op and not _is_pooled(op, attrs, flat):
        return False  # reads outside of its operands, or looks for what is not there
    if op in UNCHECKED and len({tuple(o[1]) for o in flat}) > 1:
        return False  # reads outside of its operands
    if unusual and (op in APPROXIMATE or any(o[0] in ("complex64", "complex128", "bfloat16") for o in flat)):
        return False  # what libraries make of infinities, NaN and the largest numbers differs
    if op == "RandomGammaGrad" and not all(values):
        return False
    if op == "RandomGamma" and len(row) > 4 and not all(flat[1][2]):
        del row[4:]
    if op == "FixedUnigramCandidateSampler" and attrs["num_reserved_ids"] < 0:
        return False  # reads in front of its numbers
    if op.startswith(("FractionalMaxPool", "FractionalAvgPool")) and unusual:
        return False
    if op.startswith("Fractional") and op.endswith("Grad"):
        if (
            0 in flat[0][2]
            or [o[1] for o in flat[-3:]] != [[1, 2, 1, 1], [3], [2]]
            or [flat[-2][2], flat[-1][2]] != [[0, 2, 4], [0, 1]]
        ):
            return False  # reads outside of its operands
    if op.startswith("TopK") and attrs.get("sorted") is False:
        return False  # in any order
    if op == "Range" and any(abs(v) >= 2**31 - 1 for v in values):
        return False  # its size overflows
    if op == "Bincount" and flat[2][2] and len(flat[2][2]) != len(flat[0][2]):
        return False  # reads outside of its weights
    if op in ("LowerBound", "UpperBound"):
        rows_ = np.array(flat[0][2], float).reshape(flat[0][1])
        return bool((np.diff(rows_) >= 0).all())
    if op == "EditDistance" and any(v < 0 for o in flat for v in o[2] if o[0].startswith("int")):
        return False  # reads outside of its rows
    if op == "CholeskyGrad" and not all(flat[0][2]):
        return False  # singular
    if op.startswith("FusedBatchNorm") and "Grad" not in op and not attrs["is_training"]:
        outcome[1:] = [None] * (len(outcome) - 1)  # never set
    if op.startswith("FusedBatchNormGrad"):
        outcome[3:] = [None] * (len(outcome) - 3)  # never set
    if op.startswith("FusedBatchNorm") and len(row) > 4 and (unusual or 0 in flat[0][1]):
        del row[4:]
    if op.startswith("FusedBatchNorm") and len(row) > 4 and isinstance(row[4], list):
        # The gradients of the moments have no elements, or one that is never set.
        row[4] = [[None if g and (not g[1] or i > 2) else g for i, g in enumerate(part)] for part in row[4]]
    if op in (
        "Svd",
        "SelfAdjointEigV2",
        "BatchSvd",
        "BatchSelfAdjointEig",
        "BatchSelfAdjointEigV2",
    ):  # whose vectors have any sign, and turn where values are equal
        del row[4:]
        outcome[1:] = [None] * (len(outcome) - 1)
    if len(row) > 4 and isinstance(row[4], list):
        largest = [abs(v) for part in row[4] for g in part if g for v in g[2] if np.isfinite(v)]
        if op.replace("Batch", "", 1) in ILL and largest and max(largest) > 1e5:
            del row[4]
    return True
