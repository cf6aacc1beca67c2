"""CTC, dilation, fractional pooling, LSTM and GRU ops compute and refuse what TensorFlow 1.15 does.

Recorded by tests/golden/record/nn_more.py.
"""

import json
import pathlib
import re
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import nn_more_cases  # noqa: E402

FACTS = json.loads((GOLDEN / "nn_more.json").read_text())
CASES = {name: rest for name, *rest in nn_more_cases.cases()}

# float32 in another order; half an element of the last digit that the golden file keeps.
RELATIVE, ABSOLUTE = 2e-5, 1e-5


def test_every_case_was_recorded():
    assert list(FACTS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    kind, operands, attrs = CASES[name]
    facts = FACTS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder_with_default(v, None) for v in operands]
        fetches = nn_more_cases.flat(getattr(raw, kind)(*inputs, **attrs))
        if isinstance(facts[0], str):
            with pytest.raises(getattr(tf.errors, facts[0]), match=re.escape(facts[1])):
                session.run(fetches)
            return
        found = [nn_more_cases.digest(v) for v in session.run(fetches)]
    for got, want in zip(found, facts, strict=True):
        assert got[:2] == want[:2]
        numbers, expected = (np.array([float(v) for v in d[3]]) for d in (got, want))
        np.testing.assert_allclose(numbers, expected, rtol=RELATIVE, atol=ABSOLUTE)
        np.testing.assert_allclose(float(got[2]), float(want[2]), rtol=1e-4, atol=1e-6)
