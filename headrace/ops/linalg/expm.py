"""`tf.linalg.expm`: matrix exponentials by Padé approximants, with scaling and squaring (Higham, 2005)."""

from __future__ import annotations

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import constant_node, convert_to_tensor, raw
from headrace.ops.linalg.parts import product
from headrace.tensor_shape import TensorShape

# The coefficients of the approximants' numerators by degree, lowest power first; the highest is 1.
_PADE = {
    3: (120.0, 60.0, 12.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0),
    9: (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0),
    13: (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
         10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0),
}  # fmt: skip

# Up to which 1-norm the approximant of a degree is exact to the type's precision; the last one is for scaled matrices.
_SINGLE = {3: 4.258730016922831e-01, 5: 1.880152677804762, 7: 3.925724783138660}
_DOUBLE = {
    3: 1.495585217958292e-02,
    5: 2.539398330063230e-01,
    7: 9.504178996162932e-01,
    9: 2.097847961257068,
    13: 5.371920351148152,
}
_LIMITS = {
    dtypes.float16: _SINGLE,
    dtypes.float32: _SINGLE,
    dtypes.complex64: _SINGLE,
    dtypes.float64: _DOUBLE,
    dtypes.complex128: _DOUBLE,
}


def _parts(matrix, degree):
    """Makes the odd and the even part of the numerator; the denominator is the even part less the odd one."""
    b = [constant_node(x, matrix.dtype) for x in _PADE[degree]]
    shape_of = NAMES["shape"]
    n = shape_of(matrix)[-2]
    powers = [NAMES["eye"](n, batch_shape=shape_of(matrix)[:-2], dtype=matrix.dtype)]
    powers.append(product(matrix, matrix))
    for _ in range(2, 4 if degree == 13 else (degree - 1) // 2 + 1):
        powers.append(product(powers[-1], powers[1]))
    if degree == 13:
        return _parts_of_13(matrix, powers, b)
    odd = powers[-1]
    for i in range(len(powers) - 2, -1, -1):
        odd = odd + b[2 * i + 1] * powers[i]
    odd = product(matrix, odd)
    return odd, _even(None, powers, b)


def _even(start, powers, b):
    total = start
    for i in range(len(powers) - 1, -1, -1):
        term = b[2 * i] * powers[i]
        total = term if total is None else total + term
    return total


def _parts_of_13(matrix, powers, b):
    # Higher powers than the sixth come by one more product.
    eye, m2, m4, m6 = powers
    high = product(m6, m6 + b[11] * m4 + b[9] * m2)
    odd = product(matrix, high + b[7] * m6 + b[5] * m4 + b[3] * m2 + b[1] * eye)
    high = product(m6, b[12] * m6 + b[10] * m4 + b[8] * m2)
    return odd, _even(high, powers, b)


@export("linalg.expm")
def expm(input, name=None):
    """Returns the exponentials of matrices.

    Args:
      input: Square matrices, in the last two dimensions.
      name: The scope's name.

    Raises:
      ValueError: The type is not a float or complex type that TensorFlow does this for, or the rank is less than 2.
    """
    tf = NAMES
    with name_scope(name, "matrix_exponential", [input]):
        matrix = convert_to_tensor(input, name="input")
        dims = matrix._dims
        if dims is not None and len(dims) < 2:
            raise ValueError(f"Subshape start out of bounds: -2, for shape with rank {len(dims)}")
        if dims is not None and dims[-2:] == (0, 0):
            return matrix
        batch = None if dims is None or None in dims[:-2] else list(dims[:-2])
        if batch is None:
            batch_shape = tf["shape"](matrix)[:-2]
        matrix = tf["reshape"](matrix, tf["concat"]([[-1], tf["shape"](matrix)[-2:]], 0))
        norm = tf["abs"](matrix)
        norm = tf["reduce_sum"](norm, tf["size"](tf["shape"](matrix)) - 2)
        norm = tf["reduce_max"](norm, -1)
        limits = _LIMITS.get(matrix.dtype.base_dtype)
        if limits is None:
            raise ValueError(f"tf.linalg.expm does not support matrices of type {matrix.dtype}")
        result, squarings = _scaled(matrix, norm, limits)
        result = _squared(result, squarings, norm.dtype)
        if batch is None:
            whole = tf["concat"]([batch_shape, tf["shape"](result)[-2:]], 0)
            return tf["reshape"](result, whole)
        return tf["reshape"](result, _static(batch, result))


def _static(batch, result):
    last = (None, None) if result._dims is None else result._dims[-2:]
    return TensorShape([*batch, *last])


def _scaled(matrix, norm, limits):
    """Makes exponentials of matrices that are halved until they are small, and how often each was halved."""
    tf = NAMES

    def constant(x):
        return constant_node(x, norm.dtype)

    *degrees, last = limits
    halvings = tf["floor"](tf["log"](norm / constant(limits[last])) / tf["log"](constant(2.0)))
    squarings = tf["maximum"](halvings, 0.0)
    parts = [_parts(matrix, degree) for degree in degrees]
    two = constant_node(2.0, matrix.dtype)
    scale = tf["pow"](two, tf["cast"](squarings, matrix.dtype))[..., None, None]
    parts.append(_parts(matrix / scale, last))

    def chosen(values, of=tuple(degrees)):
        if not of:
            return values[0]
        small = tf["less"](norm, constant(limits[of[0]]))
        return tf["where"](small, values[0], chosen(values[1:], of[1:]))

    odd = chosen([u for u, _ in parts])
    even = chosen([v for _, v in parts])
    above = odd + even
    return raw.MatrixSolve(-odd + even, above), squarings


def _squared(result, squarings, dtype):
    """Squares each matrix as often as it was halved."""
    tf = NAMES
    most = tf["reduce_max"](squarings)
    count = constant_node(0.0, dtype)

    def go_on(i, _):
        return tf["less"](i, most)

    def square(i, r):
        return i + 1, tf["where"](tf["less"](i, squarings), product(r, r), r)

    return tf["while_loop"](go_on, square, [count, result])[1]
