"""Random numbers of the native library: bit for bit those of NumPy."""

import numpy as np
import pytest

from headrace import dtypes, native
from headrace.lazy import jax, jnp
from headrace.ops.random import distributions, philox

KEY = np.array([0x12345678, 0x9ABCDEF0], np.uint32)
COUNTERS = {
    "an ordinary one": [5, 6, 7, 8],
    "one whose lower half overflows": [0xFFFFFF80, 0xFFFFFFFF, 0xFFFFFFFF, 1],
    "the last": [0xFFFFFFFF] * 4,
}
SIZES = (0, 1, 2, 3, 5, 255, 256, 257, 70_001)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal"])
def test_numbers_are_those_of_numpy(name, counter, dtype, without, needs_library):
    kind = np.dtype(dtypes.as_dtype(dtype).storage)
    make = getattr(distributions, name)
    for size in SIZES:
        arguments = (KEY, np.array(counter, np.uint32), (size,), kind)
        found, expected = make(*arguments), without(make, *arguments)
        assert found.dtype == expected.dtype == kind
        assert found.tobytes() == expected.tobytes(), size


@pytest.mark.parametrize("stride", [1, 3, 256])
@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
def test_blocks_are_those_of_numpy(counter, stride, without, needs_library):
    for size in (0, 1, 63, 64, 65, 20_000):
        arguments = (KEY, np.array(counter, np.uint32), size, np, stride)
        assert np.array_equal(philox.blocks(*arguments), without(philox.blocks, *arguments))


@pytest.mark.parametrize("stride", [1, 3, 256])
@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
def test_blocks_of_compiled_programs_are_those_of_numpy(counter, stride, needs_library):
    for size in (63, 64, 65, 4096, 20_000):
        made = jax.jit(lambda key, counter, n=size: philox.blocks(key, counter, n, jnp, stride))
        found = made.lower(KEY, np.array(counter, np.uint32)).compile()
        assert ("headrace_philox_blocks" in found.as_text()) == (size >= 64)
        expected = philox.blocks(KEY, np.array(counter, np.uint32), size, np, stride)
        assert np.array_equal(found(KEY, np.array(counter, np.uint32)), expected)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_numbers_do_not_depend_on_the_number_of_threads(threads, monkeypatch, without, needs_library):
    monkeypatch.setattr(native, "_threads", threads)
    arguments = (KEY, np.array([5, 6, 7, 8], np.uint32), (1_000_003,), np.dtype(np.float32))
    found = distributions.truncated_normal(*arguments)
    assert found.tobytes() == without(distributions.truncated_normal, *arguments).tobytes()


def test_logarithms_and_angles_of_all_sizes_are_those_of_numpy(without, needs_library):
    # A million radii and angles, of the eight million that there are.
    arguments = (KEY, np.zeros(4, np.uint32), (1 << 21,), np.dtype(np.float32))
    found, expected = distributions.normal(*arguments), without(distributions.normal, *arguments)
    assert found.tobytes() == expected.tobytes()
