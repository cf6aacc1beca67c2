"""Function libraries in GraphDefs that don't hold together end in an error, never in a crash or a hang."""

import pytest
from google.protobuf import text_format

import headrace as tf

CONST = (
    'node{name:"c" op:"Const" attr{key:"dtype" value{type:DT_FLOAT}} '
    'attr{key:"value" value{tensor{dtype:DT_FLOAT tensor_shape{} float_val:3}}}}\n'
)
CALL = (
    'node{name:"y" op:"PartitionedCall" input:"c" attr{key:"Tin" value{list{type:DT_FLOAT}}} '
    'attr{key:"Tout" value{list{type:DT_FLOAT}}} attr{key:"f" value{func{name:"%s"}}}}\n'
)
SQUARE = (
    'library{function{signature{name:"Sq" input_arg{name:"x" type:DT_FLOAT} output_arg{name:"y" type:DT_FLOAT}} '
    'node_def{name:"m" op:"Mul" input:"x" input:"x" attr{key:"T" value{type:DT_FLOAT}}} '
    'ret{key:"y" value:"m:z:0"}}}\n'
)
INSIDE = SQUARE.removeprefix("library{").removesuffix("}\n")
ITSELF = (
    'library{function{signature{name:"R" input_arg{name:"x" type:DT_FLOAT} output_arg{name:"y" type:DT_FLOAT}} '
    'node_def{name:"m" op:"PartitionedCall" input:"x" attr{key:"Tin" value{list{type:DT_FLOAT}}} '
    'attr{key:"Tout" value{list{type:DT_FLOAT}}} attr{key:"f" value{func{name:"R"}}}} '
    'ret{key:"y" value:"m:output:0"}}}\n'
)
GRADIENT = (
    'node{name:"y" op:"SymbolicGradient" input:"c" input:"c" attr{key:"Tin" value{list{type:DT_FLOAT type:DT_FLOAT}}} '
    'attr{key:"Tout" value{list{type:DT_FLOAT}}} attr{key:"f" value{func{name:"%s"}}}}\n'
)


def run(text):
    definition = text_format.Parse(text + "versions{producer:134}", tf.GraphDef())
    with tf.Graph().as_default():
        tf.import_graph_def(definition, name="")
        with tf.Session() as session:
            return session.run("y:0")


def test_sound_libraries_run():
    assert run(CONST + CALL % "Sq" + SQUARE) == 9
    assert run(CONST + 'node{name:"y" op:"Sq" input:"c"}' + SQUARE) == 9
    assert run(CONST + GRADIENT % "Sq" + SQUARE) == 18
    assert run(CONST + CALL % "Sq" + "library{" + INSIDE + INSIDE + "}") == 9


