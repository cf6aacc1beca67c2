"""Runs one program of benchmarks/programs in this process and prints what it took, as JSON.

python benchmarks/run_one.py RUNTIME PROGRAM [SECONDS], where RUNTIME is headrace, tensorflow or compat.v1, and SECONDS
after which three timed steps are enough. Only the standard library and NumPy are used besides the runtime, and no
syntax that Python 3.7 lacks: TensorFlow 1.15 runs it.
"""

import importlib
import json
import logging
import pathlib
import re
import resource
import sys
import threading
import time

WARM_UP = 3
"""Steps that are not timed, at least."""
PATIENCE = 120.0
"""Seconds after which steps are timed though something is still being compiled beside them."""


class CompileTimes(logging.Handler):
    """Adds up what JAX says in its log that it took to trace, lower and compile, without importing JAX to hear it."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.seconds = 0.0
        self.programs = 0
        for name in ("jax._src.dispatch", "jax._src.interpreters.pxla"):
            logger = logging.getLogger(name)
            logger.setLevel(logging.DEBUG)
            logger.propagate = False
            logger.addHandler(self)

    def emit(self, record):
        found = re.match(r"Finished (.*) in ([0-9.e+-]+) sec", record.getMessage())
        if found:
            self.seconds += float(found.group(2))
            self.programs += "XLA compilation" in found.group(1)


def peak_memory():
    """Returns MiB; what the system calls the resource usage of a process begins with that of its parent."""
    try:
        with open("/proc/self/status") as f:
            return next(float(line.split()[1]) / 1024.0 for line in f if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def is_compiling():
    """Says whether headrace's thread for that is at work; it waits in its function `_work` if it is not."""
    frames = sys._current_frames()
    busy = [frames.get(t.ident) for t in threading.enumerate() if t.name == "headrace-compile"]
    return any(frame is not None and frame.f_code.co_name != "_work" for frame in busy)


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
    runtime, name = sys.argv[1:3]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    compiling = CompileTimes() if runtime == "headrace" else None
    begin = time.perf_counter()
    tf = load(runtime)
    out = {"import": time.perf_counter() - begin}
    program = importlib.import_module("benchmarks.programs." + name)
    whole = getattr(program, "WHOLE", False)
    start = time.perf_counter()
    fetches, feed = program.build(tf)
    initializer = tf.global_variables_initializer()
    out["build"] = time.perf_counter() - start
    enough = float(sys.argv[3]) if len(sys.argv) > 3 else float("inf")
    seconds, losses = [], []
    with tf.Session() as session:

        def step():
            values = feed(len(seconds))
            start = time.perf_counter()
            result = session.run(fetches, values)
            seconds.append(time.perf_counter() - start)
            losses.append(float(result[0]))

        start = time.perf_counter()
        session.run(initializer)
        out["initialize"] = time.perf_counter() - start
        # What is compiled beside the first steps is used two steps later at the latest.
        idle = 0
        while not whole and sum(seconds) < PATIENCE and (len(seconds) < WARM_UP or idle < 2):
            step()
            idle = 0 if is_compiling() else idle + 1
        warm_up = len(seconds)
        cpu = time.process_time()
        for i in range(program.STEPS):
            if i >= 3 and not whole and sum(seconds[warm_up:]) > enough:
                break
            step()
        cpu = time.process_time() - cpu
    out["total"] = time.perf_counter() - begin
    rest = sorted(seconds[warm_up:])
    out["cpu"] = cpu / len(rest)
    out["least"] = rest[0]
    out["first"] = seconds[0]
    out["median"], out["p90"] = rest[len(rest) // 2], rest[int(0.9 * len(rest))]
    out["warm_up"] = 0.0 if whole else max(0.0, sum(seconds[:warm_up]) - warm_up * out["median"])
    out["step"] = sum(seconds) / len(seconds) if whole else out["median"]
    out["start"] = out["initialize"] + out["first"]
    out["compile"] = compiling.seconds if compiling else 0.0
    out["compiled"] = compiling.programs if compiling else 0
    out["memory"] = peak_memory()
    out["losses"] = losses[:3]
    flops = importlib.import_module("benchmarks.flops")
    out["flops"] = getattr(program, "FLOPS", 0) or flops.count(fetches)
    out["version"] = getattr(tf, "__version__", "")
    print(json.dumps(out))


if __name__ == "__main__":
    main()
