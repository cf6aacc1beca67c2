"""Compiled programs kept on disk: found again, never trusted blindly, and never in the way."""

import errno
import logging
import os
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw
from headrace.runtime import compile_cache, disk_store
from headrace.runtime.cluster import Cluster
from headrace.runtime.disk_store import DiskStore


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compile_cache, "_stores", {})
    return tmp_path / "cache"


def programs_of(session):
    return [
        program
        for plan in session._plans.values()
        for stage in plan._stages or ()
        if isinstance(stage, Cluster)
        for program in stage._programs.values()
    ]


def sources_of(session):
    return [program.cost.source for program in programs_of(session)]


def model():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="w")
    y = tf.matmul(x, w)
    return x, w, y, tf.assign_add(w, tf.reduce_sum(y) * tf.ones([3, 2]))


def run_model(steps=2):
    with tf.Graph().as_default():
        x, w, y, train = model()
        with tf.Session() as session:
            session.run(w.initializer)
            found = [session.run([y, train], {x: np.ones((2, 3))}) for _ in range(steps)]
            return found, sources_of(session)


def test_a_second_session_finds_the_programs_of_the_first(folder):
    first, made = run_model()
    second, found = run_model()
    assert set(made) == {"compiled"} and set(found) == {"disk"}
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


def test_another_attr_shape_or_constant_is_another_program(folder):
    for value, rows in ((1.0, 2), (2.0, 2), (1.0, 3)):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None, 2])
            out = session.run(x * tf.constant([value, value]) + 1, {x: np.ones((rows, 2))})
            np.testing.assert_array_equal(out, np.full((rows, 2), value + 1))
            assert sources_of(session) == ["compiled"]
    with tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2])
        session.run(x * tf.constant([2.0, 2.0]) + 1, {x: np.ones((2, 2))})
        assert sources_of(session) == ["disk"]


def test_the_seed_of_a_random_op_is_no_part_of_its_program(folder):
    with tf.Session() as session:
        session.run(tf.random_uniform([4]))
    drawn = []
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.random_uniform([4])
            drawn.append(session.run([x, x + 1])[0])
            drawn.append(session.run([x, x + 1])[0])
        assert sources_of(session) == []  # closed
    assert len({d.tobytes() for d in drawn}) == 4
    # The same stream as the interpreter's, from a program off the disk.
    expected = []
    for tier in ("interpret", "compile", "compile"):
        with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
            patch.setenv("HEADRACE_TIER", tier)
            with tf.Session() as session:
                x = tf.random_uniform([4], seed=7)
                expected.append(np.stack([session.run(x) for _ in range(3)]))
    np.testing.assert_array_equal(expected[0], expected[1])
    np.testing.assert_array_equal(expected[0], expected[2])


def test_checks_still_refuse(folder):
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            i = tf.placeholder(tf.int32, [None])
            v = tf.Variable(tf.zeros([3, 2]))
            session.run(v.initializer)
            add = tf.scatter_add(v, i, tf.ones([2, 2]))
            session.run(add.op, {i: [0, 2]})
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 3"):
                session.run(add.op, {i: [0, 3]})
            np.testing.assert_array_equal(session.run(v), [[1, 1], [0, 0], [1, 1]])


def test_a_cut_is_known_without_tracing(folder, monkeypatch):
    from headrace.runtime.program import Program

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.int32, [2])
            y = tf.reshape(tf.zeros([6]), raw.AddV2(x, 1))
            return session.run(y, {x: [1, 2]}).shape

    run()
    monkeypatch.setattr(Program, "_build", lambda *args: pytest.fail("traced"))
    assert run() == (2, 3)


def test_functions_are_described_by_their_bodies(folder):
    def run(step):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [])
            y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * step), (0, x))[1]
            return session.run(y, {x: 1.0}), sources_of(session)

    assert run(2.0) == (8.0, ["compiled"])
    assert run(3.0) == (27.0, ["compiled"])
    assert run(2.0) == (8.0, ["disk"])


def test_linear_algebra_off_the_disk(folder):
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, [2, 2])
            np.testing.assert_allclose(
                session.run(tf.matrix_inverse(x), {x: matrix}) @ matrix, np.eye(2), atol=1e-9
            )


def entries(folder):
    return sorted(folder.glob("step-*"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b"something else altogether",
        lambda data: data[:-9] + bytes(9),
        lambda data: data.replace(b"headrace cache 1", b"headrace cache 0"),
        lambda data: os.urandom(len(data)),
    ],
    ids=["cut short", "empty", "foreign", "flipped", "another version", "noise"],
)
def test_a_damaged_entry_is_ignored_and_written_anew(folder, damage, caplog):
    first, _ = run_model()
    for path in entries(folder):
        path.write_bytes(damage(path.read_bytes()))
    compile_cache._stores.clear()
    with caplog.at_level(logging.WARNING):
        second, sources = run_model()
    assert set(sources) == {"compiled"}
    np.testing.assert_array_equal(first[1][1], second[1][1])
    (line,) = [r.getMessage() for r in caplog.records if "compile cache" in r.getMessage()]
    assert "is ignored and will be written anew" in line and "\n" not in line
    assert set(run_model()[1]) == {"disk"}


