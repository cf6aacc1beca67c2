"""Small image files, good and damaged, and the decodings that are asked of them.

Made of nothing but the standard library, so that the recording script and the test make the same ones; the JPEG files
are part of the golden file, since TensorFlow encodes them.
"""

import base64
import random
import struct
import zlib

# Two files that TensorFlow's encoder can't make: CMYK, and chroma of half the width.
FOREIGN = {
    "cmyk": """
/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBXQUZMTlJTUjI+WmFaUG
BKUVJP/8AAFAgACQALBEMRAE0RAFkRAEsRAP/EABgAAAMBAQAAAAAAAAAAAAAAAAQFBgcC/8QAJRAAAQMDAgYDAAAAAAAAAAAAAQACAwQFBjNx
ERIhIjRRMUGB/9oADgRDAE0AWQBLAAA/AJiggkutz5iCQXJdjePvqJGyytP6ndqxyloIw+YDiPaa1OQ2e2tLYGsJHpaZSWeNlLG0tHEBX8Vupo
42sIHQI51zoInGPi3t6JQ/PXc55I+366KJwryBug8d8Zuy6u+gdlFVOsVpg+AjJtV26ganyH7oqLTav//Z""",
    "half": """
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYV
pQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAJ
AAsDASEAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAABQb/xAAdEAABBAMBAQAAAAAAAAAAAAABAAIDBAURMwYh/8QAFgEBAQEAAAAAAAAAAA
AAAAAABAIF/8QAHBEAAgICAwAAAAAAAAAAAAAAAAIBAwQFETIz/9oADAMBAAIRAxEAPwBLOZltauY4zo6UFNfsSSueCfpRMKp8jl5E2LFKKot6
HoUTHzC1dN4E7PtB/9k=""",
}

_PASSES = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


def _chunk(kind, body):
    return (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body) & 0xFFFFFFFF)
    )


