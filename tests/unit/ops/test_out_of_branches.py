"""What is made in branches is used outside of them; values recorded from TensorFlow 1.15."""

import numpy as np
import pytest

import headrace as tf

DEAD = "dead"


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def taken():
    return tf.placeholder_with_default(True, [])


def variable():
    return tf.get_variable("v", [], initializer=tf.zeros_initializer())


def run(session, fetches, feed):
    try:
        return session.run(fetches, feed)
    except tf.errors.InvalidArgumentError as e:
        assert "does not have value" in str(e)
        return DEAD


def session():
    s = tf.Session()
    s.run(tf.global_variables_initializer())
    return s


def test_averages_move_where_the_branch_that_updates_them_is_taken(tier):
    pred = taken()
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def normalized(training, reuse):
        return tf.layers.batch_normalization(x, training=training, name="bn", reuse=reuse)

    y = tf.cond(pred, lambda: normalized(True, False), lambda: normalized(False, True))
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    loss = tf.reduce_sum(y * y)
    with tf.control_dependencies(updates):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    gamma, _, mean, variance = tf.global_variables()
    with session() as s:
        for step in ([0.025, 0.035, 0.045], 0.60017765), ([0.04975, 0.06965, 0.08955], 0.3602133):
            s.run([loss, train])
            np.testing.assert_allclose(s.run(mean), step[0], rtol=1e-5)
            np.testing.assert_allclose(s.run(gamma), [step[1]] * 3, rtol=1e-5)
        before = s.run([gamma, mean, variance])
        s.run(loss)
        s.run(train, {pred: False})
        np.testing.assert_array_equal(s.run([gamma, mean, variance]), before)


@pytest.mark.parametrize("what", ["operation", "tensor"])
def test_what_waits_for_a_branch_runs_where_it_is_taken(what, tier):
    pred, v = taken(), variable()
    made = []

    def branch():
        made.append(tf.assign_add(v, 1.0))
        return tf.constant(2.0)

    y = tf.cond(pred, branch, lambda: tf.constant(1.0))
    with tf.control_dependencies([made[0].op if what == "operation" else made[0]]):
        seven = tf.constant(7.0)
        ten = tf.assign_add(v, 10.0)
    both = tf.group(made[0])
    with session() as s:
        assert s.run(y) == 2 and s.run(v) == 0
        assert s.run([y, seven]) == [2, 7] and s.run(v) == 1
        s.run(both)
        assert s.run(v) == 2
        s.run(ten.op)
        assert s.run(v) == 13
        assert run(s, seven, {pred: False}) == DEAD
        s.run([both, ten.op], {pred: False})
        assert s.run(v) == 13 and s.run(y) == 2 and s.run(v) == 13
        with pytest.raises(tf.errors.InaccessibleTensorError, match="not fetchable"):
            s.run(made[0])


def test_results_of_a_branch_inside_a_branch(tier):
    first, second, v = taken(), taken(), variable()
    made = []

    def inner():
        made.append(tf.assign_add(v, 1.0))
        return tf.constant(1.0)

    y = tf.cond(
        first,
        lambda: tf.cond(second, lambda: tf.constant(2.0), inner),
        lambda: tf.constant(3.0),
    )
    with tf.control_dependencies(made):
        ten = tf.group(tf.assign_add(v, 10.0))
    with session() as s:
        found = [
            (s.run([y, ten], {first: a, second: b})[0], float(s.run(v)))
            for a in (True, False)
            for b in (True, False)
        ]
    assert found == [(2, 0), (1, 11), (3, 11), (3, 11)]


@pytest.mark.usefixtures("tier")
def test_losses_of_a_branch_are_of_the_total_and_have_gradients():
    pred = taken()
    w = tf.get_variable("w", [2], initializer=tf.constant_initializer([1.0, 2.0]))

    def branch():
        h = w * w * 3.0
        tf.losses.add_loss(tf.reduce_sum(h * h))
        return h

    y = tf.cond(pred, branch, lambda: w + 1.0)
    total = tf.losses.get_total_loss() + tf.reduce_sum(y)
    gradient = tf.gradients(total, w)[0]
    with session() as s:
        assert s.run(total) == 168
        np.testing.assert_allclose(s.run(gradient), [42, 300])
        assert run(s, total, {pred: False}) == DEAD
        np.testing.assert_allclose(s.run(gradient, {pred: False}), [1, 1])


