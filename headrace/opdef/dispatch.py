"""Public functions that hand on what they can't take themselves, such as ragged tensors.

A function is tried first. Where it refuses its arguments, each of its handlers is asked; one that knows the arguments
gives the result, the others say NotImplemented. Trying first is what TensorFlow does, and it shows in the names of
nodes: the scope that the function entered in vain is used up.

Handlers live in parts that may be imported much later than the function, when somebody may hold it already. So the
functions that can have handlers are listed here, and their public form asks for handlers from the beginning.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from headrace import export

Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

EXTENDED = frozenset(
    (
        "abs acos acosh add add_n angle as_string asin asinh atan atan2 atanh batch_gather bitwise.bitwise_and "
        "bitwise.bitwise_or bitwise.bitwise_xor bitwise.invert bitwise.left_shift bitwise.right_shift cast ceil "
        "check_numerics clip_by_value complex concat conj cos cosh debugging.is_finite debugging.is_inf "
        "debugging.is_nan decode_base64 decode_compressed digamma div_no_nan divide dynamic_partition encode_base64 "
        "equal erf erfc exp expand_dims expm1 floor floordiv floormod gather gather_nd greater greater_equal identity "
        "imag less less_equal lgamma log log1p log_sigmoid logical_and logical_not logical_or logical_xor maximum "
        "minimum mod multiply negative not_equal one_hot ones_like pow rank real realdiv reciprocal reduce_all "
        "reduce_any reduce_join reduce_max reduce_mean reduce_min reduce_prod reduce_sum regex_replace rint round "
        "rsqrt saturate_cast sign sin sinh size sqrt square squared_difference squeeze stack string_join string_strip "
        "string_to_hash_bucket_fast string_to_hash_bucket_strong strings.length strings.regex_full_match substr "
        "strings.unicode_script subtract tan tile truediv truncatediv truncatemod unsorted_segment_max "
        "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum "
        "where zeros_like"
    ).split()
)
"""One public name of each function that handlers may be added to."""

_handlers: dict[str, list[Handler]] = {name: [] for name in EXTENDED}
_wrappers: dict[Callable[..., Any], Callable[..., Any]] = {}


def add_handler(name: str, handler: Handler) -> None:
    """Lets a handler take what a public function refuses.

    Args:
      name: The function's name in `EXTENDED`.
      handler: Called as `(function, args, kwargs)` with the plain function; returns NotImplemented, or the result.

    Raises:
      KeyError: There is no such name.
    """
    _handlers[name].append(handler)


def public_form(names: tuple[str, ...], value: Any) -> Any:
    """Returns what public names stand for: a function in `EXTENDED` with its handlers, anything else as it is."""
    if not callable(value):
        return value
    made = _wrappers.get(value)
    if made is None:
        for name in names:
            if name in EXTENDED:
                made = _dispatching(value, _handlers[name])
                _wrappers[value] = _wrappers[made] = made
                return made
        return value
    return made


def _dispatching(function: Callable[..., Any], handlers: list[Handler]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError, AttributeError):
            for handler in handlers:
                result = handler(function, args, kwargs)
                if result is not NotImplemented:
                    return result
            raise

    return call


def argument(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], index: int) -> Any:
    """Returns an argument of a call by its position in the signature, None if it is not given."""
    if index < len(args):
        return args[index]
    return kwargs.get(function.__code__.co_varnames[index])


export.public_form = public_form
