"""Programs made in the background: steps go on, results do not hang on when one lands, and a process may end."""

import io
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw
from headrace.runtime import background, cluster
from headrace.runtime.program import Program


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "auto")
    monkeypatch.setenv("HEADRACE_BACKGROUND", "on")
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture
def gate(monkeypatch):
    """Programs are made only once the gate is open."""
    opened = threading.Event()
    build = Program._build

    def wait(self, *args):
        if threading.current_thread().name == "headrace-compile":
            assert opened.wait(60)
        build(self, *args)

    monkeypatch.setattr(Program, "_build", wait)
    yield opened
    opened.set()


def jobs_of(session):
    (stage,) = [
        s for plan in session._plans.values() for s in plan._stages or () if isinstance(s, cluster.Cluster)
    ]
    return stage


def land(session):
    for job in list(jobs_of(session).jobs.values()):
        assert job.wait(60)


def test_steps_go_on_while_a_program_is_made(gate):
    x = tf.placeholder(tf.float32, [2])
    y = x * 2 + 1
    with tf.Session() as session:
        for i in range(5):
            np.testing.assert_array_equal(session.run(y, {x: [i, 0]}), [2 * i + 1, 1])
        stage = jobs_of(session)
        assert len(stage.jobs) == 1 and not stage._programs
        gate.set()
        land(session)
        np.testing.assert_array_equal(session.run(y, {x: [3, 0]}), [7, 1])
        assert not stage.jobs and len(stage._programs) == 1
        assert next(iter(stage._programs.values())).cost.runs == 1


@pytest.mark.parametrize("has_begun", [True, False])
def test_what_is_being_made_is_not_made_twice(has_begun, gate, monkeypatch):
    """A plan that can't go on without the program waits for it, or makes it if nobody has begun."""
    made = []
    build = Program._build
    monkeypatch.setattr(Program, "_build", lambda self, *args: (made.append(self), build(self, *args)))
    first, x = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [2])
    y = x * 2 + 1
    with tf.Session() as session:
        if not has_begun:  # the thread is busy with another one
            for _ in range(2):
                session.run(first * 5 + 1, {first: [1, 2, 3]})
        for _ in range(2):
            session.run(y, {x: [1, 2]})
        plan = next(p for p in session._plans.values() if p.feeds == [x])
        (stage,) = (s for s in plan._stages if isinstance(s, cluster.Cluster))
        assert len(stage.jobs) == 1
        monkeypatch.setattr(plan, "_where", lambda: "at once")
        if has_begun:
            threading.Timer(0.5, gate.set).start()
        np.testing.assert_array_equal(session.run(y, {x: [3, 0]}), [7, 1])
        assert sum(program.cluster is stage for program in made) == 1
        assert not stage.jobs and len(stage._programs) == 1


def test_bodies_are_not_compiled_beside_the_steps_program(gate, monkeypatch):
    n = tf.placeholder(tf.int32, [])
    total = tf.while_loop(
        lambda i, _: i < n, lambda i, v: (i + 1, tf.sin(v) * 2.0 + 1.0), [0, tf.zeros([50])]
    )[1]
    made = []
    build = Program._build
    monkeypatch.setattr(Program, "_build", lambda self, *args: (made.append(self), build(self, *args)))
    with tf.Session() as session:
        session.run(total, {n: 20})
        monkeypatch.setattr("headrace.runtime.plan._WORTH_COMPILING_S", 0.0)
        for _ in range(4):
            session.run(total, {n: 20})
        assert not jobs_of(session)._programs and len(jobs_of(session).jobs) == 1
        assert all(program.cluster is jobs_of(session) for program in made)


@pytest.mark.parametrize("lands", [2, 4, 7])
def test_when_it_lands_changes_nothing(lands, gate, monkeypatch):
    """Variables and random streams go on from where the interpreter left them."""

    def run(steps):
        with tf.Graph().as_default():
            v = tf.Variable(tf.zeros([3]))
            noise = tf.random_uniform([3], seed=5)
            step = tf.assign_add(v, noise)
            with tf.Session() as session:
                session.run(v.initializer)
                out = []
                for i in range(steps):
                    if i == lands:
                        gate.set()
                        for plan in session._plans.values():
                            for stage in plan._stages or ():
                                for job in list(getattr(stage, "jobs", {}).values()):
                                    assert job.wait(60)
                    out.append(session.run(step))
                return np.stack(out)

    mixed = run(9)
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    np.testing.assert_allclose(mixed, run(9), rtol=1e-6)


def test_a_cut_that_turns_out_to_be_needed(monkeypatch):
    x = tf.placeholder(tf.int32, [2])
    y = tf.reshape(tf.zeros([6]), raw.AddV2(x, 1)) + 1.0
    with tf.Session() as session:
        for _ in range(8):
            assert session.run(y, {x: [1, 2]}).shape == (2, 3)
            for plan in session._plans.values():
                for stage in plan._stages or ():
                    for job in list(getattr(stage, "jobs", {}).values()):
                        assert job.wait(60)
        (plan,) = session._plans.values()
        assert plan.only_interpret == ""
        assert all(stage._programs for stage in plan._stages if isinstance(stage, cluster.Cluster))


