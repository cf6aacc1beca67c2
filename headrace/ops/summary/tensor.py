"""Summaries of whole tensors, which plugins of tensorboard read; text is one of them."""

from __future__ import annotations

import numpy as np

from headrace import dtypes
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.ops.summary.message import scalar_tag, serialized
from headrace.ops.summary.naming import collect, summary_scope

TensorSummary = op("""
    TensorSummary(tensor: T) -> (summary: string)
      T: type
      description: string = ""
      labels: list(string) = []
      display_name: string = ""

    A Summary with a tensor, under the node's name.
""", grad=None)  # fmt: skip

TensorSummaryV2 = op("""
    TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string) -> (summary: string)
      T: type

    A Summary with a tensor, and metadata that say which plugin it is for.
""", grad=None)  # fmt: skip


@TensorSummary.shape
def tensor_summary_shape(tensor):
    return ()


@TensorSummaryV2.shape
def tensor_summary_v2_shape(tag, tensor, serialized_summary_metadata):
    return ()


def _fill_tensor(message, array, dtype):
    """Fills in a TensorProto, its elements as one block of bytes unless they are strings."""
    message.dtype = dtype.as_datatype_enum
    message.tensor_shape.SetInParent()
    for d in array.shape:
        message.tensor_shape.dim.add(size=d)
    if dtype is dtypes.string:
        message.string_val.extend(v if isinstance(v, bytes) else str(v).encode() for v in array.ravel())
    else:
        message.tensor_content = np.ascontiguousarray(array).tobytes()


@TensorSummary.host
def tensor_summary_host(tensor, *, T, ctx):
    from headrace.proto import Summary

    summary = Summary()
    _fill_tensor(summary.value.add(node_name=ctx.op.name).tensor, np.asarray(tensor), T)
    return serialized(summary)


@TensorSummaryV2.host
def tensor_summary_v2_host(tag, tensor, serialized_summary_metadata, *, T):
    from google.protobuf.message import DecodeError

    from headrace.proto import Summary, SummaryMetadata

    summary = Summary()
    value = summary.value.add(tag=scalar_tag(tag, "tag must be scalar"))
    scalar_tag(serialized_summary_metadata, "serialized_summary_metadata must be scalar")
    try:
        metadata = SummaryMetadata.FromString(np.asarray(serialized_summary_metadata, object)[()])
    except DecodeError:
        # TensorFlow passes over what it can't read.
        metadata = SummaryMetadata()
    value.metadata.CopyFrom(metadata)
    _fill_tensor(value.tensor, np.asarray(tensor), T)
    return serialized(summary)


@TensorSummary.cases
def tensor_summary_cases(case):
    case(np.array([1, 2], np.int32))
    case.shapes("?", "[]", T="float32")


@TensorSummaryV2.cases
def tensor_summary_v2_cases(case):
    case(b"t", np.float32(3), b"", gives=b'\n\x11\n\x01tB\n\x08\x01\x12\x00"\x04\x00\x00@@J\x00')
    case(b"t", np.array([b"a", b"\xff"], object), b"\n\x06\n\x04text")
    case.shapes("[];?;[]", "[]", T="float32")
    case.fails((np.array([b"a", b"b"], object), np.float32(3), b""), match="tag must be scalar")


@export("summary.tensor_summary")
def tensor_summary(
    name,
    tensor,
    summary_description=None,
    collections=None,
    summary_metadata=None,
    family=None,
    display_name=None,
):
    """Returns a serialized Summary with a whole tensor.

    Args:
      name: The node's name, and the tag within the name scope.
      tensor: A tensor of any type and shape.
      summary_description: A long text on what it is, in Markdown.
      collections: Names of the collections that get the summary; by default `tf.GraphKeys.SUMMARIES`.
      summary_metadata: A SummaryMetadata, which says which plugin reads it; the two texts above and below go into a
        copy of it.
      family: A prefix of the tag, by which tensorboard groups.
      display_name: The name to show.
    """
    from headrace.proto import SummaryMetadata

    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.MergeFromString(summary_metadata.SerializeToString())
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        out = raw.TensorSummaryV2(
            tag=tag,
            tensor=tensor,
            serialized_summary_metadata=metadata.SerializeToString(),
            name=scope,
        )
        collect(out, collections)
    return out


@export("summary.text")
def text(name, tensor, collections=None):
    """Returns a serialized Summary with text, which tensorboard shows as Markdown.

    Args:
      name: The node's name, and the tag within the name scope.
      tensor: A tensor of strings; those of rank 2 and 1 are shown as tables.
      collections: Names of the collections that get the summary; by default `tf.GraphKeys.SUMMARIES`.

    Raises:
      ValueError: The tensor holds no strings.
    """
    from headrace.proto import SummaryMetadata

    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, convert_to_tensor(tensor), collections=collections, summary_metadata=metadata)


@export("summary.get_summary_description")
def get_summary_description(node_def):
    """Returns the SummaryDescription that a TensorSummary node carries as JSON.

    Args:
      node_def: The NodeDef.

    Raises:
      ValueError: The node is no TensorSummary.
    """
    from google.protobuf import json_format

    from headrace.proto import SummaryDescription

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return json_format.Parse(node_def.attr["description"].s.decode(), SummaryDescription())
