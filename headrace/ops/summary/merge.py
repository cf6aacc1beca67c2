"""Several summaries in one."""

from __future__ import annotations

import numpy as np

from headrace.graph import GraphKeys, get_default_graph, name_scope
from headrace.opdef import export, op, raw
from headrace.ops.summary.message import invalid, serialized
from headrace.ops.summary.naming import collect

MergeSummary = op("""
    MergeSummary(inputs: N * string) -> (summary: string)
      N: int >= 1

    One Summary with the values of all.
""", grad=None)  # fmt: skip


@MergeSummary.shape
def merge_summary_shape(inputs):
    return ()


@MergeSummary.host
def merge_summary_host(inputs):
    from google.protobuf.message import DecodeError

    from headrace.proto import Summary

    merged = Summary()
    tags = set()
    for operand in inputs:
        for part in np.asarray(operand, object).ravel():
            try:
                summary = Summary.FromString(part)
            except DecodeError:
                invalid("Could not parse one of the summary inputs")
            for value in summary.value:
                # Values without a tag are old ones, known by their node's name.
                if value.tag in tags:
                    invalid(f"Duplicate tag {value.tag} found in summary inputs")
                if value.tag:
                    tags.add(value.tag)
            merged.value.extend(summary.value)
    return serialized(merged)


@MergeSummary.cases
def merge_summary_cases(case):
    one, two = b"\n\t\n\x02s1\x15\x00\x00\x80?", b"\n\t\n\x02s2\x15\x00\x00\x00@"
    case((one, two), gives=one + two)
    case((np.array([one, two], object), b""), gives=one + two)
    case.fails(((one, one),), match="Duplicate tag s1 found in summary inputs")
    case.fails(((one, b"\xff\xff"),), match="Could not parse one of the summary inputs")


@export("summary.merge")
def merge(inputs, collections=None, name=None):
    """Returns one serialized Summary with the values of several.

    Args:
      inputs: Serialized summaries: a list of string tensors.
      collections: Names of the collections that get the merged one; by default none.
      name: The node's name.
    """
    with name_scope(name, "Merge", inputs):
        out = raw.MergeSummary(inputs=inputs, name=name)
        collect(out, collections, ())
    return out


@export("summary.merge_all")
def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """Returns one serialized Summary with the values of all that a collection of the default graph holds.

    Args:
      key: The collection.
      scope: A regular expression; only summaries whose names begin with a match are taken.
      name: The node's name.

    Returns:
      The merged summary, or None if there is none.
    """
    found = get_default_graph().get_collection(key, scope=scope)
    return merge(found, name=name) if found else None


@export("summary.all_v2_summary_ops")
def all_v2_summary_ops():
    """Returns the summary ops of the second version that the default graph holds, as a list."""
    return get_default_graph().get_collection(GraphKeys._SUMMARY_COLLECTION)