@pytest.fixture
def warnings(monkeypatch):
    said = []
    monkeypatch.setattr("headrace.platform.tf_logging.warning", said.append)
    return said


@pytest.mark.parametrize("background", ["on", "off"])
def test_a_rule_that_stumbles_leaves_the_interpreter_in_charge(monkeypatch, warnings, background):
    monkeypatch.setenv("HEADRACE_BACKGROUND", background)
    tried = []

    def stumble(*args):
        tried.append(args)
        raise RuntimeError("a rule stumbled\nover much")

    monkeypatch.setattr(Program, "_build", stumble)
    x = tf.placeholder(tf.float32, [2])
    y = x + 1
    with tf.Session() as session:
        for _ in range(5):
            np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [2, 3])
            for plan in session._plans.values():
                for stage in plan._stages or ():
                    for job in list(getattr(stage, "jobs", {}).values()):
                        assert job.wait(60)
        (plan,) = session._plans.values()
        assert plan.only_interpret == "RuntimeError: a rule stumbled\nover much"
        assert len(tried) == 1
        assert warnings == [
            "The step for add:0 is interpreted from now on, which may be slow: compiling 1 of its nodes failed with "
            "RuntimeError: a rule stumbled"
        ]
        assert "compiling it failed (RuntimeError: a rule stumbled" in tf.explain(y, session, io.StringIO())


def test_a_rule_that_refuses_what_the_interpreter_takes_is_not_tried_for_ever(monkeypatch, warnings):
    monkeypatch.setenv("HEADRACE_BACKGROUND", "off")
    tried = []

    def refuse(*args):
        tried.append(args)
        raise tf.errors.InvalidArgumentError(None, None, "not that")

    monkeypatch.setattr(Program, "_build", refuse)
    x = tf.placeholder(tf.float32, [2])
    y = x + 1
    with tf.Session() as session:
        for _ in range(9):
            np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [2, 3])
    assert len(tried) == 3
    assert len(warnings) == 1 and "failed with InvalidArgumentError: not that" in warnings[0]


def test_what_is_wrong_with_the_data_is_no_reason_to_warn(monkeypatch, warnings):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    x = tf.placeholder(tf.float32, [None])
    y = tf.reshape(x, [2, 2])
    with tf.Session() as session:
        for _ in range(5):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(y, {x: [1, 2, 3]})
    assert warnings == []


def test_a_closed_session_stops_what_is_made_for_it(gate):
    x = tf.placeholder(tf.float32, [2])
    y = x + 1
    session = tf.Session()
    for _ in range(2):
        session.run(y, {x: [1, 2]})
    (job,) = jobs_of(session).jobs.values()
    session.close()
    gate.set()
    assert job.wait(60)
    assert isinstance(job.error, background.Stopped)


def test_in_the_foreground_where_asked(monkeypatch):
    monkeypatch.setenv("HEADRACE_BACKGROUND", "off")
    x = tf.placeholder(tf.float32, [2])
    y = x + 1
    with tf.Session() as session:
        for _ in range(2):
            session.run(y, {x: [1, 2]})
        assert jobs_of(session)._programs and not jobs_of(session).jobs


def test_a_plan_becomes_hot_after_the_seconds_asked_for(monkeypatch):
    monkeypatch.setenv("HEADRACE_BACKGROUND", "off")
    monkeypatch.setenv("HEADRACE_COMPILE_AFTER", "1000")
    x = tf.placeholder(tf.float32, [2])
    y = x + 1
    with tf.Session() as session:
        for _ in range(5):
            session.run(y, {x: [1, 2]})
        (plan,) = session._plans.values()
        assert not plan.is_compiled


_ENDS = """
import sys, time
import numpy as np
import headrace as tf
x = tf.placeholder(tf.float32, [None, 64])
h = x
for i in range(int(sys.argv[1])):
    h = tf.tanh(tf.matmul(h, tf.Variable(tf.random_normal([64, 64]))))
train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(h))
session = tf.Session()
session.run(tf.global_variables_initializer())
for i in range(3):
    session.run(train, {x: np.ones((4, 64))})
time.sleep(float(sys.argv[2]))
print("done", flush=True)
sys.exit(7)
"""


@pytest.mark.parametrize("wait", [0.0, 0.9, 1.6])
def test_the_process_ends_while_a_program_is_made(wait):
    environment = {**os.environ, "HEADRACE_BACKGROUND": "on", "HEADRACE_CACHE_DIR": ""}
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _ENDS, "8", str(wait)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")
    assert time.monotonic() - start < 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_child_makes_its_own():
    code = """
import os, threading
import headrace as tf
from headrace.runtime import background
from headrace.runtime.program import Program
x = tf.placeholder(tf.float32, [2])
y = x * 2
session = tf.Session()
hold = threading.Event()
build = Program._build
Program._build = lambda self, *args: hold.wait()
for i in range(3):
    session.run(y, {x: [1, 2]})
child = os.fork()
if not child:
    stage = next(s for p in session._plans.values() for s in p._stages if hasattr(s, "jobs"))
    (job,) = stage.jobs.values()
    os._exit(0 if job.is_lost else 3)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
os._exit(code)
"""
    environment = {**os.environ, "HEADRACE_BACKGROUND": "on", "HEADRACE_CACHE_DIR": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
