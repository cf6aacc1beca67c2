"""Records tests/golden/digits_losses.json: the losses of the first 50 steps of examples/digits.py.

Run with the oracle:  scripts/oracle tests/golden/record/digits_losses.py
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "golden"))
import canonical

STEPS = 50


def losses():
    """The losses of one run of the example in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "losses.txt"
        program = str(ROOT / "examples" / "digits.py")
        subprocess.run(
            [sys.executable, program, f"--steps={STEPS}", f"--logdir={folder}", f"--losses={out}"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return [float(line) for line in out.read_text().split()]


def main():
    first = losses()
    if losses() != first:
        raise SystemExit("two runs differ")
    canonical.write_table("digits_losses.json", {"digits": first})
    print(f"{len(first)} losses, {first[0]:.4f} -> {first[-1]:.4f}, twice the same")


main()
