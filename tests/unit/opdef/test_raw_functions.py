"""tf.raw_ops: what its functions take and refuse is what TensorFlow's take and refuse."""

import inspect
import json
import pathlib

import pytest

import headrace as tf
from headrace.opdef import OPS, raw
from headrace.opdef.advice import advice

FACTS = json.loads(
    (pathlib.Path(__file__).resolve().parents[2] / "golden" / "raw_functions.json").read_text()
)
KEYS = {line.split()[0]: line.split()[1:] for line in FACTS["keys"]}


def test_functions_take_what_tensorflows_take():
    # GatherTree is tf.contrib's there.
    names = [name for name in dir(tf.raw_ops) if not name.startswith("_") and name != "GatherTree"]
    assert len(names) > 700
    wrong = {name: list(inspect.signature(getattr(tf.raw_ops, name)).parameters) for name in names}
    assert {name: keys for name, keys in wrong.items() if keys != KEYS.get(name)} == {}


def test_every_op_that_tensorflow_shows_is_shown():
    assert {name for name in KEYS if name in set(OPS)} <= set(dir(tf.raw_ops))


@pytest.mark.parametrize("module", [tf.raw_ops, tf.compat.v1.raw_ops], ids=["tf", "compat.v1"])
def test_a_call_adds_one_node(module):
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0, 2.0])
        total = module.Sum(input=x, axis=0, keep_dims=True, name="total")
        values, indices = module.TopKV2(input=x, k=1)
        first, second = module.Split(axis=0, value=x, num_split=2)
        nothing = module.NoOp()
        assert (total.op.type, total.op.name, nothing.type) == ("Sum", "total", "NoOp")
        assert [op.type for op in graph.get_operations()] == [
            "Const", "Const", "Sum", "Const", "TopKV2", "Const", "Split", "NoOp",
        ]  # fmt: skip
        with tf.Session() as session:
            assert session.run([total, values, indices, first, second]) == [[3.0], [2.0], [1], [1.0], [2.0]]


def test_ops_of_parts_that_are_loaded_late_are_there():
    assert tf.raw_ops.FFT.__name__ == "FFT"
    assert tf.raw_ops.MatMul.__doc__


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (
            (1, 2),
            {},
            "Add only takes keyword args (possible keys: ['x', 'y', 'name']). Please pass these args as kwargs "
            "instead.",
        ),
        ((), {"x": 1}, "Add() missing 1 required positional argument: 'y'"),
        ((), {}, "Add() missing 2 required positional arguments: 'x' and 'y'"),
        ((), {"x": 1, "y": 1, "z": 1}, "Add() got an unexpected keyword argument 'z'"),
    ],
)
def test_calls_are_refused_in_tensorflows_words(args, kwargs, message):
    with pytest.raises(TypeError) as caught:
        tf.raw_ops.Add(*args, **kwargs)
    assert str(caught.value) == message


def test_removed_ops_are_refused_for_new_graphs():
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0, 2.0])
        with pytest.raises(NotImplementedError) as caught:
            tf.raw_ops.TopK(input=x, k=1)
        assert str(caught.value) == (
            "Op TopK is not available in GraphDef version 134. It has been removed in version 7. Use TopKV2 instead."
        )
        assert raw.TopK(x, k=1).values.op.graph is graph


def test_advice_and_versions_are_tensorflows():
    found = {
        name: [OPS[name].signature.deprecated, advice(name)] for name in FACTS["removed"] if name in set(OPS)
    }
    assert found == {name: FACTS["removed"][name] for name in found}
    assert len(found) > 40
    assert {name: advice(name) for name in FACTS["removed"]} == {n: v[1] for n, v in FACTS["removed"].items()}


def test_other_names_are_refused():
    for name in ("Nope", "_Arg", "DebugIdentity"):
        assert not hasattr(tf.raw_ops, name)
