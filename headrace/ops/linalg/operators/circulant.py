"""Circulant operators of one, two and three dimensions: what multiplies the Fourier transform by a spectrum."""

from __future__ import annotations

import math

import numpy as np

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import constant_value, convert_to_tensor, raw
from headrace.ops.linalg.operators import algebra
from headrace.ops.linalg.operators.base import LinearOperator
from headrace.ops.linalg.operators.batches import broadcast_batches
from headrace.ops.linalg.operators.checks import assert_no_zeros, assert_real
from headrace.ops.linalg.parts import adjoint as adjoint_of
from headrace.tensor_shape import TensorShape

_FORWARD = {1: "FFT", 2: "FFT2D", 3: "FFT3D"}
_BACKWARD = {1: "IFFT", 2: "IFFT2D", 3: "IFFT3D"}


def as_complex(x):
    """Makes a tensor complex, of the same precision."""
    double = x.dtype.base_dtype in (dtypes.float64, dtypes.complex128)
    return NAMES["cast"](x, dtypes.complex128 if double else dtypes.complex64)


def rotated(x, shift, name="rotate_transpose"):
    """Makes a tensor with its dimensions rotated: the last `shift` ones come first."""
    tf = NAMES
    with name_scope(name, values=[x, shift]):
        x = convert_to_tensor(x, name="x")
        shift = convert_to_tensor(shift, name="shift")
        tf["assert_integer"](shift)
        known = constant_value(shift)
        if x._dims is not None and known is not None:
            rank = len(x._dims)
            return x if rank < 2 else tf["transpose"](x, [int(i) for i in np.roll(range(rank), known)])
        rank = tf["rank"](x)
        backward = tf["less"](shift, 0)
        count = raw.SelectV2(backward, tf["mod"](tf["negative"](shift), rank), rank - tf["mod"](shift, rank))
        first, last = tf["range"](0, count), tf["range"](count, rank)
        return tf["transpose"](x, tf["concat"]([last, first], 0))


