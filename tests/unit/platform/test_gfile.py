"""tf.gfile against what TensorFlow 1.15 answers; the messages are its own, with the directory replaced."""

import os
from pathlib import Path

import pytest

import headrace as tf
from headrace import errors

CONTENT = "l1\nl2 é\n\nlast"


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_bytes(CONTENT.encode())
    monkeypatch.chdir(tmp_path)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("mode", "calls", "answers"),
    [
        ("r", [("read",)], [CONTENT]),
        ("rb", [("read",)], [CONTENT.encode()]),
        ("r", [("read", 3), ("tell",), ("read", 3), ("read",)], ["l1\n", 3, "l2 ", "é\n\nlast"]),
        (
            "r",
            [("readline",), ("readline",), ("tell",), ("readline",), ("readline",), ("readline",)],
            ["l1\n", "l2 é\n", 9, "\n", "last", ""],
        ),
        ("r", [("readlines",)], [["l1\n", "l2 é\n", "\n", "last"]]),
        ("rb", [("readlines",)], [[b"l1\n", b"l2 \xc3\xa9\n", b"\n", b"last"]]),
        (
            "rb",
            [("seek", 3), ("read", 2), ("seek", 1, 1), ("tell",), ("seek", -4, 2), ("read",), ("tell",)],
            [None, b"l2", None, 6, None, b"last", 14],
        ),
        ("r", [("size",), ("seekable",), ("flush",)], [14, True, None]),
    ],
)
def test_reading(place, mode, calls, answers):
    with tf.gfile.GFile(place + "/a.txt", mode) as file:
        assert [getattr(file, name)(*args) for name, *args in calls] == answers


def test_a_file_is_an_iterator_of_lines(place):
    assert list(tf.gfile.GFile("a.txt")) == ["l1\n", "l2 é\n", "\n", "last"]
    assert tf.gfile.GFile("a.txt").next() == "l1\n"


@pytest.mark.parametrize(
    ("steps", "tells", "content"),
    [
        ([("w", ["abcé", "d"])], [6], "abcéd"),
        ([("w", ["abc"]), ("a", ["more"])], [3, 7], "abcmore"),
        ([("w+", ["zz"]), ("r+", ["Z"])], [0, 0], "Z"),
        ([("w+", ["zz"]), ("r+", ["Z"]), ("a+", ["Q"])], [0, 0, 0], "ZQ"),
        ([("wb", [b"\x00", "s"])], [2], "\x00s"),
    ],
)
def test_writing(place, steps, tells, content):
    seen = []
    for mode, texts in steps:
        with tf.gfile.GFile("w.txt", mode) as file:
            for text in texts:
                assert file.write(text) is None
            seen.append(file.tell())
    assert seen == tells
    assert Path("w.txt").read_text(encoding="utf-8") == content


def test_what_is_written_can_be_read_after_a_flush(place):
    file = tf.gfile.GFile("wp", "w+")
    file.write("hello")
    assert file.read() == ""
    file.flush()
    assert file.read() == "hello"


def test_a_file_that_is_not_written_to_is_not_made(place):
    tf.gfile.GFile("untouched", "w").close()
    assert not os.path.exists("untouched")


def test_closing_is_not_the_end(place):
    file = tf.gfile.GFile("a.txt")
    assert file.read(2) == "l1"
    file.close()
    assert file.read(2) == "l1"


def test_what_is_written_arrives_though_nobody_closes(place):
    tf.gfile.GFile("w", "w").write("kept")
    assert Path("w").read_text() == "kept"


