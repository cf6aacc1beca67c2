"""Nodes that hand on what they are given (grappler: dependency_optimization)."""

from __future__ import annotations

from typing import Any

from headrace.graph import Operation
from headrace.passes.rewrite import Inputs, Pattern, Rewriter, Table


def _handed_on(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    return inputs[: len(op._outputs)]


TABLE = Table(
    "dependency_optimization",
    (
        Pattern(
            "a copy",
            "Identity IdentityN StopGradient PreventGradient Snapshot PlaceholderWithDefault",
            _handed_on,
            why="Frozen graphs have one for each variable there was: every second or third node. Each is a step of the "
            "interpreter and of tracing, and hides constants from other patterns. XLA drops them by itself.",
            fires=(
                lambda tf, x: tf.identity(x),
                lambda tf, x: tf.identity(tf.identity(tf.stop_gradient(x))),
                lambda tf, x: tf.identity_n([x, x + 1.0])[1],
                lambda tf, x: tf.placeholder_with_default(x + 1.0, [2, 3]),
                lambda tf, x: tf.identity(tf.as_string(x)),
            ),
            alone=(
                lambda tf, x: tf.Variable([1.0, 2.0, 3.0]) + x,
                lambda tf, x: tf.Variable([1.0, 2.0, 3.0], use_resource=True) + x,
                lambda tf, x: tf.debugging.check_numerics(tf.zeros_like(x), "no"),
            ),
        ),
    ),
)
