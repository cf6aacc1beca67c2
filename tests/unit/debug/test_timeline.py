"""Timelines: TensorFlow's events for the same StepStats, and a trace of a step of our own."""

import json

import headrace as tf
from tests.golden import canonical
from tests.unit.debug.step_stats import fill

GOLDEN = canonical.read("timeline.json")


def timeline():
    from headrace.debug.timeline import Timeline

    return Timeline(fill(tf.RunMetadata().step_stats))


def test_the_whole_picture_is_tensorflows():
    got = json.loads(timeline().generate_chrome_trace_format(show_memory=True))["traceEvents"]
    assert got == GOLDEN["all"]


def test_nodes_alone_are_tensorflows():
    got = json.loads(timeline().generate_chrome_trace_format(show_dataflow=False))["traceEvents"]
    assert got == GOLDEN["nodes"]


def test_the_most_that_allocators_held():
    found = timeline().analyze_step_stats().allocator_maximums
    assert {name: [*most[:2], sorted(most.tensors)] for name, most in found.items()} == GOLDEN["maximums"]


def test_a_step_of_ours_becomes_a_trace():
    from headrace.python.client import timeline as internal

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        y = tf.matmul(x, x, name="y")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: [[1.0] * 4] * 4}, options=options, run_metadata=metadata)
    trace = json.loads(internal.Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True))
    (node,) = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["args"]["name"] == "y"]
    assert node["name"] == "MatMul" and node["dur"] >= 1
    assert node["args"]["input0"] == "x"
