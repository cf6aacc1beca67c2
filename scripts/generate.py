#!/usr/bin/env python3
"""Writes docs/coverage.md from the registry of ops and the table of public names."""

import collections
import functools
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import headrace  # noqa: E402  (loads the ops)
from headrace import namespace  # noqa: E402
from headrace.export import NAMES  # noqa: E402
from headrace.opdef import OPS, UNDECLARED  # noqa: E402
from headrace.opdef.case import Recorder  # noqa: E402
from tests.golden import counts  # noqa: E402

TARGET = ROOT / "docs" / "coverage.md"
# Of the numeric families: what is not as in TensorFlow, or is nowhere, and why.
EXCEPTIONS = [
    "`Xla*`, TPU and NCCL ops: they run on devices that CPU builds do not have, or inside programs of XLA only.",
    "`AudioMicrofrontend`: the wheel registers it, TensorFlow's own listing of ops does not have it.",
    "`CudnnRNN*`: built with TensorFlow's shapes, and refused when run, as on every CPU.",
    "`QuantizedConv2DWith*`, `QuantizedMatMulWith*` and their kin: kernels exist in MKL builds only; refused likewise.",
    "`BatchFFT*` and `TileGrad`: in graphs of versions up to 14 and 2. TensorFlow 1.15 reads them and has no kernels "
    "left; here they run.",
    "`Skipgram`: words as frequent as each other are numbered as they occur; TensorFlow's order is a hash table's.",
    "`NegTrain`: draws its negative samples from unpredictable seeds, there as here.",
    "`tf.ctc_loss_v2`: in the listing of 1.15, not in the module of 1.15.5.",
    "`tf.image.generate_bounding_box_proposals`: there; its op is in no CPU build, which is what it says.",
]
GRADIENTS = {"function": "yes", "none": "none", "missing": "missing"}


def golden(name):
    return json.loads((ROOT / "tests" / "golden" / name).read_text(encoding="utf-8"))


def recorded(op):
    recorder = Recorder()
    rule = op.rule("cases")
    if rule is not None:
        rule.function(recorder)
    return recorder


def gradient(op):
    state = op.gradient
    return "missing" if state is UNDECLARED else "none" if state is None else "yes"


def op_rows():
    """One list of cells an op, by module."""
    modules = collections.defaultdict(list)
    golden_cases = counts.counts()
    for name, op in sorted(OPS.items()):
        recorder = recorded(op)
        cases = (
            len(recorder.calls) + len(recorder.shape_cases) + len(recorder.failures) + len(recorder.programs)
        )
        limits = "; ".join(
            f"{limit.slot}: {', '.join(t.name for t in limit.dtypes)} ({limit.why})"
            for limit in recorder.limits
        )
        slots = ["yes" if op.rule(slot) is not None else "" for slot in ("shape", "lower", "host")]
        modules[op.module.removeprefix("headrace.")].append(
            [name, *slots, gradient(op), str(cases or ""), str(golden_cases[name] or ""), limits]
        )
    return dict(sorted(modules.items()))


def op_part():
    defs, gradients = golden("opdefs.json"), golden("gradients.json")
    rows = [op for ops in op_rows().values() for op in ops if op[0] in defs]
    wanted = collections.Counter(gradients.values())
    declared = collections.Counter(gradient(OPS[row[0]]) for row in rows)
    lines = [
        "## Ops",
        "",
        f"{len(rows)} of the {len(defs)} ops of TensorFlow 1.15 are declared. Of these "
        f"{sum(bool(r[1]) for r in rows)} have a shape rule, {sum(bool(r[2]) for r in rows)} a rule that XLA compiles "
        f"(lower), {sum(bool(r[3]) for r in rows)} one for the interpreter (host), and "
        f"{sum(not r[2] and not r[3] for r in rows)} neither. {declared['yes']} of {wanted['function']} gradients are "
        f"there, {declared['none']} of {wanted['none']} ops are declared not differentiable. They record "
        f"{sum(int(r[5] or 0) for r in rows)} cases.",
        "",
        "Golden: cases recorded from TensorFlow that reach the op (tests/golden/counts.py).",
        "",
        "Gradient: `yes`; `none`, declared not differentiable; `missing`, nothing is declared, as in TensorFlow.",
    ]
    for module, ops in op_rows().items():
        lines += [
            "",
            f"### {module}",
            "",
            "| op | shape | lower | host | gradient | cases | golden | limits |",
        ]
        lines += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
        lines += ["| " + " | ".join(row) + " |" for row in ops]
    lines += ["", "### Exceptions", "", *(f"- {text}" for text in EXCEPTIONS)]
    missing = sorted(set(defs) - set(OPS))
    lines += ["", "### Not declared", "", ", ".join(missing) + "." if missing else "None."]
    return lines


def resolves(name):
    """Whether a name that no function was exported under is an attribute: a type, a class, a constant, a raw op."""
    try:
        functools.reduce(getattr, name.split("."), headrace)
    except (AttributeError, ImportError):
        return False
    return True


def name_part():
    lines = [
        "## Public names",
        "",
        "Of the names in TensorFlow 1.15's listing, those that exist here. `tf.contrib` has no listing.",
        "",
        "| module | names | present | missing |",
        "| --- | --- | --- | --- |",
    ]
    present = total = 0
    for module, members in sorted(golden("api.json").items()):
        prefix = f"{module}.".removeprefix("tf.")
        for name in members:
            try:
                namespace.load_providers(prefix + name)
            except ImportError:
                pass  # a provider that is not written yet
        missing = sorted(
            name for name in members if prefix + name not in NAMES and not resolves(prefix + name)
        )
        here = len(members) - len(missing)
        present, total = present + here, total + len(members)
        shown = ", ".join(missing) if here else "all" if missing else ""
        lines.append(f"| {module} | {len(members)} | {here} | {shown} |")
    lines.insert(4, f"{present} of {total}.\n")
    return lines


def main():
    lines = ["# Coverage", "", "Written by `scripts/generate.py`, which `scripts/check` runs.", ""]
    lines += [*op_part(), "", *name_part(), ""]
    TARGET.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
