"""The public names: modules, clashes with the implementation, errors, laziness."""

import subprocess
import sys

import pytest

import headrace as tf
from headrace.export import NAMES, export, export_value


def run(code):
    """What a fresh Python prints for some code."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_name_is_exported_once():
    value = object()
    try:
        export_value("for_this_test.x", value)
        export_value("for_this_test.x", value)
        with pytest.raises(ValueError, match=r"tf.for_this_test.x is exported twice"):
            export("for_this_test.x")(object())
    finally:
        NAMES.pop("for_this_test.x", None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gfile.Exist", "headrace has no tf.gfile.Exist; the nearest that exists is tf.gfile.Exists"),
        ("FastGFile", "headrace has no tf.FastGFile; the nearest that exists is tf.gfile.FastGFile"),
        (
            "get_default_grap",
            "headrace has no tf.get_default_grap; the nearest that exists is tf.get_default_graph",
        ),
        ("gfile.qqqq", "headrace has no tf.gfile.qqqq"),
    ],
)
def test_a_missing_name_says_which_is_near(name, message):
    module, _, leaf = name.rpartition(".")
    with pytest.raises(AttributeError) as caught:
        getattr(getattr(tf, module) if module else tf, leaf)
    assert str(caught.value) == message
    assert not hasattr(getattr(tf, module) if module else tf, leaf)


def test_an_implementation_module_serves_public_names_and_its_own():
    from headrace import errors

    assert errors is tf.errors is sys.modules["headrace.errors"]
    assert errors.NotFoundError is NAMES["errors.NotFoundError"]


def test_a_public_name_goes_before_a_submodule():
    code = """
import sys, types
import headrace
from headrace.export import export_value
package = types.ModuleType("headrace.train"); package.__path__ = []; sys.modules["headrace.train"] = package
child = types.ModuleType("headrace.train.saver"); sys.modules["headrace.train.saver"] = child
export_value("train.saver", 5)
headrace.train = package
package.saver = child
package.own = 7
export_value("train.later", 6)
from headrace.train import saver, later, own
print(saver, later, own, headrace.train.saver, headrace.train is package)
"""
    assert run(code) == ["5", "6", "7", "5", "True"]


def test_public_modules_can_be_imported():
    import headrace.io.gfile as gfile
    from headrace.python.framework import ops

    assert gfile.exists is tf.io.gfile.exists
    assert ops.Graph is tf.Graph
    assert "Exists" in dir(tf.gfile) and "gfile" in dir(tf)


def test_importing_headrace_is_light_and_quick():
    code = """
import sys, time
start = time.process_time()
import headrace
took = time.process_time() - start
heavy = ("jax", "grpc", "scipy", "PIL", "fsspec", "absl", "google.protobuf")
print(*[name for name in heavy if name in sys.modules], "-", took)
"""
    heavy, took = run(code)[:-1], float(run(code)[-1])
    assert heavy == ["-"]
    assert took < 0.6, "0.3 s on an idle machine, twice that where tests share it"
