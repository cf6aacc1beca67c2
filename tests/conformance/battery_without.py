"""Ops of which the battery does not ask something, and why."""

# No case of its own can say anything.
WITHOUT = {
    "NoOp": "nothing goes in and nothing comes out; every grouping of operations in the tests runs it",
    "Placeholder": "the battery feeds every operand of every case through one",
    "PlaceholderV2": "an earlier name of Placeholder, with the same rules",
}

# Ops whose cases are in the program of another: op -> the other.
WITHIN = {
    "Assign": "VariableV2",
    "AssignVariableOp": "VarHandleOp",
    "ReadVariableOp": "VarHandleOp",
    "VarIsInitializedOp": "VarHandleOp",
}

# The first case can't have every type.
NOT_EVERY_TYPE = {
    "Bitcast": "the sizes of both types must fit the last dimension; its cases try several",
    "ParseTensor": "the type must be the one in the serialized tensor",
}

# A gradient that is not the derivative, or that finite differences can't see.
NO_NUMERIC_GRADIENT: dict[str, str] = {}
