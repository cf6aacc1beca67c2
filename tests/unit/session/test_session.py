"""Sessions: fetches, feeds, callables, partial runs, errors and threads; on every tier."""

import collections
import threading

import numpy as np
import pytest

import headrace as tf
from headrace.graph import stack
from headrace.opdef import raw


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture(params=["auto", "interpret", "compile"])
def tier(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", request.param)
    return request.param


def test_fetches_keep_their_structure(tier):
    a, b = tf.constant(1), tf.constant([2.0, 3.0])
    pair = collections.namedtuple("pair", "x y")
    with tf.Session() as sess:
        out = sess.run({"a": a, "t": (a, [b]), "n": pair(a, b.op), "s": "Const_1:0"})
    assert out["a"] == 1 and isinstance(out["a"], np.int32)
    assert out["t"][0] == 1 and isinstance(out["t"], tuple)
    np.testing.assert_array_equal(out["t"][1][0], [2.0, 3.0])
    assert out["n"] == pair(1, None)
    np.testing.assert_array_equal(out["s"], [2.0, 3.0])


@pytest.mark.parametrize(
    ("fetch", "error", "match"),
    [
        (None, TypeError, "Fetch argument None has invalid type"),
        (1.5, TypeError, "must be a string or Tensor"),
        ("nowhere:0", ValueError, "cannot be interpreted as a Tensor"),
        ("nowhere", ValueError, "refers to an Operation not in the graph"),
    ],
)
def test_bad_fetches(fetch, error, match):
    tf.constant(1)
    with tf.Session() as sess, pytest.raises(error, match=match):
        sess.run(fetch)


def test_any_tensor_can_be_fed(tier):
    x = tf.placeholder(tf.float32, [None])
    y = raw.AddV2(x, x, name="y")
    z = raw.Mul(y, y)
    with tf.Session() as sess:
        for _ in range(3):
            np.testing.assert_array_equal(sess.run(z, {x: [1, 2]}), [4.0, 16.0])
            np.testing.assert_array_equal(sess.run(z, {y: [3]}), [9.0])
            np.testing.assert_array_equal(sess.run(z, {"y:0": [3]}), [9.0])
            np.testing.assert_array_equal(sess.run([y, x], {x: [1]}), [[2.0], [1.0]])


def test_bad_feeds(graph):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    i = tf.placeholder(tf.int32, [], name="i")
    y = tf.identity(x)
    with tf.Session() as sess:
        with pytest.raises(
            ValueError,
            match=r"Cannot feed value of shape \(2,\) for Tensor 'x:0', which has shape '\(\?, 3\)'",
        ):
            sess.run(y, {x: [1, 2]})
        with pytest.raises(TypeError, match="The value of a feed cannot be a tf.Tensor object"):
            sess.run(y, {x: y})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
            sess.run(y, {"nowhere:0": 1})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
            sess.run(y, {1.5: 1})
        with pytest.raises(ValueError, match="could not convert string"):
            sess.run(y, {x: [["a", "b", "c"]]})
        with pytest.raises(TypeError, match="is not compatible with Tensor type"):
            sess.run(i, {i: 2**40})
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="You must feed a value for placeholder tensor 'x' with dtype float and shape \\[\\?,3\\]",
        ):
            sess.run(y)
        graph.prevent_feeding(x)
        with pytest.raises(ValueError, match="may not be fed"):
            sess.run(y, {x: [[1, 2, 3]]})


def test_a_closed_session_and_an_empty_graph():
    sess = tf.Session()
    with pytest.raises(RuntimeError, match="The Session graph is empty"):
        sess.run([])
    c = tf.constant(1)
    sess.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        sess.run(c)


def test_values_belong_to_the_caller(tier):
    v = raw.VariableV2(shape=[2], dtype=tf.float32)
    feed = np.array([1, 2], np.float32)
    p = tf.placeholder(tf.float32, [2])
    put = raw.Assign(v, p)
    with tf.Session() as sess:
        for _ in range(3):
            feed[:] = [1, 2]
            sess.run(put.op, {p: feed})
            feed[:] = 9
            got = sess.run(v)
            got += 5
            np.testing.assert_array_equal(sess.run(v), [1.0, 2.0])
        const = tf.constant([1.0])
        sess.run(const)[0] = 7
        assert sess.run(const)[0] == 1.0


