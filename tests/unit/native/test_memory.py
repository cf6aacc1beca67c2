"""Memory that is kept from step to step, and arrays where XLA takes them as they are."""

import os
import platform
import subprocess
import sys

import pytest

FAULTS = """
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
    pages = (200 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert (int(_said(FAULTS, KEEP_MEMORY=setting)) < pages / 10) == keeps


ARRAYS = """
import gc
import numpy as np
import headrace as tf

def places(*arrays):
    return [a.ctypes.data % 64 for a in arrays]

big = 100_000
print(places(np.empty(big), np.zeros(big), np.ones(big), np.random.rand(big), np.arange(3 * big).reshape(3, -1) * 2))
assert not np.zeros(big).any()

# What grows and shrinks keeps what is in it.
for sizes in ((10, 30_000, 5), (30_000, 10, 200_000), (0, 1, 0, 70_000)):
    a = np.arange(sizes[0])
    for n in sizes[1:]:
        known = min(n, a.size)
        a.resize(n, refcheck=False)
        assert (a[:known] == np.arange(known)).all() and not a[known:].any()
        a[:] = np.arange(n)
assert np.fromiter(iter(range(50_000)), np.int64).sum() == 49_999 * 25_000
assert np.frombuffer(np.arange(big).tobytes(), np.int64).sum() == np.arange(big).sum()
try:
    np.empty(1 << 62, np.uint8)
except MemoryError:
    print("refused")

# A feed is taken as it is: XLA's memory begins where NumPy's does.
from headrace.lazy import jax
a = np.random.rand(big)
print(jax.device_put(a).unsafe_buffer_pointer() == a.ctypes.data)
"""


def test_arrays_lie_where_xla_takes_them(needs_library):
    assert _said(ARRAYS).splitlines() == ["[0, 0, 0, 0, 0]", "refused", "True"]


@pytest.mark.parametrize("setting", [{"KEEP_MEMORY": "0"}, {"NATIVE": "0"}])
def test_arrays_are_left_alone_where_nothing_is_kept(setting):
    probe = "import headrace, numpy as np; print(np._core.multiarray.get_handler_name())"
    assert _said(probe, **setting).strip() == "default_allocator"


BLOCKS = """
import os
import numpy as np
import headrace as tf
from headrace.lazy import jnp
from headrace.native.memory import large_blocks, return_memory

MB = 1 << 20

def made(mb):
    array = jnp.array(np.full(mb * MB // 4, mb, np.float32), copy=True)
    array.block_until_ready()
    return array

def counts():
    jnp.zeros(3).block_until_ready()  # XLA lets go of arguments when it is next called
    return [n // MB for n in large_blocks()]

made(1)
return_memory()
print(counts())
a, b, c = made(40), made(30), made(20)
print(counts())
b.delete()
print(counts())
d = made(10)  # in b's place
print(counts())
e = made(20)  # in the rest of it
print(counts())
for array, value in ((a, 40), (c, 20), (d, 10), (e, 20)):
    assert (np.asarray(array) == value).all()
d.delete(); e.delete()
b = made(30)  # the two have become one again
print(counts())
b.delete()
return_memory()
print(counts())
if not os.fork():
    a.delete(); c.delete()
    os._exit(0)
print(os.wait()[1])
view = np.asarray(a)
del a
assert (view == 40).all()
del view
c.delete()
print(counts()[0])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="XLA's calls are only redirected on Linux")
def test_large_blocks_are_used_again(needs_library):
    expected = ["[0, 0]", "[90, 0]", "[60, 30]", "[70, 20]", "[90, 0]", "[90, 0]", "[60, 0]", "0", "0"]
    assert _said(BLOCKS).splitlines() == expected


STEPS = """
import numpy as np
import headrace as tf
from headrace.native.memory import large_blocks

x = tf.placeholder(tf.float32, [600, 1000])
w = tf.Variable(tf.fill([1000, 1000], np.float32(1e-3)))
y = x
for _ in range(8):
    y = tf.nn.relu(tf.matmul(y, w)) + 1.0
train = tf.train.MomentumOptimizer(1e-9, 0.9).minimize(tf.reduce_mean(y))
held = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range(12):
        session.run(train, {x: np.ones([600, 1000], np.float32) * i})
        keep = np.ones(300_000 + i * 50_000)  # something comes to lie in between
        held.append(keep)
        session.run(w)  # the step has ended
        if i >= 3:
            print(sum(large_blocks()))
"""


def test_steps_take_no_more_memory_in_time(needs_library):
    found = _said(STEPS, TIER="compile", BACKGROUND="off", CACHE_DIR="").split()
    assert len(set(found)) == 1 and int(found[0]) > 8 << 20


def _said(program, **settings):
    """Returns what a program of its own process prints, with some of headrace's settings."""
    environment = {**os.environ, **{f"HEADRACE_{name}": value for name, value in settings.items()}}
    made = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert not made.returncode, made.stderr
    return made.stdout
