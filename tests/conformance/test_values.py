"""What each program's fetches hold, before and after training, is what they held under TensorFlow 1.15."""

import numpy as np
import pytest

import headrace as tf
from tests.golden import canonical
from tests.programs import programs

# Relative to each element and to the largest element of its array: sums are taken in another order here, and
# cancellation leaves errors of the size of the largest term. Everything that is not listed must be equal.
TOLERANCE = {
    "float16": (2e-3, 1e-3),
    "float32": (2e-5, 2e-6),
    "complex64": (2e-5, 2e-6),
    "float64": (1e-11, 1e-12),
    "complex128": (1e-11, 1e-12),
}

# The programs of which nothing is run: no machine has their devices.
ONLY_BUILT = ["devices"]


def difference(got, want):
    """What is wrong with a value, or the empty string."""
    if want.dtype == object:
        got = np.array(got, dtype=object)
        return (
            "" if got.tolist() == want.tolist() else f"{got.tolist()} where TensorFlow gives {want.tolist()}"
        )
    got = np.asarray(got)
    if got.dtype != want.dtype:
        return f"dtype {got.dtype} where TensorFlow gives {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape} where TensorFlow gives {want.shape}"
    if want.dtype.name not in TOLERANCE:
        close = got == want
    else:
        relative, of_largest = TOLERANCE[want.dtype.name]
        finite = np.abs(want[np.isfinite(want)])
        largest = float(finite.max()) if finite.size else 0.0
        close = np.isclose(got, want, rtol=relative, atol=of_largest * largest, equal_nan=True)
    if np.all(close):
        return ""
    at = tuple(int(i) for i in np.argwhere(~close)[0]) if want.ndim else ()
    wrong = int(np.sum(~close))
    return f"{wrong} of {want.size} elements, at {list(at)} {got[at]!r} where TensorFlow gives {want[at]!r}"


@pytest.mark.parametrize("name", [name for name in programs.names("graphs") if name not in ONLY_BUILT])
def test_values_equal_tensorflows(name, tier):
    golden = canonical.read(f"values/{name}.json")
    module = programs.load("graphs", name)
    graph, fetches = programs.build(tf, module)
    phases = programs.run_graph_program(tf, graph, fetches, module)
    got = {f"{phase} {key}": value for phase, values in phases.items() for key, value in values.items()}
    assert sorted(got) == sorted(golden)
    wrong = []
    for key in sorted(golden):
        found = difference(got[key], canonical.value_array(golden[key]))
        if found:
            wrong.append(f"{key}: {found}")
    assert not wrong, f"{len(wrong)} of {len(golden)} values differ\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("got", "want", "equal"),
    [
        (np.float32([1.0, 2.00002]), np.float32([1.0, 2.0]), True),
        (np.float32([1.0, 2.0002]), np.float32([1.0, 2.0]), False),
        (np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf]), True),
        (np.float32([np.inf]), np.float32([-np.inf]), False),
        (np.float32([np.nan]), np.float32([1.0]), False),
        (np.float64([1.0]), np.float32([1.0]), False),
        (np.float32([[1.0]]), np.float32([1.0]), False),
        (np.int32([1, 2]), np.int32([1, 3]), False),
        (b"a", np.array(b"a", dtype=object), True),
        (b"a\x00", np.array(b"a\x00", dtype=object), True),
        (b"a", np.array(b"a\x00", dtype=object), False),
        ([b"a"], np.array([b"b"], dtype=object), False),
    ],
)
def test_the_difference_tells_right_from_wrong(got, want, equal):
    assert (difference(got, want) == "") is equal
