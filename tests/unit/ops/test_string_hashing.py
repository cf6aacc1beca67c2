"""The hash functions, at the lengths where they change how they work; numbers recorded from TensorFlow 1.15.5."""

import pytest

from headrace.formats.fingerprint import fingerprint64, murmur64, siphash
from headrace.ops.string.regex import compiled

FAST = {
    0: 1936946117179621455,
    1: 3694432073954588131,
    3: 3360065502999313129,
    4: 1373008272375474036,
    7: 3005736497893877398,
    8: 1507030721935717893,
    16: 3481940567716887985,
    17: 3756752071939108419,
    32: 3058527438150226200,
    33: 3476057946412062037,
    64: 1281596039326491513,
    65: 3166372076517071988,
    127: 2919849145759673618,
    128: 4475744069048419318,
    129: 4345125006625403520,
    200: 886273374978001185,
}

STRONG = {
    0: 443797209252341627,
    1: 362211022397238726,
    7: 2497855077244280217,
    8: 3136364361150701223,
    9: 684954894136796784,
    16: 2083976100733463555,
    39: 2624677286599767913,
}

OLD = {
    0: 105434511174508091,
    1: 594515776376344643,
    7: 2912520974015887297,
    8: 3087770898797174513,
    9: 1630259779098116006,
    16: 1398639884384759719,
    39: 3961330379093638978,
}


@pytest.mark.parametrize("length", FAST)
def test_fingerprint64(length):
    assert fingerprint64(b"a" * length) % 2**62 == FAST[length]


@pytest.mark.parametrize("length", STRONG)
def test_siphash(length):
    assert siphash(b"x" * length, (1, 2)) % 2**62 == STRONG[length]


@pytest.mark.parametrize("length", OLD)
def test_murmur64(length):
    assert murmur64(b"y" * length) % 2**62 == OLD[length]


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"a$", "a\n", False),
        (r"(?m)a$", "a\nb", True),
        (r"[[:alpha:]_]+", "ab_", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\Qa.b\E", "axb", False),
        (r"[$]", "$", True),
        (r"\d", "\u0663", False),
        (r"a\z", "a", True),
    ],
)
def test_re2_syntax(pattern, text, matches):
    assert (compiled(pattern).search(text) is not None) is matches
