"""Records tests/golden/variable_graphs.json: what TensorFlow 1.15 builds and answers for snippets about variables.

Run it with the oracle: scripts/oracle tests/golden/record/variable_graphs.py
A snippet is Python source, kept in the golden file too, so that the test can run the same. It may put texts into
`out`; `text(function)` is what the function returns or the error that it raises.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import canonical

SNIPPETS = {}

for _kind, _options in (("reference", ""), ("resource", ", use_resource=True")):
    SNIPPETS[_kind] = f"""
v = tf.Variable([1.0, 2.0], name="v"{_options})
w = tf.Variable([[1, 2], [3, 4]]{_options})
late = tf.Variable(lambda: tf.ones([2]), name="late", trainable=False, collections=["mine"]{_options})
v + 1.0; 1.0 + v; v * v; -v; abs(v); v.read_value(); v.value(); tf.identity(v); tf.convert_to_tensor(v)
v[0]; v[1:].assign([5.0])
out += [text(lambda: v), str(w), v.name, v.op.name, v.initializer.name, v.initial_value.name, str(v.shape)]
out += [v.dtype.name, v.trainable, v.device, str(v.constraint), str(v.to_proto()), text(lambda: iter(v))]
out += [v == v, v == 1, hash(v) == id(v), text(lambda: v.set_shape([3]))]
results = [v.assign([2.0, 3.0]), v.assign_add([1.0, 1.0]), v.assign_sub([1.0, 1.0]), tf.assign(v, [1.0, 2.0]),
           tf.assign_add(v, [1.0, 2.0], name="named"), tf.assign_sub(v, [1.0, 2.0]), tf.is_variable_initialized(v),
           tf.assign(v, [1.0, 2.0], use_locking=False, name="other")]
out += [text(lambda: r) for r in results]
out += [v.assign([2.0, 3.0], read_value=False).name, text(lambda: v.assign([1.0, 2.0, 3.0]))]
out += [text(lambda: v.assign(tf.constant([1, 2]))), text(lambda: tf.convert_to_tensor(v, tf.int32))]
out += [text(lambda: v.eval()), text(lambda: v.load([1.0, 2.0]))]
"""
    SNIPPETS[_kind + "_scatter"] = f"""
v = tf.Variable([1.0, 2.0], name="v"{_options})
n = tf.Variable(0, name="n"{_options})
rows = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
for method in "sub add update mul div max min".split():
    out.append(text(lambda: getattr(v, "scatter_" + method)(rows)))
    out.append(text(lambda: getattr(tf, "scatter_" + method)(v, [0], [1.0])))
for method in "sub add update".split():
    out.append(text(lambda: getattr(v, "scatter_nd_" + method)([[0]], [1.0])))
    out.append(text(lambda: getattr(tf, "scatter_nd_" + method)(v, [[0]], [1.0])))
out += [text(lambda: v.batch_scatter_update(rows)), text(lambda: tf.batch_scatter_update(v, [0], [1.0]))]
out += [text(lambda: v.scatter_add(3)), text(lambda: n.count_up_to(3)), text(lambda: tf.count_up_to(n, 3))]
out += [text(lambda: tf.scatter_add(v, [0], [1.0, 2.0])), text(lambda: tf.scatter_nd_add(v, [[0]], [[1.0]]))]
"""
    SNIPPETS[_kind + "_devices"] = f"""
with tf.device("/device:CPU:1"):
    v = tf.Variable(1.0, name="v"{_options})
    cached = tf.Variable(1.0, name="cached", caching_device="/device:CPU:5"{_options})
with tf.device("/device:CPU:2"):
    v + 1.0; cached + 1.0; v.read_value(); v.assign(2.0); v.assign_add(1.0)
    with tf.colocate_with(cached):
        v + 2.0
    got = tf.get_variable("got", [2]{_options})
out += [v.device, cached.device, got.device]
"""

SNIPPETS["constructor_errors"] = """
for extra in ({}, {"use_resource": True}):
    V = lambda *a, **k: tf.Variable(*a, **dict(k, **extra))
    out += [text(lambda: V()), text(lambda: V(1.0, collections="a")), text(lambda: V(1.0, constraint=3))]
    out += [text(lambda: V(1.0, synchronization="x")), text(lambda: V(1.0, aggregation="x"))]
    out += [text(lambda: V([1.0, 2.0], dtype="int32")), text(lambda: V(1.0, name="x y"))]
    out += [text(lambda: V(1.0, synchronization=tf.VariableSynchronization.ON_READ).trainable)]
    out += [text(lambda: V(tf.placeholder(tf.float32), validate_shape=False))]
out.append(text(lambda: tf.Variable(tf.placeholder(tf.float32))))
out.append(text(lambda: tf.Variable([1.0, 2.0], shape=[None], use_resource=True)))
"""

SNIPPETS["scopes"] = """
def show(scope):
    out.append([scope.name, scope.original_name_scope, str(scope.reuse), tf.constant(1.0).name])
