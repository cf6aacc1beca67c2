"""The scripts that characters belong to."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.opdef import op, raw
from headrace.ops.string.script_ranges import scripts
from headrace.shapes import unchanged

UnicodeScript = op("""
    UnicodeScript(input: int32) -> (output: int32)

    The number of the script that each code point belongs to.
""", shape=unchanged)  # fmt: skip


@UnicodeScript.host
def unicode_script_host(input):
    table = scripts()
    points = np.asarray(input)
    known = (points >= 0) & (points < len(table))
    return np.where(known, table[np.where(known, points, 0)], -1).astype(np.int32)


@UnicodeScript.cases
def unicode_script_cases(case):
    points = np.array([[65, 0x3B1, 0x4E00], [0x110000, -5, 0x378]], np.int32)
    case(points, gives=np.array([[25, 14, 17], [-1, -1, 103]], np.int32))
    case.shapes("[2,?]", "[2,?]")


@export("strings.unicode_script")
def unicode_script(input, name=None):
    """Returns the numbers of the scripts that code points belong to, as ICU counts them; -1 for what is none.

    Args:
      input: An int32 tensor of Unicode code points.
      name: The node's name.
    """
    return raw.UnicodeScript(input, name=name)