def test_summaries_of_a_branch_are_merged(tier):
    pred, x = taken(), tf.placeholder_with_default(2.0, [])
    tf.summary.scalar("o", x)

    def branch():
        tf.summary.scalar("s", x * 2.0)
        return x

    with tf.name_scope("k"):
        tf.cond(pred, branch, lambda: 1.0)
    merged = tf.summary.merge_all()
    with session() as s:
        found = [(v.tag, v.simple_value) for v in tf.Summary.FromString(s.run(merged)).value]
        assert found == [("o", 2.0), ("k/cond/s", 4.0)]
        assert run(s, merged, {pred: False}) == DEAD


def test_collections_find_what_is_in_branches_below_a_scope():
    v = variable()

    def branch():
        tf.add_to_collection("u", tf.assign_add(v, 1.0, name="up"))
        return tf.constant(1.0)

    for scope in ("disc", "gen"):
        with tf.variable_scope(scope):
            tf.cond(taken(), branch, lambda: tf.constant(1.0))
    scopes = ["disc", "gen", "disc/cond/up", "cond", "up", None]
    assert [len(tf.get_collection("u", scope)) for scope in scopes] == [1, 1, 1, 0, 0, 2]


def test_seeds_are_what_they_would_be():
    tf.set_random_seed(3)
    made = []

    def branch():
        made.append(tf.random_uniform([]))
        return tf.constant(1.0)

    tf.cond(taken(), branch, lambda: 1.0)
    with tf.control_dependencies(made):
        one = tf.constant(1.0)
    double, after = made[0] * 2.0, tf.random_uniform([])
    with session() as s:
        np.testing.assert_allclose(s.run([double, one, after]), [1.621, 1.0, 0.7151], atol=1e-4)


def made_in_a_branch():
    """Returns a predicate, a constant, what is made of it in a branch, and what the branch returns."""
    pred, x, made = taken(), tf.constant(3.0), []

    def branch():
        made.append(x * 2.0)
        return made[0] + 1.0

    return pred, x, made, tf.cond(pred, branch, lambda: made[0] - 1.0)


def run_both(fetches, pred):
    """Returns what a step gives where the branch is taken and where it is not."""
    with session() as s:
        return [run(s, fetches, {pred: value}) for value in (True, False)]


def test_a_loop_uses_what_a_branch_made(tier):
    pred, x, (a,), _ = made_in_a_branch()
    total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + a), [0, 0.0])[1]
    first = tf.while_loop(lambda s: s < a, lambda s: s + 1, [0.0])
    power = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + a * s), [0, 1.0])[1]
    gradient = tf.gradients(power, x)[0]
    assert run_both(total, pred) == [18, DEAD]
    assert run_both(first, pred) == [6, DEAD]
    assert run_both([power, gradient], pred) == [[343, 294], DEAD]


def test_another_branch_uses_what_a_branch_made(tier):
    pred, x, (a,), _ = made_in_a_branch()
    other = taken()
    both = tf.cond(other, lambda: a * a, lambda: x)
    assert run_both(both, pred) == [36, DEAD]
    with session() as s:
        assert [s.run(both, {pred: p, other: False}) for p in (True, False)] == [3, 3]
    # With the same predicate it is always there.
    same = tf.cond(pred, lambda: a * a, lambda: x)
    assert run_both([same, tf.gradients(same, x)[0]], pred) == [[36, 24], [3, 1]]


def test_the_other_branch_uses_what_a_branch_made(tier):
    pred, _, _, y = made_in_a_branch()
    assert run_both(y, pred) == [7, DEAD]


def test_what_is_still_open_around_a_branch_uses_what_it_made(tier):
    pred, inner, x = taken(), taken(), tf.constant(3.0)

    def branch():
        made = []
        z = tf.cond(inner, lambda: made.append(x * 2.0) or made[0] + 1.0, lambda: x)
        return z + made[0]

    y = tf.cond(pred, branch, lambda: x - 1.0)
    assert run_both(y, pred) == [13, 2]
    assert run_both(y, inner) == [13, DEAD]


@pytest.mark.parametrize(("steps", "expected"), [(2, 43), (3, DEAD)])
def test_a_body_uses_what_a_branch_in_it_made(steps, expected, tier):
    x = tf.constant(3.0)

    def body(i, s):
        made = []
        z = tf.cond(i < 2, lambda: made.append(x * s) or made[0] + 1.0, lambda: x)
        return i + 1, z + made[0]

    with session() as s:
        assert run(s, tf.while_loop(lambda i, s: i < steps, body, [0, 1.0])[1], {}) == expected


