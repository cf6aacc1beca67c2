"""Records what TensorFlow 1.15's ops on sound give, in tests/golden/audio.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/audio.py`.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import audio_calls


def main():
    facts = {name: audio_calls.run(tf, tf.raw_ops, np, *call) for name, *call in audio_calls.calls(np)}
    lines = ",\n".join(json.dumps(name) + ": " + json.dumps(value) for name, value in facts.items())
    (GOLDEN / "audio.json").write_text("{\n" + lines + "\n}\n")


main()
