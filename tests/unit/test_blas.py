"""Products take one thread where they are small, and leave NumPy's threads as they found them."""

import numpy as np
import pytest

from headrace import blas


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 5)), ((80, 90), (90, 70)), ((7, 60, 80), (80, 90)), ((50, 4000), (4000,))]
)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64])
def test_products_are_numpys(shapes, dtype):
    a, b = (np.random.RandomState(0).randn(*s).astype(dtype) for s in shapes)
    np.testing.assert_allclose(blas.multiply(a, b), np.matmul(a, b), rtol=2e-5, atol=1e-4)


def test_threads_are_as_before():
    a = np.ones((100, 100), np.float64)  # of float32 the native library may make a product
    blas.multiply(a, a)
    libraries = blas._found()
    assert libraries
    for library in libraries:
        before = library.num_threads
        seen = []
        original = np.matmul
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                np,
                "matmul",
                lambda *x, lib=library, f=original, seen=seen: (seen.append(lib.num_threads), f(*x))[1],
            )
            blas.multiply(a, a)
            with pytest.raises(ValueError):
                blas.multiply(a, a[:50])
        assert seen == [1, 1]
        assert library.num_threads == before
