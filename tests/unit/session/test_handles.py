"""Handles of tensors that a session keeps."""

import gc

import numpy as np
import pytest

import headrace as tf
from headrace.session.handles import TensorHandle


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_handle_is_fed_in_place_of_a_value(session):
    handle = session.run(tf.get_session_handle(tf.constant([1.0, 2.0]) * 3))
    assert isinstance(handle, TensorHandle)
    assert str(handle) == handle.handle == "GetSessionHandle;0;/job:localhost/replica:0/task:0/device:CPU:0"
    np.testing.assert_array_equal(handle.eval(), [3, 6])
    x = tf.placeholder(tf.float32)
    np.testing.assert_array_equal(session.run(x + 1, {x: handle}), [4, 7])
    with pytest.raises(tf.errors.InvalidArgumentError, match="to be int32 but float is provided"):
        session.run(tf.placeholder(tf.int32, name="i") + 1, {"i:0": handle})


def test_a_handles_text_reads_the_tensor(session):
    handle = session.run(tf.get_session_handle(tf.constant(["mill"])))
    text, value = tf.get_session_tensor(handle.handle, tf.string)
    assert session.run(value, {text: handle.handle}).tolist() == [b"mill"]
    text, deleting = tf.delete_session_tensor(handle.handle)
    session.run(deleting, {text: handle.handle})
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
        handle.eval()


def test_structures_hold_one_object_for_one_handle(session):
    kept = tf.get_session_handle(tf.constant(1))
    got = session.run({"a": kept, "b": [kept, kept + "x"]})
    assert got["a"] is got["b"][0]
    assert got["b"][1] == got["a"].handle.encode() + b"x"


def test_deleted_handles_are_refused(session):
    handle = session.run(tf.get_session_handle(tf.constant(1)))
    handle.delete()
    for use in (handle.delete, handle.eval):
        with pytest.raises(TypeError, match="may have already been deleted"):
            use()
    raw = session.run(tf.get_session_handle(tf.constant(2)))
    assert raw.get_raw_handle() == raw.handle
    with pytest.raises(TypeError, match="may have already been deleted"):
        raw.eval()
    text, value = tf.get_session_tensor(raw.handle, tf.int32)
    assert session.run(value, {text: raw.handle}) == 2


def test_dropped_handles_free_their_tensors(session):
    kept = tf.get_session_handle(tf.constant(1))
    texts = [session.run(kept).handle for _ in range(25)]
    gc.collect()
    text, value = tf.get_session_tensor(texts[0], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
        session.run(value, {text: texts[0]})
    assert session.run(value, {text: texts[-1]}) == 1  # the last few stay for a while
