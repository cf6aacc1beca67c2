"""What TensorFlow says of ops that new graphs can't have any more: what to use instead."""

from __future__ import annotations

_RELATIVES = """
AdjustContrast: AdjustContrastv2 instead
AudioSummary: AudioSummaryV2.
BatchCholeskyGrad: CholeskyGrad instead.
BatchCholesky: Cholesky instead.
BatchFFT: FFT
BatchFFT2D: FFT2D
BatchFFT3D: FFT3D
BatchIFFT: IFFT
BatchIFFT2D: IFFT2D
BatchIFFT3D: IFFT3D
BatchMatrixBandPart: MatrixBandPart
BatchMatrixDeterminant: MatrixDeterminant instead.
BatchMatrixDiag: MatrixDiag
BatchMatrixDiagPart: MatrixDiagPart
BatchMatrixInverse: MatrixInverse instead.
BatchMatrixSetDiag: MatrixSetDiag
BatchMatrixSolve: MatrixSolve instead.
BatchMatrixSolveLs: MatrixSolveLs instead.
BatchMatrixTriangularSolve: MatrixTriangularSolve instead.
BatchNormWithGlobalNormalization: tf.nn.batch_normalization()
BatchNormWithGlobalNormalizationGrad: tf.nn.batch_normalization()
BatchSelfAdjointEig: SelfAdjointEigV2 instead.
BatchSelfAdjointEigV2: SelfAdjointEigV2 instead.
BatchSvd: Svd instead.
Conv3DBackpropFilter: Conv3DBackpropFilterV2
Conv3DBackpropInput: Conv3DBackpropInputV2
FixedLengthRecordReader: FixedLengthRecordReaderV2
IdentityReader: IdentityReaderV2
MatrixExponential: Python implementation tf.linalg.matrix_exponential instead.
SelfAdjointEig: SelfAdjointEigV2 instead.
StatefulStandardNormal: StatefulStandardNormalV2 instead
TFRecordReader: TFRecordReaderV2
TensorArray: TensorArrayV3
TensorArrayClose: TensorArrayCloseV3
TensorArrayCloseV2: TensorArrayCloseV3
TensorArrayConcat: TensorArrayGradV3
TensorArrayGather: TensorArrayGatherV3
TensorArrayGatherV2: TensorArrayGatherV3
TensorArrayGrad: TensorArrayGradV3
TensorArrayGradV2: TensorArrayGradV3
TensorArrayPack: TensorArrayGatherV3 with RangeOp
TensorArrayRead: TensorArrayReadV3
TensorArrayReadV2: TensorArrayReadV3
TensorArrayScatter: TensorArrayGradV3
TensorArrayScatterV2: TensorArrayScatterV3
TensorArraySize: TensorArraySizeV3
TensorArraySizeV2: TensorArraySizeV3
TensorArraySplit: TensorArraySplitV3
TensorArraySplitV2: TensorArraySplitV3
TensorArrayUnpack: TensorArrayScatterV3 with RangeOp
TensorArrayV2: TensorArrayV3
TensorArrayWrite: TensorArrayWriteV3
TensorArrayWriteV2: TensorArrayWriteV3
TextLineReader: TextLineReaderV2
TopK: TopKV2 instead
"""

_OTHERS = {
    "PlaceholderV2": "Placeholder now behaves the same as PlaceholderV2.",
    "QuantizeAndDequantize": "Replaced by QuantizeAndDequantizeV2",
    "RandomCrop": "Random crop is now pure Python",
    "RandomPoisson": "Replaced by RandomPoissonV2",
    "TileGrad": "TileGrad has been replaced with reduce_sum",
} | dict.fromkeys(
    ("NegTrain", "Skipgram"),
    "Moving word2vec into tensorflow_models/tutorials and deprecating its ops here as a result",
)


def advice(name: str) -> str:
    """Returns the sentence of an op on its replacement, "" if it has none."""
    if name in _OTHERS:
        return _OTHERS[name]
    for line in _RELATIVES.split("\n"):
        op, _, instead = line.partition(": ")
        if op == name:
            return "Use " + instead
    return ""
