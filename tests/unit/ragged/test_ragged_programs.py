"""Ragged and sparse tensors in whole programs: fed, fetched, taken apart, extended by other parts."""

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import dispatch


def ragged(value, dtype=np.int32):
    return tf.ragged.constant_value(value, dtype=dtype)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_what_is_fed_comes_back_in_the_same_rows(tier):
    with tf.Graph().as_default(), tf.Session() as session:
        session._tier = tier
        x = tf.ragged.placeholder(tf.int32, 2)
        doubled = tf.ragged.map_flat_values(tf.multiply, x, 2)
        for rows in ([[[1, 2], []], [], [[3]]], [[], [[5]]]):
            want = [[[2 * v for v in row] for row in rows_] for rows_ in rows]
            assert session.run(doubled, {x: ragged(rows)}).to_list() == want


def test_a_value_of_another_depth_is_not_fed():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ragged.placeholder(tf.int32, 1)
        with pytest.raises(ValueError, match="Cannot feed a value of 2 ragged dimensions"):
            session.run(-x, {x: ragged([[[1]]])})


def test_structures_of_ragged_tensors_are_fetched_as_such():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ragged.constant([[1], [2, 3]])
        found = session.run({"a": x, "b": [x + 1, tf.SparseTensor([[0]], [7], [2])]})
        assert found["a"].to_list() == [[1], [2, 3]]
        assert found["b"][0].to_list() == [[2], [3, 4]]
        assert found["b"][1].values.tolist() == [7]
        call = session.make_callable([x])
        assert call()[0].to_list() == [[1], [2, 3]]


def test_a_model_on_rows_of_words_learns():
    """A bag of words with a row for each sentence: every step has another number of words."""
    random = np.random.RandomState(3)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        words = tf.ragged.placeholder(tf.int32, 1, [])
        labels = tf.placeholder(tf.float32, [None])
        table = tf.get_variable("table", [10, 1], initializer=tf.zeros_initializer())
        rows = tf.ragged.map_flat_values(lambda ids: tf.gather(table, ids)[:, 0], words)
        score = tf.reduce_sum(rows, axis=1)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=score))
        step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = []
        for _ in range(60):
            sentences = [random.randint(0, 10, random.randint(0, 5)).tolist() for _ in range(16)]
            truth = [float(sum(1 if w < 5 else -1 for w in s) > 0) for s in sentences]
            feed = {words: ragged(sentences), labels: truth}
            losses.append(session.run([loss, step], feed)[0])
        assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:3])


def test_a_loop_may_lengthen_rows():
    with tf.Graph().as_default(), tf.Session() as session:
        _, rows = tf.while_loop(
            lambda i, t: i < 2,
            lambda i, t: (i + 1, tf.concat([t, t], axis=1)),
            [0, tf.ragged.constant([[1, 2], [], [3]])],
        )
        assert session.run(rows).to_list() == [[1, 2] * 4, [], [3] * 4]


def test_a_function_is_asked_before_its_handlers():
    seen = []

    class Other:
        pass

    def handler(function, args, kwargs):
        if not isinstance(dispatch.argument(function, args, kwargs, 0), Other):
            return NotImplemented
        seen.append(args)
        return "mine"

    handlers = dispatch._handlers["square"]
    dispatch.add_handler("square", handler)
    try:
        assert tf.square(Other()) == "mine"
        with tf.Graph().as_default(), tf.Session() as session:
            assert session.run(tf.square(3)) == 9
            with pytest.raises(TypeError):
                tf.square(object())
    finally:
        handlers.remove(handler)
    assert len(seen) == 1


def test_handlers_are_for_listed_functions_only():
    with pytest.raises(KeyError):
        dispatch.add_handler("no_such_function", lambda *_: NotImplemented)


def test_a_sparse_map_belongs_to_its_session():
    with tf.Graph().as_default():
        from headrace.opdef import raw

        sparse = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])
        kept = raw.AddManySparseToTensorsMap(
            sparse.indices, sparse.values, sparse.dense_shape, container="", shared_name="m"
        )
        handles = tf.placeholder(tf.int64, [None])
        taken = raw.TakeManySparseFromTensorsMap(handles, dtype=tf.float32, container="", shared_name="m")
        with tf.Session() as one, tf.Session() as other:
            numbers = one.run(kept)
            with pytest.raises(tf.errors.OpError):
                other.run(taken, {handles: numbers})
            indices, values, shape = one.run(taken, {handles: numbers})
            assert indices.tolist() == [[0, 1], [2, 0]]
            assert values.tolist() == [1.0, 2.0]
            assert shape.tolist() == [3, 4]
            with pytest.raises(tf.errors.OpError):  # what was taken is gone
                one.run(taken, {handles: numbers})


def test_functions_of_ragged_tensors_are_found_before_the_part_is_imported():
    import subprocess
    import sys

    program = (
        "import headrace as tf; square = tf.square\n"
        "x = tf.ragged.constant([[1, 2], [3]])\n"
        "print(tf.Session().run(square(x)).to_list())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[[1, 4], [9]]", done.stderr
