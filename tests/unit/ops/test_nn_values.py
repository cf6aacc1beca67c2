"""The nn ops compute what TensorFlow 1.15 computes (recorded by tests/golden/record/nn_values.py)."""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import nn_cases  # noqa: E402

FACTS = json.loads((GOLDEN / "nn_values.json").read_text())
CASES = {name: rest for name, *rest in nn_cases.cases()}

# float32 sums of at most a few hundred products, in another order.
RELATIVE, ABSOLUTE = 2e-5, 2e-5


def test_every_case_was_recorded():
    assert list(FACTS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    kind, operands, attrs = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        result = getattr(raw, kind)(*[tf.constant(v) for v in operands], **attrs)
        results = result if isinstance(result, tuple) else (result,)
        found = session.run(list(results))
    if kind == "FusedBatchNormGrad":
        found, expected = found[:3], FACTS[name][:3]  # the others are placeholders of no meaning
    else:
        expected = FACTS[name]
    for got, (dtype, shape, total, squares, some) in zip(map(nn_cases.digest, found), expected, strict=True):
        assert got[:2] == [dtype, shape]
        np.testing.assert_allclose(got[4], some, rtol=RELATIVE, atol=ABSOLUTE)
        np.testing.assert_allclose(got[2:4], [total, squares], rtol=1e-4, atol=1e-3)


def test_images_of_another_rank_are_refused_when_a_step_runs():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="in must be 4-dimensional"):
            sess.run(tf.nn.lrn(x), {x: np.ones([2, 2])})
