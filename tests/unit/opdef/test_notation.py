"""Every op of TensorFlow 1.15 can be written in the notation and read back; malformed declarations are refused."""

import numpy as np
import pytest

import headrace  # noqa: F401  (knows how to write OpDefs)
from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.graph import hooks
from headrace.opdef import notation
from headrace.opdef.signature import NO_DEFAULT, Arg, Attr, Signature
from tests.golden import canonical

GOLDEN = canonical.read("opdefs.json")


def plain(kind, value):
    """A recorded attr value as a Signature holds it."""
    if kind.startswith("list("):
        return tuple(plain(kind[5:-1], item) for item in value)
    if kind == "type":
        return as_dtype(value)
    if kind == "shape":
        return None if value is None else tuple(value)
    if kind == "tensor":
        dtype, shape, values = value["tensor"]
        return np.array(values, as_dtype(dtype).storage).reshape(shape)
    return value


def recorded_signature(name):
    facts = GOLDEN[name]

    def arg(entry):
        dtype = as_dtype(entry["type"]) if "type" in entry else None
        named = {key: entry.get(key) for key in ("type_attr", "number_attr", "type_list_attr")}
        return Arg(entry["name"], dtype=dtype, is_ref=entry.get("ref", False), **named)

    def attr(attr_name, entry):
        kind = entry["type"]
        inner = kind[5:-1] if kind.startswith("list(") else kind
        return Attr(
            attr_name,
            kind,
            plain(kind, entry["default"]) if "default" in entry else NO_DEFAULT,
            tuple(plain(inner, v) for v in entry["allowed"]) if "allowed" in entry else None,
            entry.get("minimum"),
        )

    flags = ("is_stateful", "is_commutative", "is_aggregate", "allows_uninitialized_input")
    return Signature(
        name,
        tuple(map(arg, facts["inputs"])),
        tuple(map(arg, facts["outputs"])),
        {key: attr(key, entry) for key, entry in facts["attrs"].items()},
        deprecated=facts.get("deprecated_at_graph_version"),
        **{flag: facts.get(flag, False) for flag in flags},
    )


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_round_trip_of_every_op(name):
    signature = recorded_signature(name)
    read = notation.parse(notation.to_text(signature))
    assert repr(read) == repr(signature)
    assert notation.op_name(notation.to_text(signature)) == name
    assert canonical.dumps(canonical.op_facts(hooks.op_def(read))) == canonical.dumps(GOLDEN[name])


def test_a_declaration_with_everything():
    read = notation.parse(
        """
        Everything(x: T, many: N * int32, any: types, var: Ref(T)) -> (out: T, handle: resource)
          T: {half, float} = float
          types: list(type) >= 1
          N: int >= 2
          padding: {"SAME", "VALID"} = "SAME"
          strides: list(int) = [1, 2]
          shape: shape = [2,?]
          allows_uninitialized_input

        Does everything.

        And more.
        """
    )
    assert read.name == "Everything"
    assert [a.name for a in read.inputs] == ["x", "many", "any", "var"]
    x, many, any_, var = read.inputs
    assert (x.type_attr, many.number_attr, many.dtype, any_.type_list_attr) == (
        "T",
        "N",
        dtypes.int32,
        "types",
    )
    assert var.is_ref and var.type_attr == "T" and not x.is_ref
    assert read.attrs["T"].allowed == (dtypes.half, dtypes.float32)
    assert read.attrs["T"].default is dtypes.float32
    assert (read.attrs["N"].minimum, read.attrs["types"].minimum) == (2, 1)
    assert read.attrs["padding"].allowed == ("SAME", "VALID")
    assert read.attrs["strides"].default == (1, 2)
    assert read.attrs["shape"].default == (2, None)
    assert read.is_stateful, "a resource makes an op stateful"
    assert read.allows_uninitialized_input
    assert read.doc.startswith("Does everything.")


def test_groups_of_types_have_tensorflows_members():
    read = notation.parse("Add(x: T) -> (y: T)\n  T: numbertype\n")
    assert read.attrs["T"].allowed == dtypes.GROUPS["numbertype"]


@pytest.mark.parametrize(
    "text",
    [
        "Softmax(logits: T)",
        "Softmax logits: T -> softmax: T",
        "Softmax(logits: T) -> (softmax: T)\n  T: {no_such_type}",
        "Softmax(logits: T) -> (softmax: T)\n  T: kind",
    ],
)
def test_malformed_declarations_are_refused(text):
    with pytest.raises((ValueError, TypeError)):
        notation.parse(text)
