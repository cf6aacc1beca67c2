"""What the machine can do: the products of large matrices and the copies of long arrays, timed now."""

from __future__ import annotations

import os
import platform
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.calibration import cpu_seconds, wall_seconds


def matmul_peak(size: int = 2048) -> tuple[float, float]:
    """Returns float32 operations of products a second and a second of CPU time, the better of XLA and NumPy."""
    import jax

    a = np.random.RandomState(0).standard_normal((size, size)).astype(np.float32)
    x = jax.device_put(a)
    product = jax.jit(lambda x: x @ x)
    ways = (lambda: product(x).block_until_ready(), lambda: a @ a)
    for multiply in ways:
        multiply()
    flops = 2.0 * size**3
    wall, cpu = (min(timed(w, 5) for w in ways) for timed in (wall_seconds, cpu_seconds))
    return flops / wall, flops / cpu


def bandwidth(megabytes: int = 256) -> float:
    """Returns bytes a second that a copy reads and writes, all cores together."""
    workers = os.cpu_count() or 1
    source = np.ones((workers, megabytes * 2**20 // 4 // workers), np.float32)
    target = np.empty_like(source)
    target.fill(0)
    with ThreadPoolExecutor(workers) as pool:
        seconds = wall_seconds(lambda: list(pool.map(np.copyto, target, source)), 7)
    return 2.0 * source.nbytes / seconds


def machine() -> str:
    """Returns the kind of this machine, without its name."""
    kind = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            lines = [line.split(":", 1) for line in f if ":" in line]
        kind = next(v.strip() for k, v in lines if k.strip() == "model name")
        flags = next(v.split() for k, v in lines if k.strip() == "flags")
        best = [f for f in ("avx512f", "avx2", "avx") if f in flags]
        kind += f" ({best[0]})" if best else ""
    except (OSError, StopIteration):
        pass
    return f"{kind}, {os.cpu_count()} cores, {platform.system()}"
