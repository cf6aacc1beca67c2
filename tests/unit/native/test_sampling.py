"""Candidates drawn by the native library are those drawn without it."""

import numpy as np
import pytest

from headrace.ops.random import candidates, philox


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("classes, count", [(1, 1), (7, 7), (50, 6), (1000, 990), (50_000, 64), (2**40, 300)])
def test_log_uniform_candidates_are_the_same(classes, count, unique, without, needs_library):
    true = np.array([[0, 3], [classes - 1, 2]])
    for seed in range(20):
        key, counter = philox.state_from_seeds(seed, 2**63 + seed)

        def run(key=key, counter=counter):
            return candidates.sampled(
                candidates.LogUniform(classes), true, count, unique, lambda blocks: (key, counter)
            )

        with np.errstate(all="ignore"):
            found, expected = run(), without(run)
        assert found[0].dtype == np.int64 and found[0].tolist() == expected[0].tolist()
        for a, b in zip(found[1:], expected[1:], strict=True):
            assert a.dtype == np.float32 and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=3e-7)


def test_more_different_candidates_than_classes_are_refused(kind):
    key, counter = philox.state_from_seeds(1, 2)
    with pytest.raises(Exception, match="range is too small"):
        candidates.sampled(candidates.LogUniform(5), np.array([[1]]), 6, True, lambda blocks: (key, counter))
