"""What import_graph_def does where TensorFlow's answer is no file to compare with: loops, functions, broken files."""

import random
import time

import pytest

import headrace as tf
from headrace.opdef import OPS, op
from tests.unit.graphdef.import_builders import graph_def, identity, placeholder


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def names(graph):
    return [op.name for op in graph.get_operations()]


def test_unknown_op():
    d = graph_def(tf, tf.NodeDef(name="x", op="FooBar"))
    with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'FooBar'"):
        tf.import_graph_def(d)


def test_a_failed_import_leaves_the_graph_alone(graph):
    tf.placeholder(tf.float32, [], name="before")
    d = graph_def(tf, placeholder(tf, "p"), identity(tf, "i", "before"), identity(tf, "bad", "i", dtype=3))
    before = graph.as_graph_def().SerializeToString(deterministic=True)
    with pytest.raises(ValueError, match="Unknown input node 'before'"):
        tf.import_graph_def(d, name="")
    with pytest.raises(ValueError, match="incompatible with expected int32"):
        tf.import_graph_def(d, name="", input_map={"before": graph.get_tensor_by_name("before:0")})
    assert graph.as_graph_def().SerializeToString(deterministic=True) == before
    assert graph.get_tensor_by_name("before:0").consumers() == []
    assert tf.placeholder(tf.float32, [], name="p").op.name == "p"


def test_reading_back_what_was_written(graph):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/gpu:1"), tf.control_dependencies([x]):
        tf.matmul(x, tf.ones([3, 2]), transpose_a=False, name="y")
    tf.constant([b"\xff", b"\xc3\xa9"], name="strings")
    tf.split(x, 3, axis=1, name="parts")
    first = graph.as_graph_def(add_shapes=True)
    with tf.Graph().as_default() as again:
        tf.import_graph_def(type(first).FromString(first.SerializeToString()), name="")
    assert again.as_graph_def(add_shapes=True) == first


LOOP = """
node {name: "c" op: "Const" attr {key: "dtype" value {type: DT_BOOL}} attr {key: "value" value {tensor {
  dtype: DT_BOOL tensor_shape {} bool_val: true}}}}
node {name: "e" op: "Enter" input: "c" attr {key: "T" value {type: DT_BOOL}}
  attr {key: "frame_name" value {s: "f"}}}
node {name: "m" op: "Merge" input: "e" input: "n" attr {key: "T" value {type: DT_BOOL}} attr {key: "N" value {i: 2}}}
node {name: "l" op: "LoopCond" input: "m"}
node {name: "s" op: "Switch" input: "m" input: "l" attr {key: "T" value {type: DT_BOOL}}}
node {name: "n" op: "NextIteration" input: "s:1" attr {key: "T" value {type: DT_BOOL}}}
node {name: "x" op: "Exit" input: "s" attr {key: "T" value {type: DT_BOOL}}}
"""


SIGNATURES = (
    "Enter(data: T) -> (output: T)\n  T: type\n  frame_name: string\n  is_constant: bool = false\n"
    "  parallel_iterations: int = 10",
    "Merge(inputs: N * T) -> (output: T, value_index: int32)\n  T: type\n  N: int >= 1",
    "Switch(data: T, pred: bool) -> (output_false: T, output_true: T)\n  T: type",
    "LoopCond(input: bool) -> (output: bool)",
    "NextIteration(data: T) -> (output: T)\n  T: type",
    "Exit(data: T) -> (output: T)\n  T: type",
)


@pytest.fixture
def loop_ops():
    """The ops of loops, declared for a test where no module does so."""
    made = [op(text, shape=lambda *_: None) for text in SIGNATURES if text.split("(")[0] not in OPS]
    yield
    for each in made:
        del OPS[each.name]


@pytest.mark.usefixtures("loop_ops")
def test_loops_close(graph):
    from google.protobuf import text_format

    d = text_format.Parse(LOOP, tf.GraphDef())
    tf.import_graph_def(d)
    assert names(graph) == [f"import/{n}" for n in "cemlsnx"]
    merge, back = graph.get_operation_by_name("import/m"), graph.get_operation_by_name("import/n")
    assert merge.inputs[1] is back.outputs[0]
    assert back.outputs[0].consumers() == [merge]
    assert list(merge.node_def.input) == ["import/e", "import/n"]


@pytest.mark.usefixtures("loop_ops")
def test_what_goes_round_a_loop_keeps_its_type(graph):
    from google.protobuf import text_format

    number = 'node {name: "i" op: "Placeholder" attr {key: "dtype" value {type: DT_INT32}}}'
    back = 'node {name: "n" op: "NextIteration" input: "%s" attr {key: "T" value {type: %s}}}'
    text = LOOP.replace(back % ("s:1", "DT_BOOL"), number + back % ("i", "DT_INT32"))
    message = "Input 1 of node import/m was passed int32 from import/n:0 incompatible with expected bool"
    with pytest.raises(ValueError, match=message):
        tf.import_graph_def(text_format.Parse(text, tf.GraphDef()))
    assert names(graph) == []


