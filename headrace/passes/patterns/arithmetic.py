"""Nodes that compute nothing new (grappler: arithmetic_optimization)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.graph import Operation
from headrace.passes.patterns import sparse
from headrace.passes.rewrite import ONE_KNOWN, Inputs, Pattern, Rewriter, Table


def _by_one(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    x, y = inputs
    if here.known.get(y) == 1:
        found = x
    elif op.type == "Mul" and here.known.get(x) == 1:
        found = y
    else:
        return None
    return None if found._dtype.is_complex else found  # infinity times 1 + 0j is not what it was


def _zero_more(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    x, y = inputs
    number = here.known.get(y)
    if op.type == "Sub":
        # x - (-0.0) is 0 where x is -0.
        return x if number == 0 and not x._dtype.is_complex and math.copysign(1, number) > 0 else None
    if not x._dtype.is_integer:  # -0.0 + 0.0 is 0
        return None
    if number == 0:
        return x
    return y if here.known.get(x) == 0 else None


def _permutation(here: Rewriter, t: Any) -> list[int] | None:
    value = here.constant(t)
    if value is None or value.ndim != 1:
        return None
    found: list[int] = value.tolist()
    return found if sorted(found) == list(range(len(found))) else None


def _transposed_twice(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    inner = inputs[0]._op
    if inner.type != "Transpose" or here.is_fed(inputs[0]):
        return None
    x, order = here.inputs(inner)
    first, second = _permutation(here, order), _permutation(here, inputs[1])
    # The inner one refuses tensors of another rank.
    if first is None or second is None or len(first) != len(second) or x._rank() != len(first):
        return None
    both = [first[i] for i in second]
    here.absorb(inner)
    if both == sorted(both):
        return x
    order = here.const(op, np.array(both, inputs[1]._dtype.storage), inputs[1]._dtype)
    y = op._outputs[0]
    return here.add("Transpose", op, (x, order), op.attrs, [y._dtype], [y._dims])._outputs


def _reshaped_twice(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    inner = inputs[0]._op
    if inner.type != "Reshape" or here.is_fed(inputs[0]):
        return None
    x, before = here.inputs(inner)
    first, second = here.constant(before), here.constant(inputs[1])
    if first is None or second is None or first.ndim != 1 or second.ndim != 1:
        return None
    # Whatever the inner one refuses, the outer one refuses, too, if both ask for as many elements.
    elements = math.prod(second.tolist())
    if (second < 0).any() or (first < 0).any() or math.prod(first.tolist()) != elements:
        return None
    here.absorb(inner)
    y = op._outputs[0]
    return here.add("Reshape", op, (x, inputs[1]), op.attrs, [y._dtype], [y._dims])._outputs


def _cast_to_itself(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    return inputs[0] if inputs[0]._dtype is op._outputs[0]._dtype else None


_FEWER = "One or two nodes less to interpret and to trace; XLA simplifies it by itself."

TABLE = Table(
    "arithmetic_optimization",
    (
        Pattern(
            "times one",
            "Mul Div RealDiv Pow",
            _by_one,
            glance=ONE_KNOWN,
            why="Weights of losses and rates of decay that are off. " + _FEWER,
            fires=(
                lambda tf, x: x * 1.0,
                lambda tf, x: 1.0 * x,
                lambda tf, x: x / 1.0,
                lambda tf, x: x**1.0,
                lambda tf, x: tf.cast(x, tf.int32) * 1,
            ),
            alone=(
                lambda tf, x: 1.0 / x,
                lambda tf, x: x * [[[1.0]]],
                lambda tf, x: x * [1.0, 1.0, 1.0],
                lambda tf, x: x // 1.0,
                lambda tf, x: 1.0**x,
                lambda tf, x: tf.complex(x, x) * (1 + 0j),
            ),
        ),
        Pattern(
            "zero more",
            "Add AddV2 Sub",
            _zero_more,
            glance=ONE_KNOWN,
            why="Counters and offsets that are off. " + _FEWER,
            fires=(
                lambda tf, x: x - 0.0,
                lambda tf, x: tf.cast(x, tf.int32) + 0,
                lambda tf, x: 0 + tf.cast(x, tf.int64),
            ),
            alone=(lambda tf, x: x + 0.0, lambda tf, x: x - (-0.0), lambda tf, x: 0.0 - x),
        ),
        Pattern(
            "transposed twice",
            "Transpose",
            _transposed_twice,
            glance=ONE_KNOWN,
            why="Layers that swap axes back and forth, and their gradients: the interpreter moves the data each time.",
            fires=(
                lambda tf, x: tf.transpose(tf.transpose(x)),
                lambda tf, x: tf.transpose(tf.transpose(tf.reshape(x, [1, 2, 3]), [1, 2, 0]), [1, 2, 0]),
            ),
            alone=(
                lambda tf, x: tf.transpose(tf.tanh(tf.transpose(x))),
                lambda tf, x: tf.transpose(
                    tf.transpose(tf.py_func(lambda v: v, [x], tf.float32), [1, 0]), [1, 0]
                ),
            ),
        ),
        Pattern(
            "reshaped twice",
            "Reshape",
            _reshaped_twice,
            glance=ONE_KNOWN,
            why=_FEWER,
            fires=(lambda tf, x: tf.reshape(tf.reshape(x, [6]), [3, 2]),),
            alone=(
                lambda tf, x: tf.reshape(tf.reshape(x, [-1]), [3, 2]),
                lambda tf, x: tf.reshape(tf.reshape(x, [3, 2]), [-1]),
                lambda tf, x: tf.reshape(tf.tanh(tf.reshape(x, [6])), [3, 2]),
            ),
        ),
        Pattern(
            "cast to itself",
            "Cast",
            _cast_to_itself,
            why="Imported graphs have them. " + _FEWER,
            fires=(lambda tf, x: tf.raw_ops.Cast(x=x, DstT=tf.float32),),
            alone=(
                lambda tf, x: tf.cast(x, tf.float64),
                lambda tf, x: tf.cast(tf.cast(x, tf.int32), tf.float32),
            ),
        ),
        sparse.PATTERN,
    ),
)
