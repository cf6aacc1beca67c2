"""tf.contrib.rnn: the cells of tf.nn.rnn_cell, and many more."""

from headrace.export import NAMES, export_value

for _name in (
    "BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple MultiRNNCell RNNCell "
    "ResidualWrapper"
).split():
    export_value("contrib.rnn." + _name, NAMES["nn.rnn_cell." + _name])
