"""Every benchmark program builds and runs a step; the report and its picture say what was measured."""

import ast
import importlib
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import headrace as tf
from benchmarks import flops, picture, report
from benchmarks.side_by_side import PROGRAMS

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "programs"


# A first step of these compiles the gradients of dozens of different convolutions, however small those are.
ONLY_BUILT = {"alexnet", "dcgan", "inception_v3", "resnet50_training"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_runs_a_step(name):
    program = importlib.import_module(f"benchmarks.programs.{name}")
    with tf.Graph().as_default(), tf.Session() as session:
        fetches, feed = program.build(tf, **getattr(program, "TINY", {}))
        if name in ONLY_BUILT:
            assert fetches[0].shape == [] and flops.count(fetches) > 0
            assert all(x.shape.is_compatible_with(value.shape) for x, value in feed(0).items())
            return
        session.run(tf.global_variables_initializer())
        assert math.isfinite(session.run(fetches, feed(0))[0])


def test_every_program_is_run():
    made = {p.stem for p in FOLDER.glob("*.py") if "\nSTEPS = " in p.read_text()}
    assert made == set(PROGRAMS)


@pytest.mark.parametrize("path", [*FOLDER.glob("*.py"), FOLDER.parent / "run_one.py"], ids=lambda p: p.stem)
def test_programs_know_nothing_of_headrace(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 7))
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        assert not [n for n in names if n.split(".")[0] in ("headrace", "tensorflow", "jax")]


def test_operations_are_counted_from_shapes():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 8, 8, 3])
        w = tf.Variable(tf.zeros([3, 3, 3, 5]))
        y = tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME")
        one = 2 * (3 * 3 * 3) * (2 * 4 * 4 * 5)
        assert flops.count([y]) == one
        assert flops.count([[y], tf.gradients(y, w)]) == 2 * one
        assert flops.count(tf.gradients(y, [w, x])) == 2 * one
        assert flops.count(tf.matmul(tf.zeros([4, 7]), tf.zeros([7, 5]))) == 2 * 4 * 7 * 5


def row(**figures):
    names = (
        "import build initialize first warm_up total median p90 step least cpu start compile compiled memory"
    )
    return {**dict.fromkeys(names.split(), 1.0), "losses": [1.0], "flops": 0, "ratio": 1.0, **figures}


FOUND = {
    "lenet": {"headrace": row(), "tensorflow": row(ratio=0.5, memory=4.0), "compat.v1": row(ratio=2.0)},
    "mlp_adam": {"headrace": row(), "compat.v1": row(ratio=0.5, losses=[1.5])},
    "dcgan": {"tensorflow": row()},
}


def test_ratios_are_to_the_better_peer():
    assert report.ratios(FOUND) == {"lenet": 2.0, "mlp_adam": 0.5}
    assert report.ratios(FOUND, "memory") == {"lenet": 1.0, "mlp_adam": 1.0}
    assert report.means(FOUND)[-2].startswith("| **all** | 2 | 1.00 |")


def test_disagreeing_losses_and_failures_are_told():
    assert [line.split(":")[0] for line in report.losses(FOUND)] == ["- mlp_adam", "- dcgan"]


def test_picture_is_svg_with_a_bar_for_each_program():
    root = ElementTree.fromstring(picture.bars(report.ratios(FOUND), "a < b"))
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "a < b" in texts and {"lenet", "2.00", "mlp_adam", "0.50"} <= set(texts)
