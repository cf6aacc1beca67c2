"""What TensorFlow's own process does not survive, graphs of old versions, factors with free signs, operators' parts."""

import numpy as np
import pytest

import headrace as tf
from headrace import errors, proto
from headrace.opdef import raw

TIERS = ("interpret", "compile")


def unknown(value):
    return tf.placeholder_with_default(np.asarray(value, np.float64), None)


def run(fetch, tier):
    with tf.Session() as session:
        session._tier = tier
        return session.run(fetch)


# TensorFlow 1.15 reads past the end of its memory for most of these.
ILL_SHAPED = {
    "Cholesky of a vector": lambda: raw.Cholesky(unknown(np.ones(3))),
    "Cholesky, not square": lambda: raw.Cholesky(unknown(np.ones((3, 0)))),
    "MatrixInverse of a vector": lambda: raw.MatrixInverse(unknown(np.ones(3))),
    "MatrixInverse, not square": lambda: raw.MatrixInverse(unknown(np.ones((2, 3)))),
    "SelfAdjointEigV2, not square": lambda: raw.SelfAdjointEigV2(unknown(np.ones((2, 3))))[0],
    "MatrixSquareRoot, not square": lambda: raw.MatrixSquareRoot(unknown(np.ones((2, 3)))),
    "MatrixLogarithm, not square": lambda: raw.MatrixLogarithm(
        tf.cast(unknown(np.ones((2, 3))), tf.complex128)
    ),
    "Svd of a vector": lambda: raw.Svd(unknown(np.ones(3)))[0],
    "Lu, not square": lambda: raw.Lu(unknown(np.ones((2, 3))))[0],
    "MatrixDeterminant of a vector": lambda: raw.MatrixDeterminant(unknown(np.ones(3))),
    "MatrixSolve, other batches": lambda: raw.MatrixSolve(
        unknown([np.eye(3), np.eye(3)]), unknown(np.ones((3, 3, 1)))
    ),
    "MatrixSolve, other ranks": lambda: raw.MatrixSolve(unknown([np.eye(3)]), unknown(np.ones((3, 1)))),
    "MatrixSolve of a vector": lambda: raw.MatrixSolve(unknown(np.ones(3)), unknown(np.ones(3))),
    "MatrixTriangularSolve, other batches": lambda: raw.MatrixTriangularSolve(
        unknown([np.eye(3), np.eye(3)]), unknown(np.ones((3, 3, 1)))
    ),
    "MatrixSolveLs, other batches": lambda: raw.MatrixSolveLs(
        unknown([np.eye(3), np.eye(3)]), unknown(np.ones((3, 3, 1))), 0.0
    ),
    "CholeskyGrad, other ranks": lambda: raw.CholeskyGrad(unknown(np.eye(3)), unknown([np.eye(3)] * 2)),
    "TridiagonalSolve of vectors": lambda: raw.TridiagonalSolve(unknown(np.ones(3)), unknown(np.ones(3))),
    "TridiagonalSolve, other batches": lambda: raw.TridiagonalSolve(
        unknown(np.ones((2, 3, 3))), unknown(np.ones((1, 3, 1)))
    ),
    "TridiagonalSolve, other lengths": lambda: raw.TridiagonalSolve(
        unknown(np.ones((3, 3))), unknown(np.ones((2, 2)))
    ),
    "TridiagonalMatMul of vectors": lambda: raw.TridiagonalMatMul(
        *[unknown(np.ones(3))] * 3, unknown(np.ones((3, 1)))
    ),
    "TridiagonalMatMul, other batches": lambda: raw.TridiagonalMatMul(
        *[unknown(np.ones((2, 1, 3)))] * 3, unknown(np.ones((1, 3, 1)))
    ),
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("what", ILL_SHAPED)
def test_ill_shaped_operands_are_refused(what, tier):
    with tf.Graph().as_default():
        fetch = ILL_SHAPED[what]()
        with pytest.raises(errors.InvalidArgumentError):
            run(fetch, tier)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3), (3, 0)])
def test_svd_of_nothing(shape, tier):
    with tf.Graph().as_default():
        s, u, v = run(raw.Svd(unknown(np.ones(shape)), full_matrices=True), tier)
    assert s.shape == (*shape[:-2], 0)
    assert np.array_equal(u, np.broadcast_to(np.eye(shape[-2]), (*shape[:-2], shape[-2], shape[-2])))
    assert np.array_equal(v, np.broadcast_to(np.eye(shape[-1]), (*shape[:-2], shape[-1], shape[-1])))


def old_node(kind, *operands, **attrs):
    """Returns the outputs of one op in a graph of version 9."""
    graph_def = proto.GraphDef()
    graph_def.versions.producer = 9
    node = proto.NodeDef(name="x", op=kind)
    for i, value in enumerate(operands):
        const = graph_def.node.add(name=f"c{i}", op="Const")
        const.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
        const.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
        node.input.append(const.name)
    node.attr["T"].type = tf.as_dtype(operands[0].dtype).as_datatype_enum
    for key, value in attrs.items():
        node.attr[key].b = value
    graph_def.node.append(node)
    tf.import_graph_def(graph_def, name="")
    return tf.get_default_graph().get_operation_by_name("x").outputs


A = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)