class _Circulant(LinearOperator):
    """What circulant operators of all depths have in common."""

    def __init__(
        self,
        spectrum,
        block_depth,
        input_output_dtype=dtypes.complex64,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        name=None,
    ):
        self._block_depth = block_depth
        with name_scope(name, values=[spectrum]):
            self._spectrum = convert_to_tensor(spectrum, name="spectrum")
            ndims = self._spectrum.shape.ndims
            if ndims is not None and ndims < block_depth:
                raise ValueError(
                    f"Argument spectrum must have at least {block_depth} dimensions.  Found: {self._spectrum}"
                )
            self._block_sizes = NAMES["shape"](self._spectrum)[-block_depth:]
            if not self._spectrum.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
                is_self_adjoint = True
            if is_square is False:
                raise ValueError("A [[nested] block] circulant operator is always square.")
            super().__init__(
                dtype=dtypes.as_dtype(input_output_dtype),
                graph_parents=[self._spectrum],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )
            self._complex_spectrum = as_complex(self._spectrum)
            self._abs_spectrum = NAMES["abs"](self._spectrum)
            self._conj_spectrum = NAMES["math.conj"](self._complex_spectrum)

    @property
    def block_depth(self):
        """How many dimensions are transformed."""
        return self._block_depth

    @property
    def spectrum(self):
        """What the Fourier transforms are multiplied by."""
        return self._spectrum

    @property
    def block_shape(self):
        """The static shape of the dimensions that are transformed."""
        return self._spectrum.shape[-self._block_depth :]

    def block_shape_tensor(self):
        """Returns the shape of the dimensions that are transformed as a tensor."""
        return self._block_sizes

    def _shape(self):
        shape = self._spectrum.shape
        if shape.ndims is None:
            return TensorShape(None)
        sizes = shape[-self._block_depth :].as_list()
        n = None if None in sizes else math.prod(sizes)
        return shape[: -self._block_depth].concatenate(TensorShape([n, n]))

    def _shape_tensor(self):
        shape = NAMES["shape"](self._spectrum)
        batch = shape[: -self._block_depth]
        n = NAMES["reduce_prod"](shape[-self._block_depth :])
        return NAMES["concat"]((batch, [n, n]), 0)

    # -- transforms --------------------------------------------------------------------------------------------
    def _as_spectrum(self, x):
        return NAMES["cast"](x, self._complex_spectrum.dtype)

    def _fft(self, x):
        return getattr(raw, _FORWARD[self._block_depth])(self._as_spectrum(x))

    def _ifft(self, x):
        return getattr(raw, _BACKWARD[self._block_depth])(self._as_spectrum(x))

    def _with_one_batch(self, x, spectrum):
        tf = NAMES
        flat = tf["reshape"](spectrum, tf["concat"]((self.batch_shape_tensor(), [-1, 1]), 0))
        x, flat = broadcast_batches((x, flat))
        whole = tf["concat"]((tf["shape"](x)[:-2], self._block_sizes), 0)
        return x, tf["reshape"](flat, whole)

    def _as_blocks(self, matrix):
        """Makes blocks of the columns, the columns' axis first."""
        rows = rotated(matrix, shift=1)
        shape = self.block_shape
        if rows.shape.ndims is not None and shape.ndims is not None:
            whole = rows.shape[:-1].concatenate(shape)
            if whole.is_fully_defined():
                return NAMES["reshape"](rows, whole)
        whole = NAMES["concat"]((NAMES["shape"](rows)[:-1], self._block_sizes), 0)
        return NAMES["reshape"](rows, whole)

    def _as_matrix(self, blocks):
        """Makes columns of blocks, the columns' axis last."""
        depth = self._block_depth
        if blocks.shape.is_fully_defined():
            sizes = blocks.shape.as_list()
            rows = NAMES["reshape"](blocks, [*sizes[:-depth], math.prod(sizes[-depth:])])
        else:
            shape = NAMES["shape"](blocks)
            batch = shape[:-depth]
            n = NAMES["reduce_prod"](shape[-depth:])
            rows = NAMES["reshape"](blocks, NAMES["concat"]((batch, [n]), 0))
        return rotated(rows, shift=-1)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = adjoint_of(x) if adjoint_arg else x
        x = self._as_spectrum(x)
        x, spectrum = self._with_one_batch(x, self._conj_spectrum if adjoint else self._complex_spectrum)
        y = self._ifft(spectrum * self._fft(self._as_blocks(x)))
        return NAMES["cast"](self._as_matrix(y), self.dtype)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        rhs, spectrum = self._with_one_batch(rhs, self._conj_spectrum if adjoint else self._complex_spectrum)
        x = self._ifft(self._fft(self._as_blocks(rhs)) / spectrum)
        return NAMES["cast"](self._as_matrix(x), self.dtype)

    # -- what the spectrum says --------------------------------------------------------------------------------
    def _axes(self):
        return [-1 - i for i in range(self._block_depth)]

    def _determinant(self):
        return NAMES["cast"](NAMES["reduce_prod"](self._spectrum, axis=self._axes()), self.dtype)

    def _log_abs_determinant(self):
        result = NAMES["reduce_sum"](NAMES["log"](self._abs_spectrum), axis=self._axes())
        return NAMES["cast"](result, self.dtype)

    def _trace(self):
        tf = NAMES
        spectrum = self._spectrum
        if spectrum.shape.is_fully_defined():
            rank = spectrum.shape.ndims
            axes = list(range(rank - self._block_depth, rank))
        else:
            rank = tf["rank"](spectrum)
            axes = tf["range"](rank - self._block_depth, rank)
        total = tf["reduce_sum"](tf["real"](spectrum), axis=axes)
        if not self.dtype.is_complex:
            return tf["cast"](total, self.dtype)
        if spectrum.dtype.is_complex:
            imaginary = tf["reduce_sum"](tf["imag"](spectrum), axis=axes)
        else:
            imaginary = tf["zeros_like"](total)
        return tf["cast"](tf["complex"](total, imaginary), self.dtype)

    def _diag_part(self):
        tf = NAMES
        if self.shape.is_fully_defined():
            shape, n = self.shape[:-1], self.domain_dimension.value
        else:
            shape, n = self.shape_tensor()[:-1], self.domain_dimension_tensor()
        ones = tf["ones"](shape, dtype=self.dtype)
        value = self.trace() / tf["cast"](n, self.dtype)
        return value[..., None] * ones

    def convolution_kernel(self, name="convolution_kernel"):
        """Returns the first columns of the matrices, in the shape of the blocks.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            return NAMES["cast"](self._ifft(self._complex_spectrum), self.dtype)

    def assert_hermitian_spectrum(self, name="assert_hermitian_spectrum"):
        """Returns an operation that fails if the convolution kernel is not real up to rounding.

        Args:
          name: The scope's name.
        """
        with self._name_scope(name):
            real = self.dtype.real_dtype
            eps = np.finfo(real.storage).eps
            largest = eps * NAMES["cast"](self.domain_dimension_tensor(), real)
            imaginary = NAMES["imag"](self.convolution_kernel())
            return NAMES["assert_less"](
                NAMES["abs"](imaginary), largest, message="Spectrum was not Hermitian"
            )

    def _assert_non_singular(self):
        return assert_no_zeros(self._spectrum, message="Singular operator:  Spectrum contained zero values.")

    def _assert_positive_definite(self):
        message = "Not positive definite:  Real part of spectrum was not all positive."
        return NAMES["assert_positive"](NAMES["real"](self._spectrum), message=message)

    def _assert_self_adjoint(self):
        return assert_real(
            self._spectrum,
            message="Not self-adjoint:  The spectrum contained non-zero imaginary part.",
        )


def _kind(depth, what, name):
    def init(
        self,
        spectrum,
        input_output_dtype=dtypes.complex64,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        name=name,
    ):
        _Circulant.__init__(
            self,
            spectrum,
            depth,
            input_output_dtype=input_output_dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            name=name,
        )

    doc = f"""{what}

    Args:
      spectrum: What the Fourier transforms of vectors are multiplied by; the last {depth} dimensions are transformed.
      input_output_dtype: The type of the elements; the imaginary parts of products are dropped if it is real.
      is_non_singular: Whether no element of the spectrum is 0.
      is_self_adjoint: Whether the spectrum is real.
      is_positive_definite: Whether its real part is positive.
      is_square: True.
      name: The operator's name.
    """
    init.__name__, init.__qualname__ = "__init__", f"{name}.__init__"
    members = {"__init__": init, "__doc__": doc, "__module__": __name__}
    return export(f"linalg.{name}")(type(_Circulant)(name, (_Circulant,), members))


LinearOperatorCirculant = _kind(
    1, "Circulant matrices: each column is the one before it, shifted.", "LinearOperatorCirculant"
)
LinearOperatorCirculant2D = _kind(
    2, "Block circulant matrices of circulant blocks.", "LinearOperatorCirculant2D"
)
LinearOperatorCirculant3D = _kind(
    3, "Block circulant matrices whose blocks are block circulant.", "LinearOperatorCirculant3D"
)


def _with_spectrum(spectrum, operator):
    # As in TensorFlow, these have the default type whatever the operator's is.
    return LinearOperatorCirculant(spectrum, is_square=True, **algebra.hints_of(operator))


@algebra.register("adjoint", LinearOperatorCirculant)
def _adjoint(operator):
    spectrum = operator.spectrum
    if spectrum.dtype.is_complex:
        spectrum = NAMES["math.conj"](spectrum)
    return _with_spectrum(spectrum, operator)


@algebra.register("inverse", LinearOperatorCirculant)
def _inverse(operator):
    return _with_spectrum(1.0 / operator.spectrum, operator)
