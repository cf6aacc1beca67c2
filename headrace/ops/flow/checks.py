"""tf.assert_* for types and ranks, and comparisons of elements: what is known is checked now, the rest in the step."""

from __future__ import annotations

from headrace import dtypes
from headrace.errors import InvalidArgumentError
from headrace.export import NAMES
from headrace.graph import Tensor
from headrace.graph import name_scope as scope_of
from headrace.opdef import constant_value, convert_to_tensor, export, raw
from headrace.opdef.plain_values import plain_value


def _no_op(name):
    return raw.NoOp(name=name)


def _compared(public, kind, sign):
    """Makes one of the functions that compare two tensors element by element."""

    def check(x, y, data=None, summarize=None, message=None, name=None):
        message = message or ""
        if public == "assert_equal":
            # TensorFlow looks at this one's operands in a scope of its own, which takes a name.
            with scope_of(name, public, [x, y, data]):
                if x is y:
                    return _no_op(None)
        with scope_of(name, public, [x, y, data]):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, name="y")
            held = NAMES["reduce_all"](NAMES[kind](x, y))
            if data is None:
                data = [f"Condition x {sign} y did not hold element-wise:"]
                data += [f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            if message:
                data = [message, *data]
            _check_now(kind, x, y, data)
            return NAMES["Assert"](held, data, summarize=summarize)

    check.__name__ = check.__qualname__ = public
    check.__doc__ = f"""Returns an operation that fails unless `x {sign} y` holds for all elements.

    Args:
      x: A tensor.
      y: A tensor of the same type.
      data: Tensors to show in the message.
      summarize: How many elements of each to show, 3 by default.
      message: What the message begins with.
      name: The scope's name.

    Raises:
      InvalidArgumentError: Both are known, and it does not hold.
    """
    return export(public, "debugging." + public)(check)


_HOLDS = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}


def _check_now(kind, x, y, data):
    """Raises what the step would, where both values are known."""
    a, b = plain_value(x), plain_value(y)
    if a is None or b is None or _HOLDS[kind](a, b).all():
        return
    values = [plain_value(each) if isinstance(each, Tensor) else each for each in data]
    lines = [str(each if value is None else value) for each, value in zip(data, values, strict=True)]
    raise InvalidArgumentError(None, None, "\n".join(lines))


assert_equal = _compared("assert_equal", "equal", "==")
assert_none_equal = _compared("assert_none_equal", "not_equal", "!=")
assert_less = _compared("assert_less", "less", "<")
assert_less_equal = _compared("assert_less_equal", "less_equal", "<=")
assert_greater = _compared("assert_greater", "greater", ">")
assert_greater_equal = _compared("assert_greater_equal", "greater_equal", ">=")


def _signed(public, compare, zero_first, sign, with_message):
    """Makes one of the functions that compare a tensor's elements with 0."""

    def check(x, data=None, summarize=None, message=None, name=None):
        message = message or ""
        with scope_of(name, public, [x, data]):
            x = convert_to_tensor(x, name="x")
            if data is None:
                start = [message] if with_message or message else []
                data = [*start, f"Condition x {sign} 0 did not hold element-wise:", f"x ({x.name}) = ", x]
            zero = convert_to_tensor(0, dtype=x.dtype)
            pair = (zero, x) if zero_first else (x, zero)
            return NAMES[compare](*pair, data=data, summarize=summarize)

    check.__name__ = check.__qualname__ = public
    check.__doc__ = f"""Returns an operation that fails unless `x {sign} 0` holds for all elements.

    Args:
      x: A numeric tensor.
      data: Tensors to show in the message.
      summarize: How many elements of each to show, 3 by default.
      message: What the message begins with.
      name: The scope's name.

    Raises:
      InvalidArgumentError: It is known, and it does not hold.
    """
    return export(public, "debugging." + public)(check)


assert_negative = _signed("assert_negative", "assert_less", False, "<", True)
assert_positive = _signed("assert_positive", "assert_less", True, ">", True)
assert_non_negative = _signed("assert_non_negative", "assert_less_equal", True, ">=", True)
assert_non_positive = _signed("assert_non_positive", "assert_less_equal", False, "<=", False)


@export("assert_type", "debugging.assert_type")
def assert_type(tensor, tf_type, message=None, name=None):
    """Refuses a tensor of another type, and returns an operation that does nothing.

    Args:
      tensor: A tensor.
      tf_type: The type.
      message: What the message begins with.
      name: The scope's name.

    Raises:
      TypeError: It is of another type.
    """
    with scope_of(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != tf_type:
            raise TypeError(f"{message or ''}  {tensor.name} must be of type {dtypes.as_dtype(tf_type)}")
        return _no_op("statically_determined_correct_type")


@export("assert_integer", "debugging.assert_integer")
def assert_integer(x, message=None, name=None):
    """Refuses a tensor that is not of integers, and returns an operation that does nothing.

    Args:
      x: A tensor.
      message: What the message begins with.
      name: The scope's name.

    Raises:
      TypeError: It is of another type.
    """
    with scope_of(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""}  Expected "x" to be integer type.  Found: {x.name} of dtype {x.dtype}'
            )
        return _no_op("statically_determined_was_integer")