show(tf.get_variable_scope())
with tf.variable_scope("foo") as foo:
    show(foo)
    with tf.variable_scope("bar", reuse=tf.AUTO_REUSE) as bar:
        show(bar)
    v = tf.get_variable("x", [1])
with tf.variable_scope("foo") as again:
    show(again)
with tf.variable_scope(foo) as entered:
    show(entered)
with tf.variable_scope("out"):
    with tf.variable_scope(foo, reuse=True) as inner:
        show(inner)
        out.append(tf.get_variable("x", [1]) is v)
    with tf.variable_scope(foo, auxiliary_name_scope=False) as inner:
        show(inner)
    with tf.variable_scope("aux", auxiliary_name_scope=False) as inner:
        show(inner)
        out.append(tf.get_variable("y", [1]).name)
    for _ in range(2):
        with tf.variable_scope(None, "made") as inner:
            show(inner)
    with tf.variable_scope("") as inner:
        show(inner)
with tf.variable_op_scope([v], None, "op") as op_scope:
    show(op_scope)
with tf.variable_scope("foo/") as slash:
    show(slash)
with tf.name_scope("names"), tf.variable_scope("vars") as both:
    show(both)
    out += [tf.get_variable("z", [1]).name, tf.Variable(1.0, name="z").name]
with tf.variable_scope("reusing", reuse=True):
    with tf.variable_scope("in", reuse=False) as inner:
        show(inner)
with tf.variable_scope("rich", initializer=tf.ones_initializer(), dtype=tf.float64, constraint=tf.abs,
                       regularizer=tf.nn.l2_loss, use_resource=True):
    w = tf.get_variable("w", [2])
    out += [text(lambda: w), w.constraint is tf.abs]
    with tf.variable_scope("in", dtype=tf.float32):
        out.append(text(lambda: tf.get_variable("w", [2])))
out += [[x.name for x in tf.global_variables("foo")], [x.name for x in both.global_variables()]]
out += [[x.name for x in both.trainable_variables()], [x.name for x in tf.local_variables()]]
"""

SNIPPETS["get_variable"] = """
get = tf.get_variable
with tf.variable_scope("a", reuse=False):
    get("x", [1])
def reused(*args, **kwargs):
    with tf.variable_scope("a", reuse=True):
        return get(*args, **kwargs)
def opened(*args, **kwargs):
    with tf.variable_scope(*args, **kwargs):
        pass
out += [text(lambda: reused("x", [2])), text(lambda: reused("x", [1], tf.int32)), text(lambda: reused("y", [1]))]
out += [text(lambda: reused("x", [1], initializer=tf.zeros_initializer())), text(lambda: reused("x"))]
out += [text(lambda: get("b")), text(lambda: get("b", [None])), text(lambda: get("b", [2], initializer=np.zeros(2)))]
out += [text(lambda: get("c", initializer=3)), text(lambda: get("d", initializer="abc"))]
out += [text(lambda: get("e", [2], tf.string)), text(lambda: get("f", [2], initializer=tf.zeros_initializer))]
out += [text(lambda: get("g", initializer=tf.zeros_initializer)), text(lambda: get("h", 2))]
out += [text(lambda: get("i", tf.TensorShape([2]), "float64")), text(lambda: get("j", initializer=np.zeros(2)))]
out += [text(lambda: get("k", [2], initializer=lambda shape, dtype, partition_info: tf.zeros(shape, dtype)))]
out += [text(lambda: get("l", [2], tf.complex64)), text(lambda: get("m", [2], custom_getter=3))]
out += [text(lambda: get("n", dtype=tf.int32, initializer=3.0)), text(lambda: get("o", [2], trainable=False))]
out += [text(lambda: get("p", [2], collections=["one", "two"])), text(lambda: tf.get_local_variable("q", [2]))]
out += [text(lambda: get("r", [2], regularizer=tf.no_regularizer)), text(lambda: get(None, [2]))]
out += [text(lambda: get("s:t", [2])), text(lambda: get("u", initializer=tf.constant([1.0])))]
out += [text(lambda: get("v", initializer=lambda: tf.zeros([3]))), text(lambda: get("w", [3], tf.bool))]
out += [text(lambda: opened(None)), text(lambda: opened(3)), text(lambda: opened("x", reuse=3))]
out += [text(lambda: opened(None, "d", reuse=True)), str(tf.AUTO_REUSE), repr(tf.AUTO_REUSE)]
"""

SNIPPETS["getters_and_creators"] = """
def getter(inner, name, *args, **kwargs):
    out.append([name, len(args), sorted(kwargs), str(kwargs["reuse"]), str(kwargs["trainable"])])
    return inner(name, *args, **kwargs)
