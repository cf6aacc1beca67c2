"""Ops on quantized numbers: integers that stand for evenly spaced floats of a range."""
