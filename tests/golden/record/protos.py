"""Records tests/golden/protos.json: the messages and enums in TensorFlow 1.15's own `.proto` files.

Run with the oracle:  scripts/oracle tests/golden/record/protos.py
"""

import importlib
import os
import pathlib
import sys

import tensorflow as tf
import tensorflow_core
from google.protobuf import descriptor_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import canonical
import wire

# What belongs to compilers, converters, TPUs and libraries that headrace does not have.
LEFT_OUT = (
    "tensorflow/compiler/",
    "tensorflow/contrib/decision_trees/",
    "tensorflow/contrib/tensor_forest/",
    "tensorflow/core/framework/graph_transfer_info.proto",
    "tensorflow/core/framework/remote_fused_graph_execute_info.proto",
    "tensorflow/core/grappler/",
    "tensorflow/core/profiler/op_profile.proto",
    "tensorflow/core/profiler/profiler_analysis.proto",
    "tensorflow/core/profiler/profiler_service.proto",
    "tensorflow/core/protobuf/data/",
    "tensorflow/core/protobuf/tpu/",
    "tensorflow/core/util/memmapped_file_system.proto",
    "tensorflow/lite/",
    "tensorflow/python/tpu/",
)


def generated_modules():
    """Every `*_pb2` module of the wheel."""
    root = pathlib.Path(tensorflow_core.__file__).parent
    for folder, _, names in sorted(os.walk(str(root))):
        for name in sorted(names):
            if name.endswith("_pb2.py"):
                path = pathlib.Path(folder, name).relative_to(root).with_suffix("")
                yield importlib.import_module(".".join(("tensorflow",) + path.parts))


def main():
    files = {}
    for module in generated_modules():
        proto = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(proto)
        if not proto.name.startswith(LEFT_OUT):
            files[proto.name] = wire.file_facts(proto)
    canonical.write_table("protos.json", files)
    print("%d files from TensorFlow %s" % (len(files), tf.__version__))


main()
