"""What converted code calls in place of Python's built-in functions."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.autograph.operators import is_tensor
from headrace.export import NAMES
from headrace.opdef import convert_to_tensor

_UNSET: Any = object()


def abs_(x: Any) -> Any:
    """Is `abs(x)`."""
    return NAMES["abs"](x) if is_tensor(x) else abs(x)


def float_(x: Any = 0) -> Any:
    """Is `float(x)`: float32 for a tensor."""
    if not is_tensor(x):
        return float(x)
    x = convert_to_tensor(x)
    return (
        NAMES["strings.to_number"](x)
        if x.dtype.base_dtype is dtypes.string
        else NAMES["cast"](x, dtypes.float32)
    )


def int_(x: Any = 0, base: Any = _UNSET) -> Any:
    """Is `int(x)`: int32 for a tensor."""
    if not is_tensor(x):
        return int(x) if base is _UNSET else int(x, base)
    if base not in (10, "", _UNSET):
        raise NotImplementedError(f"base {base} not supported for int")
    x = convert_to_tensor(x)
    if x.dtype.base_dtype is dtypes.string:
        return NAMES["strings.to_number"](x, out_type=dtypes.int32)
    return NAMES["cast"](x, dtypes.int32)


def len_(s: Any) -> Any:
    """Is `len(s)`: the size of a tensor's first dimension."""
    if not is_tensor(s):
        return len(s)
    s = convert_to_tensor(s)
    if s._dims == ():
        raise ValueError("len requires a non-scalar tensor, got one of shape ()")
    if s._dims and s._dims[0] is not None:
        return s._dims[0]
    rank = NAMES["rank"](s)
    if s._dims is not None:
        return NAMES["shape"](s)[0]
    with NAMES["control_dependencies"](
        [NAMES["Assert"](NAMES["greater"](rank, 0), ["len requires non-zero rank", rank])]
    ):
        return NAMES["shape"](s)[0]


def range_(start_or_stop: Any, stop: Any = _UNSET, step: Any = _UNSET) -> Any:
    """Is `range(...)`: a tensor if an argument is one."""
    given = [v for v in (start_or_stop, stop, step) if v is not _UNSET]
    if not any(is_tensor(v) for v in given):
        return range(*given)
    if step is not _UNSET:
        return NAMES["range"](start_or_stop, stop, step)
    # Unlike tf.range, an empty range is no error.
    if stop is not _UNSET:
        return NAMES["range"](start_or_stop, NAMES["maximum"](start_or_stop, stop))
    return NAMES["range"](NAMES["maximum"](start_or_stop, 0))


def print_(*objects: Any, **kwargs: Any) -> Any:
    """Is `print(...)`: shows the values of tensors when the graph runs."""
    unknown = tuple(set(kwargs) - {"sep", "end", "file", "flush"})
    if unknown:
        raise ValueError(f"invalid keyword arguments: {unknown}")
    if not any(is_tensor(v) for v in objects):
        print(*objects, **kwargs)
        return None
    tensors = [v for v in objects if is_tensor(v)]

    def show(*values: Any) -> None:
        numbers = iter(values)
        shown = [_plain(next(numbers)) if is_tensor(v) else v for v in objects]
        print(*shown, **kwargs)

    return NAMES["py_function"](show, tensors, [])


def _plain(value: Any) -> Any:
    value = value.numpy()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value


OVERLOADS = {abs: abs_, float: float_, int: int_, len: len_, range: range_, print: print_}
"""Built-in function -> what takes its place."""
