"""Records what TensorFlow 1.15 makes of the calls in tests/golden/malformed.txt, in malformed.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/malformed.py`. Each call has
a process of its own, since many end it, with eight gigabytes and twenty seconds.
"""

import json
import os
import pathlib
import resource
import signal
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import malformed_calls


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def alone(source, unknown):
    """Makes a call in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        signal.alarm(20)
        os.chdir(tempfile.mkdtemp())
        found = malformed_calls.outcome(tf, tf.raw_ops, source, unknown, _Nothing)
        with os.fdopen(writer, "w") as stream:
            json.dump(found, stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "dies"


def main():
    tf.enable_control_flow_v2()
    tf.logging.set_verbosity("ERROR")
    rows = []
    for name, source in malformed_calls.calls().items():
        found = [alone(source, unknown) for unknown in (False, True)]
        rows.append("%s: %s" % (json.dumps(name), json.dumps(found, sort_keys=True)))
    (malformed_calls.HERE / "malformed.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
