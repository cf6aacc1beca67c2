"""Strings to bucket numbers by hashing."""

from __future__ import annotations

import numpy as np

from headrace.formats.fingerprint import fingerprint64, murmur64, siphash
from headrace.opdef import export, op, raw
from headrace.opdef.strings import flat, invalid
from headrace.shapes import unchanged

StringToHashBucketFast = op("""
    StringToHashBucketFast(input: string) -> (output: int64)
      num_buckets: int >= 1

    The bucket of each string: its FarmHash fingerprint modulo the number of buckets.
""", shape=unchanged, grad=None)  # fmt: skip

StringToHashBucket = op("""
    StringToHashBucket(string_tensor: string) -> (output: int64)
      num_buckets: int >= 1

    The bucket of each string: its MurmurHash modulo the number of buckets.
""", shape=unchanged, grad=None)  # fmt: skip

StringToHashBucketStrong = op("""
    StringToHashBucketStrong(input: string) -> (output: int64)
      num_buckets: int >= 1
      key: list(int)

    The bucket of each string: its SipHash under a key modulo the number of buckets.
""", shape=unchanged, grad=None)  # fmt: skip


def _buckets(array, number, n):
    numbers = [number(s) % n for s in flat(array)]
    return np.array(numbers, np.int64).reshape(np.shape(array))


@StringToHashBucketFast.host
def fast_host(input, *, num_buckets):
    return _buckets(input, fingerprint64, num_buckets)


@StringToHashBucket.host
def plain_host(string_tensor, *, num_buckets):
    return _buckets(string_tensor, murmur64, num_buckets)


@StringToHashBucketStrong.host
def strong_host(input, *, num_buckets, key):
    if len(key) != 2:
        invalid("Key must have 2 elements")
    pair = (int(key[0]), int(key[1]))
    return _buckets(input, lambda s: siphash(s, pair), num_buckets)


_WORDS = ["wheel", "mill race", "", "h\u00e9llo w\u00f6rld"]


@StringToHashBucketFast.cases
def fast_cases(case):
    case(_WORDS, num_buckets=1000, gives=np.array([587, 46, 263, 627]))
    case(
        ["a" * 7, "a" * 32, "a" * 64, "a" * 200],
        num_buckets=2**62,
        gives=np.array([3005736497893877398, 3058527438150226200, 1281596039326491513, 886273374978001185]),
    )
    case.shapes("[2,?]", "[2,?]", num_buckets=5)


@StringToHashBucket.cases
def plain_cases(case):
    case(
        ["", "y", "yyyyyyyyy"],
        num_buckets=2**62,
        gives=np.array([105434511174508091, 594515776376344643, 1630259779098116006]),
    )
    case.shapes("[2,?]", "[2,?]", num_buckets=5)


@StringToHashBucketStrong.cases
def strong_cases(case):
    case(_WORDS, num_buckets=1000, key=[-3, 2**60], gives=np.array([113, 943, 800, 592]))
    case(
        ["", "xxxxxxxx"],
        num_buckets=2**62,
        key=[1, 2],
        gives=np.array([443797209252341627, 3136364361150701223]),
    )
    case.shapes("[2,?]", "[2,?]", num_buckets=5, key=[1, 2])
    case.fails((["a"],), num_buckets=5, key=[1], match="Key must have 2 elements")


@export("string_to_hash_bucket_fast", "strings.to_hash_bucket_fast")
def string_to_hash_bucket_fast(input, num_buckets, name=None):
    """Returns the bucket number of each string; fast, and not safe against chosen strings.

    Args:
      input: A tensor of strings.
      num_buckets: How many buckets there are.
      name: The node's name.
    """
    return raw.StringToHashBucketFast(input, num_buckets=num_buckets, name=name)


@export("string_to_hash_bucket_strong", "strings.to_hash_bucket_strong")
def string_to_hash_bucket_strong(input, num_buckets, key, name=None):
    """Returns the bucket number of each string under a key, which makes collisions hard to choose.

    Args:
      input: A tensor of strings.
      num_buckets: How many buckets there are.
      key: Two integers.
      name: The node's name.
    """
    return raw.StringToHashBucketStrong(input, num_buckets=num_buckets, key=key, name=name)


@export("string_to_hash_bucket", "strings.to_hash_bucket")
def string_to_hash_bucket(string_tensor=None, num_buckets=None, name=None, input=None):
    """Returns the bucket number of each string by an older hash function.

    Args:
      string_tensor: A tensor of strings.
      num_buckets: How many buckets there are.
      name: The node's name.
      input: The same as `string_tensor`.
    """
    strings = string_tensor if input is None else input
    return raw.StringToHashBucket(strings, num_buckets=num_buckets, name=name)
