"""Each pattern fires on its examples, leaves the others alone, and changes no result."""

import numpy as np
import pytest

import headrace as tf
from headrace.passes.patterns import TABLES
from headrace.runtime.policies import with_policies

# Numbers that tell x + 0.0 from x, and those that an inexact pattern may be compared on.
ODD = np.array([[0.0, -0.0, np.nan], [np.inf, -3.25, 1e-3]], np.float32)
PLAIN = np.array([[0.5, -1.0, 2.0], [4.0, -3.25, 1e-3]], np.float32)

PATTERNS = [(table.name, p) for table in TABLES.values() for p in table.patterns]
EXAMPLES = [
    pytest.param(
        table, p, example, fires, id=f"{p.name}-{'fires' if fires else 'alone'}-{i}".replace(" ", "-")
    )
    for table, p in PATTERNS
    for fires in (True, False)
    for i, example in enumerate(p.fires if fires else p.alone)
]


def _run(example, optimize, tier):
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [2, 3])
    # What is fetched stays as it is, so another node is fetched.
    y = tf.stack([example(tf, x)])
    with tf.Session(config=with_policies(optimize=optimize, tier=tier, cache_dir="")) as session:
        session.run(tf.global_variables_initializer())
        values = [session.run(y, {x: value}) for value in (ODD, PLAIN)]
        return values, list(session._plans.values())[-1]


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize(("table", "pattern", "example", "fires"), EXAMPLES)
def test_examples(table, pattern, example, fires, tier):
    expected, before = _run(example, "off", tier)
    values, plan = _run(example, "on", tier)
    assert not before.rewritten
    assert bool(plan.rewritten[pattern.name]) == fires
    for value, wanted in zip(values, expected):
        assert value.dtype == wanted.dtype
        if value.dtype == object:
            assert value.tolist() == wanted.tolist()
        elif pattern.is_exact:
            assert value.tobytes() == wanted.tobytes()
        else:
            # Each product is rounded once more, and each sum of a dozen of them.
            np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)
    if fires:  # its table is enough, and another one isn't
        assert _run(example, "off", tier)[1].rewritten == {}
        assert len(plan._rest) <= len(before._rest)


@pytest.mark.parametrize(("table", "pattern"), [pytest.param(*p, id=p[1].name) for p in PATTERNS])
def test_patterns_say_what_pays(table, pattern):
    assert pattern.why.endswith(".")
    assert pattern.fires and pattern.alone
    assert [p.name for _, p in PATTERNS].count(pattern.name) == 1
