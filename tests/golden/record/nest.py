"""Records tests/golden/nest.json: what the expressions of nest_calls.txt give under TensorFlow 1.15.

Run it with the oracle: scripts/oracle tests/golden/record/nest.py
"""

import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.python.util import nest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import canonical
import nest_calls

canonical.write_table("nest.json", {call: nest_calls.run(tf, nest, call) for call in nest_calls.calls()})
