"""Records tests/golden/opdefs.json and gradients.json from the registries of TensorFlow 1.15.

Run with the oracle:  scripts/oracle tests/golden/record/opdefs.py
"""

import pathlib
import sys

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python import pywrap_tensorflow
from tensorflow.python.framework import op_def_registry, ops

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import canonical

# Public op definitions that no generated Python module mentions; the C++ registry holds, besides, ops that begin
# with an underscore (private to the runtime) and ops that only TensorFlow's own tests use: neither is recorded.
WITHOUT_PYTHON = set(
    "Copy CopyHost DebugIdentity DebugNanCount DebugNumericSummary HostConst NegTrain RemoteFusedGraphExecute "
    "Rpc Skipgram TensorForestCreateTreeVariable TensorForestTreeDeserialize TensorForestTreeIsInitializedOp "
    "TensorForestTreePredict TensorForestTreeResourceHandleOp TensorForestTreeSerialize TensorForestTreeSize "
    "TryRpc".split()
)


def registered_op_defs():
    """Every public OpDef that the wheel registers, in name order."""
    buffer = pywrap_tensorflow.TF_GetAllOpList()
    try:
        op_list = op_def_pb2.OpList.FromString(pywrap_tensorflow.TF_GetBuffer(buffer))
    finally:
        pywrap_tensorflow.TF_DeleteBuffer(buffer)
    public = WITHOUT_PYTHON | set(op_def_registry.get_registered_ops())
    return sorted((op_def for op_def in op_list.op if op_def.name in public), key=lambda op_def: op_def.name)


def gradient_state(name):
    """What the gradient registry answers for an op type: "function", "none" or "missing"."""
    try:
        function = ops._gradient_registry.lookup(name)
    except LookupError:
        return "missing"
    return "none" if function is None else "function"


def main():
    op_defs = registered_op_defs()
    canonical.write_table("opdefs.json", {op.name: canonical.op_facts(op) for op in op_defs})
    canonical.write_table("gradients.json", {op.name: gradient_state(op.name) for op in op_defs})
    print(f"{len(op_defs)} op definitions from TensorFlow {tf.__version__}")


main()
