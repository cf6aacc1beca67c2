"""tf.logging against what TensorFlow 1.15 writes."""

import logging

import pytest

import headrace as tf


@pytest.fixture
def log(capsys, monkeypatch):
    """Empties and returns what was logged, with the handler that a program without pytest would have."""
    from headrace.platform import tf_logging

    logger = logging.getLogger("tensorflow")
    monkeypatch.setattr(logger, "handlers", [tf_logging._StderrHandler()])
    monkeypatch.setattr(tf_logging, "_logger", None)
    before = logger.level
    logger.setLevel(logging.NOTSET)
    yield lambda: capsys.readouterr().err.splitlines()
    logger.setLevel(before)


def test_levels(log):
    levels = (tf.logging.DEBUG, tf.logging.INFO, tf.logging.WARN, tf.logging.ERROR, tf.logging.FATAL)
    assert levels == (10, 20, 30, 40, 50)
    assert tf.logging.get_verbosity() == 30
    tf.logging.info("info %s", "x")
    tf.logging.warn("w")
    tf.logging.warning("w2 %s", 3)
    tf.logging.error("e")
    assert log() == ["WARNING:tensorflow:w", "WARNING:tensorflow:w2 3", "ERROR:tensorflow:e"]
    tf.logging.set_verbosity("ERROR")
    assert tf.logging.get_verbosity() == 40
    tf.logging.set_verbosity(tf.logging.DEBUG)
    tf.logging.debug("dd")
    tf.logging.vlog(1, "v1")
    tf.logging.log(tf.logging.INFO, "log %d", 4)
    tf.logging.log(25, "log25")
    tf.logging.TaskLevelStatusMessage("status")
    assert tf.logging.fatal("fatal %d", 3) is None
    assert log() == [
        "DEBUG:tensorflow:dd",
        "INFO:tensorflow:log 4",
        "Level 25:tensorflow:log25",
        "ERROR:tensorflow:status",
        "CRITICAL:tensorflow:fatal 3",
    ]


def test_counted_and_conditional(log):
    tf.logging.set_verbosity(tf.logging.INFO)
    for i in range(5):
        tf.logging.log_every_n(tf.logging.INFO, "every %d", 2, i)
        tf.logging.log_first_n(tf.logging.INFO, "first %d", 2, i)
    tf.logging.log_if(tf.logging.INFO, "if %d", True, 3)
    tf.logging.log_if(tf.logging.INFO, "if %d", False, 4)
    assert [line.removeprefix("INFO:tensorflow:") for line in log()] == [
        "every 0",
        "first 0",
        "first 1",
        "every 2",
        "every 4",
        "if 3",
    ]


def test_a_lone_percent_sign_is_not_formatted(log):
    tf.logging.error("100%")
    tf.logging.error({"a": 1})
    assert log() == ["ERROR:tensorflow:100%", "ERROR:tensorflow:{'a': 1}"]


def test_flush_is_not_there_as_in_tensorflow():
    with pytest.raises(NotImplementedError):
        tf.logging.flush()
