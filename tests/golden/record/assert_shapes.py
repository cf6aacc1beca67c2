"""Records tests/golden/assert_shapes.json: what the calls of assert_shapes_calls.py give; run by TensorFlow 1.15."""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))
import assert_shapes_calls as calls

tf.enable_control_flow_v2()
facts = {name: calls.run(tf, name) for name in sorted(calls.CALLS)}
(HERE / "assert_shapes.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
