"""Training an LSTM of 128 units over 100 steps in a while loop, batches of 32."""

from benchmarks.programs.recurrent import classifier, random_batch

GROUP = "recurrent"
STEPS = 30
TINY = {"time": 3, "units": 4}
FLOPS = 3 * 100 * 2 * 32 * 256 * 512


def build(tf, time=100, units=128):
    fetches, x = classifier(tf, time, units)
    batch = random_batch(time, 0, units)
    return fetches, lambda i: {x: batch}
