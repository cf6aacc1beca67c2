"""tf.Module: names, scopes, and the order in which variables and modules are found are TensorFlow's."""

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


class Part(tf.Module):
    def __init__(self, name=None, **parts):
        super().__init__(name=name)
        for key, value in parts.items():
            setattr(self, key, value)

    @tf.Module.with_name_scope
    def twice(self, x):
        """Doubles."""
        return tf.add(x, x, name="s")


def names(things):
    return [thing.name for thing in things]


def test_name_scope_is_taken_once_and_entered_again():
    with tf.name_scope("outer"):
        part = Part()
    assert (part.name, part.name_scope.name) == ("part", "outer/part/")
    assert [part.twice(1.0).name, part.twice(1.0).name] == ["outer/part/s:0", "outer/part/s_1:0"]
    assert Part().name_scope.name == "part/"
    assert Part("part").name_scope.name == "part_1/"
    assert Part.twice.__doc__ == "Doubles."
    with part.name_scope, part.name_scope:
        assert tf.constant(1.0).name == "outer/part/Const:0"


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        ("HTTPServerV2", "http_server_v2"),
        ("MLP2x", "mlp2x"),
        ("conv2d", "conv2d"),
        ("Conv2DTranspose", "conv2_d_transpose"),
        ("A1B", "a1_b"),
    ],
)
def test_the_class_gives_the_name(cls, name):
    assert type(cls, (tf.Module,), {})().name == name


@pytest.mark.parametrize("name", ["1x", "a/b", "a b", "x-y", "", "a.b"])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError) as caught:
        tf.Module(name)
    assert str(caught.value) == (
        f"'{name}' is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name)."
    )


def test_scopes_that_may_not_be_are_refused():
    with pytest.raises(ValueError, match=r"^'_x' is not a valid scope name$"):
        tf.Module("_x")
    with pytest.raises(ValueError, match=r"^'__priv' is not a valid scope name$"):
        type("_Priv", (tf.Module,), {})()


def test_breadth_first_each_once():
    whole = Part(
        b=Part(c=Part("bc"), name="b"),
        d=Part("d"),
        a=tf.Variable(1.0, name="va"),
        e=[tf.Variable(1.0, name="ve"), Part("e1", q=tf.Variable(2.0, name="vq", trainable=False))],
    )
    whole.b.up, whole.z = whole, whole.a
    assert names(whole.submodules) == ["b", "d", "e1", "bc"]
    assert names(whole.variables) == ["va:0", "ve:0", "vq:0"]
    assert names(whole.trainable_variables) == ["va:0", "ve:0"]
    found = whole._flatten(predicate=lambda value: isinstance(value, tf.Module), with_path=True)
    assert [path for path, _ in found] == [("b",), ("d",), ("e", 1), ("b", "c")]
    assert names(whole._flatten(recursive=False, predicate=lambda v: isinstance(v, tf.Variable))) == [
        "va:0",
        "ve:0",
    ]
    found = whole._flatten(
        predicate=lambda v: isinstance(v, tf.Variable), attribute_traversal_key=lambda k: -ord(k[0])
    )
    assert names(found) == ["va:0", "ve:0", "vq:0"]


def test_dictionaries_go_by_key_and_layers_are_modules():
    dense = tf.layers.Dense(3)
    dense(tf.zeros([1, 2]))
    part = Part(
        d={"z": tf.Variable(1.0, name="z"), "a": tf.Variable(2.0, name="a")},
        w=tf.get_variable("w", [1]),
        layer=dense,
    )
    assert names(part.variables) == ["a:0", "z:0", "w:0", "dense/kernel:0", "dense/bias:0"]
    assert part.submodules == (dense,)


def test_attributes_can_be_left_out():
    class Hiding(Part):
        _TF_MODULE_IGNORED_PROPERTIES = frozenset(("hidden",)) | tf.Module._TF_MODULE_IGNORED_PROPERTIES

    part = Hiding(hidden=tf.Variable(1.0, name="h"), shown=tf.Variable(1.0, name="s"))
    assert names(part.variables) == ["s:0"]


def test_variables_are_found_without_the_constructor():
    class Bare(tf.Module):
        def __init__(self):
            self.x = tf.Variable(1.0, name="x")

    assert names(Bare().variables) == ["x:0"]
    with pytest.raises(AttributeError):
        _ = Bare().name