FAILURES = [
    (lambda g: g.GFile("D/nosuch").read(), errors.NotFoundError, "D/nosuch; No such file or directory"),
    (lambda g: g.GFile("nosuch").read(), errors.NotFoundError, "nosuch; No such file or directory"),
    (lambda g: g.GFile("D/nosuch").tell(), errors.NotFoundError, "D/nosuch; No such file or directory"),
    (lambda g: g.GFile("D/nosuch").size(), errors.NotFoundError, "D/nosuch; No such file or directory"),
    (
        lambda g: g.GFile("D/a.txt", "q"),
        errors.InvalidArgumentError,
        "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'",
    ),
    (
        lambda g: g.GFile("D/a.txt", "rt"),
        errors.InvalidArgumentError,
        "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'",
    ),
    (lambda g: g.GFile("D/a.txt").write("x"), errors.PermissionDeniedError, "File isn't open for writing"),
    (lambda g: g.GFile("D/w", "w").read(), errors.PermissionDeniedError, "File isn't open for reading"),
    (lambda g: g.GFile("D/w", "w").readline(), errors.PermissionDeniedError, "File isn't open for reading"),
    (lambda g: g.GFile("D/w", "w").write(3), TypeError, "Expected binary or unicode string, got 3"),
    (lambda g: g.GFile("D/a.txt").seek(), TypeError, "seek(): offset argument required"),
    (
        lambda g: g.GFile("D/a.txt").seek(1, 9),
        errors.InvalidArgumentError,
        "Invalid whence argument: 9. Valid values are 0, 1, or 2.",
    ),
    (lambda g: g.GFile("D/a.txt").seek(300), errors.OutOfRangeError, "reached end of file"),
    (
        lambda g: g.GFile("D/a.txt").seek(-3),
        errors.InvalidArgumentError,
        "Seeking to a negative position: -3",
    ),
    (lambda g: g.GFile("D/nd/x", "w").write("a"), errors.NotFoundError, "D/nd/x; No such file or directory"),
    (lambda g: g.GFile("D", "w").write("a"), errors.FailedPreconditionError, "D; Is a directory"),
    (lambda g: g.GFile("D").read(), errors.FailedPreconditionError, "D; Is a directory"),
    (lambda g: g.MkDir("D/n/m"), errors.NotFoundError, "D/n/m; No such file or directory"),
    (lambda g: g.MakeDirs("D/a.txt/x"), errors.FailedPreconditionError, "D/a.txt/x; Not a directory"),
    (lambda g: g.ListDirectory("D/no"), errors.NotFoundError, "Could not find directory D/no"),
    (lambda g: g.ListDirectory("D/a.txt"), errors.NotFoundError, "Could not find directory D/a.txt"),
    (lambda g: g.Remove("D/no"), errors.NotFoundError, "D/no; No such file or directory"),
    (lambda g: g.Remove("D/m1"), errors.FailedPreconditionError, "D/m1; Is a directory"),
    (lambda g: g.Copy("D/a.txt", "D/b.txt"), errors.AlreadyExistsError, "file already exists"),
    (lambda g: g.Copy("D/no", "D/c.txt"), errors.NotFoundError, "D/no; No such file or directory"),
    (lambda g: g.Copy("D/m1", "D/c"), errors.InvalidArgumentError, "D/c; Invalid argument"),
    (lambda g: g.Copy("D/a.txt", "D/nn/c"), errors.NotFoundError, "D/nn/c; No such file or directory"),
    (lambda g: g.Rename("D/no", "D/c2.txt"), errors.NotFoundError, "D/no; No such file or directory"),
    (lambda g: g.Rename("D/a.txt", "D/b.txt"), errors.AlreadyExistsError, "file already exists"),
    (lambda g: g.Rename("D/m1", "D/e", True), errors.FailedPreconditionError, "D/m1; Directory not empty"),
    (lambda g: g.Stat("D/no"), errors.NotFoundError, "D/no; No such file or directory"),
    (lambda g: g.DeleteRecursively("D/no"), errors.NotFoundError, "D/no not found"),
    (lambda g: g.DeleteRecursively("D/b.txt"), errors.FailedPreconditionError, "D/b.txt; Not a directory"),
    (lambda g: g.Glob("D/nodir/*"), errors.NotFoundError, "D/nodir; No such file or directory"),
    (lambda g: g.Exists(None), TypeError, "Expected binary or unicode string, got None"),
    (
        lambda g: g.Exists("foo://bar/x"),
        errors.UnimplementedError,
        "File system scheme 'foo' not implemented (file: 'foo://bar/x')",
    ),
]


class _In:
    """tf.gfile with "D" in its arguments replaced by a directory."""

    def __init__(self, place):
        self.place = place

    def __getattr__(self, name):
        call = getattr(tf.gfile, name)

        def with_place(*args):
            return call(
                *(
                    self.place + arg[1:] if isinstance(arg, str) and arg.split("/")[0] == "D" else arg
                    for arg in args
                )
            )

        return with_place


@pytest.mark.parametrize(("call", "kind", "message"), FAILURES)
def test_failures(place, call, kind, message):
    os.makedirs("m1/m2")
    os.makedirs("e/f")
    Path("b.txt").touch()
    with pytest.raises(kind) as caught:
        call(_In(place))
    assert str(caught.value).replace(place, "D") == message
    if kind is not TypeError:
        assert (caught.value.node_def, caught.value.op) == (None, None)


