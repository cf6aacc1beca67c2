"""tf.test: sessions, assertions, and gradients against differences, as TensorFlow 1.15 answers."""

import os
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf


class Case(tf.test.TestCase):
    """Runs under pytest; each method leans on TensorFlow's recorded behaviour."""

    def test_seeds_are_tensorflows(self):
        assert tf.get_default_graph().seed == 87654321
        assert np.random.rand() == 0.18463433217903202
        with self.cached_session():
            assert self.evaluate(tf.random_uniform([])) == np.float32(0.3869294)

    def test_the_cached_session_is_one(self):
        with self.cached_session() as first:
            v = tf.Variable(3.0)
            self.evaluate(v.initializer)
        with self.test_session() as second:
            assert second is first
            assert self.evaluate(v) == 3.0
        with self.session() as own:
            assert own is not first
            assert own.graph is first.graph
        with pytest.raises(ValueError, match="The graph used to get the cached session is different"):
            self.cached_session(graph=tf.Graph()).__enter__()
        with pytest.raises(ValueError, match="The config used to get the cached session is different"):
            self.cached_session(config=tf.ConfigProto()).__enter__()

    def test_sessions_place_on_the_cpu_unless_told(self):
        with self.session():
            assert tf.constant(1).device == "/device:CPU:0"
        with self.session(use_gpu=True):
            assert tf.constant(1).device == ""

    def test_evaluate_opens_a_session(self):
        assert self.evaluate({"a": [tf.constant(1)]}) == {"a": [1]}

    def test_assertions_take_tensors_and_structures(self):
        x = tf.constant([1.0, 2.0])
        self.assertAllEqual(x, [1, 2])
        self.assertAllClose({"a": x, "b": [x[0], 3.0]}, {"a": [1, 2 + 1e-7], "b": [1, 3]})
        self.assertAllClose([x, x], [[1, 2], [1, 2]])
        self.assertAllEqual([np.nan, 1], [np.nan, 1])
        self.assertShapeEqual(np.zeros([2]), x)
        self.assertAllInRange(x, 1, 2)
        self.assertNotAllClose(x, [1, 3])
        self.assertDTypeEqual(x, np.float32)
        self.assertAllGreater(x, 0)
        self.assertAllCloseAccordingToType(np.float16(1), np.float16(1.0009765625))
        self.assertProtoEquals("node { name: 'x' }", tf.GraphDef(node=[tf.NodeDef(name="x")]))
        self.assertDeviceEqual("/cpu:0", "/device:CPU:0")

    def test_what_differs_is_said_as_tensorflow_says_it(self):
        x = tf.constant([1.0, 2.0])
        with pytest.raises(AssertionError) as caught:
            self.assertAllClose(x, [1.0, 2.1])
        message = str(caught.value)
        assert "Not equal to tolerance rtol=1e-06, atol=1e-06" in message
        assert "not close where = (array([1]),)" in message
        assert "not close rhs = [2.1]" in message
        for check, says in (
            (lambda: self.assertAllEqual([1, 2], [1, 3]), "Arrays are not equal"),
            (
                lambda: self.assertAllClose({"a": 1.0}, {"a": 1.1}),
                r"Mismatched value: a\[a\] is different from b\[a\]",
            ),
            (lambda: self.assertAllClose([1.0], [1.0, 2.0]), r"Shape mismatch: expected \(1,\), got \(2,\)"),
            (lambda: self.assertNear(1.0, 2.0, 0.1), r"1.000000 != 2.000000 \+/- 0.100000"),
            (lambda: self.assertAllInRange([1, 2], 1, 1.5), "1 of the 2 element"),
            (lambda: self.assertAllInSet([1, 2], [1]), r"1 unique element\(s\) are not in the set"),
            (lambda: self.assertNotAllEqual([1], [1]), "The two values are equal at all elements"),
            (lambda: self.assertNotAllClose([1.0], [1.0]), "The two values are close at all elements"),
            (lambda: self.assertShapeEqual(np.zeros([2]), tf.zeros([3])), "Arrays are not equal"),
        ):
            with pytest.raises(AssertionError, match=says):
                check()

    def test_op_errors(self):
        with self.assertRaisesOpError("p.x"):
            raise tf.errors.InvalidArgumentError(None, None, "xpqx")
        with self.assertRaisesWithPredicateMatch(ValueError, lambda e: "q" in str(e)):
            raise ValueError("xpqx")
        with pytest.raises(AssertionError, match="Exception of type"), self.assertRaisesOpError("zz"):
            raise tf.errors.InvalidArgumentError(None, None, "xpqx")
        with pytest.raises(AssertionError, match="OpError not raised"), self.assertRaisesOpError("zz"):
            pass

    def test_threads_fail_the_test(self):
        thread = self.checkedThread(target=lambda: 1 / 0)
        thread.start()
        with pytest.raises(AssertionError, match="Error in checkedThread: division by zero"):
            thread.join()

    def test_writes_are_captured(self):
        with (
            open(os.path.join(self.get_temp_dir(), "out"), "w") as stream,
            self.captureWritesToStream(stream) as got,
        ):
            stream.write("mill")
            assert got.contents() == "mill"

    def test_gradients_against_differences(self):
        with self.session():
            x = tf.constant([1.0, 2.0])
            theory, numeric = tf.test.compute_gradient(x, [2], x * x, [2], np.array([1.0, 2.0]))
            self.assertAllEqual(theory, [[2, 0], [0, 4]])
            # TensorFlow's own differences in float32 are off by up to 5.2e-5 here.
            self.assertAllClose(numeric, theory, atol=1e-4, rtol=1e-4)
            assert 0 < tf.test.compute_gradient_error(x, [2], x * x, [2], np.array([1.0, 2.0])) < 1e-4

    def test_gradients_of_several_tensors(self):
        with self.session():
            x, z = tf.constant([1.0, 2.0], tf.float64), tf.constant([1.5], tf.float64)
            pairs = tf.test.compute_gradient([x, z], [[2], [1]], x * z, [2], [[1.0, 2.0], [1.5]])
            assert [[each.shape for each in pair] for pair in pairs] == [[(2, 2)] * 2, [(1, 2)] * 2]
            self.assertAllClose(pairs[0][0], [[1.5, 0], [0, 1.5]])
            self.assertAllClose(pairs[1][0], [[1, 2]])

    def test_gradients_of_rows_and_of_complex_numbers(self):
        with self.session():
            x = tf.constant([1.0, 2.0])
            theory, numeric = tf.test.compute_gradient(x, [2], tf.gather(x, [1]), [1])
            self.assertAllEqual(theory, [[0], [1]])
            self.assertAllClose(numeric, theory, atol=1e-3)
            c = tf.constant([1 + 2j], tf.complex64)
            theory, numeric = tf.test.compute_gradient(c, [1], c * c, [1], np.array([1 + 2j]))
            self.assertAllClose(theory, [[2, 4], [-4, 2]])
            self.assertAllClose(numeric, theory, atol=1e-3)


