"""headrace.explain, headrace explain and headrace profile: they say what happened, and leave programs as they are."""

import io
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw
from headrace.runtime.plan import Plan
from headrace.runtime.profile import Profile, explaining
from headrace.session.session import BaseSession


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_what_is_on_the_host_and_why(capsys, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    s = tf.placeholder(tf.string, [], name="s")
    number = tf.string_to_number(s, name="number")
    y = tf.multiply(number, 2.0, name="y")
    text = tf.as_string(y, name="text")
    with tf.Session() as session:
        assert session.run([y, text], {s: "1.5"})[0] == 3.0
        told = tf.explain(y)
    assert capsys.readouterr().out == told + "\n"
    assert "Step for y:0, text:0, fed s:0" in told
    assert "cut into 3 stages" in told
    assert "number (StringToNumber): StringToNumber has no rule for XLA" in told
    assert "text (AsString): AsString has no rule for XLA" in told
    assert "cluster 0: 1 node (1 Mul)" in told
    assert re.search(r"program for number:0\[\]: traced in .*, lowered in .*, compiled in ", told)
    assert "1 run" in told and "in 4 bytes, out 4 bytes" in told


def test_a_cut_before_a_value_that_must_be_known(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    x = tf.placeholder(tf.int32, [2], name="x")
    y = tf.reshape(tf.zeros([6]), raw.AddV2(x, 1, name="more"), name="y")
    with tf.Session() as session:
        session.run(y, {x: [1, 2]})
        told = tf.explain("y:0", session)
    assert "cut between more and y: Reshape can be compiled only for a value of it that is known" in told
    assert "compiled anew for each value of more:0" in told


def test_why_nothing_is_compiled(monkeypatch):
    x = tf.placeholder(tf.float32, [2], name="x")
    y, names = tf.add(x, 1.0, name="y"), tf.string_join(["a", "b"], name="names")
    with tf.Session() as session:
        assert tf.explain(session=session) == "Nothing has been run yet."
        session.run(y, {x: [1, 2]})
        assert "it is not hot yet; it is compiled when feeds of the same shapes come again" in tf.explain(y)
        session.run(names)
        assert "none of its nodes is one for XLA" in tf.explain(names)
        with pytest.raises(ValueError, match="No step of this session has fetched x:0 yet"):
            tf.explain(x)
    with pytest.raises(ValueError, match="no default session"):
        tf.explain(y)
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Session() as session:
        session.run(y, {x: [1, 2]})
        assert "the policy is tier=interpret" in tf.explain(y)


def test_a_loop_says_what_in_its_body_keeps_it(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")

    def body(i, v):
        return i + 1, tf.string_to_number(tf.as_string(v, name="inside"))

    y = tf.while_loop(
        lambda i, v: i < 2, body, (0, tf.placeholder_with_default(1.0, [], name="x")), name="loop"
    )[1]
    with tf.Session() as session:
        session.run(y)
        told = tf.explain(y)
    assert re.search(
        r"\((Stateless)?While\): its body \S+ holds \S*inside\S*: AsString has no rule for XLA", told
    )


def test_a_plan_may_be_given():
    with explaining() as plans, tf.Session() as session:
        session.run(tf.constant(1.0, name="c"))
    (plan,) = plans
    file = io.StringIO()
    assert "Step for c:0" in tf.explain(plan, file=file) and file.getvalue()
    assert Plan.made is None


def test_a_profile_adds_up(monkeypatch):
    x = tf.placeholder(tf.float32, [50, 50], name="x")
    v = tf.Variable(tf.zeros([50, 50]), name="v")
    step = tf.assign_add(v, tf.matmul(x, x), name="step")
    profile = Profile()
    with profile.running(BaseSession), tf.Session() as session:
        session.run(v.initializer)
        for _ in range(4):
            session.run(step, {x: np.ones((50, 50))})
    rows = profile.watch.rows
    assert profile.steps == 5
    assert {row.what.type for row in rows if row.kind == "host"} >= {"MatMul", "AssignAdd", "Assign"}
    assert sum(row.kind == "cluster" for row in rows) == 3
    assert {"trace", "lower", "compile"} <= {row.kind for row in rows}
    assert 0 < sum(row.own_s for row in rows) <= profile.step_s * 1.01
    told = profile.report()
    shares = [float(s) for s in re.findall(r"^ +([\d.]+)% ", told.split("\n\n")[0], re.MULTILINE)]
    assert len(shares) == 4 and abs(sum(shares) - 100) < 0.5
    assert "5 steps took" in told and "compiling cluster_0" in told and "MatMul" in told
    assert Plan.watch is None


def test_a_loop_is_not_counted_twice(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    y = tf.while_loop(lambda i: i < 50, lambda i: i + 1, (tf.placeholder_with_default(0, []),))
    profile = Profile()
    with profile.running(BaseSession), tf.Session() as session:
        session.run(y)
    assert sum(row.own_s for row in profile.watch.rows) <= profile.step_s * 1.01


_PROGRAM = """
import sys
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 3], name="x")
y = tf.reduce_sum(tf.square(x), name="y")
with tf.Session() as session:
    for i in range(3):
        print("result", session.run(y, {x: [[1, 2, 3]]}), sys.argv[1:])
sys.exit(5)
"""


@pytest.mark.parametrize("command,told", [("explain", "Step for y:0, fed x:0"), ("profile", "3 steps took")])
def test_the_commands(command, told, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "headrace", command, str(program), "--flag"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HEADRACE_CACHE_DIR": ""},
    )
    assert done.returncode == 5, done.stderr
    before, _, after = done.stdout.partition("\n\n")
    assert before.splitlines() == ["result 14.0 ['--flag']"] * 3
    assert told in after


@pytest.mark.parametrize("command", ["explain", "profile"])
def test_the_commands_without_a_program(command):
    from headrace.cli import main

    assert main([command]) == 2


def test_a_full_trace_tells_clusters_and_compile_time_apart():
    from headrace.python.client import timeline

    s = tf.placeholder(tf.string, [], name="s")
    y = tf.square(tf.string_to_number(s, name="number"), name="y")
    full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)

    def trace(session, options=full):
        metadata = tf.RunMetadata()
        session.run(y, {s: "3"}, options=options, run_metadata=metadata)
        return metadata, {
            d.device.rpartition("/")[2]: [n.node_name for n in d.node_stats]
            for d in metadata.step_stats.dev_stats
        }

    with tf.Session() as session:
        assert trace(session)[1] == {"device:CPU:0": ["number", "y"]}  # interpreted
        metadata, found = trace(session)
        assert found == {
            "device:CPU:0": ["number", "cluster_0"],
            "compiler": ["cluster_0:trace", "cluster_0:lower", "cluster_0:compile"],
        }
        assert trace(session)[1] == {"device:CPU:0": ["number", "cluster_0"]}
        by_node = tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE)
        assert trace(session, by_node)[1] == {"device:CPU:0": ["number", "y"]}
    picture = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    for name in ("cluster_0", "cluster_0:compile", "number"):
        assert f'"name": "{name}"' in picture
    cluster = metadata.step_stats.dev_stats[0].node_stats[1]
    assert cluster.timeline_label == "cluster_0 = Cluster(number)"
    assert cluster.output[0].tensor_description.allocation_description.requested_bytes == 4
