"""tf.autograph: conversion on request, and its suppression."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from headrace.autograph import context
from headrace.autograph.features import as_set
from headrace.export import export, export_value

ARTIFACT = "autograph_info__"  # set on functions that are not to be converted any more


def artifact(function: Any) -> Any:
    """Marks a function as one that is not to be converted."""
    target = function.__func__ if inspect.ismethod(function) else function
    setattr(target, ARTIFACT, None)
    return function


@export("autograph.experimental.do_not_convert", "contrib.autograph.do_not_convert")
def do_not_convert(func: Any = None) -> Any:
    """Returns a function that AutoGraph leaves as it is, with all that it calls; usable as a decorator.

    Args:
      func: The function; None returns the decorator.
    """
    if func is None:
        return do_not_convert

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with context.entered(context.Status.DISABLED):
            return func(*args, **kwargs)

    if inspect.isfunction(func) or inspect.ismethod(func):
        wrapper = functools.update_wrapper(wrapper, func)
    return artifact(wrapper)


export_value("python.autograph.impl.api.do_not_convert", do_not_convert)


def converted(function: Callable[..., Any], features: Any = None) -> Callable[..., Any]:
    """Returns a function that converts another when it is called, and calls the result.

    Args:
      function: The function.
      features: Optional features: a Feature, several, or None.
    """
    if hasattr(function, ARTIFACT):
        return function

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from headrace.autograph import conversion

        return conversion.call(function, args, kwargs, as_set(features))

    return artifact(wrapper)  # type: ignore[no-any-return]


@export("autograph.to_graph", "contrib.autograph.to_graph")
def to_graph(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Any:
    """Returns a converted function: one that builds nodes where `entity` has control flow over tensors.

    Args:
      entity: A function or a method (which becomes a function with `self` as its first argument).
      recursive: Whether the functions that it calls are converted too.
      arg_values: Not used.
      arg_types: Not used.
      experimental_optional_features: A Feature, or several.

    Raises:
      ConversionError: It can't be converted.
    """
    from headrace.autograph import conversion

    return conversion.to_graph(entity, recursive, as_set(experimental_optional_features))


@export("autograph.to_code", "contrib.autograph.to_code")
def to_code(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:
    """Returns the source code of what `to_graph` returns.

    Args:
      entity: A function or a method.
      recursive: Whether the functions that it calls are converted too.
      arg_values: Not used.
      arg_types: Not used.
      indentation: Not used.
      experimental_optional_features: A Feature, or several.

    Raises:
      ConversionError: It can't be converted.
    """
    from headrace.autograph import conversion

    return conversion.to_code(entity, recursive, as_set(experimental_optional_features))


@export("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Sets how much AutoGraph says of what it does: 0 is nothing, 10 is everything.

    Args:
      level: The level.
      alsologtostdout: Writes to stdout too.
    """
    from malt.utils import ag_logging

    ag_logging.set_verbosity(level, alsologtostdout)


@export("autograph.trace")
def trace(*args: Any) -> None:
    """Prints values while a function is converted: that is, while the graph is built.

    Args:
      *args: The values.
    """
    print(*args)
