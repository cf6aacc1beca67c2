"""Records what TensorFlow 1.15's random ops give for fixed seeds, in tests/golden/random_streams.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/random_streams.py`.

Each record names the op, its seeds and its operands and holds the results of successive runs in one session. Small
results are base64 of their little-endian bytes; of large ones the length, the CRC-32 of the bytes and the first and
last elements are kept. One thread is used, since TensorFlow may split the work of Multinomial differently otherwise.
"""

import base64
import json
import os
import pathlib
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

raw = tf.raw_ops

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


def record(op, build, runs=RUNS, **facts):
    with tf.Graph().as_default():
        fetch = build()
        threads = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        with tf.Session(config=threads) as session:
            results = [session.run(fetch) for _ in range(runs)]
    facts.update(op=op, shape=list(results[0].shape), runs=[encode(result) for result in results])
    records.append(facts)


def floats():
    ops = {
        "RandomUniform": raw.RandomUniform,
        "RandomStandardNormal": raw.RandomStandardNormal,
        "TruncatedNormal": raw.TruncatedNormal,
    }
    for name, op in ops.items():
        for dtype in FLOATS:
            for seeds in SEEDS:
                a, b = seeds
                shape = [7] if seeds != SEEDS[0] else [3, 1, 15]
                record(
                    name,
                    lambda: op(shape=shape, dtype=tf.as_dtype(dtype), seed=a, seed2=b),
                    seeds=seeds,
                    dtype=dtype,
                )
            a, b = SEEDS[0]
            for shape in ([], [0, 3], [100003]):
                record(
                    name,
                    lambda: op(shape=np.array(shape, np.int32), dtype=tf.as_dtype(dtype), seed=a, seed2=b),
                    seeds=SEEDS[0],
                    dtype=dtype,
                    runs=2,
                )


def integers():
    ranges = {
        "int32": [(0, 10), (-5, 1000003), (-(2**31), 2**31 - 1)],
        "int64": [(0, 10), (-5, 2**40 + 1), (-(2**63), 2**63 - 1)],
    }
    for dtype, bounds in ranges.items():
        for seeds in SEEDS:
            for low, high in bounds:
                for size in (7, 100003) if seeds == SEEDS[0] else (7,):
                    low_high = [np.array(x, dtype) for x in (low, high)]
                    record(
                        "RandomUniformInt",
                        lambda: raw.RandomUniformInt(
                            shape=[size],
                            minval=low_high[0],
                            maxval=low_high[1],
                            seed=seeds[0],
                            seed2=seeds[1],
                        ),
                        seeds=seeds,
                        dtype=dtype,
                        low=low,
                        high=high,
                    )


def shuffles():
    for seeds in SEEDS:
        for count in (0, 1, 2, 5, 6, 33, 1001) + ((100003,) if seeds == SEEDS[0] else ()):
            for width in (None, 2):
                rows = np.arange(count * (width or 1), dtype=np.int32)
                rows = rows if width is None else rows.reshape(count, width)
                record(
                    "RandomShuffle",
                    lambda: raw.RandomShuffle(value=rows, seed=seeds[0], seed2=seeds[1]),
                    seeds=seeds,
                    dtype="int32",
                )


def categories():
    for seeds in SEEDS:
        for logits_type in ("float16", "float32", "float64"):
            for dtype in ("int32", "int64"):
                for samples in (1, 5, 12) if dtype == "int32" else (5,):
                    record(
                        "Multinomial",
                        lambda: raw.Multinomial(
                            logits=np.array(LOGITS, logits_type),
                            num_samples=samples,
                            seed=seeds[0],
                            seed2=seeds[1],
                            output_dtype=tf.as_dtype(dtype),
                        ),
                        seeds=seeds,
                        dtype=dtype,
                        logits_type=logits_type,
                    )


def rejections():
    for seeds in SEEDS:
        for dtype in ("float16", "float32", "float64"):
            record(
                "RandomGamma",
                lambda: raw.RandomGamma(
                    shape=[4], alpha=np.array(ALPHAS, dtype), seed=seeds[0], seed2=seeds[1]
                ),
                seeds=seeds,
                dtype=dtype,
            )
            record(
                "RandomPoissonV2",
                lambda: raw.RandomPoissonV2(
                    shape=[21], rate=np.array(RATES, dtype), seed=seeds[0], seed2=seeds[1], dtype=tf.int32
                ),
                seeds=seeds,
                dtype="int32",
                rate_type=dtype,
            )


def stateless():
    ops = {
        "StatelessRandomUniform": raw.StatelessRandomUniform,
        "StatelessRandomNormal": raw.StatelessRandomNormal,
        "StatelessTruncatedNormal": raw.StatelessTruncatedNormal,
    }
    seeds = [(s, "int64") for s in SEEDS + [(0, 0)]] + [((-1, 2**31 - 1), "int32"), ((1, 2), "int32")]
    for pair, seed_type in seeds:
        seed = np.array(pair, seed_type)
        for name, op in ops.items():
            for dtype in FLOATS:
                record(
                    name,
                    lambda: op(shape=[9], seed=seed, dtype=tf.as_dtype(dtype)),
                    runs=1,
                    seeds=pair,
                    seed_type=seed_type,
                    dtype=dtype,
                )
        for dtype in ("int32", "int64"):
            record(
                "StatelessRandomUniformInt",
                lambda: raw.StatelessRandomUniformInt(
                    shape=[9], seed=seed, minval=np.array(-5, dtype), maxval=np.array(1000003, dtype)
                ),
                runs=1,
                seeds=pair,
                seed_type=seed_type,
                dtype=dtype,
                low=-5,
                high=1000003,
            )
            record(
                "StatelessMultinomial",
                lambda: raw.StatelessMultinomial(
                    logits=np.array(LOGITS, "float32"),
                    num_samples=5,
                    seed=seed,
                    output_dtype=tf.as_dtype(dtype),
                ),
                runs=1,
                seeds=pair,
                seed_type=seed_type,
                dtype=dtype,
                logits_type="float32",
            )


def main():
    for part in (floats, integers, shuffles, categories, rejections, stateless):
        part()
    out = pathlib.Path(__file__).resolve().parent.parent / "random_streams.json"
    lines = ",\n".join(json.dumps(fact, sort_keys=True) for fact in records)
    operands = json.dumps(
        {"logits": [[str(x) for x in row] for row in LOGITS], "alphas": ALPHAS, "rates": RATES}
    )
    out.write_text(f'{{"operands": {operands},\n"records": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
