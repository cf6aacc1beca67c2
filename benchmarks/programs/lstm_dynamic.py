"""Training an LSTM of 128 units over 100 steps in a while loop, batches of 32."""

from benchmarks.programs.recurrent import classifier, random_batch

STEPS = 30


def build(tf):
    fetches, x = classifier(tf, 100)
    batch = random_batch(100)
    return fetches, lambda i: {x: batch}
