"""Runs one program of benchmarks/programs in this process and prints what it took, as JSON.

python benchmarks/run_one.py RUNTIME PROGRAM, where RUNTIME is headrace, tensorflow or compat.v1. Only the standard
library and NumPy are used besides the runtime, and no syntax that Python 3.7 lacks: TensorFlow 1.15 runs it, too.
"""

import importlib
import json
import pathlib
import resource
import sys
import time


def load(runtime):
    """Returns the module that the program takes for TensorFlow."""
    if runtime == "headrace":
        return importlib.import_module("headrace")
    if runtime == "tensorflow":
        return importlib.import_module("tensorflow")
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    return tf


def main():
    runtime, name = sys.argv[1:]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    start = time.perf_counter()
    tf = load(runtime)
    out = {"import": time.perf_counter() - start}
    program = importlib.import_module("benchmarks.programs." + name)
    start = time.perf_counter()
    fetches, feed = program.build(tf)
    initializer = tf.global_variables_initializer()
    out["build"] = time.perf_counter() - start
    seconds = []
    with tf.Session() as session:
        start = time.perf_counter()
        session.run(initializer)
        out["initialize"] = time.perf_counter() - start
        whole = time.perf_counter()
        steps = program.STEPS + (0 if getattr(program, "WHOLE", False) else 3)
        for i in range(steps):
            values = feed(i)
            start = time.perf_counter()
            result = session.run(fetches, values)
            seconds.append(time.perf_counter() - start)
        out["total"] = time.perf_counter() - whole
    rest = sorted(seconds if getattr(program, "WHOLE", False) else seconds[3:])
    out["first"], out["second"] = seconds[0], seconds[1]
    out["median"], out["p90"] = rest[len(rest) // 2], rest[int(0.9 * len(rest))]
    out["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    out["result"] = float(result[0])
    print(json.dumps(out))


if __name__ == "__main__":
    main()