E = tf.errors
BROKEN = {
    "no function": (CONST + CALL % "Nope", E.InvalidArgumentError, 'Failed to find function "Nope"'),
    "no op": (CONST + 'node{name:"y" op:"Nope" input:"c"}', E.NotFoundError, "Op type not registered 'Nope'"),
    "no gradient": (CONST + GRADIENT % "Nope", E.NotFoundError, "Nope"),
    "too many inputs": (
        CONST + 'node{name:"y" op:"Sq" input:"c" input:"c"}' + SQUARE,
        ValueError,
        "NodeDef expected inputs 'float' do not match 2 inputs specified",
    ),
    "too many arguments": (
        CONST
        + (CALL % "Sq")
        .replace('input:"c"', 'input:"c" input:"c"')
        .replace('Tin" value{list{', 'Tin" value{list{type:DT_FLOAT ')
        + SQUARE,
        E.InvalidArgumentError,
        "number of arguments = 1",
    ),
    "too many results": (
        CONST + (CALL % "Sq").replace('Tout" value{list{', 'Tout" value{list{type:DT_FLOAT ') + SQUARE,
        E.InternalError,
        "Missing 1-th output from node y",
    ),
    "too few results": (
        CONST
        + CALL % "Sq"
        + SQUARE.replace("output_arg", 'output_arg{name:"w" type:DT_FLOAT} output_arg').replace(
            'ret{key:"y"', 'ret{key:"w" value:"m:z:0"} ret{key:"y"'
        ),
        E.InternalError,
        r"Function instantiation included invalid output index: 1 not in \[0, 1\)",
    ),
    "too few arguments": (
        CONST
        + (CALL % "Sq").replace('input:"c"', "").replace('Tin" value{list{type:DT_FLOAT', 'Tin" value{list{')
        + SQUARE,
        E.InternalError,
        r"Function instantiation included invalid input index: 0 not in \[0, 0\)",
    ),
    "another type": (
        (CONST + CALL % "Sq").replace("DT_FLOAT", "DT_INT32").replace("float_val", "int_val") + SQUARE,
        E.InvalidArgumentError,
        r"Expects arg\[0\] to be float",
    ),
    "unknown input": (
        CONST + CALL % "Sq" + SQUARE.replace('input:"x" input:"x"', 'input:"x" input:"zz"'),
        ValueError,
        "input zz is not found",
    ),
    "unknown result": (
        CONST + CALL % "Sq" + SQUARE.replace("m:z:0", "q:z:0"),
        ValueError,
        "Return y -> q:z:0 is not found",
    ),
    "result that a node does not have": (
        CONST + CALL % "Sq" + SQUARE.replace("m:z:0", "m:z:5"),
        ValueError,
        "Return y -> m:z:5 is not found",
    ),
    "missing result": (
        CONST + CALL % "Sq" + SQUARE.replace('ret{key:"y" value:"m:z:0"}', ""),
        ValueError,
        "Return y missing",
    ),
    "unknown op inside": (
        CONST + CALL % "Sq" + SQUARE.replace('"Mul"', '"Mulll"'),
        E.NotFoundError,
        "Op type not registered 'Mulll'",
    ),
    "an op's name": (
        CONST + SQUARE.replace('"Sq"', '"Mul"'),
        ValueError,
        "because an op with the same name already exists",
    ),
    "two of one name": (
        CONST + "library{" + INSIDE + INSIDE.replace('"Mul"', '"Sub"') + "}",
        ValueError,
        "because a different function with the same name already exists",
    ),
    "itself": (CONST + CALL % "R" + ITSELF, E.ResourceExhaustedError, "calls itself too many times"),
}


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_libraries_are_refused(name, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    text, error, message = BROKEN[name]
    with pytest.raises(error, match=message):
        run(text)


def test_a_function_that_calls_itself_under_a_condition_ends():
    factorial = """
    node{name:"c" op:"Placeholder" attr{key:"dtype" value{type:DT_FLOAT}}}
    library{
    function{signature{name:"Fac" input_arg{name:"n" type:DT_FLOAT} output_arg{name:"y" type:DT_FLOAT}}
      node_def{name:"two" op:"Const" attr{key:"dtype" value{type:DT_FLOAT}}
        attr{key:"value" value{tensor{dtype:DT_FLOAT tensor_shape{} float_val:2}}}}
      node_def{name:"p" op:"Less" input:"n" input:"two:output:0" attr{key:"T" value{type:DT_FLOAT}}}
      node_def{name:"i" op:"StatelessIf" input:"p:z:0" input:"n" attr{key:"Tcond" value{type:DT_BOOL}}
        attr{key:"Tin" value{list{type:DT_FLOAT}}} attr{key:"Tout" value{list{type:DT_FLOAT}}}
        attr{key:"then_branch" value{func{name:"One"}}} attr{key:"else_branch" value{func{name:"More"}}}}
      ret{key:"y" value:"i:output:0"}}
    function{signature{name:"One" input_arg{name:"n" type:DT_FLOAT} output_arg{name:"y" type:DT_FLOAT}}
      node_def{name:"o" op:"OnesLike" input:"n" attr{key:"T" value{type:DT_FLOAT}}} ret{key:"y" value:"o:y:0"}}
    function{signature{name:"More" input_arg{name:"n" type:DT_FLOAT} output_arg{name:"y" type:DT_FLOAT}}
      node_def{name:"one" op:"Const" attr{key:"dtype" value{type:DT_FLOAT}}
        attr{key:"value" value{tensor{dtype:DT_FLOAT tensor_shape{} float_val:1}}}}
      node_def{name:"m" op:"Sub" input:"n" input:"one:output:0" attr{key:"T" value{type:DT_FLOAT}}}
      node_def{name:"f" op:"PartitionedCall" input:"m:z:0" attr{key:"Tin" value{list{type:DT_FLOAT}}}
        attr{key:"Tout" value{list{type:DT_FLOAT}}} attr{key:"f" value{func{name:"Fac"}}}}
      node_def{name:"r" op:"Mul" input:"n" input:"f:output:0" attr{key:"T" value{type:DT_FLOAT}}}
      ret{key:"y" value:"r:z:0"}}
    }"""
    definition = text_format.Parse(factorial + CALL % "Fac", tf.GraphDef())
    with tf.Graph().as_default():
        tf.import_graph_def(definition, name="")
        with tf.Session() as session:
            assert [session.run("y:0", {"c:0": n}) for n in (1, 5, 6)] == [1, 120, 720]
