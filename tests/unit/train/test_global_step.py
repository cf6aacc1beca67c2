"""The global step: made once, found again, refused where it is no counter."""

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_made_once_and_found_again(graph):
    assert tf.train.get_global_step() is None
    with tf.name_scope("elsewhere"):
        step = tf.train.create_global_step()
    assert step.name == "global_step:0"
    assert step.dtype.base_dtype is tf.int64
    assert tf.train.get_global_step() is step is tf.train.get_or_create_global_step(graph)
    assert tf.get_collection(tf.GraphKeys.GLOBAL_STEP) == [step]
    assert tf.trainable_variables() == []
    with pytest.raises(ValueError, match='^"global_step" already exists.$'):
        tf.train.create_global_step()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign_add(step, 3))
        assert tf.train.global_step(session, step) == 3


def test_found_by_its_name():
    tf.Variable(0, name="global_step", trainable=False)
    assert tf.train.get_global_step().name == "global_step:0"


def test_two_in_the_collection_are_none():
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.Variable(0))
    assert tf.train.get_global_step() is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.constant(1.0), "Existing \"global_step\" does not have integer type: <dtype: 'float32'>"),
        (
            lambda: tf.Variable(1.0),
            "Existing \"global_step\" does not have integer type: <dtype: 'float32_ref'>",
        ),
        (lambda: tf.constant([1]), 'Existing "global_step" is not scalar: (1,)'),
        (lambda: 3, 'Existing "global_step" must be a Variable or Tensor: 3.'),
    ],
)
def test_refusals(make, message):
    with pytest.raises(TypeError) as refusal:
        tf.train.assert_global_step(make())
    assert str(refusal.value) == message
