"""What the rules on numbers compute where NumPy, JAX and TensorFlow have different habits.

The expected values come from TensorFlow 1.15.5 on a CPU.
"""

import warnings

import ml_dtypes
import numpy as np
import pytest

import headrace as tf
from headrace.lazy import jnp
from headrace.opdef import OPS, raw

NAN, INF = float("nan"), float("inf")


class Context:
    """Stands for the runtime's: a failed check raises."""

    def check(self, ok, message):
        if not bool(ok):
            raise AssertionError(message)


def node_of(op, operands, attrs):
    with tf.Graph().as_default():
        return op.node(*[tf.placeholder(tf.as_dtype(x.dtype), x.shape) for x in operands], **attrs)


def run(tier, name, *operands, **attrs):
    """Runs one rule of an op and checks the type of what it gives."""
    op = OPS[name]
    operands = [np.asarray(x) for x in operands]
    node = node_of(op, operands, attrs)
    rule = op.rule(tier)
    keywords = rule.keywords(node.attrs, op.plan.type_attrs)
    if rule.wants_ctx:
        keywords["ctx"] = Context()
    if tier == "lower":
        names = [a.name for a in op.signature.inputs]
        operands = [x if n in rule.static else jnp.asarray(x) for n, x in zip(names, operands, strict=True)]
    out = rule.function(*operands, **keywords)
    out = list(out) if isinstance(out, (list, tuple)) else [out]
    assert [np.asarray(x).dtype for x in out] == [t.dtype.storage for t in node.outputs]
    return np.asarray(out[0]) if len(out) == 1 else [np.asarray(x) for x in out]


@pytest.fixture(params=["host", "lower"])
def tier(request):
    return request.param


def f32(*values):
    return np.array(values, np.float32)


def i32(*values):
    return np.array(values, np.int32)


def same(got, want):
    np.testing.assert_allclose(got.astype(np.float64), np.asarray(want, np.float64), rtol=2e-6)


def test_extremes_of_nan_depend_on_the_side(tier):
    same(run(tier, "Maximum", f32(1, NAN, 3), f32(NAN, 2, 1)), [1, NAN, 3])
    same(run(tier, "Minimum", f32(1, NAN, 3), f32(NAN, 2, 1)), [1, NAN, 1])


def test_reductions_skip_nan(tier):
    same(run(tier, "Max", f32(1, NAN, 2), i32(0)), 2)
    same(run(tier, "Min", f32(NAN, 1, 2), i32(0)), 1)
    same(run(tier, "Max", f32(NAN, NAN), i32(0)), -INF)
    same(run(tier, "ArgMax", f32(NAN, 1, 2), np.int32(0)), 2)
    same(run(tier, "ArgMin", f32(NAN, NAN), np.int32(0)), 0)


def test_sums_and_means_keep_narrow_types(tier):
    same(run(tier, "Sum", np.array([200, 200, 201], np.uint8), i32(0)), 89)
    same(run(tier, "Mean", np.array([100, 100, -101], np.int8), i32(0)), 33)
    same(run(tier, "Mean", i32(2**31 - 1, 2**31 - 1, -5), i32(0)), -2)
    same(run(tier, "Prod", np.array([100, 100, -101], np.int8), i32(0)), -80)
    many = np.full(5000, 1.0, np.float16)
    same(run(tier, "Sum", many, i32(0)), 5000)  # one by one in float16 the sum would stop at 2048
    assert run(tier, "Sum", many.astype(ml_dtypes.bfloat16), i32(0)) == 4992  # the nearest bfloat16


def test_sign_of_nan_is_zero(tier):
    same(run(tier, "Sign", f32(NAN, -0.0, -3, 2)), [0, 0, -1, 1])


