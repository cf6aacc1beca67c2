"""Rows changed in place: what the native library does to them is what the formulas in NumPy do."""

import numpy as np
import pytest

import headrace as tf
from headrace.native import updates
from headrace.opdef import raw
from headrace.ops.training.cases import operands_of

OPTIMIZERS = [name for name in updates.UPDATES if name != "KerasMomentum"]


def _updated(op, dtype, indices, gradient, attrs):
    """Runs one optimizer's op on fresh variables and returns what they hold then."""
    count = sum(arg.is_ref for arg in op.signature.inputs)
    random = np.random.RandomState(3)
    with tf.Graph().as_default(), tf.Session() as session:
        made = []
        for _ in range(count):
            v = raw.VariableV2(dtype=dtype, shape=[7, gradient.shape[1]])
            session.run(raw.Assign(v, random.rand(7, gradient.shape[1]).astype(dtype)))
            made.append(v)
        session.run(op(*operands_of(op, made, gradient, indices), **attrs))
        return session.run(made)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("indices", [[5, 0, 3], [2, 2, 6, 2, 0], []], ids=["distinct", "repeated", "none"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_sparse_updates_are_those_of_numpy(name, indices, dtype, without, needs_library, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    op = getattr(raw, "SparseApply" + name)
    gradient = np.random.RandomState(4).randn(len(indices), 9).astype(dtype)
    gradient[1:2, 3] = np.nan
    gradient[:1, 4] = 0.0
    used = []
    known = updates.update_rows
    monkeypatch.setattr(updates, "update_rows", lambda *a: used.append(known(*a)) or used[-1])
    for attrs in [
        {f: v} for f in ("use_nesterov", "update_slots") if f in op.signature.attrs for v in (0, 1)
    ] or [{}]:
        attrs = {k: bool(v) for k, v in attrs.items()}
        arguments = op, dtype, np.array(indices, np.int32), gradient, attrs
        found = _updated(*arguments)
        assert used.pop()
        expected = without(_updated, *arguments)
        assert not used.pop()
        for a, b in zip(found, expected, strict=True):
            # NumPy's powers differ from roots in the last place.
            np.testing.assert_allclose(a, b, rtol=0 if "Ftrl" not in name else 8 * np.finfo(dtype).eps)


def test_ftrl_takes_any_power(without, needs_library, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            made = [raw.VariableV2(dtype="float32", shape=[3, 2]) for _ in range(3)]
            for v in made:
                session.run(raw.Assign(v, np.float32([[1, 2], [3, 4], [5, 6]])))
            gradient = np.float32([[0.5, -2.0]])
            session.run(raw.SparseApplyFtrl(*made, gradient, [1], 0.25, 0.5, 0.125, -0.75))
            return session.run(made)

    for a, b in zip(run(), without(run), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16"])
@pytest.mark.parametrize("way", updates.WAYS)
@pytest.mark.parametrize("scalar", [False, True])
def test_scattered_rows_are_those_of_numpy(scalar, way, dtype, without, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    random = np.random.RandomState(1)
    start = random.randint(-9, 9, (6, 2, 3)).astype(dtype)
    indices = np.array([[1, 4], [4, 0]])
    rows = np.array(3, dtype) if scalar else random.randint(-9, 9, (2, 2, 2, 3)).astype(dtype)

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            v = raw.VariableV2(dtype=dtype, shape=start.shape)
            session.run(raw.Assign(v, start))
            session.run(getattr(raw, "Scatter" + way)(v, indices, rows).op)
            return session.run(v)

    assert np.array_equal(run(), without(run))


def test_what_was_fetched_stays_as_it_was(kind, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Graph().as_default(), tf.Session() as session:
        v, slot = (raw.VariableV2(dtype="float32", shape=[4, 2]) for _ in range(2))
        for each in (v, slot):
            session.run(raw.Assign(each, np.ones((4, 2), np.float32)))
        before = session.run(v)
        update = raw.SparseApplyAdagrad(v, slot, 0.5, np.ones((2, 2), np.float32), [1, 1])
        add = raw.ScatterAdd(v, [0], np.ones((1, 2), np.float32))
        after = session.run(update)
        session.run(add.op)
        assert before.tolist() == [[1, 1]] * 4
        assert after[0].tolist() == [1, 1] and after[1].tolist() != [1, 1]
        assert session.run(v)[0].tolist() == [2, 2]


def test_a_table_is_updated_where_it_is(needs_library, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Graph().as_default(), tf.Session() as session:
        v, slot = (raw.VariableV2(dtype="float32", shape=[1000, 2]) for _ in range(2))
        for each in (v, slot):
            session.run(raw.Assign(each, np.ones((1000, 2), np.float32)).op)
        update = raw.SparseApplyAdagrad(v, slot, 0.5, np.ones((2, 2), np.float32), [1, 1]).op
        session.run(update)
        states = list(session._state.resources._items.values())
        where = [s.value.__array_interface__["data"] for s in states]
        session.run(update)
        assert [s.value.__array_interface__["data"] for s in states] == where


def test_an_index_out_of_range_changes_nothing(kind, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Graph().as_default(), tf.Session() as session:
        v, slot = (raw.VariableV2(dtype="float32", shape=[4, 2]) for _ in range(2))
        for each in (v, slot):
            session.run(raw.Assign(each, np.ones((4, 2), np.float32)))
        for bad in (4, -1, 2**31 - 1):
            rows = np.ones((2, 2), np.float32)
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"Index {bad} at offset 1"):
                session.run(raw.SparseApplyAdagrad(v, slot, 0.5, rows, [1, bad]))
            with pytest.raises(tf.errors.InvalidArgumentError, match=rf"indices\[1\] = {bad} is not in"):
                session.run(raw.ScatterAdd(v, [1, bad], rows))
        assert session.run([v, slot])[0].tolist() == [[1, 1]] * 4


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_first_index_outside_is_found(dtype, needs_library):
    assert updates.first_outside(np.array([], dtype), 0) == -1
    assert updates.first_outside(np.array([0, 4, 2], dtype), 5) == -1
    assert updates.first_outside(np.array([[0, 4], [5, -1]], dtype), 5) == 2
    assert updates.first_outside(np.array([0, np.iinfo(dtype).min], dtype), 5) == 1
    assert updates.first_outside(np.array([0, np.iinfo(dtype).max], dtype), 5) == 1
    assert updates.first_outside(np.arange(10, dtype=dtype)[::2], 8) == 4
    assert updates.first_outside(np.array([0], np.int8), 5) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["", "Resource"])
@pytest.mark.parametrize("name", updates.WHOLE)
def test_whole_updates_are_those_of_numpy(name, kind, dtype, without, needs_library, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    op = getattr(raw, f"{kind}Apply{name}", None)
    if op is None:
        assert name == "KerasMomentum" and not kind
        return
    size = 600_001  # more than a piece, and no whole number of them
    gradient = np.random.RandomState(4).randn(size).astype(dtype)
    gradient[1:20] = np.nan
    gradient[20:40] = 0.0
    used = []
    known = updates.update_whole
    monkeypatch.setattr(updates, "update_whole", lambda *a: used.append(name) or known(*a))
    flags = [f for f in ("use_nesterov", "update_slots") if f in op.signature.attrs]

    def run(attrs):
        random = np.random.RandomState(3)
        with tf.Graph().as_default(), tf.Session() as session:
            n = sum(arg.is_ref or arg.dtype is tf.resource for arg in op.signature.inputs)
            made = [
                tf.get_variable(f"v{i}", initializer=random.rand(size).astype(dtype), use_resource=bool(kind))
                for i in range(n)
            ]
            session.run(tf.global_variables_initializer())
            before = session.run(made)
            handles = [v.handle if kind else v._ref() for v in made]
            rest = [tf.constant(v, dtype) for v in operands_of(op, handles, gradient, None)[n:]]
            session.run(op(*handles, *rest, **attrs))
            after = session.run(made)
            for v, kept in zip(before, session.run([tf.constant(v) for v in before]), strict=True):
                assert np.array_equal(v, kept)
            return after

    for attrs in [{f: v} for f in flags for v in (False, True)] or [{}]:
        found = run(attrs)
        assert used.pop() == name
        expected = without(run, attrs)
        assert not used
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
