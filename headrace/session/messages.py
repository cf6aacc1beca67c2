"""Messages under their public names: tf.ConfigProto, tf.RunOptions, tf.GraphDef, tf.Summary ...

Imported on the first touch of one of the names (see `headrace.namespace`), since protobuf takes a while to load.
"""

from __future__ import annotations

import headrace.proto
from headrace.export import export_value

for _name in (
    "AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto MetaGraphDef NameAttrList NodeDef "
    "OptimizerOptions RunMetadata RunOptions SessionLog Summary SummaryMetadata TensorInfo"
).split():
    export_value(_name, getattr(headrace.proto, _name))

for _name in ("Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata"):
    export_value("summary." + _name, getattr(headrace.proto, _name))