def test_graphs_are_compared_whatever_their_order():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="a")
        tf.constant(2.0, name="b")
    graph_def = graph.as_graph_def()
    turned = tf.GraphDef(node=list(reversed(graph_def.node)))
    tf.test.assert_equal_graph_def(turned, graph_def)
    del turned.node[0]
    with pytest.raises(AssertionError, match="^b: None is not the expected"):
        tf.test.assert_equal_graph_def(turned, graph_def)
    with pytest.raises(TypeError, match="Expected tf.GraphDef for expected, got int"):
        tf.test.assert_equal_graph_def(graph_def, 3)


def test_stubs_come_and_go():
    class Mill:
        @staticmethod
        def grind():
            return "flour"

    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(Mill, "grind", lambda: "stones")
        assert Mill.grind() == "stones"
    assert Mill().grind() == "flour"


def test_a_cpu_has_no_gpu():
    if tf.test.gpu_device_name():
        assert tf.test.is_gpu_available()
    else:
        assert not tf.test.is_gpu_available() and not tf.test.is_built_with_cuda()


def test_a_program_of_tests_runs_and_skips_what_is_none(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import headrace as tf\n"
        "class T(tf.test.TestCase):\n"
        "  def test_one(self):\n"
        "    with self.test_session(): self.assertAllEqual(tf.constant([1]) + 1, [2])\n"
        "if __name__ == '__main__': tf.test.main()\n"
    )
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr and "OK (skipped=1)" in done.stderr
