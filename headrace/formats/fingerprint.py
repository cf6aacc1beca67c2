"""Hash functions on bytes: FarmHash's Fingerprint64, MurmurHash64A and SipHash-2-4.

All are written from their published descriptions; what they return is fixed forever:
models depend on it.
"""

from __future__ import annotations

import functools

_MASK = (1 << 64) - 1
_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F


def _word(s: bytes, at: int) -> int:
    return int.from_bytes(s[at : at + 8], "little")


def _turn(x: int, by: int) -> int:
    """Rotates to the right."""
    x &= _MASK
    return ((x >> by) | (x << (64 - by))) & _MASK


def _shift_mix(x: int) -> int:
    x &= _MASK
    return x ^ (x >> 47)


def _mix(u: int, v: int, mul: int) -> int:
    a = _shift_mix((u ^ v) * mul)
    b = _shift_mix((v ^ a) * mul)
    return (b * mul) & _MASK


def _short(s: bytes) -> int:
    n = len(s)
    if n >= 8:
        mul = _K2 + n * 2
        a = (_word(s, 0) + _K2) & _MASK
        b = _word(s, n - 8)
        c = (_turn(b, 37) * mul + a) & _MASK
        d = ((_turn(a, 25) + b) * mul) & _MASK
        return _mix(c, d, mul)
    if n >= 4:
        first, last = int.from_bytes(s[:4], "little"), int.from_bytes(s[n - 4 :], "little")
        return _mix(n + (first << 3), last, _K2 + n * 2)
    if n:
        y = s[0] + (s[n >> 1] << 8)
        z = n + (s[n - 1] << 2)
        return (_shift_mix((y * _K2) ^ (z * _K0)) * _K2) & _MASK
    return _K2


def _middle(s: bytes) -> int:
    n = len(s)
    mul = _K2 + n * 2
    a = (_word(s, 0) * (_K1 if n <= 32 else _K2)) & _MASK
    b = _word(s, 8)
    c = (_word(s, n - 8) * mul) & _MASK
    d = _word(s, n - 16) * _K2
    y = (_turn(a + b, 43) + _turn(c, 30) + d) & _MASK
    z = _mix(y, (a + _turn(b + _K2, 18) + c) & _MASK, mul)
    if n <= 32:
        return z
    e = (_word(s, 16) * mul) & _MASK
    f = _word(s, 24)
    g = ((y + _word(s, n - 32)) * mul) & _MASK
    h = (z + _word(s, n - 24)) * mul
    return _mix(
        (_turn(e + f, 43) + _turn(g, 30) + h) & _MASK,
        (e + _turn(f + a, 18) + g) & _MASK,
        mul,
    )


def _pair(s: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(s, at + 8 * i) for i in range(4))
    a += w
    b = _turn(b + a + z, 21)
    c = a
    a += x + y
    b += _turn(a, 44)
    return (a + z) & _MASK, (b + c) & _MASK


def _round(s, at, x, y, z, v, w, mul, first, second):
    x = (_turn(x + y + v[0] + _word(s, at + 8), 37) * mul) & _MASK
    y = (_turn(y + v[1] + _word(s, at + 48), 42) * mul) & _MASK
    x ^= (w[1] * first) & _MASK
    y = (y + v[0] * second + _word(s, at + 40)) & _MASK
    z = (_turn(z + w[0], 33) * mul) & _MASK
    v = _pair(s, at, v[1] * mul, x + w[0])
    w = _pair(s, at + 32, z + w[1], y + _word(s, at + 16))
    return z, y, x, v, w


@functools.lru_cache(maxsize=1 << 16)
def fingerprint64(s: bytes) -> int:
    """Returns FarmHash's 64-bit fingerprint of a string."""
    n = len(s)
    if n <= 16:
        return _short(s)
    if n <= 64:
        return _middle(s)
    seed = 81
    y = (seed * _K1 + 113) & _MASK
    z = (_shift_mix(y * _K2 + 113) * _K2) & _MASK
    x = (seed * _K2 + _word(s, 0)) & _MASK
    v = w = (0, 0)
    end = (n - 1) // 64 * 64
    for at in range(0, end, 64):
        x, y, z, v, w = _round(s, at, x, y, z, v, w, _K1, 1, 1)
    mul = (_K1 + ((z & 0xFF) << 1)) & _MASK
    rest = (n - 1) & 63
    w0 = w[0] + rest
    v0 = v[0] + w0
    w0 += v0
    v, w = (v0 & _MASK, v[1]), (w0 & _MASK, w[1])
    x, y, z, v, w = _round(s, end + rest - 63, x, y, z, v, w, mul, 9, 9)
    return _mix(
        (_mix(v[0], w[0], mul) + _shift_mix(y) * _K0 + z) & _MASK,
        (_mix(v[1], w[1], mul) + x) & _MASK,
        mul,
    )


def murmur64(s: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """Returns MurmurHash64A of a string."""
    m = 0xC6A4A7935BD1E995
    n = len(s)
    h = seed ^ ((n * m) & _MASK)
    whole = n // 8 * 8
    for at in range(0, whole, 8):
        k = _shift_mix(_word(s, at) * m) * m
        h = ((h ^ (k & _MASK)) * m) & _MASK
    if n > whole:
        h = ((h ^ int.from_bytes(s[whole:], "little")) * m) & _MASK
    return _shift_mix(_shift_mix(h) * m)


def _left(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & _MASK


def _sip_round(a, b, c, d):
    a = (a + b) & _MASK
    c = (c + d) & _MASK
    b = _left(b, 13) ^ a
    d = _left(d, 16) ^ c
    a = _left(a, 32)
    c = (c + b) & _MASK
    a = (a + d) & _MASK
    b = _left(b, 17) ^ c
    d = _left(d, 21) ^ a
    return a, b, _left(c, 32), d


def siphash(s: bytes, key: tuple[int, int]) -> int:
    """Returns SipHash-2-4 of a string under a key of two 64-bit numbers."""
    k0, k1 = key[0] & _MASK, key[1] & _MASK
    state = (
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    )
    whole = len(s) // 8 * 8
    last = int.from_bytes(s[whole:].ljust(7, b"\0") + bytes([len(s) & 0xFF]), "little")
    for word in [*(_word(s, at) for at in range(0, whole, 8)), last]:
        a, b, c, d = state
        a, b, c, d = _sip_round(*_sip_round(a, b, c, d ^ word))
        state = (a ^ word, b, c, d)
    a, b, c, d = state
    state = (a, b, c ^ 0xFF, d)
    for _ in range(4):
        state = _sip_round(*state)
    a, b, c, d = state
    return a ^ b ^ c ^ d
