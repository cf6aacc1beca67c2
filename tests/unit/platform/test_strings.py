"""tf.compat's text functions and dates against what TensorFlow 1.15 answers."""

import pathlib

import pytest

import headrace as tf


@pytest.mark.parametrize(
    ("function", "value", "answer"),
    [
        ("as_bytes", b"ab", b"ab"),
        ("as_bytes", "aé", b"a\xc3\xa9"),
        ("as_bytes", bytearray(b"x"), b"x"),
        ("as_text", b"ab", "ab"),
        ("as_text", "aé", "aé"),
        ("as_str", b"ab", "ab"),
        ("as_str_any", b"ab", "ab"),
        ("as_str_any", 3, "3"),
        ("as_str_any", bytearray(b"x"), "bytearray(b'x')"),
        ("path_to_str", pathlib.PurePosixPath("/a/b"), "/a/b"),
        ("path_to_str", b"ab", b"ab"),
        ("path_to_str", None, None),
    ],
)
def test_conversions(function, value, answer):
    assert getattr(tf.compat, function)(value) == answer


@pytest.mark.parametrize(
    ("function", "value", "shown"),
    [("as_bytes", 3, "3"), ("as_text", None, "None"), ("as_text", bytearray(b"x"), "bytearray(b'x')")],
)
def test_other_types_are_refused(function, value, shown):
    with pytest.raises(TypeError) as caught:
        getattr(tf.compat, function)(value)
    assert str(caught.value) == f"Expected binary or unicode string, got {shown}"


def test_forward_compatibility():
    assert tf.compat.forward_compatible(2019, 8, 20)
    assert not tf.compat.forward_compatible(2019, 8, 21)
    with tf.compat.forward_compatibility_horizon(2030, 1, 1):
        assert tf.compat.forward_compatible(2029, 1, 1)
    assert not tf.compat.forward_compatible(2029, 1, 1)


def test_version():
    assert tf.__version__ == tf.VERSION == tf.version.VERSION == "1.15.5"
    assert tf.GIT_VERSION == "v1.15.4-39-g3db52be" and tf.COMPILER_VERSION == "7.3.1 20180303"
    assert (tf.version.GRAPH_DEF_VERSION, tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER) == (134, 0)
