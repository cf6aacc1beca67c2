"""Identity and its relatives: nodes that pass values on, and nodes that only order others."""

from __future__ import annotations

from headrace.opdef import op
from headrace.shapes import unchanged

Identity = op("""
    Identity(input: T) -> (output: T)
      T: type

    Passes its input on.
""", shape=unchanged)  # fmt: skip


@Identity.host
def identity_host(input):
    return input


@Identity.lower
def identity_lower(input):
    return input


@Identity.grad
def identity_grad(op, dy):
    return dy


@Identity.cases
def identity_cases(case):
    case([1.0, 2.0], gives=[1.0, 2.0])
    case.shapes("[2,?]", "[2,?]")


NoOp = op("""
    NoOp() -> ()

    Does nothing; other nodes wait for it.
""")  # fmt: skip


@NoOp.host
def no_op_host():
    return ()


@NoOp.lower
def no_op_lower():
    return ()
