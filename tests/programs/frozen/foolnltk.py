"""Runs the frozen graphs of the PyPI package foolnltk 0.1.7 (segmentation, tagging, entities of Chinese text).

The graphs are bidirectional LSTMs written by TensorFlow 1 with its loops. The script downloads the package (60 MB) into
a folder, runs 50 sentences through each graph, alone and in padded batches, and compares what comes out with
tests/golden/foolnltk.json, which TensorFlow 1.15.5 recorded:

    python tests/programs/frozen/foolnltk.py [FOLDER]              compares headrace with the golden file
    scripts/oracle tests/programs/frozen/foolnltk.py FOLDER record   records it

It needs the network and is no part of the test suite.
"""

import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2])]

from sentences import SENTENCES  # noqa: E402

GOLDEN = HERE.parents[1] / "golden" / "foolnltk.json"
MODELS = {"seg": ("char_map", "seg_map"), "ner": ("char_map", "ner_map"), "pos": ("word_map", "pos_map")}
TOLERANCE = 1e-5  # of sums of logits, relative to the sum of their absolute values


def package(folder):
    """The package's files: downloaded once, found in the folder afterwards."""
    path = folder / "foolnltk-0.1.7.tar.gz"
    if not path.exists():
        source = ["--no-deps", "--no-binary", ":all:", "foolnltk==0.1.7"]
        subprocess.run([sys.executable, "-m", "pip", "download", *source, "-d", str(folder)], check=True)
    with tarfile.open(str(path)) as archive:
        names = ["map.zip"] + [model + ".pb" for model in MODELS]
        return {n: archive.extractfile("foolnltk-0.1.7/data/" + n).read() for n in names}


def best_path(scores, transitions):
    """The most likely tags of one sentence: each step's scores, and those of one tag after another."""
    so_far = scores[0]
    back = []
    for row in scores[1:]:
        total = so_far[:, None] + transitions
        back.append(total.argmax(0))
        so_far = total.max(0) + row
    path = [int(so_far.argmax())]
    for choices in reversed(back):
        path.append(int(choices[path[-1]]))
    return path[::-1]


def tags_of(logits, transitions, length, tags):
    small = -1000.0
    rows = np.concatenate([logits[:length], np.full([length, 1], small)], 1)
    start = np.array([[small] * tags + [0.0]])
    return best_path(np.concatenate([start, rows]), transitions)[1:]


class Tagger:
    """One of the graphs: text in, tags out.

    Attributes:
      arrays: The logits of each run.
    """

    def __init__(self, tf, graph_def, number, names):
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="prefix")
        self._session = tf.Session(graph=graph)
        self._number = number
        self.names = names
        self.arrays = []

    def __call__(self, batch):
        """Returns [tags, sum of logits, sum of their absolute values] for each text."""
        lengths = [len(text) for text in batch]
        unknown = self._number["<OOV>"]
        rows = [[self._number.get(w, unknown) for w in text] for text in batch]
        feed = {
            "prefix/char_inputs:0": np.array(
                [row + [0] * (max(lengths) - len(row)) for row in rows], np.int32
            ),
            "prefix/lengths:0": lengths,
            "prefix/dropout:0": 1.0,
        }
        fetches = ["prefix/project/logits:0", "prefix/crf_loss/transitions:0"]
        logits, transitions = self._session.run(fetches, feed)
        self.arrays.append(logits)
        found = []
        for row, length in zip(logits, lengths):
            path = tags_of(row, transitions, length, len(self.names))
            used = row[:length].astype(float)
            found.append([path, float(used.sum()), float(np.abs(used).sum())])
        return found


def run(tf, files):
    """Returns what the graphs give: model -> way -> a row for each sentence; and all logits."""
    maps = json.loads(
        zipfile.ZipFile(io.BytesIO(files["map.zip"])).read("all_map.json").decode().splitlines()[0]
    )
    out, arrays = {}, {}
    words = None
    for model, (ids, tags) in MODELS.items():
        graph_def = tf.GraphDef()
        graph_def.ParseFromString(files[model + ".pb"])
        tagger = Tagger(tf, graph_def, maps[ids], maps[tags])
        texts = words if model == "pos" else SENTENCES
        start = time.time()
        alone = [tagger([text])[0] for text in texts]
        print(f"{model}: {len(texts)} sentences, one at a time: {time.time() - start:.2f} s")
        batches = [row for i in range(0, 50, 10) for row in tagger(texts[i : i + 10])]
        out[model], arrays[model] = {"alone": alone, "batches": batches}, tagger.arrays
        if model == "seg":
            words = [_words(text, row[0], tagger.names) for text, row in zip(SENTENCES, alone)]
    return out, arrays


def _words(text, path, names):
    words, word = [], ""
    for character, tag in zip(text, path):
        word += character
        if names.get(str(tag)) not in ("B", "M"):
            words.append(word)
            word = ""
    return words + ([word] if word else [])


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    recording = sys.argv[2:3] == ["record"]
    if recording:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow.compat.v1 as tf
    else:
        import headrace as tf
    found, arrays = run(tf, package(folder))
    if os.environ.get("FOOLNLTK_ARRAYS"):
        flat = {f"{m}_{i}": v for m, rows in arrays.items() for i, v in enumerate(rows)}
        np.savez(os.environ["FOOLNLTK_ARRAYS"], **flat)
    if recording:
        lines = [json.dumps(m) + ": " + json.dumps(rows, separators=(",", ":")) for m, rows in found.items()]
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return 0
    golden = json.loads(GOLDEN.read_text())
    wrong = 0
    for model, ways in golden.items():
        for way, rows in ways.items():
            for i, (want, got) in enumerate(zip(rows, found[model][way])):
                same = want[0] == got[0] and abs(want[1] - got[1]) <= TOLERANCE * want[2]
                if not same:
                    wrong += 1
                    print(f"{model}, {way}, sentence {i}: {got} instead of {want}")
    print("all as TensorFlow" if not wrong else f"{wrong} differ")
    return int(wrong > 0)


sys.exit(main())
