"""Models with loops that TensorFlow 1.15 wrote to MetaGraphDefs train here after their import as they do there."""

import base64
import importlib.util
import json
import pathlib
import zlib

import numpy as np
import pytest

import headrace as tf
from headrace import proto

FOLDER = pathlib.Path(__file__).parents[1] / "golden"
GOLDEN = json.loads((FOLDER / "imported_loops.json").read_text())
_spec = importlib.util.spec_from_file_location("imported_loop_programs", FOLDER / "imported_loop_programs.py")
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)

# Sums over iterations of products of a few, over up to four steps of training.
RTOL, ATOL = 5e-5, 5e-6


def meta_graph(name):
    return proto.MetaGraphDef.FromString(zlib.decompress(base64.b64decode(GOLDEN[name]["meta_graph"])))


def unpacked(row):
    dtype, shape, flat = row
    return np.array(flat, dtype).reshape(shape)


def check(name, session, fetches, train, scope=""):
    session.run(tf.global_variables_initializer())
    for i, step in enumerate(GOLDEN[name]["steps"]):
        feed = {scope + k: unpacked(v) for k, v in step["feed"].items()}
        got = session.run(fetches, feed)
        session.run(train, feed)
        for k, (value, want) in enumerate(zip(got, step["values"], strict=True)):
            want = unpacked(want)
            assert value.dtype == want.dtype
            np.testing.assert_allclose(value, want, RTOL, ATOL, err_msg=f"value {k} of step {i}")


@pytest.mark.parametrize("tier", ["interpret", "auto", "compile"])
@pytest.mark.parametrize("name", GOLDEN)
def test_training_after_import(name, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        session._tier = tier
        tf.train.import_meta_graph(meta_graph(name))
        check(name, session, *programs.trained(tf, GOLDEN[name]["loss"]))


@pytest.mark.parametrize("name", ["nested", "lstm"])
def test_a_scope_around_what_is_imported(name):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(meta_graph(name), import_scope="model")
        fetches = programs.trained(tf, "model/" + GOLDEN[name]["loss"])
        check(name, session, *fetches, scope="model/")
        exported = tf.train.export_meta_graph(graph=graph, export_scope="model")
    assert _contexts(exported) == _contexts(meta_graph(name))


def _contexts(meta):
    found = []
    for key, kind in (("while_context", proto.WhileContextDef), ("cond_context", proto.CondContextDef)):
        found += [kind.FromString(data) for data in meta.collection_def[key].bytes_list.value]
    return found


@pytest.mark.parametrize("name", ["branch_in_a_loop", "lstm", "arrays"])
def test_what_was_made_differentiable_is_exported_and_imported(name):
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta_graph(name))
        fetches, train = programs.trained(tf, GOLDEN[name]["loss"])
        exported = tf.train.export_meta_graph()
        names = [f.name for f in fetches]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(exported)
        check(name, session, names, train.name)


def test_results_keep_their_names_and_values():
    name = "two_loops_of_one_count"
    feed = {k: unpacked(v) for k, v in GOLDEN[name]["steps"][0]["feed"].items()}
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(meta_graph(name))
        session.run(tf.global_variables_initializer())
        ends = ["while/Exit:0", "while/Exit_1:0", "while_1/Exit:0", "while_1/Exit_1:0"]
        before = session.run(ends, feed)
        tf.gradients(graph.get_tensor_by_name("while_1/Exit_1:0"), graph.get_tensor_by_name("x:0"))
        for a, b in zip(before, session.run(ends, feed), strict=True):
            np.testing.assert_allclose(a, b, RTOL)
        again = tf.gradients(graph.get_tensor_by_name(GOLDEN[name]["loss"]), tf.trainable_variables())
        np.testing.assert_allclose(
            session.run(again[0], feed), unpacked(GOLDEN[name]["steps"][0]["values"][2]), RTOL
        )


def test_a_second_gradient():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(meta_graph("powers"))
        x, n, loss = (graph.get_tensor_by_name(k) for k in ("x:0", "n:0", GOLDEN["powers"]["loss"]))
        (w,) = tf.trainable_variables()
        (first,) = tf.gradients(loss, x)
        (second,) = tf.gradients(tf.reduce_sum(first), x)
        feed = {x: np.float32([0.3, -0.2]), n: 2}
        session.run(w.initializer)
        got, w = session.run([second, w], feed)
    step = 1e-4

    def slope(x):
        w64 = w.astype(np.float64)
        y, dy = x, 1.0
        for _ in range(2):
            dy = np.cos(y * w64) * w64 * dy + 1.0
            y = np.sin(y * w64) + x
        return 2 * y * dy

    at = np.float64([0.3, -0.2])
    np.testing.assert_allclose(got, (slope(at + step) - slope(at - step)) / (2 * step), 1e-3)


def test_a_graph_def_says_too_little():
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(meta_graph("powers").graph_def, name="")
        loss, x = (graph.get_tensor_by_name(k) for k in (GOLDEN["powers"]["loss"], "x:0"))
        with pytest.raises(NotImplementedError, match=r"'while/Exit_1' .*import_meta_graph"):
            tf.gradients(loss, x)
