"""Records tests/golden/rnn_values.npz: outputs, states and gradients of the nets in rnn_programs.py.

Run it with the oracle: scripts/oracle tests/golden/record/rnn_values.py
TensorFlow runs them with loops of its first kind, as programs get them.
"""

import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(GOLDEN))
import rnn_programs


def main():
    table = {}
    for name, *case in rnn_programs.cases():
        names, results = rnn_programs.run(tf, *case)
        table[name + "/names"] = np.array(names)
        for step, values in enumerate(results):
            for i, value in enumerate(values):
                table["{}/{}/{}".format(name, step, i)] = value
    np.savez_compressed(str(GOLDEN / "rnn_values.npz"), **table)


main()