def test_rounding_goes_to_even(tier):
    same(run(tier, "Round", f32(0.5, 1.5, 2.5, -0.5, -1.5)), [0, 2, 2, 0, -2])
    assert not np.signbit(run(tier, "Round", f32(-0.5)))[0]
    assert np.signbit(run(tier, "Rint", f32(-0.5)))[0]


def test_division_of_integers(tier):
    x, y = i32(7, -7, 7, -7), i32(2, 2, -2, -2)
    same(run(tier, "Div", x, y), [3, -3, -3, 3])
    same(run(tier, "FloorDiv", x, y), [3, -4, -4, 3])
    same(run(tier, "FloorMod", x, y), [1, 1, -1, -1])
    same(run(tier, "TruncateMod", x, y), [1, -1, 1, -1])
    same(run(tier, "Pow", i32(3, 2, -2), i32(20, 40, 31)), [-808182895, 0, -(2**31)])


def test_remainders_of_floats(tier):
    same(
        run(tier, "FloorMod", f32(7.5, -7.5, -1, 1, 3), f32(-2, 2, INF, -INF, 0)), [-0.5, 0.5, INF, -INF, NAN]
    )


# TensorFlow 1.15.5 does not expect an error of its own truncating ops.
_UNEXPECTED = "Unexpected error in binary operator .only integer div and mod should have errors."


@pytest.mark.parametrize("name", ["Div", "FloorDiv", "TruncateDiv", "Mod", "FloorMod", "TruncateMod"])
def test_integers_do_not_divide_by_zero(name):
    error, message = tf.errors.InvalidArgumentError, "Integer division by zero"
    if name.startswith("Truncate"):
        error, message = tf.errors.InternalError, _UNEXPECTED
    with pytest.raises(error, match=message):
        run("host", name, i32(1, 2), i32(1, 0))
    with pytest.raises(AssertionError, match="Integer division by zero"):
        run("lower", name, i32(1, 2), i32(1, 0))


def test_zeros_win_over_nan(tier):
    same(run(tier, "MulNoNan", f32(NAN, INF, 2), f32(0, 0, NAN)), [0, 0, NAN])
    same(run(tier, "DivNoNan", f32(NAN, INF, 2), f32(0, 0, NAN)), [0, 0, NAN])
    same(run(tier, "Xdivy", f32(0, 0, 1), f32(0, NAN, 0)), [0, 0, INF])
    same(run(tier, "Xlogy", f32(0, 0, 1), f32(0, NAN, 0)), [0, 0, -INF])


@pytest.mark.parametrize(
    ("target", "want"),
    [
        ("uint8", [44, 255, 255, 0, 0, 0]),
        ("int8", [44, -1, -1, 0, 0, 0]),
        ("int16", [300, -1, 255, 0, 0, 0]),
        ("uint16", [300, 65535, 255, 0, 0, 0]),
        ("int32", [300, -1, 255, -(2**31), -(2**31), -(2**31)]),
        ("int64", [300, -1, 255, -(2**63), -(2**63), -(2**63)]),
        ("uint32", [300, 2**32 - 1, 255, 0, 0, 0]),
    ],
)
def test_casts_of_what_does_not_fit(tier, target, want):
    got = run(tier, "Cast", f32(300, -1, 255.5, 1e20, NAN, -1e20), DstT=target)
    assert got.tolist() == want


def test_truncating_casts(tier):
    x = f32(1.005859375)
    assert run(tier, "Cast", x, DstT="bfloat16").tolist() == [1.0078125]
    assert run(tier, "Cast", x, DstT="bfloat16", Truncate=True).tolist() == [1.0]


def test_shifts_stop_at_the_width(tier):
    assert run(tier, "LeftShift", i32(1, 1, 1, 1), i32(31, 32, 33, -1)).tolist() == [-(2**31)] * 3 + [1]
    assert run(tier, "RightShift", i32(-8, -8, -8, 8), i32(1, 32, 40, -1)).tolist() == [-4, -1, -1, 8]


