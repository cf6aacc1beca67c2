"""The `tensorflow` face and its inner modules."""

import importlib

import pytest

import headrace
from headrace.compat import install, uninstall


@pytest.fixture(autouse=True)
def installed():
    install()
    yield
    uninstall()


def module(name):
    return importlib.import_module(name)


@pytest.mark.parametrize(
    ("inner", "public"),
    [
        ("python.framework.ops.Graph", "Graph"),
        ("python.framework.ops.GraphKeys", "GraphKeys"),
        ("python.framework.dtypes.float32", "float32"),
        ("python.framework.errors.NotFoundError", "errors.NotFoundError"),
        ("python.framework.errors_impl.OpError", "errors.OpError"),
        ("python.platform.gfile.FastGFile", "gfile.FastGFile"),
        ("python.platform.flags.DEFINE_string", "flags.DEFINE_string"),
        ("python.platform.tf_logging.info", "logging.info"),
        ("python.platform.app.run", "app.run"),
        ("python.platform.resource_loader.get_path_to_datafile", "resource_loader.get_path_to_datafile"),
        ("python.util.compat.as_bytes", "compat.as_bytes"),
        ("compat.v1.gfile.GFile", "gfile.GFile"),
        ("compat.v1.compat.v1.Graph", "Graph"),
        ("compat.v2.io.gfile.exists", "io.gfile.exists"),
    ],
)
def test_names_lead_to_the_same_object(inner, public):
    where, _, name = inner.rpartition(".")
    found = getattr(module("tensorflow." + where), name)
    expected = headrace
    for part in public.split("."):
        expected = getattr(expected, part)
    assert found is expected


def test_the_face_has_no_implementation_in_it():
    import tensorflow as tf

    assert tf.__version__ == "1.15.5" and tf.__name__ == "tensorflow"
    assert not hasattr(tf, "opdef") and not hasattr(tf, "namespace")
    assert tf.app.flags is tf.flags


def test_contrib_is_public_though_some_of_its_inside_is_known():
    import tensorflow as tf
    from tensorflow.contrib.learn.python.learn.datasets import mnist

    assert tf.contrib.layers.xavier_initializer is headrace.contrib.layers.xavier_initializer
    assert callable(mnist.read_data_sets)
    with pytest.raises(AttributeError, match="headrace has no tf.contrib.learn.nope"):
        _ = tf.contrib.learn.nope
    with pytest.raises(AttributeError, match="headrace has no tf.contrib.nope"):
        _ = tf.contrib.nope
    with pytest.raises(ModuleNotFoundError, match="headrace has no module tensorflow.contrib.nope"):
        module("tensorflow.contrib.nope")


def test_messages():
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.training.checkpoint_state_pb2 import CheckpointState

    from headrace import proto

    assert graph_pb2.GraphDef is proto.GraphDef and CheckpointState is proto.CheckpointState
    with pytest.raises(
        ModuleNotFoundError, match=r"headrace has no module tensorflow.core.framework.nope_pb2"
    ):
        module("tensorflow.core.framework.nope_pb2")


@pytest.mark.parametrize(
    "name", ["tensorflow.python.nope", "tensorflow.python.ops.variable_v1", "tensorflow.python.types.core"]
)
def test_modules_that_tensorflow_1_does_not_have_are_not_found(name):
    with pytest.raises(ModuleNotFoundError) as caught:
        module(name)
    assert str(caught.value).startswith("headrace has no module tensorflow.python.")


def test_version_2_names_that_differ_are_not_served_by_version_1():
    import tensorflow.compat.v2 as tf2

    assert tf2.float32 is headrace.float32
    with pytest.raises(AttributeError, match=r"headrace has no tf.compat.v2.constant"):
        _ = tf2.constant


def test_another_tensorflow_is_not_replaced(monkeypatch):
    import sys
    import types

    uninstall()
    monkeypatch.setitem(sys.modules, "tensorflow", types.ModuleType("tensorflow"))
    with pytest.raises(RuntimeError, match="another tensorflow is imported already"):
        install()


def test_ops_under_the_names_of_generated_modules():
    gen_random_ops = module("tensorflow.python.ops.gen_random_ops")
    assert gen_random_ops.random_uniform.name == "RandomUniform"


def test_arguments_of_functions():
    from tensorflow.python.util import function_utils, tf_inspect

    def g(a, b=2):
        """Doc."""

    class K:
        def __init__(self, x, y=1): ...

        def __call__(self, q): ...

        def m(self, z): ...

    import functools

    assert tuple(tf_inspect.getargspec(g)) == (["a", "b"], None, None, (2,))
    assert tf_inspect.getfullargspec(K).args == ["self", "x", "y"]
    assert tf_inspect.getfullargspec(functools.partial(g, 1)).args == ["b"]
    fn_args = function_utils.fn_args
    assert fn_args(g) == ("a", "b") and fn_args(K(1)) == ("q",) and fn_args(K(1).m) == ("z",)
    assert fn_args(functools.partial(g, b=1)) == ("a",) and fn_args(functools.partial(g, 1)) == ("b",)


def test_deprecations():
    from tensorflow.python.util import deprecation

    @deprecation.deprecated("2020-01-01", "Use h.")
    def old(x):
        """Does it.

        Args:
          x: an x.
        """
        return x

    with deprecation.silence():
        assert old(1) == 1
    assert old.__doc__ == (
        "Does it. (deprecated)\n\nWarning: THIS FUNCTION IS DEPRECATED. It will be removed after 2020-01-01.\n"
        "Instructions for updating:\nUse h.\n\nArgs:\n  x: an x."
    )
    assert deprecation.deprecated_argument_lookup("new", None, "old", 4) == 4
    with pytest.raises(ValueError, match="Cannot specify both 'old' and 'new'"):
        deprecation.deprecated_argument_lookup("new", 3, "old", 4)
