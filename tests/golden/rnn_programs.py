"""Programs with recurrent nets whose values are recorded from TensorFlow 1.15 and computed again by the tests.

Variables start with numbers that depend on their shape alone, since seeds would depend on the nodes of the loop.
"""

import numpy as np


def numbers(shape, dtype=None, partition_info=None):
    """An initializer: a wave over all elements."""
    count = int(np.prod([int(n) for n in shape]))
    return (
        (0.4 * np.cos(1.7 * np.arange(count) + len(shape)))
        .reshape([int(n) for n in shape])
        .astype(np.float32)
    )


def inputs(batch, time, depth=3):
    return np.sin(np.arange(batch * time * depth) * 0.9).reshape([batch, time, depth]).astype(np.float32)


LENGTHS = ([4, 2, 0], [0, 0, 0], [1, 4, 3])


def cells(tf):
    cell = tf.nn.rnn_cell
    return {
        "basic": lambda: cell.BasicRNNCell(4),
        "basic_lstm": lambda: cell.BasicLSTMCell(4, forget_bias=0.3),
        "lstm": lambda: cell.LSTMCell(4, use_peepholes=True, cell_clip=0.5, num_proj=3, proj_clip=0.2),
        "gru": lambda: cell.GRUCell(4),
        "stack": lambda: cell.MultiRNNCell([cell.GRUCell(3), cell.ResidualWrapper(cell.LSTMCell(3))]),
        "dropout": lambda: cell.DropoutWrapper(cell.LSTMCell(4), 0.6, 0.7, 0.8, seed=5),
        "variational": lambda: cell.DropoutWrapper(
            cell.GRUCell(4), 0.6, 0.7, 0.8, variational_recurrent=True, input_size=3, dtype=tf.float32, seed=5
        ),
    }


def flat(tf, structure):
    """The leaves of a structure."""
    return tf.contrib.framework.nest.flatten(structure)


def net(tf, form, cell, time, batch, lengths):
    """Builds a net; returns placeholders and outputs."""
    x = tf.placeholder(tf.float32, [batch, time, 3])
    n = tf.placeholder(tf.int32, [batch]) if lengths else None
    options = {"sequence_length": n, "dtype": tf.float32}
    if not form.startswith("static"):
        # TensorFlow would else draw the random numbers of later steps before those of earlier ones, or not.
        options["parallel_iterations"] = 1
    if form == "dynamic":
        results = tf.nn.dynamic_rnn(cell(), x, **options)
    elif form == "time_major":
        results = tf.nn.dynamic_rnn(cell(), tf.transpose(x, [1, 0, 2]), time_major=True, **options)
    elif form == "bidirectional":
        results = tf.nn.bidirectional_dynamic_rnn(cell(), cell(), x, **options)
    elif form == "static":
        results = tf.nn.static_rnn(cell(), tf.unstack(x, time, 1), **options)
    else:
        results = tf.nn.static_bidirectional_rnn(cell(), cell(), tf.unstack(x, time, 1), **options)
    return [x] + ([n] if lengths else []), flat(tf, results)


def cases():
    """Yields name, form, cell, whether shapes are known and whether there are lengths."""
    for cell in ("basic", "basic_lstm", "lstm", "gru", "stack", "dropout", "variational"):
        yield cell + "_dynamic", "dynamic", cell, True, False
        yield cell + "_dynamic_lengths", "dynamic", cell, False, True
        yield cell + "_static_lengths", "static", cell, True, True
    yield "time_major", "time_major", "gru", False, True
    yield "bidirectional", "bidirectional", "lstm", True, False
    yield "bidirectional_lengths", "bidirectional", "gru", False, True
    yield "static", "static", "stack", True, False
    yield "static_bidirectional", "static_bidirectional", "gru", True, False
    yield "static_bidirectional_lengths", "static_bidirectional", "gru", True, True


def run(tf, form, cell, known, lengths):
    """Runs a net; returns lists of outputs and gradients, a list for each feed."""
    results = []
    with tf.Graph().as_default():
        tf.set_random_seed(11)
        with tf.variable_scope("net", initializer=numbers):
            static = form.startswith("static")
            placeholders, outputs = net(
                tf, form, cells(tf)[cell], 4 if known or static else None, 3 if known else None, lengths
            )
        loss = tf.add_n([tf.reduce_sum(tf.sin(each) * (1.0 + i)) for i, each in enumerate(outputs)])
        variables = sorted(tf.trainable_variables(), key=lambda v: v.name)
        names = [v.op.name for v in variables]
        gradients = tf.gradients(loss, [placeholders[0]] + variables)
        feeds = [
            [inputs(3, 4)] + ([each] if lengths else []) for each in (LENGTHS if lengths else LENGTHS[:1])
        ]
        if not known and not static:
            feeds.append([inputs(2, 1), [1, 0]])
            feeds.append([inputs(0, 3), []])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for feed in feeds:
                values = session.run(outputs + gradients, dict(zip(placeholders, feed)))
                results.append([np.asarray(v) for v in values])
    return names, results
