"""Records tests/golden/opdefs.json and gradients.json from the registries of TensorFlow 1.15.

Run with the oracle:  scripts/oracle tests/golden/record/opdefs.py
"""

import json
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


def arg_facts(arg):
    """One ArgDef as a dict, in the order name, types, numbers, ref."""
    facts = {"name": arg.name}
    for field in ("type_attr", "number_attr", "type_list_attr"):
        if getattr(arg, field):
            facts[field] = getattr(arg, field)
    if arg.type:
        facts["type"] = canonical.type_name(arg.type)
    if arg.is_ref:
        facts["ref"] = True
    return facts


def plain(value):
    """A canonical attr value without the tags that the attr's type makes needless."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, str):
        return value
    tag, content = value.split(" ", 1)
    return json.loads(content) if tag == "shape" else content


def attr_facts(attr):
    """One AttrDef as a dict: type, then default, allowed and minimum where the OpDef has them."""
    facts = {"type": attr.type}
    if attr.HasField("default_value"):
        facts["default"] = plain(canonical.attr_value(attr.default_value))
    if attr.HasField("allowed_values"):
        facts["allowed"] = plain(canonical.attr_value(attr.allowed_values))
    if attr.has_minimum:
        facts["minimum"] = attr.minimum
    return facts


def op_facts(op_def):
    """One OpDef as a dict whose attrs keep their declared order."""
    facts = {
        "inputs": [arg_facts(arg) for arg in op_def.input_arg],
        "outputs": [arg_facts(arg) for arg in op_def.output_arg],
        "attrs": {attr.name: attr_facts(attr) for attr in op_def.attr},
    }
    for flag in ("is_stateful", "is_commutative", "is_aggregate", "allows_uninitialized_input"):
        if getattr(op_def, flag):
            facts[flag] = True
    if op_def.HasField("deprecation"):
        facts["deprecated_at_graph_version"] = op_def.deprecation.version
    return facts


def gradient_state(name):
    """What the gradient registry answers for an op type: "function", "none" or "missing"."""
    try:
        function = ops._gradient_registry.lookup(name)
    except LookupError:
        return "missing"
    return "none" if function is None else "function"


def main():
    op_defs = registered_op_defs()
    canonical.write_table("opdefs.json", {op.name: op_facts(op) for op in op_defs})
    canonical.write_table("gradients.json", {op.name: gradient_state(op.name) for op in op_defs})
    print(f"{len(op_defs)} op definitions from TensorFlow {tf.__version__}")


main()
