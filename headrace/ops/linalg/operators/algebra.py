"""Adjoints, inverses, Cholesky factors, products and quotients of operators: a table by the operators' classes."""

from __future__ import annotations

from headrace.graph import name_scope

_RULES: dict[str, dict] = {}


def register(what, *classes):
    """Returns a decorator that enters a function in a table.

    Args:
      what: `adjoint`, `inverse`, `cholesky`, `matmul` or `solve`.
      *classes: The classes of its one or two operators; the nearest classes count.
    """

    def decorate(function):
        _RULES.setdefault(what, {})[classes] = function
        return function

    return decorate


def _nearest(what, *operators):
    """Returns the function whose classes are the fewest steps up from the operators' own."""
    orders = [type(operator).__mro__ for operator in operators]
    best = None
    for classes, function in _RULES.get(what, {}).items():
        if all(c in order for c, order in zip(classes, orders, strict=True)):
            steps = sum(order.index(c) for c, order in zip(classes, orders, strict=True))
            if best is None or steps < best[0]:
                best = (steps, function)
    if best is None:
        kinds = ", ".join(type(operator).__name__ for operator in operators)
        raise ValueError(f"No {what} registered for {kinds}")
    return best[1]


def adjoint(operator):
    """Returns the adjoint operator."""
    with name_scope("Adjoint"):
        return _nearest("adjoint", operator)(operator)


def inverse(operator):
    """Returns the inverse operator."""
    with name_scope("Inverse"):
        return _nearest("inverse", operator)(operator)


def cholesky(operator):
    """Returns the operator of the Cholesky factors."""
    with name_scope("Cholesky"):
        return _nearest("cholesky", operator)(operator)


def matmul(a, b):
    """Returns the product of two operators."""
    with name_scope("Matmul"):
        return _nearest("matmul", a, b)(a, b)


def solve(a, b):
    """Returns the product of an operator's inverse and another."""
    with name_scope("Solve"):
        return _nearest("solve", a, b)(a, b)


def hints_of(operator):
    """Returns an operator's hints, to be those of its inverse or adjoint."""
    return dict(
        is_non_singular=operator.is_non_singular,
        is_self_adjoint=operator.is_self_adjoint,
        is_positive_definite=operator.is_positive_definite,
    )


def product_hints(a, b):
    """Returns the hints of the product of two operators that commute."""
    both_self_adjoint = _both(a.is_self_adjoint, b.is_self_adjoint)
    return dict(
        is_non_singular=non_singular_hint(a, b),
        is_self_adjoint=both_self_adjoint,
        is_positive_definite=_both(a.is_positive_definite, b.is_positive_definite)
        if both_self_adjoint
        else None,
        is_square=True,
    )


def non_singular_hint(a, b):
    """Returns whether the product of two operators has an inverse."""
    if a.is_non_singular is False or b.is_non_singular is False:
        return False
    return True if a.is_non_singular and b.is_non_singular else None


def _both(a, b):
    """Returns True if both are True, False if just one may be, else None."""
    if a is True and b is True:
        return True
    return False if (a is True and b is False) or (a is False and b is True) else None
