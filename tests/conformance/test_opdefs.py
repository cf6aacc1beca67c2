"""Every op is declared as TensorFlow 1.15 declares it, and has a gradient where TensorFlow has one."""

import pytest

import headrace  # noqa: F401  (loads the ops)
from headrace.opdef import OPS, UNDECLARED
from tests.golden import canonical

GOLDEN_DEFS = canonical.read("opdefs.json")
GOLDEN_GRADIENTS = canonical.read("gradients.json")
DECLARED = sorted(set(OPS) & set(GOLDEN_DEFS))

# Ops that TensorFlow 1.15 has only once a module of tf.contrib is loaded.
OF_CONTRIB = frozenset(("GatherTree",))


def test_ops_that_tensorflow_lacks_are_known():
    private = {name for name in OPS if name.startswith("_")}
    assert set(OPS) - set(GOLDEN_DEFS) - private == OF_CONTRIB


@pytest.mark.parametrize("name", DECLARED)
def test_op_def_equals_tensorflows(name):
    got = canonical.op_facts(OPS[name].op_def)
    want = GOLDEN_DEFS[name]
    wrong = []
    for key in sorted(set(got) | set(want)):
        left, right = got.get(key), want.get(key)
        if key != "attrs":
            if left != right:
                wrong.append(f"{key}: {left} where TensorFlow has {right}")
            continue
        for attr in sorted(set(left) | set(right)):
            if canonical.dumps(_sorted(left.get(attr))) != canonical.dumps(_sorted(right.get(attr))):
                wrong.append(f"attr {attr}: {left.get(attr)} where TensorFlow has {right.get(attr)}")
    assert not wrong, name + "\n" + "\n".join(wrong)


def _sorted(facts):
    return facts and dict(sorted(facts.items()))


@pytest.mark.parametrize("name", DECLARED)
def test_gradient_state_equals_tensorflows(name):
    gradient = OPS[name].gradient
    state = "missing" if gradient is UNDECLARED else "none" if gradient is None else "function"
    assert state == GOLDEN_GRADIENTS[name]