def _ranked(public, words, fits):
    """Makes one of the functions that ask for a rank."""

    def check(x, rank, data=None, summarize=None, message=None, name=None):
        message = message or ""
        with scope_of(name, public, [x, rank, *(data or [])]):
            x = convert_to_tensor(x, name="x")
            rank = convert_to_tensor(rank, name="rank")
            wanted = constant_value(rank)
            found = x.shape.ndims
            if data is None:
                data = [
                    message,
                    f"Tensor {x.name} must have {words}",
                    rank,
                    "Received shape: ",
                    NAMES["shape"](x),
                ]
            assert_type(rank, dtypes.int32)
            if wanted is not None and wanted.ndim != 0:
                raise ValueError("Rank must be a scalar.")
            if wanted is not None and found is not None:
                if not fits(found, int(wanted)):
                    raise ValueError(
                        f"{message}.  Tensor {x.name} must have {words} {wanted}.  Received rank {found}, "
                        f"shape {x.shape}"
                    )
                return _no_op("static_checks_determined_all_ok")
            compare = "equal" if public == "assert_rank" else "greater_equal"
            return NAMES["Assert"](NAMES[compare](NAMES["rank"](x), rank), data, summarize=summarize)

    check.__name__ = check.__qualname__ = public
    check.__doc__ = f"""Returns an operation that fails unless a tensor has {words} `rank`.

    Args:
      x: A tensor.
      rank: A scalar.
      data: Tensors to show in the message.
      summarize: How many elements of each to show, 3 by default.
      message: What the message begins with.
      name: The scope's name.

    Raises:
      ValueError: The rank is known, and it is another.
    """
    return export(public, "debugging." + public)(check)


assert_rank = _ranked("assert_rank", "rank", lambda found, wanted: found == wanted)
assert_rank_at_least = _ranked("assert_rank_at_least", "rank at least", lambda found, wanted: found >= wanted)


@export("assert_rank_in", "debugging.assert_rank_in")
def assert_rank_in(x, ranks, data=None, summarize=None, message=None, name=None):
    """Returns an operation that fails unless a tensor has one of several ranks.

    Args:
      x: A tensor.
      ranks: Scalars.
      data: Tensors to show in the message.
      summarize: How many elements of each to show, 3 by default.
      message: What the message begins with.
      name: The scope's name.

    Raises:
      ValueError: The rank is known, and it is none of them.
    """
    message = message or ""
    with scope_of(name, "assert_rank_in", [x, *ranks, *(data or [])]):
        x = convert_to_tensor(x, name="x")
        ranks = [convert_to_tensor(rank, name="rank") for rank in ranks]
        if data is None:
            data = [message, f"Tensor {x.name} must have rank in", *ranks]
            data += ["Received shape: ", NAMES["shape"](x)]
        for rank in ranks:
            assert_type(rank, dtypes.int32)
        wanted = [constant_value(rank) for rank in ranks]
        if any(each is not None and each.ndim != 0 for each in wanted):
            raise ValueError("Rank must be a scalar.")
        found = x.shape.ndims
        if found is not None and all(each is not None for each in wanted):
            if found not in [int(each) for each in wanted]:
                listed = tuple(wanted)
                raise ValueError(
                    f"{message}.  Tensor {x.name} must have rank in {listed}.  Received rank {found}, shape {x.shape}"
                )
            return _no_op("static_checks_determined_all_ok")
        actual = NAMES["rank"](x)
        fits = [NAMES["equal"](rank, actual) for rank in ranks]
        held = fits[0]
        for each in fits[1:]:
            held = NAMES["logical_or"](held, each)
        return NAMES["Assert"](held, data, summarize=summarize)


_NO_NUMBERS = (dtypes.bool, dtypes.string, dtypes.resource, dtypes.variant)


@export("is_numeric_tensor", "debugging.is_numeric_tensor")
def is_numeric_tensor(tensor):
    """Returns whether something is a tensor of numbers."""
    return isinstance(tensor, Tensor) and tensor.dtype.base_dtype not in _NO_NUMBERS


@export("assert_proper_iterable", "debugging.assert_proper_iterable")
def assert_proper_iterable(values):
    """Refuses what cannot be iterated over, and tensors and strings, which can but should not.

    Args:
      values: Something.

    Raises:
      TypeError: It is no such thing.
    """
    if isinstance(values, (Tensor, str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


@export("assert_scalar", "debugging.assert_scalar")
def assert_scalar(tensor, name=None, message=None):
    """Refuses a tensor that is no scalar, and returns it.

    Args:
      tensor: A tensor.
      name: The scope's name.
      message: What the message begins with.

    Raises:
      ValueError: It is no scalar.
    """
    with scope_of(name, "assert_scalar", [tensor]):
        tensor = convert_to_tensor(tensor)
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}."
            )
        return tensor
