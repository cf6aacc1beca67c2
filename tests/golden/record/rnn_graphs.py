"""Records tests/golden/rnn_graphs.json: what TensorFlow 1.15 builds for the snippets of rnn_graphs.txt.

Run it with the oracle: scripts/oracle tests/golden/record/rnn_graphs.py
Loops and branches are functional, as after tf.enable_control_flow_v2().
"""

import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.contrib.rnn.python.ops import core_rnn_cell

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import canonical
import rnn_snippets


def main():
    tf.enable_control_flow_v2()
    snippets = rnn_snippets.snippets()
    facts = {name: rnn_snippets.run(tf, source, core_rnn_cell) for name, source in snippets.items()}
    canonical.write_table("rnn_graphs.json", facts)


main()
