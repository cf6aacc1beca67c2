"""Public functions that hand on what they can't take: ragged tensors, linear operators.

A function is tried first. Where it refuses its arguments, each of its handlers is asked; one that knows the arguments
gives the result, the others say NotImplemented. Trying first is what TensorFlow does, and it shows in the names of
nodes: the scope that the function entered in vain is used up.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from headrace.export import NAMES

Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

_handlers: dict[Callable[..., Any], list[Handler]] = {}


def add_handler(name: str, handler: Handler) -> None:
    """Lets a handler take what a public function refuses.

    Args:
      name: One of the function's public names, without the leading "tf.".
      handler: Called as `(function, args, kwargs)` with the plain function; returns NotImplemented, or the result.

    Raises:
      KeyError: There is no such name.
    """
    function = NAMES[name]
    if function in _handlers:
        _handlers[function].append(handler)
        return
    handlers = [handler]
    wrapper = _dispatching(function, handlers)
    _handlers[wrapper] = handlers
    for public, value in list(NAMES.items()):
        if value is function:
            NAMES[public] = wrapper


def _dispatching(function: Callable[..., Any], handlers: list[Handler]) -> Callable[..., Any]:
    """Returns a function with the same parameters that asks the handlers when the other refuses."""
    code = function.__code__
    plain = list(code.co_varnames[: code.co_argcount])
    named = list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    rest = code.co_argcount + code.co_kwonlyargcount
    star = [code.co_varnames[rest]] if code.co_flags & 4 else []
    stars = [code.co_varnames[rest + len(star)]] if code.co_flags & 8 else []
    declared = plain + ["*" + s for s in star] + (["*"] if named and not star else []) + named
    declared += ["**" + s for s in stars]
    passed = plain + ["*" + s for s in star] + [f"{n}={n}" for n in named] + ["**" + s for s in stars]
    positional = "".join(f"{p}, " for p in plain + ["*" + s for s in star])
    keywords = ", ".join([f"{n!r}: {n}" for n in named] + ["**" + s for s in stars])
    text = (
        f"def call({', '.join(declared)}):\n"
        f"    try:\n"
        f"        return _function({', '.join(passed)})\n"
        f"    except (TypeError, ValueError, AttributeError) as error:\n"
        f"        result = _handled(error, ({positional}), {{{keywords}}})\n"
        f"        if result is NotImplemented:\n"
        f"            raise\n"
        f"        return result\n"
    )

    def handled(error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for handler in handlers:
            result = handler(function, args, kwargs)
            if result is not NotImplemented:
                return result
        return NotImplemented

    scope: dict[str, Any] = {"_function": function, "_handled": handled}
    exec(compile(text, __file__, "exec"), scope)  # so that it has the function's own parameters
    call: Callable[..., Any] = scope["call"]
    call.__defaults__ = function.__defaults__
    call.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(call, function)
