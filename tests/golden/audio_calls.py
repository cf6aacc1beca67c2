"""Sounds, files of sound good and damaged, and what is asked of them; run by TensorFlow and by the test."""

import struct

SAMPLES = struct.pack("<6h", 0, 1, -1, 32767, -32768, 100)


def wav(
    channels=1,
    rate=8000,
    bits=16,
    form=1,
    data=SAMPLES,
    size=16,
    extra=b"",
    said=None,
    second=None,
    sample=None,
):
    second = rate * channels * bits // 8 if second is None else second
    sample = channels * bits // 8 if sample is None else sample
    head = struct.pack("<IHHIIHH", size, form, channels, rate, second % 2**32, sample, bits) + bytes(
        bytearray(size - 16)
    )
    body = (
        b"WAVEfmt " + head + extra + b"data" + struct.pack("<I", len(data) if said is None else said) + data
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


FILES = {
    "mono": wav(),
    "stereo": wav(2),
    "bits8": wav(bits=8),
    "bits24": wav(bits=24),
    "floats": wav(form=3, bits=32),
    "long_header": wav(size=18),
    "longer_header": wav(size=40, form=65534),
    "list": wav(extra=b"LIST\4\0\0\0abcd"),
    "odd_list": wav(extra=b"LIST\3\0\0\0abc\0"),
    "unaligned_list": wav(extra=b"LIST\3\0\0\0abc"),
    "ends_early": wav()[:-4],
    "more_after": wav() + b"xx",
    "says_more": wav(said=100),
    "says_all": wav(said=2**32 - 1),
    "says_2_31": wav(said=2**31),
    "odd_size": wav(said=5),
    "empty": b"",
    "junk": b"junkjunkjunkjunk",
    "header_only": wav()[:36],
    "short": wav()[:20],
    "no_samples": wav(data=b""),
    "no_channels": wav(channels=0),
    "no_rate": wav(rate=0),
    "rate_2_32": wav(rate=2**32 - 1),
    "wrong_second": wav(second=5),
    "wrong_sample": wav(sample=5),
    "two_datas": wav() + b"data\4\0\0\0\1\0\2\0",
    "huge_chunk": wav(extra=b"LIST\xff\xff\xff\xffabcd"),
    "other_order": b"RIFX" + wav()[4:],
    "other_kind": wav().replace(b"WAVE", b"WAVX"),
    "no_format": wav().replace(b"fmt ", b"fmt_"),
}


def calls(np):
    """Returns the op, operands and attrs, and a name."""
    noise = np.random.RandomState(0).uniform(-1, 1, (50, 1)).astype(np.float32)
    power = np.random.RandomState(1).uniform(0, 2, (1, 2, 33)).astype(np.float32)
    out = [("DecodeWav " + name, "DecodeWav", {"contents": file}, {}) for name, file in sorted(FILES.items())]
    for name in ("mono", "stereo"):
        for channels, samples in ((1, -1), (2, 2), (3, 10), (0, -1), (-1, 0)):
            attrs = {"desired_channels": channels, "desired_samples": samples}
            out.append(
                (
                    "DecodeWav %s %d %d" % (name, channels, samples),
                    "DecodeWav",
                    {"contents": FILES[name]},
                    attrs,
                )
            )
    halves = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        0.49,
        32766.5,
        32767.5,
        -32767.5,
        -32768.5,
        1e9,
        float("inf"),
        float("nan"),
    ]
    audio = (np.array(halves) / 32768).astype(np.float32)[:, None]
    for name, sound, rate in (
        ("halves", audio, 8000),
        ("stereo", noise.reshape(25, 2), 48000),
        ("empty", audio[:0], 8000),
        ("no rate", audio, 0),
        ("negative rate", audio, -5),
        ("many channels", np.zeros((1, 70000), np.float32), 1),
    ):
        out.append(("EncodeWav " + name, "EncodeWav", {"audio": sound, "sample_rate": rate}, {}))
    for window in (1, 2, 3, 7, 16, 50, 51):
        for stride, squared in ((1, False), (3, True), (60, False)):
            attrs = {"window_size": window, "stride": stride, "magnitude_squared": squared}
            name = "AudioSpectrogram %d %d" % (window, stride)
            out.append(
                (name, "AudioSpectrogram", {"input": noise[: 3 * window] if stride == 1 else noise}, attrs)
            )
    for number, attrs in enumerate(
        (
            {},
            {"upper_frequency_limit": 3000.0, "lower_frequency_limit": 100.0, "filterbank_channel_count": 10},
            {"filterbank_channel_count": 3, "dct_coefficient_count": 3},
            {"upper_frequency_limit": 100000.0},
            {"dct_coefficient_count": 0},
            {"dct_coefficient_count": 50},
            {"lower_frequency_limit": -1.0},
            {"upper_frequency_limit": 10.0},
        )
    ):
        attrs = dict({"dct_coefficient_count": 7}, **attrs)
        operands = {"spectrogram": power, "sample_rate": 8000}
        out.append(("Mfcc %d" % number, "Mfcc", operands, attrs))
    for name, spectrogram, rate in (
        ("zeros", power * 0, 8000),
        ("negative", -power, 8000),
        ("one", power[..., :1], 8000),
    ):
        out.append(("Mfcc " + name, "Mfcc", {"spectrogram": spectrogram, "sample_rate": rate}, {}))
    return out


def run(tf, ops, np, op, operands, attrs):
    """Returns the outputs as lists with their types, or the refusal."""
    with tf.Graph().as_default(), tf.Session() as session:
        operands = {key: tf.constant(value) for key, value in operands.items()}
        fetches = getattr(ops, op)(**operands, **attrs)
        try:
            values = session.run(fetches)
        except tf.errors.OpError as e:
            return "%s: %s" % (type(e).__name__, e.message.split("\n")[0])
    values = [np.asarray(v) for v in (values if isinstance(values, tuple) else [values])]
    return [[v.dtype.name, list(v.shape), _plain(v.ravel().tolist())] for v in values]


def _plain(values):
    if values and isinstance(values[0], bytes):
        return [v.decode("latin-1") for v in values]
    return [float("%.9g" % v) if isinstance(v, float) else v for v in values]
