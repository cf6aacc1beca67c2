"""Assert: refuses to go on when a condition does not hold."""

from __future__ import annotations

import numpy as np

from headrace import errors
from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.opdef import convert_n_to_tensor, convert_to_tensor, export, op, raw
from headrace.opdef.strings import escaped

Assert = op("""
    Assert(condition: bool, data: T) -> ()
      T: list(type) >= 1
      summarize: int = 3
      stateful

    Raises InvalidArgumentError with the data unless the condition holds.
""", grad=None)  # fmt: skip


@Assert.shape
def assert_shape(condition, data):
    if condition is not None and condition != ():
        raise ValueError(f"Shape must be rank 0 but is rank {len(condition)}")
    return []


def summary(value, most):
    """Returns the first elements of an array as TensorFlow prints them: `1 2 3...`, rows in brackets of their own.

    Args:
      value: An array.
      most: How many elements to show, all if negative.
    """
    value = np.asarray(value)
    limit = value.size if most < 0 else most
    shown = 0

    def elements(row):
        nonlocal shown
        part = row[: limit - shown]
        shown += len(part)
        return " ".join(map(_element, part)) + ("..." if len(part) < len(row) and value.ndim > 1 else "")

    def rows(array):
        if array.ndim <= 1:
            return elements(array.reshape(-1))
        return "".join("[" + rows(row) + "]" for row in array if shown < limit)

    return rows(value) + ("..." if value.size > limit else "")


def _element(v):
    if isinstance(v, bytes):
        return escaped(v)
    if isinstance(v, (bool, np.bool_)):
        return "1" if v else "0"
    if isinstance(v, (float, np.floating)):
        return _shortest(v, (15, 17) if isinstance(v, float) else (6, 9))
    return str(v)


def _shortest(v, digits):
    """Returns a float in the fewer of two numbers of digits that still reads back as the same number."""
    text = f"{float(v):.{digits[0]}g}"
    return text if type(v)(text) == v or v != v else f"{float(v):.{digits[1]}g}"


@Assert.host
def assert_host(condition, data, *, summarize):
    if not condition:
        shown = " ".join(f"[{summary(v, summarize)}]" for v in data)
        raise errors.InvalidArgumentError(None, None, f"assertion failed: {shown}")
    return ()


@Assert.lower(untouched=True, texts=True)
def assert_lower(condition, data, *, ctx):
    # The host rule says what the data is.
    ctx.check(condition, "assertion failed")
    return ()


@Assert.cases
def assert_cases(case):
    @case.program
    def passes_or_raises(step):
        step(raw.Assert(True, ["fine"]))
        step(
            raw.Assert(False, ["x is", [1, 2, 3, 4]]),
            fails=errors.InvalidArgumentError,
            match=r"assertion failed: \[x is\] \[1 2 3...\]",
        )


@export("Assert", "debugging.Assert")
def assert_that(condition, data, summarize=None, name=None):
    """Returns an operation that raises InvalidArgumentError with `data` unless `condition` holds.

    Args:
      condition: A scalar boolean tensor.
      data: Tensors to show in the message.
      summarize: How many elements of each to show, 3 by default.
      name: A name for the operation.
    """
    with name_scope(name, "Assert", [condition, data]):
        most = 3 if summarize is None else summarize

        def refuse():
            return raw.Assert(condition, data, summarize=most, name="Assert")

        # TensorFlow looks at their types first; the nodes of Python values stay in the graph.
        if all(t.dtype.base_dtype.name in _CHEAP for t in convert_n_to_tensor(data)):
            return refuse()
        # The data are looked at only where the condition does not hold.
        condition = convert_to_tensor(condition, name="Condition")
        return NAMES["cond"](condition, NAMES["no_op"], refuse, name="AssertGuard").op


_CHEAP = ("string", "int32")
