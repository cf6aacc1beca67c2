"""Nodes that are there twice (TensorFlow's common subexpressions)."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import string
from headrace.graph import Operation, Tensor
from headrace.passes.rewrite import AGAIN, Inputs, Pattern, Rewriter, Table, have_same_attrs

_SMALL = 1 << 10  # bytes; comparing what is larger takes longer than it saves


def _equal_node(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    for twin in here.twins:
        for a, b in zip(here.inputs(twin), inputs, strict=False):
            if a is not b and not _equal(a, b, here):
                break
        else:
            if twin._device == op._device and have_same_attrs(twin, op):
                return twin._outputs
    return None


def _equal(a: Tensor, b: Tensor, here: Rewriter) -> bool:
    known = here.known
    if (
        a not in known
        or b not in known
        or known[a] != known[b]
        or a._dtype is not b._dtype
        or a._dtype is string
    ):
        return False
    x, y = a._op.attrs["value"], b._op.attrs["value"]
    return bool(x.nbytes <= _SMALL and x.shape == y.shape and x.tobytes() == y.tobytes())


def _random(tf: Any, x: Any) -> Any:
    return tf.raw_ops.RandomUniform(shape=tf.shape(x), dtype=tf.float32, seed=1, seed2=2)


TABLE = Table(
    "common_subgraph_elimination",
    (
        Pattern(
            "equal nodes",
            "*",
            _equal_node,
            glance=AGAIN,
            why="What a program writes down twice, and what gradients compute again. XLA finds them, too, but only "
            "after they have been traced and lowered; the interpreter computes them.",
            fires=(
                lambda tf, x: tf.tanh(x) * tf.sigmoid(tf.tanh(x)),
                lambda tf, x: tf.tanh(x * 0.5) + tf.tanh(x * 0.25) - tf.tanh(x * 0.25),
                lambda tf, x: tf.reduce_sum(x, [0]) + tf.exp(tf.reduce_sum(x, [0])),
                lambda tf, x: tf.split(x, 3, 1)[0] + tf.split(x, 3, 1)[1],
            ),
            alone=(
                lambda tf, x: tf.matmul(x, x, transpose_a=True)[:2, :2] + tf.matmul(x, x, transpose_b=True),
                lambda tf, x: _random(tf, x) - _random(tf, x),
                lambda tf, x: (
                    tf.py_func(lambda v: v, [x], tf.float32) + tf.py_func(lambda v: v, [x], tf.float32)
                ),
                lambda tf, x: (x - 1.0) + (1.0 - x),
                lambda tf, x: (x + 0.0) / (x + (-0.0)),
                lambda tf, x: tf.expand_dims(x, 0) * tf.expand_dims(x, [0]),
            ),
        ),
    ),
)