def test_a_body_uses_it_only_where_it_is_there(tier):
    def body(i, s):
        made = []
        z = tf.cond(i < 2, lambda: made.append(3.0 * s) or made[0] + 1.0, lambda: tf.constant(3.0))
        return i + 1, tf.cond(i < 2, lambda: made[0] + z, lambda: z)

    with session() as s:
        assert s.run(tf.while_loop(lambda i, s: i < 4, body, [0, 1.0])[1]) == 3


def test_other_branches_and_loops_wait_for_what_a_branch_does(tier):
    pred, v, made = taken(), variable(), []

    def branch():
        made.append(tf.assign_add(v, 1.0).op)
        return tf.constant(1.0)

    def waits(value):
        with tf.control_dependencies(made):
            return value + 7

    tf.cond(pred, branch, lambda: 2.0)
    same = tf.cond(pred, lambda: waits(tf.constant(0.0)), lambda: 5.0)
    loop = tf.while_loop(lambda i: i < 20, waits, [0])
    with session() as s:
        assert [(s.run(same, {pred: p}), s.run(v)) for p in (True, False)] == [(7, 1), (5, 1)]
        assert [(run(s, loop, {pred: p}), s.run(v)) for p in (True, False)] == [(21, 2), (DEAD, 2)]


def loop_that_adds():
    """Returns a variable, the operation in a loop that adds to it, and the loop's result."""
    v, made = variable(), []

    def body(i, s):
        made.append(tf.assign_add(v, 1.0, name="add"))
        return i + 1, s * 2.0

    return v, made[0] if made else None, tf.while_loop(lambda i, s: i < 3, body, [0, 1.0])[1], made


def test_what_a_loop_does_can_be_waited_for(tier):
    v, _, result, (add,) = loop_that_adds()
    both = tf.group(add), tf.group(add.op)
    with tf.control_dependencies([add]):
        nothing = tf.no_op()
    with session() as s:
        found = [(s.run(f), s.run(v)) for f in (result, *both, [nothing, result], result)]
        assert found == [(8, 0), (None, 3), (None, 6), ([None, 8], 9), (8, 9)]
        with pytest.raises(tf.errors.InaccessibleTensorError, match="not fetchable"):
            s.run(add)


def test_a_step_of_an_optimizer_waits_for_a_loop(tier):
    v, _, result, made = loop_that_adds()
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    with tf.control_dependencies(made):
        step = tf.train.GradientDescentOptimizer(0.1).minimize(result * w)
    with session() as s:
        s.run(step)
        np.testing.assert_allclose(s.run([v, w]), [3, 0.2], rtol=1e-6)


def test_tensors_do_not_leave_a_loop():
    made = []

    def body(i):
        made.append(tf.identity(i, name="round"))
        made.append(tf.cond(i < 1, lambda: made.append(i * 2) or i, lambda: i))
        return i + 1

    with tf.name_scope("outer"):
        tf.while_loop(lambda i: i < 3, body, [0])
    for use in (
        lambda: made[0] + 1,
        lambda: made[-1] + 1,
        lambda: tf.stack(made[:1]),
        lambda: tf.cond(taken(), lambda: made[0], lambda: 1),
        lambda: tf.while_loop(lambda i: i < made[0], lambda i: i + 1, [0]),
    ):
        with pytest.raises(ValueError, match=r"Cannot use 'outer/while/.*is in a while loop"):
            use()


def test_a_saved_graph_leaves_them_out():
    v = variable()

    def branch():
        tf.add_to_collection("u", tf.assign_add(v, 1.0))
        return tf.constant(1.0)

    tf.add_to_collection("u", tf.cond(taken(), branch, lambda: tf.constant(1.0)))
    saved = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(saved)
        assert len(tf.get_collection("u")) == 1


@pytest.mark.usefixtures("functional_control_flow")
def test_functional_branches_refuse():
    v = tf.get_variable("v", [], use_resource=True)

    def branch():
        update = tf.assign_add(v, 1.0, name="up")
        tf.add_to_collection("u", update.op)
        return tf.constant(1.0)

    tf.cond(taken(), branch, lambda: tf.constant(1.0))
    with pytest.raises(ValueError, match="is not an element of this graph"):
        tf.control_dependencies(tf.get_collection("u"))