def png(width, height, depth, color, rows, interlaced=0, extra=b""):
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    parts = [
        _chunk(b"IHDR", head),
        extra,
        _chunk(b"IDAT", zlib.compress(b"".join(rows))),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _noise(source, count):
    return bytes(bytearray(source.randrange(256) for _ in range(count)))


def _rows(source, width, height, bits, filters=(0, 1, 2, 3, 4)):
    return [
        bytes(bytearray([filters[y % len(filters)]])) + _noise(source, (width * bits + 7) // 8)
        for y in range(height)
    ]


def _interlaced(source, width, height, bits):
    out = []
    for y, x, dy, dx in _PASSES:
        rows, columns = len(range(y, height, dy)), len(range(x, width, dx))
        if rows and columns:
            out += _rows(source, columns, rows, bits)
    return out


def pngs():
    source = random.Random(3)
    out = {}
    for name, color, samples in (("grey", 0, 1), ("rgb", 2, 3), ("grey_alpha", 4, 2), ("rgba", 6, 4)):
        for depth in (8, 16):
            rows = _rows(source, 5, 6, samples * depth)
            out["%s%d" % (name, depth)] = png(5, 6, depth, color, rows)
    for depth in (1, 2, 4):
        rows = _rows(source, 5, 3, depth)
        out["grey%d" % depth] = png(5, 3, depth, 0, rows)
        out["grey%d_clear" % depth] = png(5, 3, depth, 0, rows, extra=_chunk(b"tRNS", b"\0\1"))
    out["grey16_clear"] = png(2, 1, 16, 0, [b"\0\1\2\3\4"], extra=_chunk(b"tRNS", b"\3\4"))
    out["rgb8_clear"] = png(2, 1, 8, 2, [b"\0\1\2\3\4\5\6"], extra=_chunk(b"tRNS", b"\0\4\0\5\0\6"))
    colors = _chunk(b"PLTE", _noise(source, 48))
    for depth in (1, 2, 4, 8):
        rows = [b"\0" + bytes(bytearray(i % 16 for i in range((5 * depth + 7) // 8))) for _ in range(3)]
        out["palette%d" % depth] = png(5, 3, depth, 3, rows, extra=colors)
        clear = _chunk(b"tRNS", b"\0\x80\x10")
        out["palette%d_clear" % depth] = png(5, 3, depth, 3, rows, extra=colors + clear)
    out["palette_short"] = png(4, 1, 8, 3, [b"\0\0\1\2\3"], extra=_chunk(b"PLTE", b"\1\2\3\4\5\6"))
    out["interlaced8"] = png(9, 6, 8, 2, _interlaced(source, 9, 6, 24), 1)
    out["interlaced16"] = png(9, 6, 16, 6, _interlaced(source, 9, 6, 64), 1)
    out["interlaced1"] = png(9, 6, 1, 0, _interlaced(source, 9, 6, 1), 1)
    out["gamma"] = png(2, 1, 8, 2, [b"\0\1\2\3\4\5\6"], extra=_chunk(b"gAMA", struct.pack(">I", 100000)))
    good = out["rgb8"]
    at = good.index(b"IDAT")
    out["bad_checksum"] = good[: at + 9] + b"\x55" + good[at + 10 :]
    out["ends_early"] = good[:70]
    out["no_end"] = good[:-12]
    out["more_after"] = good + b"abc"
    out["few_rows"] = png(5, 9, 8, 2, _rows(source, 5, 6, 24))
    out["bad_filter"] = png(2, 1, 8, 0, [b"\7\1\2"])
    out["huge"] = png(2**31 - 1, 2**31 - 1, 8, 2, [b"\0"])
    out["no_width"] = png(0, 3, 8, 2, [b""])
    out["bad_depth"] = png(1, 1, 4, 2, [b"\0\0\0"])
    out["no_palette"] = png(4, 1, 8, 3, [b"\0\1\2\3\4"])
    out["header_only"] = good[:33]
    out["signature_only"] = good[:8]
    return out


def _codes(pixels):
    """Packs colours of two bits as GIF codes, with a clear code often enough that codes stay three bits long."""
    value = size = 0
    codes = []
    for i, pixel in enumerate(pixels):
        codes += ([4] if i % 2 == 0 else []) + [pixel]
    for code in codes + [5]:
        value |= code << size
        size += 3
    data = bytes(bytearray((value >> at) & 255 for at in range(0, size, 8)))
    return b"\2" + bytes(bytearray([len(data)])) + data + b"\0"


_COLORS = b"\1\2\3\4\5\6\7\10\11\12\13\14"
_OTHERS = bytes(bytearray([100, 101, 102, 110, 111, 112, 120, 121, 122, 130, 131, 132]))


def gif(width, height, frames, colors=_COLORS):
    """A frame is x, y, width, height, pixels, the transparent colour, how it is disposed of, and its own colours."""
    out = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x81 if colors else 0, 0, 0) + colors
    for x, y, columns, rows, pixels, clear, disposal, own in frames:
        if clear is not None or disposal:
            flags = bytearray([disposal << 2 | (clear is not None), 0, 0, clear or 0])
            out += b"\x21\xf9\x04" + bytes(flags) + b"\0"
        out += b"," + struct.pack("<HHHHB", x, y, columns, rows, 0x81 if own else 0) + own + _codes(pixels)
    return out + b";"


def gifs():
    full = [0, 1, 2, 3] * 3
    first = (0, 0, 4, 3, full, None, 0, b"")
    out = {
        "one": gif(4, 3, [first]),
        "two": gif(4, 3, [first, (1, 1, 2, 1, [3, 2], None, 0, b"")]),
        "transparent": gif(
            4, 3, [first, (0, 1, 4, 1, [3, 1, 1, 0], 1, 2, b""), (0, 0, 4, 1, [1, 1, 0, 0], 1, 3, b"")]
        ),
        "own_colours": gif(4, 3, [(*first[:7], _OTHERS), (3, 2, 3, 2, full[:6], None, 0, _OTHERS)]),
        "outside": gif(4, 3, [first, (5, 5, 2, 1, [1, 2], None, 0, b"")]),
        "first_is_small": gif(4, 3, [(1, 1, 2, 2, [3, 2, 1, 0], None, 0, b""), first]),
        "first_is_moved": gif(4, 3, [(2, 2, 4, 3, full, None, 0, b"")]),
        "screen_is_larger": gif(9, 9, [first]),
        "no_colours": gif(4, 3, [first], b""),
        "few_pixels": gif(4, 3, [(0, 0, 4, 3, full[:6], None, 0, b"")]),
        "no_frames": gif(4, 3, []),
        "no_width": gif(4, 3, [(0, 0, 0, 3, [0, 0], None, 0, b"")]),
    }
    one = out["one"]
    out["bad_block"] = one[:-1] + b"\x55;"
    out["comment"] = one[:-1] + b"\x21\xfe\x03abc\0;"
    out["no_end"] = one[:-1]
    out["more_after"] = one + b"junk"
    out["header_only"] = one[:12]
    out["ends_early"] = one[:30]
    at = one.index(b",") + 9
    out["interlaced"] = one[:at] + b"\x40" + one[at + 1 :]
    few = one[:10] + b"\x80" + one[11:13] + _COLORS[:6] + one[25:]
    out["colour_beyond"] = few
    return out


def bmp(width, height, bits, size, offset=54):
    source = random.Random(5)
    head = (
        b"BM"
        + struct.pack("<IIi", 0, 0, offset)
        + struct.pack("<IiiHH", 40, width, height, 1, bits)
        + bytes(bytearray(24))
    )
    return head + _noise(source, size)


def bmps():
    return {
        "rgb": bmp(3, 2, 24, 24),
        "rgba": bmp(3, 2, 32, 24),
        "grey": bmp(3, 2, 8, 8),
        "bits16": bmp(3, 2, 16, 24),
        "upside_down": bmp(3, -2, 24, 24),
        "no_width": bmp(0, 2, 24, 24),
        "negative_width": bmp(-3, 2, 24, 24),
        "most_negative": bmp(3, -(2**31), 24, 24),
        "huge": bmp(2**20, 2**20, 24, 24),
        "far_away": bmp(3, 2, 24, 24, 10000),
        "before": bmp(3, 2, 24, 24, -5),
        "last_filling_missing": bmp(3, 2, 24, 21),
        "ends_early": bmp(3, 2, 24, 20),
        "header_only": bmp(3, 2, 24, 0)[:40],
        "short": b"BM123",
        "empty": b"",
    }


def foreign():
    return {name: base64.b64decode(text) for name, text in FOREIGN.items()}


def damaged(file):
    """JPEG files like a good one, but not good."""
    frame = file.index(b"\xff\xc0")
    return {
        "cut": file[: len(file) * 2 // 3],
        "no_end": file[:-2],
        "more_after": file + b"garbage",
        "header_only": file[: frame + 19],
        "start_only": file[:20],
        "no_height": file[: frame + 5] + b"\0\0" + file[frame + 7 :],
        "huge": file[: frame + 5] + b"\xff\0\xff\0" + file[frame + 9 :],
        "twelve_bits": file[: frame + 4] + b"\x0c" + file[frame + 5 :],
    }
