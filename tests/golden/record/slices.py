"""Writes checkpoints of the first version with TensorFlow 1.15, in tests/golden/checkpoints/slices.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/slices.py`.
Each row is the file's name, the arguments of SaveSlices (names, specs, types and values), and the file in base64.
"""

import base64
import json
import os
import pathlib
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

ROWS = [
    ("two", [["x", "", "float32", [[0, 1, 2], [3, 4, 5]]], ["y/z", "", "int64", [-1, 2**40]]]),
    ("first", [["x", "4 3 0,2:-", "float32", [[0, 1, 2], [3, 4, 5]]], ["w", "", "int32", [5]]]),
    ("second", [["x", "4 3 2,2:-", "float32", [[6, 7, 8], [9, 10, 11]]]]),
    (
        "types",
        [
            ["s", "", "string", ["mill", ""]],
            ["b", "", "bool", [True, False]],
            ["h", "", "float16", [1.5, -2]],
            ["d", "", "float64", 5.5],
            ["u8", "", "uint8", [1, 200]],
            ["i8", "", "int8", [-3]],
            ["i16", "", "int16", [-5]],
            ["u16", "", "uint16", [60000]],
            ["c", "", "complex64", [2]],
            ["cc", "", "complex128", [[3, 4]]],
            ["e", "", "float32", [[], []]],
        ],
    ),
]


def main():
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for name, tensors in ROWS:
            path = os.path.join(folder, name)
            names, specs, dtypes, values = zip(*tensors)
            with tf.Graph().as_default(), tf.Session() as session:
                data = [tf.constant(v, tf.as_dtype(d)) for v, d in zip(values, dtypes)]
                session.run(
                    tf.raw_ops.SaveSlices(
                        filename=path, tensor_names=list(names), shapes_and_slices=list(specs), data=data
                    )
                )
            content = base64.b64encode(pathlib.Path(path).read_bytes()).decode()
            out.append(json.dumps([name, tensors, content]))
    place = pathlib.Path(__file__).resolve().parent.parent / "checkpoints" / "slices.json"
    place.write_text("[\n" + ",\n".join(out) + "\n]\n")


if __name__ == "__main__":
    main()
