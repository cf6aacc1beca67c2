"""Draws digits with their labels as a PNG picture, with nothing but NumPy and the standard library."""

import struct
import zlib

import numpy as np

# Each glyph is three pixels wide and five high.
GLYPHS = {
    "0": "### #.# #.# #.# ###",
    "1": ".#. ##. .#. .#. ###",
    "2": "### ..# ### #.. ###",
    "3": "### ..# ### ..# ###",
    "4": "#.# #.# ### ..# ..#",
    "5": "### #.. ### ..# ###",
    "6": "### #.. ### #.# ###",
    "7": "### ..# ..# .#. .#.",
    "8": "### #.# ### #.# ###",
    "9": "### #.# ### ..# ###",
    ">": "#.. .#. ..# .#. #..",
}

INK = (235, 235, 235)
RIGHT = (120, 220, 140)
WRONG = (250, 120, 110)
PAPER = (28, 32, 40)


def draw_mistakes(path, images, labels, predictions, columns=6, scale=8):
    """Writes a grid of images to a PNG file, each above its true label and the label it was given.

    Args:
      path: The file to write.
      images: An array of shape [n, height, width] with values in [0, 1].
      labels: The n true digits.
      predictions: The n digits that were read instead.
      columns: Images in a row of the grid, at most.
      scale: Pixels of the picture for each pixel of an image.
    """
    height, width = images.shape[1:] if len(images) else (8, 8)
    cell = (height * scale + 30, width * scale + 12)
    columns = max(1, min(columns, len(images)))
    rows = max(1, -(-len(images) // columns))
    canvas = np.empty((rows * cell[0] + 8, columns * cell[1] + 8, 3), np.uint8)
    canvas[:] = PAPER
    for index, (image, label, prediction) in enumerate(zip(images, labels, predictions)):
        row, column = divmod(index, columns)
        top, left = row * cell[0] + 10, column * cell[1] + 10
        big = np.kron(image, np.ones((scale, scale)))[:, :, None]
        canvas[top : top + height * scale, left : left + width * scale] = PAPER + big * np.subtract(
            INK, PAPER
        )
        top += height * scale + 4
        left += (width * scale - 33) // 2
        for text, color in ((str(label), RIGHT), (">", INK), (str(prediction), WRONG)):
            stamp(canvas, GLYPHS[text], top, left, color)
            left += 12
    write_png(path, canvas)


def stamp(canvas, glyph, top, left, color, scale=3):
    """Paints one glyph onto the canvas."""
    for y, line in enumerate(glyph.split()):
        for x, pixel in enumerate(line):
            if pixel == "#":
                canvas[top + y * scale : top + (y + 1) * scale, left + x * scale : left + (x + 1) * scale] = (
                    color
                )


def write_png(path, pixels):
    """Writes an array of shape [height, width, 3] and type uint8 as a PNG file."""
    height, width = pixels.shape[:2]
    # Every line of the picture starts with its filter, 0 for none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], 1)
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n")
        out.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        out.write(chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)))
        out.write(chunk(b"IEND", b""))


def chunk(kind, data):
    """A PNG chunk: length, kind, data and checksum."""
    return (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data) & 0xFFFFFFFF)
    )
