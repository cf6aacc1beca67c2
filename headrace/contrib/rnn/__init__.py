"""tf.contrib.rnn: the cells of tf.nn.rnn_cell, and many more."""

from headrace.contrib.rnn import (
    attention,
    block_cells,
    convolutional,
    coupled,
    fused,
    gated,
    highway,
    layer_norm,
    linear,
    projections,
    stacks,
)
from headrace.export import NAMES, export_value

for _name in (
    "BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple MultiRNNCell RNNCell "
    "ResidualWrapper"
).split():
    for _module in ("contrib.rnn", "contrib.rnn.core_rnn_cell", "contrib.rnn.rnn_cell"):
        export_value(f"{_module}.{_name}", NAMES["nn.rnn_cell." + _name])
