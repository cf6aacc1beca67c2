"""The same over 200 batches of 60 different lengths; compilation counts."""

import numpy as np

from benchmarks.programs.recurrent import classifier, random_batch

STEPS = 200
WHOLE = True


def build(tf):
    fetches, x = classifier(tf, None)
    lengths = 20 + np.random.RandomState(0).permutation(np.arange(200) % 60)
    return fetches, lambda i: {x: random_batch(int(lengths[i]), i)}
