"""SequenceExamples are parsed, and refused, as TensorFlow parses and refuses them."""

import json
import pathlib

import pytest

import headrace as tf
from tests.golden import sequence_calls

FACTS = json.loads(pathlib.Path(sequence_calls.__file__).with_name("sequence_examples.json").read_text())


@pytest.mark.parametrize("name", sorted(sequence_calls.EXAMPLES))
def test_one_example(name):
    assert sequence_calls.outcomes(tf, name) == FACTS["outcomes"][name]


def test_a_batch():
    assert sequence_calls.parse(tf, ["full", "no_context"]) == FACTS["half"]
    assert sequence_calls.parse(tf, ["full", "default", "sparse_list_without_kind"]) == FACTS["batch"]


@pytest.mark.parametrize("name", sorted(sequence_calls.REFUSED))
def test_features_that_are_refused(name):
    assert sequence_calls.refusal(tf, name) == FACTS["refusals"][name]


def test_graphs_are_tensorflows_node_for_node():
    assert sequence_calls.graphs(tf) == FACTS["graphs"]


def test_what_is_no_message_is_refused():
    # TensorFlow 1.15 crashes on it.
    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.io.parse_sequence_example([b"\xff\xff"], *sequence_calls.features(tf))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
            session.run(made)
