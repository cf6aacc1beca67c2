"""Records what TensorFlow 1.15's random ops give for fixed seeds, in tests/golden/random_streams.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/random_streams.py`.

Each record names the op, its seeds and its operands and holds the results of successive runs in one session.
Small results are base64 of their little-endian bytes; of large ones the CRC-32 of the bytes and the first
and last elements are kept. One thread is used, since TensorFlow may split the work of Multinomial
differently otherwise.
"""

import base64
import json
import os
import pathlib
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

SEEDS = [(1, 2), (0, 7), (87654321, 0), (-3, 2**62 + 5), (2**63 - 1, -(2**63)), (2**32, 2**32 - 1)]
FLOATS = ["half", "bfloat16", "float", "double"]
RUNS = 3
ENDS = 8

LOGITS = [[0.5, -1.0, 2.0, 0.0], [-np.inf, 0.0, np.nan, 1.0], [np.inf, 3.0, 3.0, -200.0]]
ALPHAS = [0.1, 0.9, 1.0, 1.5, 20.0]
RATES = [0.0, 0.1, 3.0, 9.9, 10.0, 15.0, 200.0]

records = []


def encode(value):
    value = np.ascontiguousarray(value)
    if value.dtype == tf.bfloat16.as_numpy_dtype:
        value = value.view(np.uint16)
    data = value.tobytes()
    if len(data) <= 160:
        return base64.b64encode(data).decode()
    ends = np.concatenate([value.reshape(-1)[:ENDS], value.reshape(-1)[-ENDS:]])
    return {"crc": zlib.crc32(data) & 0xFFFFFFFF, "ends": base64.b64encode(ends.tobytes()).decode()}


def record(name, operands, seeds, runs=RUNS, seed_type=None, **facts):
    """Runs the op `name`, with its operands and attributes, and keeps the results beside the facts."""
    with tf.Graph().as_default():
        if seed_type:
            operands = dict(operands, seed=np.array(seeds, seed_type))
            facts["seed_type"], runs = seed_type, 1
        else:
            operands = dict(operands, seed=seeds[0], seed2=seeds[1])
        fetch = getattr(tf.raw_ops, name)(**operands)
        threads = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        with tf.Session(config=threads) as session:
            results = [session.run(fetch) for _ in range(runs)]
    shape = list(results[0].shape)
    facts.update(op=name, seeds=seeds, shape=shape, runs=[encode(result) for result in results])
    records.append(facts)


def floats():
    for name in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
        for dtype in FLOATS:
            cases = [(seeds, [7], RUNS) for seeds in SEEDS[1:]] + [(SEEDS[0], [3, 1, 15], RUNS)]
            cases += [(SEEDS[0], shape, 2) for shape in ([], [0, 3], [100003])]
            for seeds, shape, runs in cases:
                operands = {"shape": np.array(shape, np.int32), "dtype": tf.as_dtype(dtype)}
                record(name, operands, seeds, runs, dtype=dtype)


def integers():
    ranges = {
        "int32": [(0, 10), (-5, 1000003), (-(2**31), 2**31 - 1)],
        "int64": [(0, 10), (-5, 2**40 + 1), (-(2**63), 2**63 - 1)],
    }
    for dtype, bounds in ranges.items():
        for seeds in SEEDS:
            for low, high in bounds:
                for size in (7, 100003) if seeds == SEEDS[0] else (7,):
                    ends = {"minval": np.array(low, dtype), "maxval": np.array(high, dtype)}
                    operands = dict(ends, shape=[size])
                    record("RandomUniformInt", operands, seeds, dtype=dtype, low=low, high=high)


def shuffles():
    for seeds in SEEDS:
        for count in (0, 1, 2, 5, 6, 33, 1001) + ((100003,) if seeds == SEEDS[0] else ()):
            for shape in ((count,), (count, 2)):
                rows = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
                record("RandomShuffle", {"value": rows}, seeds, dtype="int32")


def multinomial_operands(logits_type, samples, dtype):
    logits = np.array(LOGITS, logits_type)
    return {"logits": logits, "num_samples": samples, "output_dtype": tf.as_dtype(dtype)}


def categories():
    for seeds in SEEDS:
        for logits_type in ("float16", "float32", "float64"):
            for dtype, samples in (("int32", 1), ("int32", 5), ("int32", 12), ("int64", 5)):
                operands = multinomial_operands(logits_type, samples, dtype)
                record("Multinomial", operands, seeds, dtype=dtype, logits_type=logits_type)


def rejections():
    for seeds in SEEDS:
        for dtype in ("float16", "float32", "float64"):
            record("RandomGamma", {"shape": [4], "alpha": np.array(ALPHAS, dtype)}, seeds, dtype=dtype)
            operands = {"shape": [21], "rate": np.array(RATES, dtype), "dtype": tf.int32}
            record("RandomPoissonV2", operands, seeds, dtype="int32", rate_type=dtype)


def stateless():
    pairs = [(s, "int64") for s in [*SEEDS, (0, 0)]] + [((-1, 2**31 - 1), "int32"), ((1, 2), "int32")]
    for seeds, seed_type in pairs:
        for name in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
            for dtype in FLOATS:
                operands = {"shape": [9], "dtype": tf.as_dtype(dtype)}
                record(name, operands, seeds, seed_type=seed_type, dtype=dtype)
        for dtype in ("int32", "int64"):
            low, high = -5, 1000003
            operands = {"shape": [9], "minval": np.array(low, dtype), "maxval": np.array(high, dtype)}
            facts = {"seed_type": seed_type, "dtype": dtype}
            record("StatelessRandomUniformInt", operands, seeds, low=low, high=high, **facts)
            operands = multinomial_operands("float32", 5, dtype)
            record("StatelessMultinomial", operands, seeds, logits_type="float32", **facts)


def main():
    for part in (floats, integers, shuffles, categories, rejections, stateless):
        part()
    out = pathlib.Path(__file__).resolve().parent.parent / "random_streams.json"
    lines = ",\n".join(json.dumps(fact, sort_keys=True) for fact in records)
    operands = {"logits": [[str(x) for x in row] for row in LOGITS], "alphas": ALPHAS, "rates": RATES}
    out.write_text('{"operands": %s,\n"records": [\n%s\n]}\n' % (json.dumps(operands), lines))


if __name__ == "__main__":
    main()