def test_ranges_add_up_with_their_rounding(tier):
    got = run(tier, "Range", np.float32(0), np.float32(1), np.float32(0.1))
    assert got[7:].tolist() == [np.float32(0.70000005), np.float32(0.8000001), np.float32(0.9000001)]


def test_poles_of_the_gamma_family(tier):
    same(run(tier, "Lgamma", f32(0, -1, -0.5)), [INF, INF, 1.2655121])
    same(run(tier, "Digamma", f32(0, -1, 3)), [INF, INF, 0.9227842])
    same(run(tier, "Zeta", f32(1, 0.5), f32(1, 1)), [INF, NAN])


def test_segments_without_rows(tier):
    rows, ids = np.array([[1, 2], [3, 4], [5, 6]], np.float32), i32(2, -1, 2)
    low = np.finfo(np.float32).min
    same(run(tier, "UnsortedSegmentMax", rows, ids, np.int32(3)), [[low] * 2, [low] * 2, [5, 6]])
    same(run(tier, "UnsortedSegmentSum", rows, ids, np.int32(3)), [[0, 0], [0, 0], [6, 8]])
    same(run(tier, "UnsortedSegmentProd", rows, ids, np.int32(3)), [[1, 1], [1, 1], [5, 12]])


def test_unsorted_segments_equal_a_loop():
    random = np.random.RandomState(7)
    rows = random.randn(200, 3).astype(np.float32)
    ids = random.randint(-2, 17, 200)
    want = np.zeros((17, 3))
    for row, i in zip(rows, ids, strict=True):
        if i >= 0:
            want[i] += row
    np.testing.assert_allclose(
        run("host", "UnsortedSegmentSum", rows, ids, np.int32(17)), want, rtol=1e-4, atol=1e-5
    )


def test_strings_join_and_compare():
    words = np.array([b"mill", b"wheel"], object)
    assert run("host", "Add", words, np.array(b"s", object)).tolist() == [b"mills", b"wheels"]
    assert run("host", "Equal", words, np.array(b"mill", object)).tolist() == [True, False]
    one = run("host", "Add", np.array(b"a", object), np.array(b"b", object))
    assert one.shape == () and one.item() == b"ab"


def test_host_rules_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run("host", "Log", f32(0, -1))
        run("host", "RealDiv", f32(1, 0), f32(0, 0))
        run("host", "Cast", f32(NAN, 1e20), DstT="int32")
        run("host", "Mul", i32(2**30), i32(4))
        run("host", "Mean", np.zeros(0, np.float32), i32(0))


def test_operators_leave_the_other_side_a_chance():
    class Other:
        def __radd__(self, tensor):
            return "mine"

    with tf.Graph().as_default():
        assert tf.constant(1.0) + Other() == "mine"
        with pytest.raises(TypeError, match="int32 that does not match type float32 of argument 'x'"):
            tf.constant(1.0) + tf.constant(1)


def test_functions_refuse_old_and_new_names_together():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        with pytest.raises(ValueError, match="Cannot specify both 'reduction_indices' and 'axis'"):
            tf.reduce_sum(x, 0, reduction_indices=0)
        with pytest.raises(ValueError, match="Cannot specify both 'dimension' and 'axis'"):
            tf.argmax(x, 0, dimension=0)
        with pytest.raises(ValueError, match="Only one of transpose_a and adjoint_a"):
            tf.matmul(x, x, transpose_a=True, adjoint_a=True)
        with pytest.raises(ValueError, match="an axis appears more than once: ii"):
            tf.einsum("ii->i", x)
        with pytest.raises(ValueError, match="must be a list of at least one"):
            tf.add_n([])


def test_shapes_follow_from_folded_axes():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3])
        r0, r1 = raw.BroadcastGradientArgs([2, 3], [3])
        assert raw.Sum(x, r1).shape.as_list() == [3]
        assert raw.Sum(x, r0).shape.as_list() == [2, 3]
