"""What AutoGraph can be asked to do beyond loops and conditionals, and hints that it reads in source code."""

from __future__ import annotations

import enum
from typing import Any

from headrace.export import export

_UNSET: Any = object()


@export("autograph.experimental.Feature")
class Feature(enum.Enum):
    """Optional features of AutoGraph.

    `ALL` is all of them; `ASSERT_STATEMENTS` makes Assert nodes of `assert`; `BUILTIN_FUNCTIONS` lets `print` show the
    values of tensors; `EQUALITY_OPERATORS` compares tensors with `==`; `LISTS` lets loops append to lists;
    `NAME_SCOPES` puts each function's nodes under its name. `AUTO_CONTROL_DEPS` has no effect beyond what functions do.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Returns all features."""
        return tuple(cls.__members__.values())

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """Returns all features but those named."""
        left_out = exclude if isinstance(exclude, (list, tuple, set)) else (exclude,)
        return tuple(f for f in cls.all() if f not in left_out and f is not cls.ALL)


@export("autograph.experimental.set_loop_options")
def set_loop_options(
    parallel_iterations: Any = _UNSET,
    back_prop: Any = _UNSET,
    swap_memory: Any = _UNSET,
    maximum_iterations: Any = _UNSET,
) -> None:
    """Says how the loop around it is to run; see `tf.while_loop`. TensorFlow 1.15 has no effect on loops here."""


def set_element_type(entity: Any, dtype: Any, shape: Any = _UNSET) -> None:
    """Says what a list's elements are like, for lists that become tensors."""


def as_set(features: Any) -> frozenset[str]:
    """Returns the names of features given as one Feature, several, None or True."""
    if features is None or features is True or features is False:
        return frozenset()
    if isinstance(features, Feature):
        features = (features,)
    names = {f.value for f in features}
    return frozenset(Feature.__members__ if "ALL" in names else names)
