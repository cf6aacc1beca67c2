"""TensorList keeps every version of a list, whichever of them is changed or read next."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import dtypes, errors
from headrace.resources.tensor_list import TensorList, as_list

STEPS = st.lists(
    st.tuples(st.sampled_from(["push", "pop", "set", "get", "items"]), st.integers(0, 30), st.integers(0, 99))
)


@given(STEPS)
def test_versions_are_like_copies_of_python_lists(steps):
    versions = [(TensorList(dtypes.int32, ()), [])]
    for kind, which, value in steps:
        mine, theirs = versions[which % len(versions)]
        i = value % len(theirs) if theirs else 0
        if kind == "push":
            versions.append((mine.push(value), [*theirs, value]))
        elif kind == "pop" and theirs:
            rest, last = mine.pop()
            assert last == theirs[-1]
            versions.append((rest, theirs[:-1]))
        elif kind == "set" and theirs:
            versions.append((mine.set(i, value), [*theirs[:i], value, *theirs[i + 1 :]]))
        elif kind == "get" and theirs:
            assert mine.get(i) == theirs[i]
        elif kind == "items":
            assert mine.items == theirs
    for mine, theirs in versions:
        assert mine.size == len(theirs)
        assert mine.items == theirs


def test_a_long_chain_of_versions_is_let_go_of():
    first = TensorList(dtypes.int32, (), [0])
    last = first
    for i in range(100_000):
        last = last.set(0, i)
    assert (first.get(0), last.get(0)) == (0, 99_999)
    del first


def test_sums_take_unset_elements_as_zeros():
    a = TensorList(dtypes.float32, (2,), [np.float32([1, 2]), None, None])
    b = TensorList(dtypes.float32, None, [np.float32([3, 4]), np.float32([5, 6]), None])
    total = a.add(b)
    assert [None if v is None else v.tolist() for v in total.items] == [[4, 6], [5, 6], None]
    assert total.element_shape == (2,)
    with pytest.raises(errors.InvalidArgumentError, match="different lengths. One is 3 and the other is 1"):
        a.add(TensorList(dtypes.float32, None, [None]))
    with pytest.raises(errors.InvalidArgumentError, match=r"One is \[2\] and the other is \[3\]"):
        a.add(TensorList(dtypes.float32, (3,), [None] * 3))


def test_absurd_lengths_are_refused():
    with pytest.raises(errors.ResourceExhaustedError, match="does not fit"):
        TensorList.reserved(dtypes.float32, None, 2**31 - 1)


def test_something_else_is_no_list():
    with pytest.raises(errors.InvalidArgumentError, match="Input handle is not a list"):
        as_list(np.float32(1))
