"""Records tests/golden/kernels.json: for which types TensorFlow 1.15 has kernels on the CPU.

Run with the oracle:  scripts/oracle tests/golden/record/kernels.py

op -> a list of {type attr: types}; a kernel exists where every attr of one of them has one of its types.
"""

import pathlib
import sys

import tensorflow as tf
from tensorflow.python.framework import kernels

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import canonical


def merged(rows):
    """Joins constraints that differ in one attr only, until none do."""
    for attr in sorted({name for row in rows for name in row}):
        groups = {}
        for row in rows:
            rest = tuple(sorted((k, tuple(v)) for k, v in row.items() if k != attr))
            groups.setdefault((rest, attr in row), []).append(row)
        rows = []
        for (rest, has), group in groups.items():
            row = {k: list(v) for k, v in rest}
            if has:
                row[attr] = sorted({t for r in group for t in r[attr]})
            rows.append(row)
    return sorted(rows, key=canonical.dumps)


def main():
    table = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type != "CPU" or kernel.op.startswith("_"):
            continue
        row = {c.name: [tf.as_dtype(t).name for t in c.allowed_values.list.type] for c in kernel.constraint}
        table.setdefault(kernel.op, []).append(row)
    known = canonical.read("opdefs.json")
    canonical.write_table("kernels.json", {op: merged(rows) for op, rows in table.items() if op in known})


if __name__ == "__main__":
    main()
