"""Rules get what they name; ops are declared once and answer in three ways about their gradient."""

import pytest

import headrace as tf
from headrace.opdef import OPS, UNDECLARED, raw
from headrace.opdef.case import Recorder, parse_shapes
from headrace.opdef.op import op
from headrace.opdef.rules import Rule


@pytest.fixture
def declare():
    """Declares ops for one test."""
    names = []

    def declared(text, **options):
        made = op(text, **options)
        names.append(made.name)
        return made

    yield declared
    for name in names:
        del OPS[name]
        vars(raw).pop(name, None)


def test_a_rule_gets_the_attrs_that_it_names():
    attrs = {"T": tf.float32, "axis": 1, "keep": True, "_class": ()}
    assert Rule(lambda x, *, axis: x).keywords(attrs) == {"axis": 1}
    assert Rule(lambda x: x).keywords(attrs) == {}
    assert Rule(lambda x, *, T, **rest: x).keywords(attrs, frozenset({"T"})) == {
        "T": tf.float32,
        "axis": 1,
        "keep": True,
    }
    assert Rule(lambda x, **rest: x).keywords(attrs, frozenset({"T"})) == {"axis": 1, "keep": True}


def test_a_rule_says_whether_it_wants_ctx_and_what_is_static():
    rule = Rule(lambda x, axis, *, ctx: x, static="axis")
    assert rule.wants_ctx and rule.names == () and rule.static == ("axis",)
    assert not Rule(lambda x: x).wants_ctx


def test_the_three_states_of_a_gradient(declare):
    one = declare("TestOne(x: float) -> (y: float)")
    two = declare("TestTwo(x: float) -> (y: float)", grad=None)
    three = declare("TestThree(x: float) -> (y: float)")

    @three.grad
    def three_grad(op, dy):
        return dy

    assert one.gradient is UNDECLARED and two.gradient is None and three.gradient is three_grad


def test_an_op_and_a_rule_are_declared_once(declare):
    made = declare("TestOne(x: float) -> (y: float)")
    made.host(lambda x: x)
    with pytest.raises(ValueError, match="TestOne.host is declared twice"):
        made.host(lambda x: x)
    with pytest.raises(ValueError, match="the op TestOne is declared twice"):
        op("TestOne(x: float) -> (y: float)")
    with pytest.raises(AttributeError, match="an op has no 'lowr'"):
        made.lowr  # noqa: B018


def test_an_op_without_rules_can_be_built_and_says_so_when_run(declare):
    made = declare("TestOne(x: float) -> (y: float)")
    with tf.Graph().as_default(), tf.Session() as session:
        y = made(1.0)
        assert y.shape.ndims is None
        with pytest.raises(
            tf.errors.UnimplementedError, match=r"TestOne has no kernel: declare @TestOne\.lower or"
        ):
            session.run(y)


def test_a_rule_with_the_wrong_type_is_found_out(declare):
    made = declare("TestOne(x: float) -> (y: float)", host=lambda x: x.astype("float64"))
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InternalError, match="host rule gave float64 for output 0"):
            session.run(made(1.0))


def test_a_shape_rule_raises_a_sentence_and_the_node_is_added(declare):
    def refuse(x):
        raise ValueError("Shape must be round")

    made = declare("TestOne(x: float, y: float) -> (z: float)", shape=lambda x, y: refuse(x))
    with tf.Graph().as_default(), tf.name_scope("here"):
        with pytest.raises(ValueError) as caught:
            made([1.0, 2.0], raw.Placeholder(dtype="float32", shape=None))
    assert str(caught.value) == (
        "Shape must be round for 'here/TestOne' (op: 'TestOne') with input shapes: [2], ?."
    ) or "<unknown>" in str(caught.value)


def test_a_misspelt_argument_has_a_suggestion():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="did you mean 'shape'"):
        raw.Placeholder(dtype="float32", shap=[2])


def test_unknown_ops_have_a_suggestion():
    with pytest.raises(AttributeError, match="the nearest that exists is Identity"):
        raw.Identty  # noqa: B018


def test_an_op_is_pickled_by_name():
    import pickle

    assert pickle.loads(pickle.dumps(OPS["Identity"])) is OPS["Identity"]


def test_the_recorder_records():
    case = Recorder()
    case([1.0], gives=[2.0], axis=1)
    case.shapes("[2,?];?", "[]", values={"axis": 0})
    case.fails("[]", match="rank")
    case.limit("lower", dtypes=["half"], why="no such kernel")
    case.needs_known("must have")
    case.program(lambda step: None)
    assert case.calls[0].attrs == {"axis": 1} and case.calls[0].grad
    assert parse_shapes(case.shape_cases[0].inputs) == [(2, None), None]
    assert parse_shapes("") == []
    assert case.limits[0].dtypes == (tf.float16,)
    assert case.needs == ["must have"] and len(case.programs) == 1 and len(case.failures) == 1


def test_the_recorders_operands_are_the_same_every_time():
    one, two = Recorder(), Recorder()
    assert (one.normal(2, 3) == two.normal(2, 3)).all()
    assert one.integers(4).dtype == "int32" and one.uniform(2, dtype="half").dtype == "float16"