def test_reads_and_writes_follow_creation_order(tier):
    v = raw.VariableV2(shape=[], dtype=tf.float32)
    before = raw.Identity(v)
    add = raw.AssignAdd(v, 1.0)
    after = raw.Identity(add)
    later = raw.Identity(v)
    with tf.Session() as sess:
        sess.run(raw.Assign(v, 0.0))
        for i in range(4):
            assert sess.run([later, before, after, v]) == [i + 1, i, i + 1, i + 1]


def test_a_failing_step_leaves_variables_as_they_were(tier):
    v = raw.VariableV2(shape=[2], dtype=tf.float32)
    index = tf.placeholder(tf.int32, [])
    bad = tf.gather(v, index)
    with tf.control_dependencies([bad]):
        add = raw.AssignAdd(v, [1.0, 1.0])
    with tf.Session() as sess:
        sess.run(raw.Assign(v, [1.0, 2.0]))
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices = 5 is not in \[0, 2\)"):
                sess.run(add, {index: 5})
        np.testing.assert_array_equal(sess.run(v), [1.0, 2.0])
        np.testing.assert_array_equal(sess.run(add, {index: 1}), [2.0, 3.0])


def test_errors_name_the_node_and_the_users_line(tier):
    v = raw.VariableV2(shape=[2], dtype=tf.float32, name="weights")
    read = raw.Identity(v, name="weights/read")
    with tf.Session() as sess:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value weights"
        ) as e:
            sess.run(read)
    assert e.value.op is read.op
    assert e.value.node_def.name == "weights/read"
    assert "node weights/read (defined at " + __file__ in e.value.message
    assert e.value.error_code == tf.errors.FAILED_PRECONDITION


def test_resource_variables(tier):
    v = raw.VarHandleOp(shape=[2], dtype=tf.float32, shared_name="v")
    read = raw.ReadVariableOp(v, dtype=tf.float32)
    with tf.control_dependencies([read]):
        add = raw.AssignAddVariableOp(v, [1.0, 1.0])
    with tf.control_dependencies([add]):
        after = raw.ReadVariableOp(v, dtype=tf.float32)
    with tf.Session() as sess:
        with pytest.raises(
            tf.errors.FailedPreconditionError,
            match="Error while reading resource variable v from Container: localhost",
        ):
            sess.run(read)
        sess.run(raw.AssignVariableOp(v, [1.0, 2.0]))
        for i in range(3):
            np.testing.assert_array_equal(sess.run([read, after]), [[1.0 + i, 2.0 + i], [2.0 + i, 3.0 + i]])


def test_sessions_do_not_share_variables():
    v = raw.VariableV2(shape=[], dtype=tf.float32)
    put = raw.Assign(v, 3.0)
    one, two = tf.Session(), tf.Session()
    one.run(put)
    assert one.run(v) == 3.0
    with pytest.raises(tf.errors.FailedPreconditionError):
        two.run(v)


def test_make_callable(tier):
    x = tf.placeholder(tf.float32, [])
    y = raw.AddV2(x, 1.0)
    with tf.Session() as sess:
        f = sess.make_callable([y, x], [x])
        assert f(2) == [3.0, 2.0]
        assert f(3) == [4.0, 3.0]
        with pytest.raises(TypeError, match="takes 1 arguments"):
            f()
        with pytest.raises(TypeError, match="`feed_list` must be a list or tuple"):
            sess.make_callable(y, x)


def test_partial_run():
    a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
    r1 = raw.AddV2(a, b)
    r2 = raw.Mul(r1, c)
    v = raw.VariableV2(shape=[], dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(raw.Assign(v, 0.0))
        h = sess.partial_run_setup([r1, r2], [a, b, c])
        assert sess.partial_run(h, r1, {a: 1, b: 2}) == 3.0
        assert sess.partial_run(h, r2, {c: 10}) == 30.0
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Must run 'setup' before performing partial runs"
        ):
            sess.partial_run(h, r2, {c: 10})
        h = sess.partial_run_setup([r1, r2], [a, b, c])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Fetch c:0 can.t be computed"):
            sess.partial_run(h, r2, {a: 1, b: 2})


def test_eval_and_run_use_the_default_session():
    c = tf.constant(4)
    with pytest.raises(ValueError, match="No default session is registered"):
        c.eval()
    with tf.Session():
        assert c.eval() == 4
        assert c.op.run() is None
    with tf.Graph().as_default(), tf.Session(), pytest.raises(ValueError, match="graph is different"):
        c.eval()


def test_interactive_session():
    sess = tf.InteractiveSession()
    try:
        assert tf.get_default_session() is sess
        assert tf.constant(2).eval() == 2
    finally:
        sess.close()
    assert tf.get_default_session() is None


