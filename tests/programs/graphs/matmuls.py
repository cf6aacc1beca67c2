"""Matrix products with every transpose flag, batched, complex, tensordot and einsum, and linear algebra."""

import numpy as np


def noise(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def build(tf):
    a = tf.constant(noise(1, 3, 4), name="a")
    b = tf.constant(noise(2, 4, 2), name="b")
    at = tf.transpose(a)
    bt = tf.transpose(b)
    batch_a = tf.constant(noise(3, 2, 3, 4), name="batch_a")
    batch_b = tf.constant(noise(4, 2, 4, 5), name="batch_b")
    wave = tf.constant((noise(5, 2, 2) + 1j * noise(6, 2, 2)).astype(np.complex64), name="wave")
    square = tf.constant(noise(7, 3, 3) + 3.0 * np.eye(3, dtype=np.float32), name="square")
    pieces = {
        "plain": (tf.matmul(a, b), [a, b]),
        "transpose_a": (tf.matmul(at, b, transpose_a=True), [at, b]),
        "transpose_b": (tf.matmul(a, bt, transpose_b=True), [a, bt]),
        "transpose_both": (tf.matmul(at, bt, transpose_a=True, transpose_b=True), [at, bt]),
        "batch": (tf.matmul(batch_a, batch_b), [batch_a, batch_b]),
        "batch_transposed": (tf.matmul(batch_a, batch_a, transpose_b=True), [batch_a]),
        "batch_adjoint": (tf.matmul(batch_a, batch_a, adjoint_a=True), [batch_a]),
        "broadcast": (tf.matmul(batch_a, b), [batch_a, b]),
        "tensordot": (tf.tensordot(batch_a, b, [[2], [0]]), [batch_a, b]),
        "tensordot_axes": (tf.tensordot(a, b, 1), [a, b]),
        "inverse": (tf.matrix_inverse(square), [square]),
        "determinant": (tf.matrix_determinant(square), [square]),
        "solve": (tf.matrix_solve(square, tf.eye(3)), [square]),
        "trace": (tf.trace(square), [square]),
        "diag": (tf.matrix_diag(a), [a]),
        "cholesky": (tf.cholesky(tf.matmul(square, square, transpose_b=True)), [square]),
        "einsum": (tf.einsum("bij,jk->bik", batch_a, b), [batch_a, b]),
    }
    fetches = {}
    for name, (y, sources) in pieces.items():
        fetches[name] = y
        for source, gradient in zip(sources, tf.gradients(tf.square(y), sources)):
            fetches[f"gradient_{name}_{source.op.name}"] = gradient
    fetches["complex"] = tf.matmul(wave, wave, adjoint_b=True)
    fetches["sparse_flags"] = tf.matmul(a, b, a_is_sparse=True)
    fetches["angle"] = tf.stack([tf.real(wave), tf.imag(wave), tf.abs(wave)])
    fetches["vector"] = tf.linalg.matvec(a, [1.0, 2.0, 3.0, 4.0])
    return fetches
