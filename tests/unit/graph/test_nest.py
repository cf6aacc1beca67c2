"""tf.nest and the names that programs take from TensorFlow's inside answer and refuse what TensorFlow 1.15 does.

The expressions are in tests/golden/nest_calls.txt, the facts recorded by tests/golden/record/nest.py.
"""

import sys

import pytest

import headrace as tf
from headrace.graph import nest
from tests.golden import canonical

sys.path.insert(0, str(canonical.GOLDEN))
import nest_calls

FACTS = canonical.read("nest.json")


@pytest.mark.parametrize("call", sorted(FACTS))
def test_call(call):
    assert nest_calls.run(tf, nest, call) == FACTS[call]


def test_the_inside_and_contrib_have_the_same_functions():
    from headrace.python.util import nest as inside

    for name in ("flatten", "map_structure", "is_sequence", "flatten_up_to", "_yield_flat_up_to"):
        assert getattr(inside, name) is getattr(nest, name)
    assert tf.contrib.framework.nest.map_structure is tf.nest.map_structure
