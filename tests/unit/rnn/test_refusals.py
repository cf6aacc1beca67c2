"""What cells and nets refuse, in TensorFlow 1.15's words; and what cells say of themselves."""

import pytest

import headrace as tf
from headrace.rnn.zero_states import joined_shape

Cell = tf.nn.rnn_cell
NO_CELL = (
    r" \(3\) is not an RNNCell: 'output_size' property is missing, 'state_size' property is missing, either "
    "'zero_state' or 'get_initial_state' method is required, is not callable."
)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def x(*shape, dtype=tf.float32):
    return tf.placeholder(dtype, shape or [2, 3])


def sequences():
    return x(2, 5, 3)


def gru():
    return Cell.GRUCell(4)


class Short(Cell.RNNCell):
    state_size, output_size = 2, 3

    def call(self, inputs, state):
        return inputs[:, :2], state


class Grows(Cell.RNNCell):
    state_size, output_size = 2, 3

    def call(self, inputs, state):
        return inputs, (state, state)


def dynamic(*args, **kwargs):
    return tf.nn.dynamic_rnn(*args, **{"dtype": tf.float32, **kwargs})


def static(*args, **kwargs):
    return tf.nn.static_rnn(*args, **{"dtype": tf.float32, **kwargs})


REFUSED = [
    (lambda: Cell.RNNCell().state_size, NotImplementedError, "Abstract method"),
    (lambda: Cell.RNNCell().output_size, NotImplementedError, "Abstract method"),
    (
        lambda: gru()(x(2, 3, dtype=tf.int32), x(2, 4)),
        ValueError,
        "RNN cell only supports floating point inputs, but saw dtype: <dtype: 'int32'>",
    ),
    (
        lambda: Cell.LSTMCell(4)(x(2, None), (x(2, 4), x(2, 4))),
        ValueError,
        r"Expected inputs.shape\[-1\] to be known, saw shape: \(2, None\)",
    ),
    (lambda: gru()(x(2, 3, 4), x()), ValueError, "expected ndim=2, found ndim=3"),
    (lambda: Cell.GRUCell(4, foo=3), TypeError, "Keyword argument not understood:', 'foo'"),
    (lambda: Cell.GRUCell(4, activation="nope"), ValueError, "Unknown activation function:nope"),
    (
        lambda: Cell.GRUCell(4, activation=3),
        TypeError,
        "Could not interpret activation function identifier: 3",
    ),
    (
        lambda: gru().zero_state(None, tf.float32),
        ValueError,
        "Provided a prefix or suffix of None: None and 4",
    ),
    (
        lambda: joined_shape(tf.zeros([2, 2]), 1),
        ValueError,
        "prefix tensor must be either a scalar or vector",
    ),
    (lambda: gru().get_initial_state(batch_size=2), ValueError, "batch_size=2, dtype=None"),
    (lambda: gru().get_initial_state(x(), 3), ValueError, "Input tensor batch: 2, batch_size: 3"),
    (lambda: gru().get_initial_state(x(), dtype=tf.float16), ValueError, "dtype: <dtype: 'float16'>"),
    (
        lambda: Cell.LSTMStateTuple(x(), x(dtype=tf.int32)).dtype,
        TypeError,
        "Inconsistent internal state: <dtype",
    ),
    (lambda: Cell.MultiRNNCell([]), ValueError, "Must specify at least one cell for MultiRNNCell."),
    (lambda: Cell.MultiRNNCell(3), TypeError, "cells must be a list or tuple, but saw: 3."),
    (
        lambda: Cell.MultiRNNCell([Cell.LSTMCell(2)], state_is_tuple=False),
        ValueError,
        r"the flag state_is_tuple is not set.  State sizes are: \[LSTMStateTuple\(c=2, h=2\)\]",
    ),
    (lambda: Cell.MultiRNNCell([gru()])(x(), x()), ValueError, "Expected state to be a tuple of length 1"),
    (lambda: Cell.DropoutWrapper(3), TypeError, "The argument 'cell'" + NO_CELL),
    (
        lambda: Cell.DropoutWrapper(gru(), 2.0),
        ValueError,
        "Parameter input_keep_prob must be between 0 and 1: 2",
    ),
    (
        lambda: Cell.DropoutWrapper(gru(), variational_recurrent=True),
        ValueError,
        "When variational_recurrent=True, dtype must be provided",
    ),
    (
        lambda: Cell.DropoutWrapper(gru(), 0.5, variational_recurrent=True, dtype=tf.float32),
        ValueError,
        "input_size must be provided",
    ),
    (lambda: Cell.DropoutWrapper(gru(), dropout_state_filter_visitor=3), TypeError, "must be callable"),
    (
        lambda: Cell.ResidualWrapper(gru())(x(), x(2, 4)),
        ValueError,
        r"Shapes \(2, 3\) and \(2, 4\) are incompatible",
    ),
    (lambda: dynamic(3, sequences()), TypeError, "The argument 'cell'" + NO_CELL),
    (lambda: dynamic(gru(), sequences(), dtype=None), ValueError, "no initial_state, you must give a dtype."),
    (lambda: dynamic(gru(), sequences(), 3), ValueError, r"but saw shape: \(\)"),
    (lambda: dynamic(gru(), x(2, 5, None)), ValueError, r"Input size \(depth of inputs\) must be accessible"),
    (lambda: dynamic(gru(), x(2, 3)), ValueError, r"Shape \(3, 2\) must have rank at least 3"),
    (lambda: dynamic(gru(), (sequences(), x(2, 4, 3))), ValueError, "Time steps is not the same"),
    (lambda: dynamic(gru(), (sequences(), x(3, 5, 3))), ValueError, "Batch_size is not the same"),
    (
        lambda: dynamic(Short(), sequences()),
        ValueError,
        r"Inconsistent shapes: saw \(2, 2\) but expected \(2, 3\)",
    ),
    (lambda: dynamic(Grows(), sequences()), ValueError, "don't have the same nested structure"),
    (
        lambda: dynamic(
            Cell.LSTMCell(2), sequences(), initial_state=(x(2, 2), x(2, 2, dtype=tf.float64)), dtype=None
        ),
        ValueError,
        "State has tensors of different inferred_dtypes",
    ),
    (lambda: static(gru(), x()), TypeError, "inputs must be a sequence"),
    (lambda: static(gru(), []), ValueError, "inputs must not be empty"),
    (
        lambda: static(gru(), [x()], dtype=None),
        ValueError,
        "If no initial_state is provided, dtype must be specified",
    ),
    (
        lambda: static(gru(), [x(2, None)]),
        ValueError,
        r"Input size \(dimension 0 of inputs\) must be accessible",
    ),
    (lambda: static(gru(), [x(), x(3, 3)]), ValueError, "Dimensions 2 and 3 are not compatible"),
    (lambda: static(gru(), [x()], sequence_length=3), ValueError, "must be a vector of length batch_size"),
    (lambda: tf.nn.static_bidirectional_rnn(gru(), 3, []), TypeError, "The argument 'cell_bw'" + NO_CELL),
    (lambda: tf.nn.bidirectional_dynamic_rnn(3, gru(), x()), TypeError, "The argument 'cell_fw'" + NO_CELL),
    (lambda: tf.nn.raw_rnn(gru(), 3), TypeError, "loop_fn must be a callable"),
    (
        lambda: tf.nn.static_state_saving_rnn(gru(), [], None, ("a",)),
        ValueError,
        r"state_name: \('a',\), cell.state_size: 4",
    ),
    (
        lambda: tf.nn.static_state_saving_rnn(Cell.LSTMCell(2), [], None, ("a", "b", "c")),
        ValueError,
        r"#elems\(state_name\) != #elems\(state_size\): 3 vs. 2",
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_are_tensorflows(number):
    build, error, message = REFUSED[number]
    with pytest.raises(error, match=message):
        build()


def test_sizes_and_names():
    projected = Cell.LSTMCell(4, num_proj=3)
    stack = Cell.MultiRNNCell([projected, Cell.GRUCell(2)])
    assert stack.state_size == ((4, 3), 2) and stack.output_size == 2
    assert Cell.LSTMCell(4, num_proj=3, state_is_tuple=False).state_size == 7
    assert Cell.MultiRNNCell([gru(), Cell.GRUCell(3)], state_is_tuple=False).state_size == 7
    projected(x(), projected.zero_state(2, tf.float32))
    names = [v.name for v in projected.variables]
    assert names == ["lstm_cell/kernel:0", "lstm_cell/bias:0", "lstm_cell/projection/kernel:0"]
    assert (projected.name, projected.scope_name, projected.dtype) == ("lstm_cell_1", "lstm_cell", "float32")
    wrapper = Cell.DropoutWrapper(projected, 0.5)
    assert wrapper.wrapped_cell is projected and wrapper.variables == []


def test_configurations_make_equal_cells():
    cell = Cell.DropoutWrapper(Cell.LSTMCell(4, use_peepholes=True, activation="relu"), 0.5, seed=3)
    again = Cell.DropoutWrapper.from_config(cell.get_config())
    assert again.get_config() == cell.get_config()
    assert again.wrapped_cell.state_size == (4, 4)
