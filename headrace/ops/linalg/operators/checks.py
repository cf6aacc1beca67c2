"""Checks that several operators make."""

from __future__ import annotations

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.opdef import constant_node, convert_to_tensor, raw


def assert_no_zeros(x, message, name="assert_no_entries_with_modulus_zero"):
    """Makes an operation that fails if an element is 0."""
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        size = NAMES["abs"](x)
        zero = constant_node(0, size.dtype)
        return NAMES["assert_less"](zero, size, message=message)


def assert_real(x, message, name="assert_zero_imag_part"):
    """Makes an operation that fails if an element has an imaginary part."""
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_floating:
            return raw.NoOp()
        zero = constant_node(0, x.dtype.real_dtype)
        return NAMES["assert_equal"](zero, NAMES["imag"](x), message=message)


def check_same_dtype(operators):
    """Raises a TypeError unless operators have the same type."""
    if any(operator.dtype != operators[0].dtype for operator in operators):
        found = "   ".join(str((operator.name, operator.dtype)) for operator in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {found}")


def combined_name(operators, joint):
    """Returns the names of operators, joined."""
    return joint.join(operator.name for operator in operators)


def several(operators, message):
    """Returns operators as a list.

    Raises:
      TypeError: They are not in a sequence.
      ValueError: There are none.
    """
    NAMES["debugging.assert_proper_iterable"](operators)
    operators = list(operators)
    if not operators:
        raise ValueError(message.format(operators))
    return operators