with tf.variable_scope("a", custom_getter=getter), tf.variable_scope("b", custom_getter=getter):
    out.append(text(lambda: tf.get_variable("w", [2])))
def creator(inner, **kwargs):
    out.append([sorted(kwargs), kwargs["name"], str(kwargs["use_resource"]), str(kwargs["trainable"])])
    return inner(**kwargs)
with tf.variable_creator_scope(creator):
    tf.Variable(1.0, name="c")
    tf.get_variable("d", [2])
"""

SNIPPETS["partitions"] = """
fixed = tf.fixed_size_partitioner
p = tf.get_variable("p", [5, 3], partitioner=fixed(2))
out += [p.name, p.dtype.name, str(p.shape), len(p), [x.name for x in p], p._get_partitions()]
out += [str(x._get_save_slice_info().to_proto()) for x in p] + [x._save_slice_info.spec for x in p]
out += [p.as_tensor().name, tf.convert_to_tensor(p).name]
out += [text(lambda: p.assign(tf.zeros([5, 3]))), text(lambda: p.assign_add(tf.zeros([5, 3])))]
q = tf.get_variable("q", [5, 3], partitioner=fixed(2, 1), use_resource=True)
out.append(tf.convert_to_tensor(q).name)
one = tf.get_variable("one", [5, 3], partitioner=lambda shape, dtype: [1, 1])
out += [len(one), tf.convert_to_tensor(one).name]
def get(name, partitioner, **kwargs):
    return [v.name for v in tf.get_variable(name, [5, 3], partitioner=partitioner, **kwargs)]
with tf.variable_scope("", reuse=True):
    out += [tf.get_variable("p", [5, 3]) is p, text(lambda: get("p", fixed(3)))]
out += [text(lambda: tf.get_variable("p", [5, 3])), text(lambda: get("r", lambda shape, dtype: [2, 2]))]
out += [text(lambda: get("r", lambda shape, dtype: 3)), text(lambda: get("r", lambda shape, dtype: [1]))]
out += [text(lambda: get("r", 3)), text(lambda: get("s", fixed(2), initializer=np.ones([5, 3], np.float32)))]
out += [text(lambda: get("t", fixed(2), initializer=tf.glorot_uniform_initializer()))]
out += [text(lambda: get("u", fixed(2), initializer=tf.constant_initializer(np.arange(15.0).reshape(5, 3))))]
out += [text(lambda: get("v", fixed(2), regularizer=tf.nn.l2_loss))]
identity = tf.initializers.identity()
out += [[x.name for x in tf.get_variable("i", [4, 4], partitioner=fixed(2), initializer=identity)]]
out += [text(lambda: tf.get_variable("w", [], partitioner=fixed(2)))]
make = tf.create_partitioned_variables
out += [[v.name for v in make([5, 2], [2, 1], tf.ones_initializer())]]
out += [[v.name for v in make([5, 2], [2, 1], tf.ones([5, 2]))], text(lambda: make([5, 2], [2, 2], tf.ones([5, 2])))]
size, most, shape = tf.variable_axis_size_partitioner, tf.min_max_variable_partitioner, tf.TensorShape
out += [size(64)(shape([100, 3]), tf.float32), size(64, axis=1, max_shards=2)(shape([10, 30]), tf.float32)]
out += [size(400)(shape([100]), tf.string), text(lambda: size(0)), text(lambda: size(4)([3], tf.float32))]
out += [text(lambda: size(4)(shape([None]), tf.float32)), text(lambda: most(1, axis=3)(shape([10, 2]), tf.string))]
for n in (1, 5, 100):
    out += [most(n)(shape(s), tf.float32) for s in ([1000, 1000], [10, 10], [3, 100000], [131071, 1], [131072, 1])]
out += [most(8, axis=1, min_slice_size=100)(shape([10, 1000]), tf.string)]
out += [fixed(3, axis=1)(shape=shape([5, 2]), dtype=tf.float32)]
"""

SNIPPETS["collected"] = """
a = tf.Variable(1.0, name="a")
b = tf.get_variable("b", [2], use_resource=True)
c = tf.get_local_variable("c", [1])
d = tf.Variable(3, trainable=False, name="d",
                collections=[tf.GraphKeys.MODEL_VARIABLES, tf.GraphKeys.MOVING_AVERAGE_VARIABLES])
made = [tf.global_variables_initializer(), tf.local_variables_initializer(), tf.variables_initializer([]),
        tf.variables_initializer([a, b], "foo"), tf.initialize_all_variables(), tf.initialize_variables([a]),
        tf.report_uninitialized_variables(), tf.report_uninitialized_variables([a], name="named"),
        tf.report_uninitialized_variables([]), tf.assert_variables_initialized(),
        tf.assert_variables_initialized([a]), tf.is_variable_initialized(a), tf.is_variable_initialized(b)]
