"""Nodes whose operands are known before any step (grappler: constant_folding)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.dtypes import string
from headrace.graph import Operation, Tensor
from headrace.opdef.infer import group_operands
from headrace.passes.rewrite import ALL_KNOWN, Inputs, Pattern, Rewriter, Table, have_same_attrs

# A result may be larger than what it follows from, but no larger than this; what fills large arrays is cheaper to run
# than to keep.
_SMALL = 1 << 10


def _computed(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    rule = op.kind.rules.get("host")
    if rule is None or rule.wants_ctx:
        return None
    for t in (*inputs, *op._outputs):
        if t._dtype is string:
            return None
    operands = [t._op.attrs["value"] for t in inputs]
    # Gradients ask the same of the same few numbers for each node that they go through.
    key: Any = None
    if sum([v.nbytes for v in operands]) <= _SMALL:
        key = (
            op.kind,
            op._device,
            *[(t._dtype, v.shape, v.tobytes()) for t, v in zip(inputs, operands, strict=True)],
        )
        before = here.computed.get(key)
        if before is not None and have_same_attrs(before[0], op):
            return before[1]
    most = min(here.most_bytes, max(_SMALL, sum([v.nbytes for v in operands])))
    if any([_size(t) > most for t in op._outputs]):
        return None
    try:
        result = rule.function(
            *group_operands(op.kind, op.attrs, operands), **rule.keywords(op.attrs, op.kind.plan.type_attrs)
        )
    except Exception:
        return None  # the step will say what is wrong
    if result is NotImplemented:
        return None
    if len(op._outputs) == 1 and not op.kind.plan.signature.outputs[0].is_list:
        result = (result,)
    results = [np.asarray(v) for v in result]
    if sum([v.nbytes for v in results]) > most or len(results) != len(op._outputs):
        return None
    for v, t in zip(results, op._outputs, strict=True):
        if v.dtype != t._dtype.storage:
            return None
    made = [here.const(op, v, t._dtype) for v, t in zip(results, op._outputs, strict=True)]
    if key is not None:
        here.computed[key] = op, made
    return made


def _size(t: Tensor) -> int:
    """Returns how many bytes a tensor takes at least."""
    return math.prod([1 if d is None else d for d in t._dims or ()]) * int(t._dtype.storage.itemsize)


TABLE = Table(
    "constant_folding",
    (
        Pattern(
            "known operands",
            "*",
            _computed,
            glance=ALL_KNOWN,
            why="Computed once a plan, not once a step: axes, paddings and ranges in the interpreter; in frozen graphs "
            "also what weights are multiplied by, which XLA gets as arguments and so computes in each step.",
            fires=(
                lambda tf, x: x + tf.sqrt(tf.constant([1.0, 2.0, 3.0])),
                lambda tf, x: tf.reshape(x, tf.concat([[3], tf.range(2, 3)], 0)),
                lambda tf, x: x + tf.ones([3]) * (tf.constant(2.0) / 3.0),
                lambda tf, x: tf.matmul(x, tf.transpose(tf.ones([70, 3]) * 0.5)),
            ),
            alone=(
                lambda tf, x: x + tf.raw_ops.RandomUniform(shape=[3], dtype=tf.float32, seed=1, seed2=2),
                lambda tf, x: x + tf.fill([500, 2, 3], 1.0),
                lambda tf, x: x + tf.strings.to_number(tf.constant(["1", "2", "3"])),
                lambda tf, x: tf.identity(x) * tf.tanh(x),
            ),
        ),
    ),
)
