"""Nodes that are there twice (TensorFlow's common subexpressions)."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dtypes import string
from headrace.graph import Operation
from headrace.passes.rewrite import AGAIN, Inputs, Pattern, Rewriter, Table

_SMALL = 1 << 10  # bytes; comparing what is larger takes longer than it saves


def _equal_constant(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    value = op.attrs["value"]
    dtype = op._outputs[0]._dtype
    if value.nbytes > _SMALL or dtype is string:
        return None
    found = here.numbers.setdefault((dtype, value.shape, value.tobytes(), op._device), op)
    return None if found is op else found._outputs


def _equal_node(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    twin = here.twin
    return twin._outputs if op._outputs and _same(twin.attrs, op.attrs) else None


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    if a.keys() != b.keys():
        return False
    for key, value in a.items():
        other = b[key]
        if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
            return False
        if value is not other and (type(value) is not type(other) or value != other):
            return False
    return True


def _random(tf: Any, x: Any) -> Any:
    return tf.raw_ops.RandomUniform(shape=tf.shape(x), dtype=tf.float32, seed=1, seed2=2)


TABLE = Table(
    "common_subgraph_elimination",
    (
        Pattern(
            "equal constants",
            "Const",
            _equal_constant,
            why="A graph built by Python has the same few numbers over and over: a third of its nodes. One that is "
            "left out is not evaluated while the plan is made, and what takes it may turn out to be the same.",
            fires=(
                lambda tf, x: x * 0.5 + 0.5,
                lambda tf, x: tf.reduce_sum(x, [0]) + tf.reduce_max(x, [0]),
            ),
            alone=(
                lambda tf, x: x * 0.0 + tf.constant(-0.0),
                lambda tf, x: tf.cast(x, tf.int32) * 1000 + tf.cast(tf.cast(x, tf.int64) * 1000, tf.int32),
            ),
        ),
        Pattern(
            "equal nodes",
            "*",
            _equal_node,
            glance=AGAIN,
            why="What a program writes down twice, and what gradients compute again. XLA finds them, too, but only "
            "after they have been traced and lowered; the interpreter computes them.",
            fires=(
                lambda tf, x: tf.tanh(x) * tf.sigmoid(tf.tanh(x)),
                lambda tf, x: tf.tanh(x * 0.5) + tf.tanh(x * 0.5),
                lambda tf, x: tf.split(x, 3, 1)[0] + tf.split(x, 3, 1)[1],
            ),
            alone=(
                lambda tf, x: tf.matmul(x, x, transpose_a=True)[:2, :2] + tf.matmul(x, x, transpose_b=True),
                lambda tf, x: _random(tf, x) - _random(tf, x),
                lambda tf, x: (
                    tf.py_func(lambda v: v, [x], tf.float32) + tf.py_func(lambda v: v, [x], tf.float32)
                ),
                lambda tf, x: (x - 1.0) + (1.0 - x),
            ),
        ),
    ),
)
