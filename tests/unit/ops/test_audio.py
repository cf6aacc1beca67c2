"""The ops on sound give what TensorFlow 1.15 does.

Recorded by tests/golden/record/audio.py.
"""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import audio_calls  # noqa: E402

FACTS = json.loads((GOLDEN / "audio.json").read_text())
CALLS = {name: call for name, *call in audio_calls.calls(np)}


def test_every_call_was_recorded():
    assert list(FACTS) == list(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_values(name):
    expected = FACTS[name]
    got = audio_calls.run(tf, raw, np, *CALLS[name])
    if isinstance(expected, str) or isinstance(got, str):
        assert got == expected
        return
    assert [v[:2] for v in got] == [v[:2] for v in expected]
    for (dtype, _, values), (_, _, wanted) in zip(got, expected):
        if dtype == "float32":
            # TensorFlow's Fourier transform rounds otherwise.
            np.testing.assert_allclose(values, wanted, rtol=2e-6, atol=2e-6)
        else:
            assert values == wanted


def test_wrappers_make_tensorflows_nodes():
    with tf.Graph().as_default() as graph:
        audio, rate = tf.audio.decode_wav(tf.audio.encode_wav([[0.5]], 8000), desired_channels=2)
        assert [op.name for op in graph.get_operations()] == [
            "EncodeWav/audio",
            "EncodeWav/sample_rate",
            "EncodeWav",
            "DecodeWav",
        ]
        assert audio.shape.as_list() == [None, 2]
        assert rate.shape.as_list() == []


def test_channels_are_transformed_each_for_itself():
    # TensorFlow goes on where the channel before left off, and then mostly complains of the count.
    noise = np.random.RandomState(0).uniform(-1, 1, (50, 2)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        both = session.run(raw.AudioSpectrogram(noise, window_size=7, stride=3))
        second = session.run(raw.AudioSpectrogram(noise[:, 1:], window_size=7, stride=3))
    np.testing.assert_array_equal(both[1:], second)