out += [text(lambda: m) for m in made]
lists = (tf.all_variables, tf.model_variables, tf.moving_average_variables, tf.trainable_variables, tf.local_variables)
out += [[v.name for v in f()] for f in lists]
with tf.device("/cpu:0"):
    tf.Variable(1.0)
out.append(tf.global_variables_initializer().name)
"""

SNIPPETS["templates"] = """
def f(x, scale=1.0):
    return x * tf.get_variable("w", [2], initializer=tf.ones_initializer()) * scale
t = tf.make_template("tm", f, scale=2.0)
out += [str(t.variable_scope), t(1.0).name, t(tf.constant(3.0)).name, t.name, t.variable_scope_name, t.var_scope.name]
u = tf.make_template("tm", f)
out += [u(1.0).name, u(1.0).name]
with tf.variable_scope("vs"):
    now = tf.make_template("now", f, create_scope_now_=True)
out += [now(1.0).name, now.variable_scope.name, [v.name for v in now.variables], now.local_variables]
named = tf.make_template("x", f, unique_name_="unique")
out += [named(1.0).name, [v.name for v in named.trainable_variables], named.non_trainable_variables]
bad = tf.make_template("bad", lambda: tf.Variable(1.0, name="v"))
bad()
out.append(text(bad).split("originally")[0])
"""

SNIPPETS["initializers"] = """
tf.set_random_seed(3)
I = tf.initializers
made = [I.zeros(), I.ones(), I.constant(2.5), I.constant([1, 2, 3, 4]), I.random_uniform(-1, 2), I.random_uniform(),
        I.random_normal(seed=4), I.truncated_normal(1.0, 2.0), I.uniform_unit_scaling(), I.variance_scaling(),
        I.variance_scaling(2.0, "fan_avg", "uniform"), I.variance_scaling(2.0, "fan_out", "normal"),
        I.variance_scaling(2.0, "fan_out", "untruncated_normal"), I.orthogonal(2.0, seed=3), I.identity(3.0),
        I.glorot_uniform(), I.glorot_normal(), I.he_uniform(), I.he_normal(seed=3), I.lecun_uniform(), I.lecun_normal()]
for i in made:
    i([4, 4])
    out.append([type(i).__name__, sorted(i.get_config().items())])
    out.append(sorted(type(i).from_config(i.get_config()).get_config().items()))
for i in made:
    for shape in ([], [3], [2, 5], [3, 3, 2, 4]):
        out.append(text(lambda: i(shape)).replace("array_ops.", ""))
out += [text(lambda: I.random_uniform(0, 5)([2], tf.int32)), text(lambda: I.random_normal()([2], tf.float64))]
out += [text(lambda: I.identity()([2, 3])), text(lambda: I.zeros()([2], tf.string))]
out += [text(lambda: I.ones()([2], tf.bool))]
out += [text(lambda: I.constant(None)), text(lambda: I.constant([1, 2, 3])([2])), text(lambda: I.variance_scaling(-1))]
out += [text(lambda: I.constant([1, 2], verify_shape=True)([3])), text(lambda: I.variance_scaling(1, "x"))]
out += [text(lambda: I.variance_scaling(1, distribution="x")), text(lambda: I.random_normal(dtype=tf.int32))]
"""

SNIPPETS["gradients_of_reads"] = """
v = tf.Variable(np.ones((4, 3), np.float32), use_resource=True, name="v")
g = tf.gradients(v.sparse_read([0, 2]), v)[0]
out += [g.values.name, g.indices.name, g.dense_shape.name]
g = tf.gradients(v.gather_nd([[0, 1], [2, 0]]), v)[0]
out.append(g.name)
g = tf.gradients(v.gather_nd([[1], [2]]), v)[0]
out += [g.values.name, g.indices.name]
g = tf.gradients(v.sparse_read(tf.placeholder(tf.int64, [None, None])), v)[0]
out += [g.values.name, g.indices.name]
"""


def text(function):
    """What a function returns, as text, or the error it raises."""
    try:
        return repr(function())
    except Exception as error:
        return "{}: {}".format(type(error).__name__, error)


def run(module, source):
    """Runs a snippet in a graph of its own; returns its facts."""
    out = []
    with module.Graph().as_default() as graph:
        exec(source, {"tf": module, "np": np, "out": out, "text": text})
    nodes, collections = canonical.graph_nodes(graph), canonical.graph_collections(graph)
    return {"nodes": nodes, "collections": collections, "out": json.loads(json.dumps(out, default=str))}


def main():
    tf.logging.set_verbosity(tf.logging.ERROR)
    facts = {name: dict(run(tf, source), source=source) for name, source in SNIPPETS.items()}
    canonical.write_table("variable_graphs.json", facts)


if __name__ == "__main__":
    main()