def square_of_three_times(x, made):
    def branch():
        made.append(x * 3.0)
        return tf.reduce_sum(made[0] ** 2)

    return branch


def test_gradients_of_what_a_branch_made(tier):
    pred, x, made = taken(), tf.constant([1.0, 2.0]), []
    y = tf.cond(pred, square_of_three_times(x, made), lambda: tf.reduce_sum(x))
    (a,) = made
    (inner,) = tf.gradients(y, a)
    assert inner.shape == [2]
    assert tf.gradients(x, a) == [None]
    with session() as s:
        np.testing.assert_array_equal(s.run(inner), [6, 12])
        assert run(s, inner, {pred: False}) == DEAD
        np.testing.assert_array_equal(s.run(tf.gradients(y, [x, a])), [[18, 36], [6, 12]])
        np.testing.assert_array_equal(s.run(tf.gradients(y, x)[0], {pred: False}), [1, 1])
        np.testing.assert_array_equal(s.run(tf.gradients(tf.reduce_sum(inner**2), x)[0]), [72, 144])


def test_gradients_of_what_a_branch_returns_and_of_what_uses_it_outside(tier):
    pred, x, made = taken(), tf.constant([1.0, 2.0]), []
    y = tf.cond(pred, lambda: made.append(x * 3.0) or made[0], lambda: x)
    z = made[0] * made[0]
    found = [tf.gradients(ys, made[0])[0] for ys in (y, z, [y, z])]
    with session() as s:
        np.testing.assert_array_equal(s.run(found), [[1, 1], [6, 12], [7, 13]])
        assert [run(s, g, {pred: False}) for g in found] == [DEAD] * 3


def test_gradients_of_what_a_branch_in_a_branch_made(tier):
    first, second, x, made = taken(), taken(), tf.constant([1.0, 2.0]), []
    branch = square_of_three_times(x, made)
    y = tf.cond(first, lambda: tf.cond(second, branch, lambda: 0.0) * 2.0, lambda: 1.0)
    (gradient,) = tf.gradients(y, made[0])
    with session() as s:
        np.testing.assert_array_equal(s.run(gradient), [12, 24])
        for feed in ({first: False}, {second: False}, {first: False, second: False}):
            assert run(s, gradient, feed) == DEAD


def test_gradients_of_what_a_loop_in_the_branch_uses(tier):
    pred, x, made = taken(), tf.constant(2.0), []

    def branch():
        made.append(x * 3.0)
        return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * made[0]), [0, x])[1]

    (gradient,) = tf.gradients(tf.cond(pred, branch, lambda: x), made[0])
    assert run_both(gradient, pred) == [216, DEAD]


def test_a_branch_waits_for_what_another_with_its_predicate_does(tier):
    pred = taken()
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    y = tf.cond(
        pred,
        lambda: tf.layers.batch_normalization(x, training=True, name="b"),
        lambda: tf.layers.batch_normalization(x, training=False, name="b", reuse=True),
    )
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)

    def train():
        with tf.control_dependencies(updates):
            return tf.group(tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y**3)))

    step = tf.cond(pred, train, tf.no_op)
    mean = tf.global_variables()[2]
    with session() as s:
        found = []
        for value in (True, False, True):
            s.run(step, {pred: value})
            found.append(s.run(mean))
    np.testing.assert_allclose(found, [[0.02, 0.035], [0.02, 0.035], [0.0398, 0.06965]], rtol=1e-5)


def test_uses_elsewhere_count_for_seeds(tier):
    tf.set_random_seed(1)
    pred, x, made = taken(), tf.constant(2.0), []

    def uniform():
        return tf.random_uniform([])

    y = tf.cond(pred, lambda: made.append(x * 2.0) or made[0] + uniform(), lambda: x)
    z = tf.cond(pred, lambda: made[0] * uniform(), lambda: x + made[0] * uniform())
    q = made[0] + uniform()
    loop = tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s + made[0] * uniform()), [0, 0.0])[1]
    results = [y, z, q, loop, uniform()]
    with session() as s:
        found = s.run(results)
    np.testing.assert_allclose(found, [4.7717, 2.7276, 4.9897, 7.065, 0.1418], atol=1e-4)


