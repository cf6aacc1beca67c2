"""tf.graph_util and write_graph."""

import pytest

import headrace as tf
from tests.unit.graphdef.import_builders import graph_def, identity, placeholder


def shown(d):
    return [(node.name, node.op, list(node.input)) for node in d.node]


def chain():
    d = graph_def(
        tf,
        placeholder(tf, "p"),
        identity(tf, "i", "p"),
        identity(tf, "z", "i"),
        identity(tf, "j", "i:0", "^p"),
    )
    d.library.function.add().signature.name = "F"
    return d


def test_extract_sub_graph():
    d = chain()
    part = tf.graph_util.extract_sub_graph(d, ["j"])
    assert [node.name for node in part.node] == ["p", "i", "j"]
    assert (part.versions, part.library) == (d.versions, d.library)
    assert len(tf.graph_util.extract_sub_graph(d, []).node) == 0


@pytest.mark.parametrize(
    ("d", "to", "error", "says"),
    [
        (chain(), ["zzz"], AssertionError, "zzz is not in graph"),
        (chain(), "j", TypeError, "dest_nodes must be a list."),
        (3, ["j"], TypeError, "graph_def must be a graph_pb2.GraphDef proto."),
    ],
)
def test_extract_refuses(d, to, error, says):
    with pytest.raises(error, match=says):
        tf.graph_util.extract_sub_graph(d, to)


def test_remove_training_nodes():
    nodes = [
        placeholder(tf, "p"),
        identity(tf, "i", "p"),
        identity(tf, "j", "i", "^p"),
        identity(tf, "k", "i"),
        identity(tf, "l", "k"),
        identity(tf, "m", "l", "^k"),
        tf.NodeDef(name="check", op="CheckNumerics", input=["p"]),
        identity(tf, "n", "check"),
        tf.NodeDef(name="sum", op="Add", input=["n", "l"]),
        tf.NodeDef(name="s", op="Switch", input=["i", "b"]),
        identity(tf, "t", "s:1"),
        identity(tf, "y", "t", "^sum"),
    ]
    kept = tf.graph_util.remove_training_nodes(graph_def(tf, *nodes), protected_nodes=["n", "check"])
    assert shown(kept) == [
        ("p", "Placeholder", []),
        ("j", "Identity", ["p", "^p"]),
        ("k", "Identity", ["p"]),
        ("m", "Identity", ["k", "^k"]),
        ("check", "CheckNumerics", ["p"]),
        ("n", "Identity", ["check"]),
        ("sum", "Add", ["n", "k"]),
        ("s", "Switch", ["p", "b"]),
        ("y", "Identity", ["s:1", "^sum"]),
    ]
    names = [node.name for node in tf.graph_util.remove_training_nodes(graph_def(tf, *nodes)).node]
    assert "check" not in names and "n" not in names


def test_must_run_on_cpu():
    def node(op, **types):
        made = tf.NodeDef(name="n", op=op)
        for key, value in types.items():
            made.attr[key].type = value.as_datatype_enum
        return made

    asked = tf.graph_util.must_run_on_cpu
    assert asked(node("Const", dtype=tf.string)) and asked(node("Const", dtype=tf.int32))
    assert not asked(node("Const", dtype=tf.float32)) and not asked(node("Const", dtype=tf.int64))
    assert asked(node("DynamicStitch", T=tf.int32)) and not asked(node("DynamicStitch", T=tf.float32))
    assert not asked(node("VariableV2")) and asked(node("VariableV2"), True)
    with tf.Graph().as_default():
        assert asked(tf.constant([1]).op)


def test_shape_by_name():
    with tf.Graph().as_default() as graph:
        tf.zeros([2, 3], name="z")
        assert tf.graph_util.tensor_shape_from_node_def_name(graph, "z").as_list() == [2, 3]
        with pytest.raises(KeyError, match="'nope:0' refers to a Tensor which does not exist"):
            tf.graph_util.tensor_shape_from_node_def_name(graph, "nope")


@pytest.fixture
def trained():
    """A graph with a variable of each kind, and its session."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        v = tf.get_variable("v", [2, 3], initializer=tf.ones_initializer())
        w = tf.get_variable("w", [3], initializer=tf.ones_initializer(), use_resource=True)
        tf.identity(tf.matmul(x, v) + w, name="y")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            yield sess, graph.as_graph_def()


def test_freezing(trained):
    frozen = tf.graph_util.convert_variables_to_constants(*trained, ["y"])
    assert shown(frozen) == [
        ("x", "Placeholder", []),
        ("v", "Const", []),
        ("v/read", "Identity", ["v"]),
        ("w", "Const", []),
        ("MatMul", "MatMul", ["x", "v/read"]),
        ("add/ReadVariableOp", "Identity", ["w"]),
        ("add", "AddV2", ["MatMul", "add/ReadVariableOp"]),
        ("y", "Identity", ["add"]),
    ]
    with tf.Graph().as_default():
        y, x = tf.import_graph_def(frozen, return_elements=["y:0", "x:0"])
        assert tf.Session().run(y, {x: [[1.0, 2.0]]}).tolist() == [[4.0, 4.0, 4.0]]


def test_freezing_some(trained):
    def ops(**options):
        frozen = tf.graph_util.convert_variables_to_constants(*trained, ["y"], **options)
        return {node.name: node.op for node in frozen.node if node.name in "vw"}

    assert ops(variable_names_whitelist=["v"]) == {"v": "Const", "w": "VarHandleOp"}
    assert ops(variable_names_blacklist=["v"]) == {"v": "VariableV2", "w": "Const"}


@pytest.mark.parametrize("as_text", [True, False])
def test_write_graph(tmp_path, as_text):
    from google.protobuf import text_format

    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="c")
        path = tf.train.write_graph(graph, str(tmp_path / "a" / "b"), "graph", as_text=as_text)
    assert path == str(tmp_path / "a" / "b" / "graph")
    with open(path, "rb") as file:
        data = file.read()
    read = text_format.Parse(data.decode(), tf.GraphDef()) if as_text else tf.GraphDef.FromString(data)
    assert read == graph.as_graph_def()
    assert [f.name for f in (tmp_path / "a" / "b").iterdir()] == ["graph"]
