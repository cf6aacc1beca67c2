"""Summaries of single numbers."""

from __future__ import annotations

import numpy as np

from headrace.opdef import export, op, raw
from headrace.ops.summary.message import invalid, serialized, shown, text
from headrace.ops.summary.naming import collect, summary_scope

ScalarSummary = op("""
    ScalarSummary(tags: string, values: T) -> (summary: string)
      T: {realnumbertype}

    A Summary with one number, as a float, for each tag.
""", grad=None)  # fmt: skip


@ScalarSummary.shape
def scalar_summary_shape(tags, values):
    return ()


@ScalarSummary.host
def scalar_summary_host(tags, values):
    from headrace.proto import Summary

    tags, values = np.asarray(tags, object), np.asarray(values)
    if tags.shape != values.shape:
        first = f" (tag '{text(tags.ravel()[0])}')" if tags.size else ""
        invalid(f"tags and values not the same shape: {shown(tags.shape)} != {shown(values.shape)}{first}")
    summary = Summary()
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32).ravel().tolist()
    for tag, number in zip(tags.ravel(), numbers, strict=True):
        summary.value.add(tag=text(tag), simple_value=number)
    return serialized(summary)


@ScalarSummary.cases
def scalar_summary_cases(case):
    case(b"loss", np.float32(7.25), gives=b"\n\x0b\n\x04loss\x15\x00\x00\xe8@")
    case(np.array([], object), np.array([], np.float32), gives=b"")
    case.shapes("[];[]", "[]", T="float32")
    case.fails((b"loss", np.zeros(2, np.float32)), match=r"tags and values not the same shape: \[\] != \[2\]")


@export("summary.scalar")
def scalar(name, tensor, collections=None, family=None):
    """Returns a serialized Summary with one number, which tensorboard draws over the steps.

    Args:
      name: The node's name, and the tag within the name scope.
      tensor: A scalar of any type of real numbers.
      collections: Names of the collections that get the summary; by default `tf.GraphKeys.SUMMARIES`.
      family: A prefix of the tag, by which tensorboard groups.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        out = raw.ScalarSummary(tags=tag, values=tensor, name=scope)
        collect(out, collections)
    return out
