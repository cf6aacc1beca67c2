"""The summary ops' messages against those of TensorFlow 1.15 on the same calls."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

import headrace as tf
from headrace import errors
from headrace.opdef import raw
from headrace.proto import Summary
from tests.golden import canonical
from tests.unit.summary.cases import cases

GOLDEN = canonical.read("summaries.json")
CASES = cases()


def run(op, operands, attrs):
    attrs = {name: value for name, value in attrs.items() if name != "N"}
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = {
            name: [tf.constant(v) for v in value] if isinstance(value, list) else tf.constant(value)
            for name, value in operands.items()
        }
        return session.run(getattr(raw, op)(name="node", **inputs, **attrs))


def pixels(summary):
    """Takes the PNG files out of a Summary and returns them decoded."""
    out = []
    for value in summary.value:
        if value.HasField("image"):
            image = Image.open(io.BytesIO(value.image.encoded_image_string))
            value.image.encoded_image_string = b""
            out.append((image.mode, np.asarray(image).tolist()))
    return out


def test_every_call_was_recorded():
    assert [name for name, *_ in CASES] == list(GOLDEN)


@pytest.mark.parametrize(("name", "op", "operands", "attrs"), CASES, ids=[name for name, *_ in CASES])
def test_summary_is_tensorflows(name, op, operands, attrs):
    golden = GOLDEN[name]
    if isinstance(golden, list):
        kind, message = golden
        with pytest.raises(getattr(errors, kind)) as caught:
            run(op, operands, attrs)
        assert message in caught.value.message
        return
    got, want = run(op, operands, attrs), base64.b64decode(golden)
    if op != "ImageSummary":
        assert got == want
        return
    got, want = Summary.FromString(got), Summary.FromString(want)
    assert pixels(got) == pixels(want)
    assert got == want
