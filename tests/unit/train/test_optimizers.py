"""Optimizers: what they refuse, their slots, and optimizers that programs write themselves."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def descent():
    return tf.train.GradientDescentOptimizer(0.1)


def test_nothing_to_train():
    v = tf.Variable([1.0, 2.0], name="v")
    loss = tf.reduce_sum(tf.constant([1.0]), name="loss")
    with pytest.raises(ValueError) as refusal:
        descent().minimize(loss)
    assert str(refusal.value) == (
        "No gradients provided for any variable, check your graph for ops that do not support gradients, between "
        "variables [\"<tf.Variable 'v:0' shape=(2,) dtype=float32_ref>\"] and loss "
        'Tensor("loss:0", shape=(), dtype=float32).'
    )
    with pytest.raises(ValueError, match=r"^No variables to optimize\.$"):
        descent().minimize(loss, var_list=[])
    with pytest.raises(ValueError, match=r"^No variables provided\.$"):
        descent().apply_gradients([])
    with pytest.raises(ValueError, match="^No gradients provided for any variable: "):
        descent().apply_gradients([(None, v)])


def test_arguments_that_do_not_fit():
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(ValueError, match=r"GATE_GRAPH\.  Not 7$"):
        descent().minimize(tf.reduce_sum(v), gate_gradients=7)
    with pytest.raises(ValueError) as refusal:
        descent().minimize(tf.constant(1, name="one"))
    assert str(refusal.value) == (
        "Invalid type tf.int32 for one:0, expected: [tf.float32, tf.float64, tf.float16, tf.bfloat16]."
    )
    with pytest.raises(
        TypeError, match="^Gradient must be convertible to a Tensor or IndexedSlices, or None: "
    ):
        descent().apply_gradients([(object(), v)])
    with pytest.raises(NotImplementedError):
        descent().minimize(tf.reduce_sum(v), var_list=[v.value()])
    with pytest.raises(ValueError, match="^Must specify the optimizer name$"):
        tf.train.GradientDescentOptimizer(0.1, name="")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.train.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive: 0.0"),
        (
            lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.0),
            "initial_accumulator_value must be positive: 0.0",
        ),
        (
            lambda: tf.train.AdagradDAOptimizer(0.1, None, 0.0),
            "initial_gradient_squared_accumulator_value must be positive: 0.0",
        ),
        (
            lambda: tf.train.FtrlOptimizer(0.1, 1.0),
            "learning_rate_power 1.000000 needs to be negative or zero",
        ),
        (
            lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0),
            "l1_regularization_strength -1.000000 needs to be positive or zero",
        ),
    ],
)
def test_hyperparameters_of_a_wrong_sign(make, message):
    with pytest.raises(ValueError) as refusal:
        make()
    assert str(refusal.value) == message


def test_a_constraint_cannot_go_with_rows():
    v = tf.get_variable("v", [4, 2], constraint=tf.nn.relu)
    with pytest.raises(RuntimeError, match="^Cannot use a constraint function on a sparse variable.$"):
        descent().minimize(tf.reduce_sum(tf.gather(v, [0])))


def test_slots_and_variables():
    v = tf.get_variable("v", [2])
    optimizer = tf.train.AdamOptimizer()
    assert optimizer.get_name() == "Adam"
    assert optimizer.get_slot(v, "m") is None
    assert optimizer.get_slot_names() == [] == optimizer.variables()
    optimizer.minimize(tf.reduce_sum(v))
    assert optimizer.get_slot_names() == ["m", "v"]
    assert [x.name for x in optimizer.variables()] == [
        "beta1_power:0",
        "beta2_power:0",
        "v/Adam:0",
        "v/Adam_1:0",
    ]
    assert optimizer.get_slot(v, "v").name == "v/Adam_1:0"
    assert tf.trainable_variables() == [v]
    # Another graph has variables of its own.
    with tf.Graph().as_default():
        assert optimizer.variables() == []


def test_slots_of_parts_know_their_place():
    whole = tf.get_variable("w", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(tf.reduce_sum(tf.convert_to_tensor(whole)))
    found = [(v.name, v._save_slice_info.full_name, v._save_slice_info.spec) for v in optimizer.variables()]
    # Recorded from TensorFlow 1.15.5.
    assert found == [
        ("w/part_0/Momentum:0", "w/Momentum", "4 2 0,2:0,2"),
        ("w/part_1/Momentum:0", "w/Momentum", "4 2 2,2:0,2"),
    ]


def test_the_training_operation_is_collected_once():
    v = tf.get_variable("v", [2])
    step = tf.train.get_or_create_global_step()
    train = descent().minimize(tf.reduce_sum(v), global_step=step)
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]
    assert train.type == "AssignAdd"


class SignDescent(tf.train.Optimizer):
    """An optimizer as programs write them."""

    def __init__(self, rate):
        super().__init__(False, "SignDescent")
        self._rate = rate

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "count", self._name)

    def _apply_dense(self, grad, var):
        count = self.get_slot(var, "count")
        return tf.group(
            tf.assign_sub(var, self._rate * tf.sign(grad)), tf.assign_add(count, tf.ones_like(count))
        )

    _resource_apply_dense = _apply_dense

    def _apply_sparse(self, grad, var):
        return tf.scatter_sub(var, grad.indices, self._rate * tf.sign(grad.values))


@pytest.mark.parametrize("use_resource", [False, True])
def test_an_optimizer_of_the_programs_own(use_resource):
    v = tf.get_variable("v", initializer=[1.0, -2.0], use_resource=use_resource)
    optimizer = SignDescent(0.5)
    train = optimizer.minimize(tf.reduce_sum(v * v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        session.run(train)
        np.testing.assert_array_equal(session.run(v), [0.0, -1.0])
        np.testing.assert_array_equal(session.run(optimizer.get_slot(v, "count")), [2.0, 2.0])


def test_rows_of_equal_indices_are_added_up_first():
    v = tf.get_variable("v", initializer=[[1.0], [2.0], [3.0]])
    # Two gradients of different signs in one row: their sum counts.
    slices = tf.IndexedSlices(tf.constant([[3.0], [1.0], [-5.0]]), tf.constant([0, 2, 0]))
    train = SignDescent(0.5).apply_gradients([(slices, v)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_array_equal(session.run(v), [[1.5], [2.0], [2.5]])


def test_the_learning_rate_may_be_a_function_or_a_feed():
    v = tf.get_variable("v", initializer=[1.0])
    rate = tf.placeholder(tf.float32, [])
    train = tf.train.GradientDescentOptimizer(lambda: rate).apply_gradients([(tf.constant([1.0]), v)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {rate: 0.25})
        session.run(train, {rate: 0.5})
        np.testing.assert_array_equal(session.run(v), [0.25])


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_adam_finds_a_minimum(use_resource, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    v = tf.get_variable("v", initializer=[5.0, -3.0], use_resource=use_resource)
    loss = tf.reduce_sum(tf.squared_difference(v, [1.0, 2.0]))
    train = tf.train.AdamOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(150):
            session.run(train)
        np.testing.assert_allclose(session.run(v), [1.0, 2.0], atol=0.05)
