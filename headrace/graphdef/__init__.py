"""GraphDef and FunctionDef in and out: where plain values meet TensorFlow's wire messages."""

from headrace.graphdef import (
    attr_values,
    collector,
    decoding,
    function_defs,
    functions,
    importer,
    nodes,
    op_defs,
    order,
    subgraphs,
    tensor_proto,
    write,
)
from headrace.namespace import LAZY

# Messages load protobuf, which `import headrace` does not.
PUBLIC_MESSAGES = (
    "AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto LogMessage MetaGraphDef NameAttrList "
    "NodeDef OptimizerOptions RunMetadata RunOptions SessionLog Summary SummaryMetadata TensorInfo "
    "profiler.AdviceProto profiler.GraphNodeProto profiler.MultiGraphNodeProto profiler.OpLogProto "
    "summary.Event summary.SessionLog summary.Summary summary.SummaryDescription summary.TaggedRunMetadata "
    "train.BytesList train.ClusterDef train.Example train.Feature train.FeatureList train.FeatureLists train.Features "
    "train.FloatList train.Int64List train.JobDef train.SaverDef train.SequenceExample train.ServerDef"
).split()

LAZY.update(dict.fromkeys(PUBLIC_MESSAGES, "headrace.graphdef._messages"))


__all__ = [
    "PUBLIC_MESSAGES",
    "attr_values",
    "collector",
    "decoding",
    "function_defs",
    "functions",
    "importer",
    "nodes",
    "op_defs",
    "order",
    "subgraphs",
    "tensor_proto",
    "write",
]