def test_after_an_interactive_session_graphs_are_left_from_the_inside(monkeypatch):
    monkeypatch.setattr(stack.graphs, "enforce_nesting", False)
    outer, inner = tf.Graph(), tf.Graph()
    with outer.as_default():
        with inner.as_default():
            with outer.as_default():
                assert tf.get_default_graph() is outer
            assert tf.get_default_graph() is inner
        assert tf.get_default_graph() is outer


def test_run_metadata_times_every_node():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = raw.AddV2(x, x, name="y")
    with tf.Session() as sess:
        metadata = tf.RunMetadata()
        sess.run(
            y, {x: [1, 2]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata
        )
    (device,) = metadata.step_stats.dev_stats
    assert device.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    (node,) = [n for n in device.node_stats if n.node_name == "y"]
    assert node.all_end_rel_micros > 0
    assert node.timeline_label == "y = AddV2(x, x)"
    assert node.output[0].tensor_description.shape.dim[0].size == 2


def test_timeouts():
    c = tf.constant(1)
    y = c
    for _ in range(50):
        y = raw.AddV2(y, c)
    x = tf.placeholder(tf.int32, [])
    y = raw.AddV2(y, x)
    with tf.Session() as sess:
        assert sess.run(y, {x: 0}, options=tf.RunOptions(timeout_in_ms=60000)) == 51


def test_many_threads_share_a_session(tier):
    v = raw.VariableV2(shape=[1000], dtype=tf.float32)
    x = tf.placeholder(tf.float32, [])
    y = raw.Mul(raw.Identity(v), x)
    add = raw.AssignAdd(v, tf.zeros([1000]))
    errors = []
    with tf.Session() as sess:
        sess.run(raw.Assign(v, tf.ones([1000])))

        def work(i):
            try:
                for _ in range(20):
                    np.testing.assert_array_equal(sess.run(y, {x: i}), np.full(1000, i, np.float32))
                    sess.run(add.op)
            except BaseException as e:
                errors.append(e)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not errors


def test_a_missing_device_is_refused_unless_soft():
    with tf.device("/gpu:7"):
        c = tf.constant(1, name="c")
    with (
        tf.Session() as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation c"),
    ):
        sess.run(c)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        assert sess.run(c) == 1


def test_wrong_arguments():
    with pytest.raises(TypeError, match="graph must be a tf.Graph"):
        tf.Session(graph=1)
    with pytest.raises(TypeError, match="config must be a tf.ConfigProto"):
        tf.Session(config=1)
    with pytest.raises(TypeError, match="target must be a string"):
        tf.Session(target=1)


def test_a_new_control_input_is_seen_by_plans_made_before(graph):
    v = raw.VariableV2(shape=[], dtype=tf.float32)
    put = raw.Assign(v, 1.0)
    add = raw.AssignAdd(v, 1.0)
    out = tf.constant(5)
    with tf.Session() as sess:
        sess.run(put)
        sess.run(out)
        assert sess.run(v) == 1.0
        out.op._add_control_input(add.op)
        sess.run(out)
        assert sess.run(v) == 2.0


def test_what_waits_for_a_write_sees_it(tier):
    """TensorFlow reads a reference variable through one Identity, whose output shares the variable's memory."""
    v = tf.Variable([1.0, 2.0], name="v")
    average = tf.Variable([0.0, 0.0], name="average")
    before = v + 0.0
    update = tf.assign_sub(v, [0.5, 3.0])
    with tf.control_dependencies([update]):
        clipped = tf.assign(v, tf.maximum(v, 0.0))
        mean = tf.assign_add(average, v * 1.0)
    unordered = v * 10.0
    with tf.Session() as sess:
        for _ in range(2):
            sess.run(tf.global_variables_initializer())
            got = sess.run([before, clipped, mean, unordered])
            np.testing.assert_array_equal(got[0], [1.0, 2.0])
            np.testing.assert_array_equal(got[1], [0.5, 0.0])
            np.testing.assert_array_equal(got[2], [0.5, 0.0])
            np.testing.assert_array_equal(got[3], [10.0, 20.0])


def test_constraints_hold_after_an_update(tier):
    w = tf.get_variable("w", initializer=[0.05, 2.0], constraint=lambda w: tf.maximum(w, 0.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w * w) + 10.0 * tf.reduce_sum(w))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for expected in ([0.0, 0.6], [0.0, 0.0], [0.0, 0.0]):
            sess.run(train)
            np.testing.assert_allclose(sess.run(w), expected, atol=1e-6)


def test_interpreted_and_compiled_steps_of_many_threads_share_a_variable():
    # Both kinds of step, at once: an interpreted one must neither lose its memory nor its update.
    v = tf.Variable(tf.zeros([4]))
    x = tf.placeholder(tf.float32, [4])
    step = tf.assign_add(v, x).op
    doubled = v * 2.0
    others = [[tf.no_op() for _ in range(30)] for _ in range(8)]
    failures = []
    with tf.Session() as sess:
        sess.run(v.initializer)
        add = sess.make_callable(step, [x])

        def work(k):
            try:
                for other in others[k]:
                    add(np.ones(4))
                    # The first run of a plan is interpreted, and each of these is a plan of its own.
                    sess.run([step, doubled, other], {x: np.ones(4)})
                    sess.run([doubled, v, other])
            except Exception as e:
                failures.append(e)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        assert failures == []
        np.testing.assert_array_equal(sess.run(v), [480.0] * 4)


def test_a_fed_reference_can_be_fetched(tier):
    v = tf.Variable([1.0, 2.0])
    ref = v._ref()
    with tf.Session() as sess:
        sess.run(v.initializer)
        for _ in range(3):
            np.testing.assert_array_equal(sess.run(ref, {ref: [7, 8]}), [7.0, 8.0])
            np.testing.assert_array_equal(sess.run(ref), [1.0, 2.0])


@pytest.mark.parametrize(
    ("dtype", "value", "error", "match"),
    [
        (tf.string, 1, TypeError, "Type of feed value 1 with type <class 'int'>"),
        (tf.string, [1.5], tf.errors.InternalError, "Unsupported object type float"),
        (tf.string, [["a"], ["b", "c"]], tf.errors.InternalError, "Unsupported object type list"),
        (tf.string, ["a", None], tf.errors.InternalError, "Unsupported object type NoneType"),
        (tf.bool, 2, TypeError, "Type of feed value 2"),
        (tf.uint8, 256, TypeError, "Type of feed value 256"),
        (tf.float16, 2**70, TypeError, "is not compatible with Tensor type <class 'numpy.float16'>"),
        (tf.float32, 2**24 + 1, TypeError, "Type of feed value 16777217"),
    ],
)
def test_a_value_that_a_type_cannot_hold_is_refused(dtype, value, error, match):
    x = tf.placeholder(dtype)
    with tf.Session() as sess, pytest.raises(error, match=match):
        sess.run(tf.identity(x), {x: value})


def test_feeds_are_a_dictionary():
    x = tf.placeholder(tf.float32)
    with tf.Session() as sess, pytest.raises(TypeError, match="input must be a dictionary"):
        sess.run(x, [(x, 1.0)])


def test_what_a_graph_keeps_to_itself_is_not_fetched(graph):
    x = tf.constant(1.0, name="x")
    graph.prevent_fetching(x.op)
    with (
        tf.Session() as sess,
        pytest.raises(ValueError, match="Operation 'x' has been marked as not fetchable"),
    ):
        sess.run(x)


def test_a_part_is_run_once_and_from_what_was_fed():
    a, b = tf.placeholder(tf.float32, [], "a"), tf.placeholder(tf.float32, [], "b")
    total, twice = tf.add(a, b, "total"), tf.multiply(a, 2.0, "twice")
    refused = tf.errors.InvalidArgumentError
    with tf.Session() as sess:
        handle = sess.partial_run_setup([total, twice], [a, b])
        with pytest.raises(
            refused, match="Fetch b:0 can't be computed from the feeds that have been fed so far"
        ):
            sess.partial_run(handle, total, {a: 1.0})
        handle = sess.partial_run_setup([total, twice], [a, b])
        assert sess.partial_run(handle, twice, {a: 1.0}) == 2.0
        with pytest.raises(refused, match="The fetch twice:0 has already been fetched"):
            sess.partial_run(handle, twice)
        with pytest.raises(refused, match="The feed a:0 has already been fed"):
            sess.partial_run(handle, total, {a: 1.0})


def test_integers_in_fed_lists_wrap_around():
    i, u = tf.placeholder(tf.int32, [1]), tf.placeholder(tf.uint8, [2])
    with tf.Session() as sess:
        assert sess.run(tf.identity(i), {i: [2**31]}).tolist() == [-(2**31)]
        assert sess.run(tf.identity(u), {u: [256, -1]}).tolist() == [0, 255]
