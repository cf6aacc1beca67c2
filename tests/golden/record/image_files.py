"""Records how TensorFlow 1.15 encodes and decodes small image files, in tests/golden/image_files.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/image_files.py`.
"""

import base64
import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(GOLDEN)]
import image_decodings
import image_files


def main():
    session = tf.Session()
    jpegs, pngs = {}, {}
    for name, (size, attrs) in image_decodings.ENCODINGS.items():
        pixels = tf.constant(image_decodings.image(*size))
        jpegs[name] = session.run(tf.raw_ops.EncodeJpeg(image=pixels, **attrs))
    for channels in (1, 2, 3, 4):
        for compression in (-1, 0, 9):
            pixels = tf.constant(image_decodings.image(5, 6, channels))
            for kind in ("uint8", "uint16"):
                wide = tf.cast(pixels, kind) * (1 if kind == "uint8" else 211)
                file = session.run(tf.raw_ops.EncodePng(image=wide, compression=compression))
                pngs["%s %d %d" % (kind, channels, compression)] = base64.b64encode(file).decode()
    jpegs.update(image_files.foreign())
    facts = [
        [op, name, attrs, image_decodings.run(tf, tf.raw_ops, session, op, file, attrs)]
        for op, name, file, attrs in image_decodings.decodings(jpegs)
    ]
    lines = {name: base64.b64encode(file).decode() for name, file in jpegs.items()}
    rows = ",\n".join(json.dumps(fact) for fact in facts)
    text = '{"jpegs": %s,\n"pngs": %s,\n"decodings": [\n%s\n]}\n' % (
        json.dumps(lines),
        json.dumps(pngs),
        rows,
    )
    (GOLDEN / "image_files.json").write_text(text)


main()
