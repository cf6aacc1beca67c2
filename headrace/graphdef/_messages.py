"""The public names of wire messages (`tf.GraphDef`, `tf.train.Example` ...), imported on first touch of one."""

from headrace import proto
from headrace.export import export_value
from headrace.graphdef import PUBLIC_MESSAGES

for _name in PUBLIC_MESSAGES:
    export_value(_name, getattr(proto, _name.rpartition(".")[2]))
