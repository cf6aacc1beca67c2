"""Training the LSTM of 128 units over 200 batches of 60 different lengths; compilation counts."""

import numpy as np

from benchmarks.programs.recurrent import classifier, random_batch

GROUP = "recurrent"
STEPS = 200
WHOLE = True
TINY = {"shortest": 2, "units": 4}


def build(tf, shortest=20, units=128):
    fetches, x = classifier(tf, None, units)
    lengths = shortest + np.random.RandomState(0).permutation(np.arange(200) % 60)
    return fetches, lambda i: {x: random_batch(int(lengths[i]), i, units)}