def test_a_branch_that_is_not_taken_may_take_what_is_not_there(tier):
    pred, other, x = taken(), taken(), tf.get_variable("x", [], initializer=tf.constant_initializer(3.0))
    tf.cond(pred, lambda: tf.losses.add_loss(x * x) or x, lambda: x)
    total = tf.losses.get_total_loss()
    same = tf.cond(pred, lambda: total * 2.0, lambda: x)
    nested = tf.cond(other, lambda: tf.cond(pred, lambda: total + same, lambda: -same), lambda: total)
    step = tf.cond(
        pred,
        lambda: tf.group(tf.train.GradientDescentOptimizer(0.1).minimize(total + tf.stop_gradient(same))),
        tf.no_op,
    )
    fetches = [same, tf.gradients(same, x)[0], nested, tf.gradients(nested, x)[0]]
    with session() as s:
        assert s.run(fetches) == [18, 12, 27, 18]
        assert s.run(fetches, {pred: False}) == [3, 1, -3, -1]
        assert run(s, nested, {pred: False, other: False}) == DEAD
        assert s.run(nested, {other: False}) == 9
        s.run(step, {pred: False})
        assert s.run(x) == 3
        s.run(step)
        np.testing.assert_allclose(s.run(x), 2.4)


def test_a_graph_with_such_uses_is_saved_and_runs_again(tier):
    pred, x, made = tf.placeholder_with_default(True, [], name="pred"), tf.constant([1.0, 2.0]), []
    y = tf.cond(pred, square_of_three_times(x, made), lambda: tf.reduce_sum(x))
    with session() as s:
        assert s.run(y) == 45
    z = tf.cond(pred, lambda: tf.reduce_sum(made[0]), lambda: 0.0)
    with session() as s:
        assert s.run([y, z]) == [45, 9]
    names = [t.name for t in (y, z, tf.gradients(y, made[0])[0])]
    saved = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(saved)
        with session() as s:
            found = s.run(names)
            assert found[:2] == [45, 9] and found[2].tolist() == [6, 12]
            assert s.run(names[:2], {"pred:0": False}) == [3, 0]


def test_a_body_uses_what_the_condition_computed(tier):
    x, made = tf.get_variable("x", [2], initializer=tf.ones_initializer(), use_resource=True), []

    def condition(i, s):
        made.append(tf.reduce_sum(s * x))
        made.append(tf.cond(made[0] > 2.0, lambda: made[0] * 2.0, lambda: -made[0]))
        return i < 3

    def body(i, s):
        with tf.control_dependencies(made):
            return i + 1, tf.cond(i > 0, lambda: s + made[1], lambda: s * made[0])

    result = tf.while_loop(condition, body, (0, tf.ones([2])), maximum_iterations=5)[1]
    with session() as s:
        np.testing.assert_array_equal(s.run(result), [50, 50])


def test_a_body_does_not_draw_the_conditions_numbers_again():
    made = []

    def condition(i):
        made.append(tf.random_uniform([], name="drawn"))
        return tf.cast(i, tf.float32) + made[0] < 3.0

    with pytest.raises(ValueError, match=r"Cannot use 'drawn.* of a loop's condition"):
        tf.while_loop(condition, lambda i: i + tf.cast(made[0], tf.int32), [0])


def test_what_branches_and_loops_made_is_found_by_tensorflows_names(tier):
    graph, pred, x = tf.get_default_graph(), taken(), tf.constant(2.0)

    def branch():
        inner = tf.cond(pred, lambda: tf.negative(x, name="deep"), lambda: x)
        return tf.multiply(inner, 3.0, name="m")

    with tf.name_scope("k"):
        tf.cond(pred, branch, lambda: tf.multiply(x, 5.0, name="m"))
        tf.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="more"), [0])
    names = ["k/cond/m", "k/cond/m_1", "k/cond/cond/deep", "k/while/more"]
    assert [graph.get_operation_by_name(name).type for name in names] == ["Mul", "Mul", "Neg", "Add"]
    first, second, deep = [graph.get_tensor_by_name(f"{name}:0") + 0.0 for name in names[:3]]
    with session() as s:
        assert s.run([first, deep]) == [-6, -2]
        assert s.run(second, {pred: False}) == 10 and run(s, second, {}) == DEAD
        with pytest.raises(tf.errors.InaccessibleTensorError, match="not fetchable"):
            s.run("k/while/more:0")
        with pytest.raises(KeyError, match="does not exist"):
            graph.get_tensor_by_name("k/cond/n:0")
