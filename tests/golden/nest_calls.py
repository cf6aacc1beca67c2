"""The expressions of nest_calls.txt and what they give; for the oracle and for the test."""

import collections

import canonical
import numpy as np

P = collections.namedtuple("P", "a b")
Q = collections.namedtuple("P", "a b")
R_ = collections.namedtuple("R_", "a b")


def calls():
    """The expressions."""
    lines = (canonical.GOLDEN / "nest_calls.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def run(tf, nest, expression):
    """What an expression gives, as text, or the error that it raises."""
    with tf.Graph().as_default():
        names = {
            "tf": tf,
            "N": nest,
            "np": np,
            "collections": collections,
            "P": P,
            "Q": Q,
            "R_": R_,
            "st": tf.SparseTensor([[0]], [1.0], [2]),
        }
        try:
            return repr(eval(expression, names))
        except Exception as error:
            return "{}: {}".format(type(error).__name__, error)
