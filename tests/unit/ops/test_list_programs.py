"""TensorArrays and loops over rows have TensorFlow's nodes and values (recorded by record/list_programs.py)."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import canonical  # noqa: E402
import list_programs  # noqa: E402

FACTS = json.loads((GOLDEN / "list_programs.json").read_text())
ALL = {**list_programs.PROGRAMS, **list_programs.VALUES_ONLY}


def test_every_program_is_recorded():
    assert set(ALL) == set(FACTS)


@pytest.mark.usefixtures("functional_control_flow")
@pytest.mark.parametrize("name", sorted(list_programs.PROGRAMS))
def test_nodes_are_tensorflows(name):
    graph, _, _ = list_programs.build(tf, list_programs.PROGRAMS[name])
    # What went through JSON has lists for tuples.
    found = json.loads(json.dumps(list_programs.facts(graph, canonical)))
    assert found["nodes"] == FACTS[name]["nodes"]
    assert len(found["functions"]) == len(FACTS[name]["functions"])
    if name == "two_gradients_of_a_loop":
        # TensorFlow takes the second one of a copy of the body, where it finds nothing that the first one left.
        return
    for mine, theirs in zip(found["functions"], FACTS[name]["functions"], strict=True):
        assert mine == theirs


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("name", sorted(ALL))
def test_values_are_tensorflows(name, tier, monkeypatch, request):
    if name == "strings":  # arrays that are changed in place refuse what was never written
        request.getfixturevalue("functional_control_flow")
    monkeypatch.setenv("HEADRACE_TIER", tier)
    values = list_programs.values(tf, *list_programs.build(tf, ALL[name]))
    for mine, theirs in zip(values, FACTS[name]["values"], strict=True):
        if isinstance(theirs, list) and theirs and isinstance(theirs[0], str):
            assert mine == theirs
        else:
            # float32 arithmetic, in another order: a few units in the last place.
            np.testing.assert_allclose(mine, theirs, rtol=3e-6, atol=1e-6)
