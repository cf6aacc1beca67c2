"""Records tests/golden/sequence_examples.json: what sequence_calls.py gives; run by TensorFlow 1.15."""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))
import sequence_calls as calls

facts = {
    "outcomes": {name: calls.outcomes(tf, name) for name in calls.EXAMPLES},
    "half": calls.parse(tf, ["full", "no_context"]),
    "batch": calls.parse(tf, ["full", "default", "sparse_list_without_kind"]),
    "refusals": {name: calls.refusal(tf, name) for name in calls.REFUSED},
    "graphs": calls.graphs(tf),
}
(HERE / "sequence_examples.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
