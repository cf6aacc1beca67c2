"""Event files: what tensorboard's own readers make of them."""

import io
import os
import re
import socket
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing import event_accumulator, event_file_loader
from tensorboard.compat.proto import event_pb2

import headrace as tf
from headrace import errors


@pytest.fixture
def logdir(tmp_path):
    return str(tmp_path / "logs" / "run")


def files(logdir):
    return sorted(os.path.join(logdir, name) for name in os.listdir(logdir))


def events(logdir):
    return [event for path in files(logdir) for event in tf.train.summary_iterator(path)]


def loss(value, tag="loss"):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def test_tensorboard_reads_scalars_histograms_images_sound_text_and_the_graph(logdir):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        step = tf.placeholder(tf.float32, [], name="step")
        with tf.name_scope("train"):
            tf.summary.scalar("loss", 1.0 / step)
        tf.summary.histogram("weights", step * [1.0, 2.0, 4.0])
        tf.summary.image("input", tf.fill([1, 2, 3, 1], step), max_outputs=1)
        tf.summary.audio("tone", tf.zeros([1, 8]), 8000.0)
        tf.summary.text("note", tf.constant("mill race"))
        everything = tf.summary.merge_all()
        with tf.summary.FileWriter(logdir, session.graph) as writer:
            for i in range(1, 4):
                writer.add_summary(session.run(everything, {step: float(i)}), i)
    reader = event_accumulator.EventAccumulator(logdir, size_guidance={"histograms": 0}).Reload()
    assert [(e.step, round(e.value, 6)) for e in reader.Scalars("train/loss")] == [
        (1, 1.0),
        (2, 0.5),
        (3, 0.333333),
    ]
    assert [(e.step, e.histogram_value.num) for e in reader.Histograms("weights")] == [(1, 3), (2, 3), (3, 3)]
    assert reader.Histograms("weights")[2].histogram_value.max == 12.0
    image = reader.Images("input/image")[0]
    pixels = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
    assert pixels.tolist() == [[255] * 3] * 2
    assert reader.Audio("tone/audio/0")[0].sample_rate == 8000.0
    assert reader.SummaryMetadata("note").plugin_data.plugin_name == "text"
    names = [node.name for node in reader.Graph().node]
    assert names == [op.name for op in graph.get_operations()]
    assert len(reader.MetaGraph().graph_def.node) == len(names)


def test_tensorboards_loader_reads_the_raw_events(logdir):
    with tf.summary.FileWriter(logdir) as writer:
        writer.add_summary(loss(2.0), 7)
    (path,) = files(logdir)
    first, second = event_file_loader.EventFileLoader(path).Load()
    assert first.file_version == "brain.Event:2"
    assert (second.step, second.summary.value[0].tag) == (7, "loss")


def test_the_files_name_and_its_first_event(logdir):
    tf.summary.FileWriter(logdir, filename_suffix=".v2").close()
    (path,) = files(logdir)
    assert re.fullmatch(
        rf"events\.out\.tfevents\.\d{{10}}\.{re.escape(socket.gethostname())}\.v2", os.path.basename(path)
    )
    (event,) = events(logdir)
    assert event.file_version == "brain.Event:2" and event.wall_time == int(event.wall_time)


def test_no_file_before_the_first_event(logdir):
    writer = tf.summary.FileWriter(logdir)
    assert files(logdir) == []
    writer.add_summary(loss(1.0))
    writer.flush()
    assert len(events(logdir)) == 2
    writer.close()


def test_metadata_that_the_file_has_are_left_out(logdir):
    summary = loss(1.0)
    summary.value[0].metadata.display_name = "Loss"
    with tf.summary.FileWriter(logdir) as writer:
        writer.add_summary(summary, 1)
        writer.add_summary(summary.SerializeToString(), np.int64(2))
    assert [e.summary.value[0].HasField("metadata") for e in events(logdir)[1:]] == [True, False]
    assert summary.value[0].HasField("metadata")


def test_everything_else_that_can_be_added(logdir):
    run_metadata = tf.RunMetadata()
    run_metadata.step_stats.dev_stats.add(device="d")
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="x")
        with tf.summary.FileWriter(logdir) as writer:
            writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)
            writer.add_run_metadata(run_metadata, "step2", 2)
            writer.add_graph(graph, 3)
            writer.add_meta_graph(tf.train.export_meta_graph(), 4)
            writer.add_event(tf.Event(step=5, wall_time=1.5))
            writer.add_event(event_pb2.Event(step=6, wall_time=1.5))
            with pytest.raises(ValueError, match="The provided tag was already used"):
                writer.add_run_metadata(run_metadata, "step2", 3)
    read = events(logdir)[1:]
    assert [(e.step, e.WhichOneof("what")) for e in read] == [
        (1, "session_log"), (2, "tagged_run_metadata"), (3, "graph_def"), (4, "meta_graph_def"), (5, None), (6, None),
    ]  # fmt: skip
    assert tf.RunMetadata.FromString(read[1].tagged_run_metadata.run_metadata) == run_metadata


def test_what_is_refused(logdir):
    graph = tf.Graph()
    writer = tf.summary.FileWriter(logdir)
    with pytest.raises(TypeError, match="must be an instance of `Graph`"):
        writer.add_graph("graph")
    with pytest.raises(ValueError, match="Please pass only graph"):
        writer.add_graph(graph, graph_def=graph.as_graph_def())
    with pytest.raises(TypeError, match="must be type MetaGraphDef"):
        writer.add_meta_graph("graph")
    with pytest.raises(TypeError, match="Expected an event_pb2.Event proto"):
        writer.add_event("event")
    writer.close()


def test_a_closed_writer_warns_until_it_is_reopened(logdir):
    writer = tf.summary.FileWriter(logdir)
    writer.add_summary(loss(1.0), 1)
    writer.close()
    with pytest.warns(UserWarning, match="Attempting to use a closed FileWriter"):
        writer.add_summary(loss(2.0), 2)
    writer.reopen()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        writer.add_summary(loss(3.0), 3)
    writer.close()
    assert len(files(logdir)) == 2
    assert [e.step for e in events(logdir) if e.step] == [1, 3]


def test_events_reach_the_disk_by_themselves(logdir):
    writer = tf.summary.FileWriter(logdir, flush_secs=0)
    writer.add_summary(loss(1.0), 1)
    for _ in range(500):
        if files(logdir) and len(events(logdir)) == 2:
            break
        time.sleep(0.01)
    assert len(events(logdir)) == 2
    writer.close()


def test_a_disk_that_fails_is_told_and_does_not_hang(logdir):
    writer = tf.summary.FileWriter(logdir)
    os.rmdir(logdir)
    writer.add_summary(loss(1.0), 1)
    with pytest.raises(errors.NotFoundError):
        writer.flush()


def test_a_program_that_never_closes_its_writer_loses_nothing(logdir):
    program = (
        f"import headrace as tf; w = tf.summary.FileWriter({logdir!r})\n"
        "w.add_summary(tf.Summary(value=[tf.Summary.Value(tag='t', simple_value=1.0)]), 5)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    assert [e.step for e in events(logdir)] == [0, 5]


def test_the_cache_has_one_writer_a_directory(logdir):
    with tf.Graph().as_default():
        writer = tf.summary.FileWriterCache.get(logdir)
        assert tf.summary.FileWriterCache.get(logdir) is writer
        tf.summary.FileWriterCache.clear()
        assert tf.summary.FileWriterCache.get(logdir) is not writer
        tf.summary.FileWriterCache.clear()
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(loss(1.0))