def test_an_entry_of_another_machine_is_not_run(folder, monkeypatch, caplog):
    run_model()
    store = next(iter(compile_cache._stores.values()))
    for path in entries(folder):
        facts, data = store.get(path.stem)
        store.put(path.stem, data, {**facts, "for": "headrace=0.1.0 machine=vax"})
    compile_cache._stores.clear()
    with caplog.at_level(logging.WARNING):
        assert set(run_model()[1]) == {"compiled"}
    assert "made for another machine" in caplog.text


def test_a_sound_entry_with_nonsense_in_it(folder, caplog):
    run_model()
    store = next(iter(compile_cache._stores.values()))
    for path in entries(folder):
        facts, _ = store.get(path.stem)
        store.put(path.stem, b"no pickle", facts)
    with caplog.at_level(logging.WARNING):
        assert set(run_model()[1]) == {"compiled"}
    assert caplog.text.count("compile cache") == 1


def test_a_folder_that_cannot_be_written(folder, monkeypatch, caplog):
    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(disk_store.os, "makedirs", refuse)
    with caplog.at_level(logging.WARNING):
        assert set(run_model()[1]) == {"compiled"}
    (line,) = [r.getMessage() for r in caplog.records if "compile cache" in r.getMessage()]
    assert "nothing more is kept (Read-only file system)" in line


def test_a_read_only_folder_is_still_read(folder, monkeypatch, caplog):
    run_model()
    compile_cache._stores.clear()

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(disk_store.os, "replace", refuse)
    monkeypatch.setattr(disk_store.os, "utime", refuse)
    with caplog.at_level(logging.WARNING):
        assert set(run_model()[1]) == {"disk"}
    assert "compile cache" not in caplog.text


def test_a_full_disk(folder, monkeypatch, caplog):
    def refuse(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk_store.os, "replace", refuse)
    with caplog.at_level(logging.WARNING):
        assert set(run_model()[1]) == {"compiled"}
    (line,) = [r.getMessage() for r in caplog.records if "compile cache" in r.getMessage()]
    assert "No space left on device" in line
    assert list(folder.iterdir()) == []  # no half-written file stays


def test_a_file_where_the_folder_should_be(folder, caplog):
    folder.write_text("a file")
    with caplog.at_level(logging.WARNING):
        assert set(run_model()[1]) == {"compiled"}
    assert sum("compile cache" in r.getMessage() for r in caplog.records) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no owners of files")
def test_a_folder_that_everybody_may_write_to(folder, caplog):
    folder.mkdir()
    folder.chmod(0o777)
    with caplog.at_level(logging.WARNING):
        assert set(run_model()[1]) == {"compiled"}
    assert "is not used: everybody may write to it" in caplog.text
    assert list(folder.iterdir()) == []


def test_an_empty_name_turns_it_off(folder, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE_DIR", "")
    for _ in range(2):
        assert set(run_model()[1]) == {"compiled"}
    assert not folder.exists()


def test_the_store_is_bounded_and_keeps_what_is_used(tmp_path):
    store = DiskStore(str(tmp_path / "s"), 10_000)
    for i in range(30):
        assert store.put(f"k{i}", bytes(900), {"n": i})
        os.utime(store._path(f"k{i}"), (1000 + i, 1000 + i))
        if i > 2:
            assert store.get("k0") is not None  # used: stays
        assert sum(p.stat().st_size for p in (tmp_path / "s").iterdir()) <= 10_000
    assert store.get("k3") is None and store.get("k29") == ({"n": 29}, bytes(900))
    assert not store.put("large", bytes(20_000))


def test_processes_that_write_at_once(tmp_path):
    code = """
import sys
from headrace.runtime.disk_store import DiskStore
store = DiskStore(sys.argv[1], 1 << 20)
me = sys.argv[2].encode()
for i in range(200):
    assert store.put("same", me * 5000, {"who": sys.argv[2]})
    facts, data = store.get("same")
    assert data == facts["who"].encode() * 5000, "torn"
"""
    folder = str(tmp_path / "s")
    workers = [
        subprocess.Popen([sys.executable, "-c", code, folder, who], stderr=subprocess.PIPE) for who in "ab"
    ]
    for worker in workers:
        assert worker.communicate(timeout=120)[1] == b"" and worker.returncode == 0
    assert [p.name for p in (tmp_path / "s").iterdir()] == ["same.hrc"]


def test_what_killed_writers_left_is_cleared_away(tmp_path):
    store = DiskStore(str(tmp_path), 1 << 20)
    left = tmp_path / ".1-ab.tmp"
    left.write_bytes(b"half")
    os.utime(left, (1, 1))
    store.put("k", b"v")
    assert not left.exists()