def test_directories(place):
    g = tf.gfile
    assert [g.Exists("a.txt"), g.Exists("."), g.Exists("q"), g.Exists(""), g.Exists(b"a.txt")] == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert [g.IsDirectory("."), g.IsDirectory("a.txt"), g.IsDirectory("no")] == [True, False, False]
    assert g.MkDir("m") is None and g.MkDir("m") is None
    g.MakeDirs("m1/m2/m3")
    g.MakeDirs("m1/m2")
    g.MakeDirs("a.txt")
    g.MakeDirs("")
    assert sorted(g.ListDirectory(place)) == ["a.txt", "m", "m1"]
    g.Rename("m1", "m9")
    g.DeleteRecursively("m9")
    assert not g.Exists("m9")
    g.Copy("a.txt", "b.txt")
    g.Copy("a.txt", "b.txt", overwrite=True)
    assert g.Open("b.txt").read() == CONTENT
    g.Remove("b.txt")
    stat = g.Stat("a.txt")
    assert (stat.length, stat.is_directory, stat.mtime_nsec > 10**18) == (14, False, True)
    assert g.Stat(".").is_directory


@pytest.fixture
def tree(place):
    for folder in ("wk/m2/m3", "wk/m2/m4"):
        os.makedirs(folder)
    for name in ("wk/f1", "wk/f2", "wk/.h", "wk/m2/f3"):
        Path(name).touch()


def test_walk(tree):
    down = [(top, sorted(dirs), sorted(files)) for top, dirs, files in tf.gfile.Walk("wk")]
    assert down[:2] == [("wk", ["m2"], [".h", "f1", "f2"]), ("wk/m2", ["m3", "m4"], ["f3"])]
    assert sorted(down[2:]) == [("wk/m2/m3", [], []), ("wk/m2/m4", [], [])]
    up = [top for top, _, _ in tf.gfile.Walk("wk", False)]
    assert up[-2:] == ["wk/m2", "wk"]
    assert list(tf.gfile.Walk("no")) == [] and list(tf.gfile.Walk("a.txt")) == []
    told = []
    assert list(tf.io.gfile.walk("no", onerror=told.append)) == []
    assert [str(error) for error in told] == ["Could not find directory no"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("wk/*", ["wk/.h", "wk/f1", "wk/f2", "wk/m2"]),
        ("wk/f?", ["wk/f1", "wk/f2"]),
        ("wk/**", ["wk/.h", "wk/f1", "wk/f2", "wk/m2"]),
        ("wk/*/*", ["wk/m2/f3", "wk/m2/m3", "wk/m2/m4"]),
        ("wk/m[2]/f3", ["wk/m2/f3"]),
        ("no*", []),
        ("wk", ["wk"]),
        ("no", []),
        ("wk/{f1,f2}", []),
        ("wk/f[^1]", ["wk/f2"]),
        ("wk/f[!1]", ["wk/f2"]),
        ("wk/", []),
        ("wk/*/", []),
        ("", []),
        ("wk/[", []),
        ("a*", ["./a.txt"]),
        ("./wk/f*", ["./wk/f1", "./wk/f2"]),
        (["wk/f1", "wk/m*"], ["wk/f1", "wk/m2"]),
    ],
)
def test_glob(tree, pattern, found):
    assert sorted(tf.gfile.Glob(pattern)) == found


def test_other_schemes(place):
    assert tf.gfile.GFile(f"file://{place}/a.txt").read(2) == "l1"
    assert tf.gfile.Glob(f"file://{place}/a*") == [f"file://{place}/a.txt"]
    with tf.gfile.GFile("memory://folder/x.txt", "w") as file:
        file.write("far away")
    assert tf.gfile.GFile("memory://folder/x.txt").read() == "far away"
    assert tf.gfile.ListDirectory("memory://folder") == ["x.txt"]
    assert tf.gfile.Glob("memory://folder/*.txt") == ["memory://folder/x.txt"]
    tf.gfile.DeleteRecursively("memory://folder")
    assert not tf.gfile.Exists("memory://folder/x.txt")


def test_the_twins_are_one():
    assert tf.gfile.Open is tf.gfile.GFile is tf.io.gfile.GFile
    assert tf.gfile.FastGFile is not tf.gfile.GFile
    assert tf.gfile.Exists(filename=".") and tf.io.gfile.exists(path=".")
