"""A process ends in peace while its daemon threads run steps."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time
import headrace as tf

how = sys.argv[1]
w = tf.get_variable("w", [200, 200], use_resource=True)
square = tf.matmul(w, w)
step = {"reads": tf.reduce_sum(square), "writes": tf.assign_add(w, square * 1e-3)}.get(how)
if how == "queues":
    queue = tf.FIFOQueue(3, tf.float32)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.reduce_sum(square))] * 2)
    tf.train.add_queue_runner(runner)
    step = queue.dequeue()
session = tf.Session()
session.run(tf.global_variables_initializer())
done = []

def work():
    while True:
        session.run(step)
        done.append(1)

if how == "queues":
    tf.train.start_queue_runners(session)
else:
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
while len(done) < 30:
    time.sleep(0.01)
    if how == "queues":
        session.run(step)
        done.append(1)
if how == "queues":
    time.sleep(0.2)  # the queue is full
sys.exit(3)
"""


@pytest.mark.parametrize("tier", ["compile", "interpret"])
@pytest.mark.parametrize("how", ["reads", "writes", "queues"])
def test_daemon_threads_are_left_behind(how, tier):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HEADRACE_TIER": tier},
    )
    assert (done.stderr, done.returncode) == ("", 3)
