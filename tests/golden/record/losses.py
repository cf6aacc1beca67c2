"""Records tests/golden/losses.json: the losses of the training programs' first 50 steps, at full precision.

Run with the oracle:  scripts/oracle tests/golden/record/losses.py
"""

import pathlib
import sys

import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "golden"), str(TESTS / "programs")]
import canonical
import programs


def main():
    table = {}
    for name in programs.names("training"):
        module = programs.load("training", name)
        losses = programs.train_program(tf, module)
        if programs.train_program(tf, module) != losses:
            raise SystemExit(f"{name}: two runs differ")
        print(f"{name}: {losses[0]:.4f} -> {losses[-1]:.4f}, twice the same")
        table[name] = losses
    canonical.write_table("losses.json", table)


main()
