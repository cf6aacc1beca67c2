"""A forked child has none of XLA's threads: it interprets, or says why it can't."""

import subprocess
import sys

PROGRAM = """
import os, sys, warnings
import numpy as np
import headrace as tf
from headrace.runtime.policies import with_policies

warnings.simplefilter("ignore")
x = tf.placeholder(tf.float32, [3, 4])
w = tf.get_variable("w", [4, 5])
y = tf.reduce_sum(tf.tanh(tf.matmul(x, w)))
sessions = {tier: tf.Session(config=with_policies(tier=tier)) for tier in ("auto", "compile")}
feed = {x: np.ones((3, 4), np.float32)}
for sess in sessions.values():
    sess.run(tf.global_variables_initializer())
expected = [sess.run(y, feed) for sess in sessions.values()]
child = os.fork()
if child == 0:
    found = [sess.run(y, feed) for sess in sessions.values()]
    assert np.allclose(found, expected), (found, expected)
    try:
        from headrace.runtime.program import Program
        Program.run(None, None, {})
    except tf.errors.FailedPreconditionError as e:
        assert "forked" in e.message
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert np.allclose(sess.run(y, feed), expected[1])
"""


def test_a_child_that_was_forked_after_compiled_steps_interprets():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
