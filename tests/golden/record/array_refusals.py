"""Records what uses of tf.TensorArray give, or how they are refused, in tests/golden/array_refusals.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/array_refusals.py`. The
programs are in tests/golden/array_programs.py. Each runs in a process of its own: TensorFlow dies of some.
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import array_programs


def alone(program):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        with tf.Graph().as_default(), os.fdopen(write, "w") as out:
            json.dump(array_programs.outcome(tf, program), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as found:
        text = found.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "dies"


def main():
    lines = [json.dumps(k) + ": " + json.dumps(alone(v)) for k, v in array_programs.PROGRAMS.items()]
    (GOLDEN / "array_refusals.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
