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
OTHER_WORDS = (
    "approximate_equal_mismatch",
    "avg_pool_grad_mismatch",
    "batch_matmul_vector",
    "batch_to_space_empty_block",
    "batch_to_space_large_crop",
    "bitcast_mismatch",
    "broadcast_to_negative",
    "ctc_loss_no_classes",
    "decode_base64_bad",
    "decode_gif_huge",
    "decode_png_bomb",
    "dense_to_sparse_set_mismatch",
    "depthwise_backprop_filter_mismatch",
    "depthwise_backprop_filter_sizes",
    "depthwise_backprop_input_mismatch",
    "gather_batch_dims",
    "gru_block_cell_shapes",
    "lower_bound_scalar",
    "lrn_grad_mismatch",
    "lstm_block_cell_grad_mismatch",
    "lstm_block_cell_scalar",
    "matrix_diag_part_v2_outside",
    "matrix_diag_v2_huge",
    "matrix_set_diag_v2_k",
    "max_pool_large_window",
    "mirror_pad_grad_negative",
    "mirror_pad_negative",
    "ragged_to_sparse_bad_splits",
    "relu_grad_mismatch",
    "reverse_sequence_dims",
    "rfft_length",
    "scatter_nd_empty_shape",
    "slice_negative",
    "space_to_batch_v1",
    "sparse_matmul_mismatch",
    "split_v_axis",
    "strided_slice_grad_shape",
    "take_many_sparse_unknown",
    "tensor_scatter_mismatch",
    "tridiagonal_matmul_mismatch",
)


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
