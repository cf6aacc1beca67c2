"""Summaries of how numbers are distributed."""

from __future__ import annotations

import functools

import numpy as np

from headrace.opdef import export, op, raw
from headrace.ops.summary.message import invalid, scalar_tag, serialized
from headrace.ops.summary.naming import collect, summary_scope

HistogramSummary = op("""
    HistogramSummary(tag: string, values: T) -> (summary: string)
      T: {realnumbertype} = float

    A Summary with a histogram of the values.
""", grad=None)  # fmt: skip


@HistogramSummary.shape
def histogram_summary_shape(tag, values):
    return ()


@functools.cache
def bucket_limits():
    """Returns the upper ends of the buckets: from 1e-12 in steps of a tenth to 1e20, mirrored, and the largest."""
    largest = np.finfo(np.float64).max
    positive = []
    limit = 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(largest)
    return np.array([*(-x for x in reversed(positive)), 0.0, *positive])


def fill_histogram(message, values):
    """Fills in a HistogramProto from finite numbers; of each run of empty buckets it keeps the last.

    Args:
      message: The HistogramProto.
      values: The numbers, as float64 and in one dimension.
    """
    limits = bucket_limits()
    last = len(limits) - 1
    # The largest double lies beyond the last limit's bucket; it counts there.
    places = np.minimum(np.searchsorted(limits, values, "right"), last)
    counts = np.bincount(places, minlength=last + 1)
    full = counts > 0
    kept = full | np.append(full[1:], True)
    message.min = values.min(initial=limits[-1])
    message.max = values.max(initial=limits[0])
    message.num = len(values)
    if len(values):
        # One after the other, as TensorFlow adds; NumPy's sums go by pairs.
        with np.errstate(over="ignore"):
            message.sum = np.cumsum(values)[-1]
            message.sum_squares = np.cumsum(values * values)[-1]
    message.bucket_limit.extend(limits[kept].tolist())
    message.bucket.extend(counts[kept].astype(np.float64).tolist())


@HistogramSummary.host
def histogram_summary_host(tag, values, *, ctx):
    from headrace.proto import Summary

    tag = scalar_tag(tag, "tags must be scalar")
    flat = np.asarray(values).ravel().astype(np.float64)
    finite = np.isfinite(flat)
    if not finite.all():
        what = "Nan" if np.isnan(flat[finite.argmin()]) else "Infinity"
        invalid(f"{what} in summary histogram for: {ctx.op.name}")
    summary = Summary()
    fill_histogram(summary.value.add(tag=tag).histo, flat)
    return serialized(summary)


@HistogramSummary.cases
def histogram_summary_cases(case):
    case(b"w", np.array([-2.5, 0.0, 0.1, 0.1, 3.75], np.float32))
    case(b"w", np.zeros((0, 3), np.int32))
    case.shapes("[];?", "[]", T="float32")
    case.fails((b"w", [1.0, np.nan]), match="Nan in summary histogram for: ")
    case.fails((b"w", [1.0, -np.inf]), match="Infinity in summary histogram for: ")
    case.fails((np.array([b"a", b"b"], object), [1.0]), match="tags must be scalar")


@export("summary.histogram")
def histogram(name, values, collections=None, family=None):
    """Returns a serialized Summary with a histogram of a tensor's elements.

    Args:
      name: The node's name, and the tag within the name scope.
      values: A tensor of any shape and of any type of real numbers.
      collections: Names of the collections that get the summary; by default `tf.GraphKeys.SUMMARIES`.
      family: A prefix of the tag, by which tensorboard groups.
    """
    with summary_scope(name, family, default_name="HistogramSummary", values=[values]) as (tag, scope):
        out = raw.HistogramSummary(tag=tag, values=values, name=scope)
        collect(out, collections)
    return out
