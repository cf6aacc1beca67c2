"""Strings, decoding and parsing: ops that stay on the host."""


def build(tf):
    words = tf.constant(["wheel", "mill race", ""], name="words")
    return {
        "join": tf.string_join([words, "!"], separator=" "),
        "lengths": tf.strings.length(words),
        "sub": tf.substr(words[:2], 1, 3),
        "number": tf.string_to_number(["1.5", "-2e3"]),
        "integer": tf.string_to_number(["15", "-2"], tf.int64),
        "as_string": tf.as_string([1.5, 2.25], precision=2),
        "hash": tf.string_to_hash_bucket_fast(words, 1000),
        "reduce": tf.reduce_join(words, 0, separator="/"),
        "replace": tf.regex_replace(words, "e+", "E"),
        "raw": tf.decode_raw(["abcd"], tf.int16),
        "csv": tf.stack(tf.decode_csv(["1,2", "3,4"], [[0], [9]])),
        "base64": tf.encode_base64(words),
        "split": tf.string_split(words[:2]).values,
        "lower": tf.strings.lower(words),
        "equal": tf.equal(words, "wheel"),
        "strip": tf.string_strip(["  a b "]),
        "dense_default": tf.placeholder_with_default(["x"], [None]),
    }