def function_graph():
    d = graph_def(tf, placeholder(tf, "a"))
    d.node.add(name="call", op="Twice", input=["a"])
    f = d.library.function.add()
    f.signature.name = "Twice"
    f.signature.input_arg.add(name="x", type=1)
    f.signature.output_arg.add(name="y", type=1)
    f.node_def.add(name="sum", op="AddV2", input=["x", "x"]).attr["T"].type = 1
    f.ret["y"] = "sum:z:0"
    d.library.gradient.add(function_name="Twice", gradient_func="TwiceGrad")
    return d


def test_functions_are_kept_and_written_back(graph):
    d = function_graph()
    (y,) = tf.import_graph_def(d, return_elements=["call:0"])
    assert (y.dtype, y.op.type) == (tf.float32, "Twice")
    written = graph.as_graph_def()
    assert written.library == d.library
    assert (written.versions.producer, written.versions.min_consumer) == (134, 12)
    tf.import_graph_def(d)  # the same function again is no contradiction
    d.library.function[0].ret["y"] = "x"
    with pytest.raises(ValueError, match="different function with the same name already exists"):
        tf.import_graph_def(d)


def test_attrs_of_a_newer_producer():
    node = placeholder(tf, "x")
    node.attr["shiny"].i = 3
    with pytest.raises(ValueError, match="NodeDef mentions attr 'shiny' not in Op<name=Placeholder"):
        tf.import_graph_def(graph_def(tf, node))
    from headrace.proto import OpList

    producer = OpList()
    attr = producer.op.add(name="Placeholder").attr.add(name="shiny", type="int")
    attr.default_value.i = 3
    tf.import_graph_def(graph_def(tf, node), producer_op_list=producer)
    node.attr["shiny"].i = 4
    with pytest.raises(ValueError, match="NodeDef mentions attr 'shiny'"):
        tf.import_graph_def(graph_def(tf, node), producer_op_list=producer)


@pytest.mark.parametrize(
    ("attr", "says"),
    [
        ({"dtype": tf.AttrValue(i=3)}, "AttrValue had value with type 'int' when 'type' expected"),
        ({"dtype": tf.AttrValue()}, "AttrValue missing value with expected type 'type'"),
        ({"dtype": tf.AttrValue(type=99)}, "There is no type with the number 99"),
        ({}, "NodeDef missing attr 'dtype' from Op<name=Placeholder"),
    ],
)
def test_wrong_attrs(attr, says):
    node = tf.NodeDef(name="x", op="Placeholder")
    for key, value in attr.items():
        node.attr[key].CopyFrom(value)
    with pytest.raises(ValueError, match=says):
        tf.import_graph_def(graph_def(tf, node))


def test_versions(graph):
    d = graph_def(tf, placeholder(tf, "p"))
    d.versions.min_consumer = 4000
    with pytest.raises(ValueError, match="GraphDef min consumer version 4000 above current version 134"):
        tf.import_graph_def(d)
    d.versions.min_consumer = 12
    d.versions.bad_consumers.append(134)
    with pytest.raises(ValueError, match="GraphDef disallows consumer version 134"):
        tf.import_graph_def(d)
    del d.versions.bad_consumers[:]
    d.versions.producer = 21
    tf.import_graph_def(d)
    assert (graph.graph_def_versions.producer, graph.graph_def_versions.min_consumer) == (21, 12)


def test_broken_files_raise_ordinary_errors(graph):
    """Bytes flipped at random never give anything but an error of Python's, TensorFlow's or protobuf's."""
    from google.protobuf.message import DecodeError

    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.matmul(x, tf.constant([[1.0], [2.0], [3.0]]))
    parts = tf.split(tf.concat([y, y], 0), 2)
    tf.identity(parts[1] + tf.reshape(y, [-1, 1]), name="z")
    good = graph.as_graph_def(add_shapes=True).SerializeToString()
    rng = random.Random(7)
    failed = 0
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(rng.choice((1, 1, 2, 5))):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        if rng.random() < 0.2:
            del bad[rng.randrange(len(bad)) :]
        try:
            d = tf.GraphDef.FromString(bytes(bad))
        except DecodeError:
            failed += 1
            continue
        with tf.Graph().as_default():
            try:
                tf.import_graph_def(d)
            except (ValueError, TypeError, tf.errors.OpError):
                failed += 1
    assert failed > 100


def test_speed():
    d = graph_def(tf, placeholder(tf, "n0"), *(identity(tf, f"n{i + 1}", f"n{i}") for i in range(20000)))
    start = time.process_time()
    tf.import_graph_def(d)
    # 0.2 s where it was measured (55 to 70 thousand nodes a second); room for a slow and busy machine.
    assert time.process_time() - start < 4
