"""headrace.proto against TensorFlow 1.15's and tensorboard's descriptors, and its manners in a process."""

import copy
import importlib
import pickle
import pkgutil
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2, text_format

import headrace.proto
from headrace.proto import AttrValue, ConfigProto, GraphDef, MetaGraphDef, RunOptions
from tests.golden import canonical, wire

RECORDED = canonical.read("protos.json")

# Recorded in TensorFlow 1.15 and gone from the TensorFlow that tensorboard follows.
DROPPED_SINCE = {("tensorflow.TrackableObjectGraph.TrackableObject.SerializedTensor", "optional_restore")}


def described(descriptor):
    proto = descriptor_pb2.FileDescriptorProto()
    descriptor.CopyToProto(proto)
    return proto


def ours():
    facts = {}
    for name in headrace.proto.files():
        facts.update(wire.file_facts(described(headrace.proto.file(name).DESCRIPTOR)))
    return facts


def tensorboards_modules():
    package = importlib.import_module("tensorboard.compat.proto")
    for info in pkgutil.iter_modules(package.__path__):
        if info.name != "tfprof_log_pb2":  # tensorboard moved its messages into another package
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            if hasattr(module, "DESCRIPTOR"):
                yield module


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_file_has_all_that_tensorflow_1_15_has(name):
    proto = described(headrace.proto.file(name).DESCRIPTOR)
    mine = wire.file_facts(proto)
    for full_name, facts in RECORDED[name].items():
        assert facts.items() <= mine[full_name].items(), full_name
    assert proto.syntax == "proto3"


def test_packages_are_tensorflows():
    for name, facts in RECORDED.items():
        package = headrace.proto.file(name).DESCRIPTOR.package
        assert all(full_name.startswith(package + ".") for full_name in facts)


def test_shared_messages_equal_tensorboards_field_for_field():
    mine = ours()
    compared = 0
    for module in tensorboards_modules():
        proto = described(module.DESCRIPTOR)
        package = proto.package.replace("tensorboard", "tensorflow", 1)
        for full_name, facts in wire.file_facts(proto, package).items():
            kept = {
                field: fact
                for field, fact in mine[full_name].items()
                if (full_name, field) not in DROPPED_SINCE
            }
            assert kept == facts, full_name
            compared += 1
    assert compared > 150


def test_bytes_pass_between_tensorboard_and_headrace():
    from tensorboard.compat.proto import graph_pb2 as tensorboards

    mine = GraphDef()
    node = mine.node.add(name="w", op="Const", input=["^x"], device="/cpu:0")
    node.attr["value"].tensor.dtype = headrace.proto.DT_FLOAT
    node.attr["value"].tensor.float_val.extend([1.5, -2.0])
    node.attr["axes"].list.i.extend([0, 300])
    mine.versions.producer = 134
    theirs = tensorboards.GraphDef.FromString(mine.SerializeToString())
    assert text_format.MessageToString(theirs) == text_format.MessageToString(mine)
    assert GraphDef.FromString(theirs.SerializeToString()) == mine
    assert type(theirs) is not type(mine)


def test_text_format_round_trip():
    text = (
        'node {\n  name: "a"\n  op: "Const"\n  attr {\n    key: "dtype"\n    value {\n      type: DT_INT32\n'
    )
    text += "    }\n  }\n}\nversions {\n  producer: 134\n}\n"
    graph = text_format.Parse(text, GraphDef())
    assert graph.node[0].attr["dtype"].type == headrace.proto.DT_INT32 == 3
    assert text_format.MessageToString(graph) == text


def test_messages_pack_copy_and_pickle():
    graph = GraphDef()
    graph.node.add(name="a", op="NoOp")
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert copy.deepcopy(graph) == graph
    nested = ConfigProto.Experimental(executor_type="x")
    assert pickle.loads(pickle.dumps(nested)) == nested
    meta = MetaGraphDef()
    packed = meta.collection_def["c"].any_list.value.add()
    packed.Pack(graph)
    out = GraphDef()
    assert packed.Unpack(out)
    assert out == graph


def test_enums_are_found_the_three_ways_that_pb2_modules_offer():
    assert headrace.proto.DataType.Name(headrace.proto.DT_BFLOAT16) == "DT_BFLOAT16"
    assert headrace.proto.DataType.Value("DT_FLOAT_REF") == 101
    assert RunOptions.FULL_TRACE == RunOptions.TraceLevel.Value("FULL_TRACE") == 3
    codes = headrace.proto.file("tensorflow/core/lib/core/error_codes.proto")
    assert codes.DATA_LOSS == codes.Code.Value("DATA_LOSS") == 15


def test_a_file_and_the_package_give_the_same_class():
    attr_value = headrace.proto.file("tensorflow/core/framework/attr_value.proto")
    assert attr_value.AttrValue is AttrValue
    assert headrace.proto.file("tensorflow/core/framework/attr_value.proto") is attr_value
    assert attr_value.DESCRIPTOR.name == "tensorflow/core/framework/attr_value.proto"
    assert not hasattr(attr_value, "NodeDef")
    assert AttrValue.__module__ == attr_value.__name__ == "tensorflow.core.framework.attr_value_pb2"


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no message, enum or enum value 'NoSuchDef'"):
        _ = headrace.proto.NoSuchDef
    with pytest.raises(KeyError):
        headrace.proto.file("tensorflow/core/framework/no_such.proto")


def test_all_names_resolve():
    for name in dir(headrace.proto):
        assert getattr(headrace.proto, name) is not None


def in_a_new_process(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_module_does_not_load_protobuf():
    in_a_new_process(
        "import sys, headrace.proto\n"
        "assert not [name for name in sys.modules if name.startswith('google.protobuf')]\n"
        "assert not hasattr(headrace.proto, '__wrapped__')\n"
        "assert 'headrace.proto.registry' not in sys.modules"
    )


def test_the_default_pool_keeps_its_tensorflow_names_free():
    in_a_new_process(
        "from google.protobuf import descriptor_pb2, descriptor_pool\n"
        "from headrace.proto import GraphDef\n"
        "GraphDef()\n"
        "pool = descriptor_pool.Default()\n"
        "foreign = descriptor_pb2.FileDescriptorProto(name='tensorflow/core/framework/graph.proto',\n"
        "                                             package='tensorflow')\n"
        "foreign.message_type.add(name='GraphDef')\n"
        "pool.AddSerializedFile(foreign.SerializeToString())\n"
        "assert pool.FindMessageTypeByName('tensorflow.GraphDef').fields == []\n"
        "assert len(GraphDef.DESCRIPTOR.fields) > 3"
    )


def test_pickles_open_in_a_process_that_has_not_loaded_the_messages():
    stored = pickle.dumps(GraphDef(version=7))
    answer = in_a_new_process(f"import pickle; print(pickle.loads({stored!r}).version)")
    assert answer.strip() == "7"
