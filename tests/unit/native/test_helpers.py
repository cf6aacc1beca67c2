"""Tests of the threads that help native kernels, as many callers meet them."""

import threading

import numpy as np
import pytest

from headrace.lazy import jax, jnp
from headrace.native import products

SIZES = [(3, 40, 50), (32, 256, 512), (128, 300, 700), (20, 64, 2000)]


@pytest.fixture
def multiply(needs_products, needs_xla):
    return jax.jit(lambda a, b: products.product(a, b))


def operands(m, k, n, seed):
    rng = np.random.RandomState(seed)
    return rng.rand(m, k).astype(np.float32), rng.rand(k, n).astype(np.float32)


@pytest.mark.parametrize("callers", [1, 2, 7])
def test_products_of_many_callers_at_once_are_right(multiply, callers):
    wrong = []

    def call(seed):
        for i in range(60):
            a, b = operands(*SIZES[(seed + i) % len(SIZES)], seed=seed)
            got = np.asarray(multiply(a, b))
            if not np.allclose(got, a @ b, rtol=1e-4, atol=1e-4):
                wrong.append((seed, i))

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong


def test_products_that_xla_runs_at_the_same_time_are_right(multiply):
    a, b = operands(64, 300, 300, 0)
    both = jax.jit(lambda a, b: [products.product(a * jnp.float32(i), b) for i in range(12)])
    for _ in range(20):
        for i, got in enumerate(both(a, b)):
            np.testing.assert_allclose(got, i * (a @ b), rtol=1e-4, atol=1e-4)
