"""Savers, MetaGraphs and what reads checkpoints, with TensorFlow 1.15.5's words."""

import os

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_nodes_are_tensorflows(graph):
    tf.get_variable("v", [3])
    tf.get_variable("r", [2], use_resource=True)
    before = len(graph.get_operations())
    saver = tf.train.Saver()
    rows = [
        (op.type, op.name, [t.name for t in op.inputs], [c.name for c in op.control_inputs], op.device)
        for op in graph.get_operations()[before:]
    ]
    cpu = "/device:CPU:0"
    assert rows == [
        ("Const", "save/filename/input", [], [], ""),
        ("PlaceholderWithDefault", "save/filename", ["save/filename/input:0"], [], ""),
        ("PlaceholderWithDefault", "save/Const", ["save/filename:0"], [], ""),
        ("Const", "save/SaveV2/tensor_names", [], [], ""),
        ("Const", "save/SaveV2/shape_and_slices", [], [], ""),
        (
            "SaveV2",
            "save/SaveV2",
            [
                "save/Const:0",
                "save/SaveV2/tensor_names:0",
                "save/SaveV2/shape_and_slices:0",
                "r/Read/ReadVariableOp:0",
                "v:0",
            ],
            [],
            "",
        ),
        ("Identity", "save/control_dependency", ["save/Const:0"], ["save/SaveV2"], ""),
        ("Const", "save/RestoreV2/tensor_names", [], [], cpu),
        ("Const", "save/RestoreV2/shape_and_slices", [], [], cpu),
        (
            "RestoreV2",
            "save/RestoreV2",
            ["save/Const:0", "save/RestoreV2/tensor_names:0", "save/RestoreV2/shape_and_slices:0"],
            [],
            cpu,
        ),
        ("Identity", "save/Identity", ["save/RestoreV2:0"], [], ""),
        ("AssignVariableOp", "save/AssignVariableOp", ["r:0", "save/Identity:0"], [], ""),
        ("Assign", "save/Assign", ["v:0", "save/RestoreV2:1"], [], ""),
        ("NoOp", "save/restore_all", [], ["save/AssignVariableOp", "save/Assign"], ""),
    ]
    assert saver.saver_def.restore_op_name == "save/restore_all"


def test_saves_restores_and_keeps_the_latest(tmp_path):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    step = tf.Variable(0, name="step")
    add = tf.assign_add(step, 1)
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(add)
            path = saver.save(sess, str(tmp_path / "m"), global_step=step)
        assert path == str(tmp_path / "m-3")
        assert saver.last_checkpoints == [str(tmp_path / "m-2"), path]
        sess.run(tf.assign(v, [0.0, 0.0]))
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(v), [1.0, 2.0])
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint",
        *(f"m-{i}.{s}" for i in (2, 3) for s in ("data-00000-of-00001", "index", "meta")),
    ]
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    assert (tmp_path / "checkpoint").read_text() == (
        f'model_checkpoint_path: "{path}"\nall_model_checkpoint_paths: "{tmp_path}/m-2"\n'
        f'all_model_checkpoint_paths: "{path}"\n'
    )
    assert tf.train.list_variables(str(tmp_path)) == [("step", []), ("v", [2])]
    assert tf.train.load_variable(path, "step") == 3


def test_a_saved_graph_is_restored_without_its_program(tmp_path):
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.get_variable("v", initializer=np.float32([2.0]))
    tf.multiply(x, v, name="y")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run("y:0", {"x:0": [3.0]}), [6.0])
        assert [v.name for v in tf.trainable_variables()] == ["v:0"]


def test_partitioned_variables_are_saved_as_one(tmp_path):
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        tf.get_variable("w", [3, 2], initializer=tf.random_normal_initializer(seed=1))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        parts = sess.run(tf.global_variables())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.get_variable("p/w", [3, 2])
        tf.train.Saver().restore(sess, path)
        np.testing.assert_array_equal(sess.run(w), np.concatenate(parts))


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    v = tf.get_variable("v", [3])
    with pytest.raises(ValueError, match="At least two variables have the same name: v"):
        tf.train.Saver([v, v])
    with pytest.raises(ValueError, match="The same saveable will be restored with two names: b"):
        tf.train.Saver({"a": v, "b": v})
    with pytest.raises(TypeError, match="Variable to save is not a Variable"):
        tf.train.Saver([tf.constant(1)])
    saver = tf.train.Saver()
    with tf.Session() as sess:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"
        ):
            saver.save(sess, str(tmp_path / "m"))
        sess.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match="Parent directory of .* doesn't exist, can't save"):
            saver.save(sess, str(tmp_path / "no" / "such" / "m"))
        with pytest.raises(ValueError, match="Can't load save_path when it is None"):
            saver.restore(sess, None)
        with pytest.raises(ValueError, match="The passed save_path is not a valid checkpoint"):
            saver.restore(sess, str(tmp_path / "nothing"))
        path = saver.save(sess, str(tmp_path / "made" / "m"))  # one missing level is made
        with tf.Graph().as_default(), tf.Session() as other:
            tf.get_variable("v", [4])
            with pytest.raises(
                tf.errors.InvalidArgumentError,
                match=r"(?s)mismatch between the current graph.*lhs shape= \[4\] rhs shape= \[3\]",
            ):
                tf.train.Saver().restore(other, path)
        with tf.Graph().as_default(), tf.Session() as other:
            tf.get_variable("w", [3])
            with pytest.raises(
                tf.errors.NotFoundError,
                match="(?s)missing from the checkpoint.*Key w not found in checkpoint",
            ):
                tf.train.Saver().restore(other, path)


def test_readers(tmp_path):
    tf.get_variable("v", initializer=np.float32([1, 2]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"v": [2]}
    assert reader.has_tensor("v") and not reader.has_tensor("w")
    assert reader.debug_string() == b"v (DT_FLOAT) [2]\n"
    with pytest.raises(tf.errors.NotFoundError, match="Key w not found in checkpoint"):
        reader.get_tensor("w")
    assert tf.train.latest_checkpoint(str(tmp_path / "nowhere")) is None