# What TensorFlow 1.15.5 answers.
OLD = {
    "MatrixExponential": ((A,), {}, [[[13.181512, 14.883951], [14.883951, 28.065466]]]),
    "BatchMatrixInverse": ((A,), {"adjoint": True}, [[[0.6, -0.2], [-0.2, 0.4]]]),
    "BatchMatrixDeterminant": ((A,), {}, [5.0]),
    "BatchCholesky": ((A,), {}, [[[1.4142135, 0.0], [0.70710677, 1.5811388]]]),
    "BatchCholeskyGrad": ((A, A), {}, [[[0.5, 0.0], [0.0, 0.5]]]),
    "BatchMatrixSolve": ((A, A), {}, [[[1.0, 0.0], [0.0, 1.0]]]),
    "BatchMatrixTriangularSolve": ((A, A), {}, [[[1.0, 0.5], [0.0, 0.8333334]]]),
    "BatchMatrixSolveLs": ((A, A, np.float64(0)), {}, [[[1.0, 0.0], [0.0, 1.0]]]),
    "BatchSvd": ((A,), {"compute_uv": False}, [[3.6180344, 1.3819661], [], []]),
    "BatchSelfAdjointEigV2": ((A,), {"compute_v": False}, [[1.3819659, 3.6180334], []]),
}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("kind", OLD)
def test_graphs_of_old_versions(kind, tier):
    operands, attrs, wanted = OLD[kind]
    with tf.Graph().as_default():
        found = run(list(old_node(kind, *operands, **attrs)), tier)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tier", TIERS)
def test_self_adjoint_eig_puts_the_values_above_the_vectors(tier):
    with tf.Graph().as_default():
        (output,) = old_node("SelfAdjointEig", A)
        assert output.shape.as_list() == [3, 2]
        found = run(output, tier)
    np.testing.assert_allclose(found[0], [1.3819659, 3.6180334], rtol=1e-5)
    np.testing.assert_allclose(
        np.abs(found[1:]), [[0.8506507, 0.52573115], [0.52573115, 0.8506507]], rtol=1e-5
    )


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_factors_give_the_matrix_back(dtype, tier):
    """The signs of singular vectors and eigenvectors are free; what they multiply to is not."""
    random = np.random.RandomState(4)
    x = random.randn(2, 4, 3) + (1j * random.randn(2, 4, 3) if dtype().dtype.kind == "c" else 0)
    x = x.astype(dtype)
    hermitian = np.matmul(np.conj(np.swapaxes(x, 1, 2)), x)
    tolerance = dict(rtol=1e-4, atol=1e-4) if np.finfo(dtype).eps > 1e-10 else dict(rtol=1e-10, atol=1e-10)
    with tf.Graph().as_default():
        (s, u, v), (e, w), (q, r) = run([tf.svd(x), tf.self_adjoint_eig(hermitian), tf.qr(x)], tier)
    assert s.dtype == x.real.dtype
    assert e.dtype == x.dtype, "TensorFlow has eigenvalues in the type of the matrix"
    np.testing.assert_allclose(np.matmul(u * s[:, None], np.conj(np.swapaxes(v, 1, 2))), x, **tolerance)
    np.testing.assert_allclose(
        np.matmul(w * e[:, None], np.conj(np.swapaxes(w, 1, 2))), hermitian, **tolerance
    )
    np.testing.assert_allclose(np.matmul(q, r), x, **tolerance)
    assert np.all(np.diff(s) <= 0)
    assert np.all(np.diff(e.real) >= 0)


@pytest.mark.parametrize("tier", TIERS)
def test_a_hermitian_spectrum_is_told_from_others(tier):
    with tf.Graph().as_default():
        kernel = np.fft.fft([1.0, 2.0, 5.0]).astype(np.complex64)
        run(tf.linalg.LinearOperatorCirculant(kernel).assert_hermitian_spectrum(), tier)
        other = tf.linalg.LinearOperatorCirculant(np.array([1j, 2, 3], np.complex64))
        with pytest.raises(errors.InvalidArgumentError, match="Spectrum was not Hermitian"):
            run(other.assert_hermitian_spectrum(), tier)


def test_an_operator_knows_the_variables_inside():
    with tf.Graph().as_default():
        v = tf.get_variable("v", [2], use_resource=True)
        w = tf.get_variable("w", [2, 2], trainable=False)
        diagonal = tf.linalg.LinearOperatorDiag(v)
        whole = tf.linalg.LinearOperatorBlockDiag(
            [diagonal, tf.linalg.LinearOperatorFullMatrix(w, is_square=True)]
        )
        assert [x.name for x in whole.variables] == ["v:0", "w:0"]
        assert [x.name for x in whole.trainable_variables] == ["v:0"]
        assert [x.name for x in whole.submodules] == ["LinearOperatorDiag", "LinearOperatorFullMatrix"]


def test_an_operator_of_the_users_own_needs_a_product_and_a_shape():
    class Twice(tf.linalg.LinearOperator):
        def __init__(self):
            super().__init__(dtype=tf.float64, is_square=True)

        def _shape(self):
            return tf.TensorShape([3, 3])

        def _shape_tensor(self):
            return tf.constant([3, 3])

        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            return 2.0 * (tf.linalg.adjoint(x) if adjoint_arg else x)

    with tf.Graph().as_default():
        twice = Twice()
        assert twice.name == "Twice"
        fetches = [
            twice.to_dense(),
            twice.determinant(),
            twice.solvevec(tf.constant([2.0, 4.0, 6.0], tf.float64)),
            twice.inverse().matmul(twice.adjoint()).to_dense(),
        ]
        with tf.Session() as session:
            dense, determinant, solution, product = session.run(fetches)
    np.testing.assert_allclose(dense, 2 * np.eye(3))
    np.testing.assert_allclose(determinant, 8.0)
    np.testing.assert_allclose(solution, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(product, np.eye(3))


def test_an_operator_without_a_product_is_abstract():
    class Shaped(tf.linalg.LinearOperator):
        def _shape(self):
            return tf.TensorShape([3, 3])

    with pytest.raises(TypeError, match="abstract"):
        Shaped(tf.float32)
