"""Tests of what headrace sets up once in a process."""

import os
import platform
import subprocess
import sys

import pytest

PROBE = """
import ctypes, os, threading
import headrace

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

def faults():
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def use():
    p = libc.malloc(SIZE)
    libc.memset(p, 1, SIZE)
    libc.free(p)

SIZE = 200 << 20
threads = [threading.Thread(target=use) for _ in range(3)]
for t in threads:
    t.start()
    t.join()
before = faults()
late = threading.Thread(target=use)
late.start()
late.join()
print(faults() - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="what is set is glibc's: this is another C library"
)
@pytest.mark.parametrize("setting, keeps", [("1", True), ("0", False)])
def test_large_blocks_are_kept_for_any_thread(setting, keeps):
    environment = {**os.environ, "HEADRACE_KEEP_MEMORY": setting}
    made = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    pages = (200 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert (int(made.stdout) < pages / 10) == keeps
