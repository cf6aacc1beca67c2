"""The messages in tf.train: examples, clusters, and how a Saver is kept."""

from __future__ import annotations

from headrace import proto
from headrace.export import export_value

for _name in (
    "BytesList", "ClusterDef", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList",
    "Int64List", "JobDef", "SaverDef", "SequenceExample", "ServerDef",
):  # fmt: skip
    export_value("train." + _name, getattr(proto, _name))
