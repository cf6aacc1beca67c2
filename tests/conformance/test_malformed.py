"""Malformed operands end in TensorFlow's exceptions, in bounded memory, also where TensorFlow 1.15 itself crashes."""

import pytest

import headrace as tf
from tests.conformance.battery_fuzz import bounded_memory
from tests.golden import malformed_calls

CALLS = malformed_calls.calls()
OUTCOMES = malformed_calls.outcomes()

# Calls, by the beginning of their names, that are refused otherwise than by TensorFlow, or are not, and why.
DIFFERENT = {
    "ragged_range_huge": "the count of numbers is refused before memory is asked for",
    "avg_pool_grad_huge": "the gradient's shape is refused before memory is asked for",
    "cross_size": "the shape rule is asked first when a step runs too",
    "max_pool_grad_grad_with_argmax_outside": "TensorFlow has no kernel for CPUs",
}

# What names of calls begin with whose refusal has other words than TensorFlow's.
OTHER_WORDS = ("@@",)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unknown", [False, True], ids=["constants", "unknown"])
@pytest.mark.parametrize("name", CALLS)
def test_malformed_call_is_refused_as_by_tensorflow(name, unknown):
    want = OUTCOMES[name][unknown]
    got = malformed_calls.outcome(tf, tf.raw_ops, CALLS[name], unknown, bounded_memory)
    if got != "value":
        assert got["raises"] not in ("UnknownError", "TypeError") or got == want
        assert got["message"]
    if isinstance(want, str) or name.startswith(tuple(DIFFERENT)):
        return
    assert got != "value", f"it gives a value where TensorFlow raises {want}"
    assert got["raises"] == want["raises"], f"{got} where TensorFlow raises {want}"
    if not name.startswith(OTHER_WORDS) and want["raises"] != "ResourceExhaustedError":
        assert got["message"] == want["message"]


def test_named_exceptions_are_of_calls_that_exist():
    for start in (*DIFFERENT, *OTHER_WORDS):
        assert any(name.startswith(start) for name in CALLS), start
