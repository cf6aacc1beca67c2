"""What tf.image's functions ask of an image: while building where its shape is known, else in the step."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES
from headrace.graph import Tensor, colocate_with, control_dependencies, name_scope
from headrace.opdef import raw


class _Public:
    """Public functions by name: `public.shape(x)` is `tf.shape(x)`, which other topics define."""

    def __init__(self, prefix: str = ""):
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        try:
            return NAMES[self._prefix + name]
        except KeyError:
            raise AttributeError(f"headrace has no tf.{self._prefix}{name}") from None


public = _Public()
public_math = _Public("math.")
public_nn = _Public("nn.")


def after(checks, image):
    """Returns an image as it is once checks have passed."""
    with name_scope(None, "control_dependency", [*checks, image]) as scope:
        with colocate_with(image), control_dependencies(list(checks)):
            return raw.Identity(image, name=scope)


def rank_of(image):
    """Returns how many axes an image has, None if that is unknown."""
    return image.shape.ndims


def demand(holds, message):
    """Checks a condition: now if it is known, else by an operation.

    Args:
      holds: A boolean or a tensor.
      message: What is wrong if it doesn't hold.

    Returns:
      A list of operations.

    Raises:
      ValueError: It is known not to hold.
    """
    if isinstance(holds, Tensor):
        return [public.Assert(holds, [message])]
    if not holds:
        raise ValueError(message)
    return []


def _demand_sizes(image):
    """Checks that no axis has size 0; returns whether all sizes are known, and operations."""
    shape = image.shape
    if shape.ndims is not None and any(size.value == 0 for size in shape.dims):
        raise ValueError(f"all dims of 'image.shape' must be > 0: {shape}")
    if shape.is_fully_defined():
        return []
    return [public.assert_positive(public.shape(image), ["all dims of 'image.shape' must be > 0."])]


def check_axes(image):
    """Checks that an image has three axes at least, none of size 0.

    Args:
      image: A tensor.

    Returns:
      A list of operations.

    Raises:
      ValueError: It is known not to hold.
    """
    if rank_of(image) is not None and rank_of(image) < 3:
        raise ValueError("'image' must be at least three-dimensional.")
    checks = _demand_sizes(image)
    if checks:
        message = "'image' must be at least three-dimensional."
        checks.append(public.assert_greater_equal(public.rank(image), 3, message=message))
    return checks


def checked(image):
    """Returns an image as it is once `check_axes` has passed."""
    return after(check_axes(image), image)


def checked_grey(image):
    """Returns an image as it is once it is known to have one channel.

    Raises:
      ValueError: It is known to have more, or too few axes.
    """
    rank = rank_of(image)
    if rank is not None and rank < 2:
        raise ValueError("A grayscale image must be at least two-dimensional.")
    if image.shape.is_fully_defined():
        if image.shape.as_list()[-1] != 1:
            raise ValueError("Last dimension of a grayscale image should be size 1.")
        return after([], image)
    one = public.assert_equal(
        public.shape(image)[-1], 1, message="Last dimension of a grayscale image should be size 1."
    )
    three = public.assert_greater_equal(
        public.rank(image), 3, message="A grayscale image must be at least two-dimensional."
    )
    return after([one, three], image)


def wrong_rank():
    return ValueError("'image' must have either 3 or 4 dimensions.")
