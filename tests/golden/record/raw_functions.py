"""Records which names the functions of tf.raw_ops take and which ops new graphs refuse; run by TensorFlow 1.15.

Writes tests/golden/raw_functions.json: "keys" holds one line per function (its name, then what it takes, in order),
"removed" the refused ops with the version and the advice of their OpDefs.
"""

import json
import pathlib
import re

import tensorflow as tf
import tensorflow.python.pywrap_tensorflow as wrapped
from tensorflow.core.framework import op_def_pb2

OUT = pathlib.Path(__file__).resolve().parents[1] / "raw_functions.json"


def keys(name):
    try:
        getattr(tf.raw_ops, name)(1)
    except TypeError as error:
        return re.findall(r"'(\w+)'", str(error).partition("possible keys")[2])
    raise AssertionError(name)


def main():
    every = op_def_pb2.OpList()
    every.ParseFromString(wrapped.TF_GetBuffer(wrapped.TF_GetAllOpList()))
    names = [name for name in dir(tf.raw_ops) if not name.startswith("_")]
    lines = [" ".join([name] + keys(name)) for name in names]
    removed = {
        op.name: [op.deprecation.version, op.deprecation.explanation]
        for op in every.op
        if op.HasField("deprecation") and op.name in names
    }
    OUT.write_text(json.dumps({"keys": lines, "removed": removed}, indent=0, sort_keys=True) + "\n")


main()
