"""tf.fingerprint: a hash of each row of a tensor."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.formats.fingerprint import fingerprint64
from headrace.opdef import op, raw
from headrace.opdef.strings import attr_text, invalid
from headrace.shapes import with_rank, with_rank_at_least

Fingerprint = op("""
    Fingerprint(data: T, method: string) -> (fingerprint: uint8)
      T: type

    The hash of what each row of a tensor holds, as bytes.
""")

_SIZE = 8


@Fingerprint.shape
def fingerprint_shape(data, method, *, ctx):
    data = with_rank_at_least(data, 1)
    with_rank(method, 0)
    known = ctx.constant("method")
    if known is not None and attr_text(np.asarray(known).item()) != "farmhash64":
        raise ValueError(f"Unsupported method: {attr_text(np.asarray(known).item())}")
    return (None if data is None else data[0], _SIZE)


def _bytes(text):
    return fingerprint64(text).to_bytes(_SIZE, "little")


@Fingerprint.host
def fingerprint_host(data, method):
    data, method = np.asarray(data), np.asarray(method, object)
    if method.ndim:
        invalid(f"`method` should be a scalar string: [{','.join(map(str, method.shape))}]")
    if attr_text(method.item()) != "farmhash64":
        invalid(f"Unsupported fingerprint method: {attr_text(method.item())}")
    if not data.ndim:
        invalid("`data` should have at least one dimension: []")
    count = len(data)
    if data.dtype == object:
        rows = data.reshape(count, -1) if data.size else np.zeros((count, 0), object)
        if data.ndim == 1:
            hashes = [_bytes(text) for text in data.tolist()]
        elif not rows.shape[1]:
            hashes = [bytes(_SIZE)] * count
        else:
            hashes = [_bytes(b"".join(map(_bytes, row))) for row in rows.tolist()]
    else:
        hashes = [_bytes(np.ascontiguousarray(row).tobytes()) for row in data]
    return np.frombuffer(b"".join(hashes), np.uint8).reshape(count, _SIZE)


@Fingerprint.cases
def fingerprint_cases(case):
    hashes = [[105, 243, 231, 116, 160, 179, 165, 36], [79, 64, 144, 47, 59, 106, 225, 154]]
    case(["abc", ""], b"farmhash64", gives=np.array(hashes, np.uint8))
    case([["abc", "de"]], b"farmhash64", gives=np.array([[233, 237, 232, 132, 79, 140, 59, 169]], np.uint8))
    case(
        np.array([[1, 2]], np.int32),
        b"farmhash64",
        gives=np.array([[76, 18, 253, 133, 168, 204, 240, 10]], np.uint8),
    )
    case(np.zeros((0, 3), np.float32), b"farmhash64", gives=np.zeros((0, 8), np.uint8))
    case.shapes("[2,?];[]", "[2,8]", T="int32")
    case.fails("[];[]", T="int32", match="must be at least rank 1 but is rank 0")
    case.fails((np.ones(2, np.int32), b"md5"), match="Unsupported")


@export("fingerprint")
def fingerprint(data, method="farmhash64", name=None):
    """Returns hashes of the rows of a tensor, uint8 of shape [rows, 8]; they will never be others.

    Args:
      data: A tensor of one axis at least.
      method: "farmhash64".
      name: The node's name.
    """
    return raw.Fingerprint(data, method, name=name)
