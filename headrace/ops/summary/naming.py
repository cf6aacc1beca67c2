"""The names and tags of summaries, and the collections they go to."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from headrace.graph import GraphKeys, get_default_graph, name_scope
from headrace.platform import tf_logging

_NOT_IN_NAMES = re.compile(r"[^-/\w.]")


def clean_tag(name: str | None) -> str | None:
    """Returns a name with what node names can't hold replaced by `_`, and says so in the log.

    Args:
      name: The name that the caller gave; None stays None.
    """
    if name is None:
        return None
    clean = _NOT_IN_NAMES.sub("_", name).lstrip("/")
    if clean != name:
        tf_logging.info("Summary name %s is illegal; using %s instead.", name, clean)
    return clean


@contextlib.contextmanager
def summary_scope(
    name: str | None, family: str | None = None, default_name: str | None = None, values: Any = None
) -> Iterator[tuple[str, str]]:
    """Opens the name scope of a summary.

    Args:
      name: The name that the caller gave.
      family: A prefix of the tag, which is what the web application groups by.
      default_name: The name where there is none.
      values: The tensors that go in.

    Yields:
      The summary's tag and its scope, which is the node's name with a `/` at its end.

    Raises:
      ValueError: There is no name, or it can't be one.
    """
    name = clean_tag(name)
    family = clean_tag(family)
    base = name if family is None else f"{family}/{name}"
    with name_scope(base, default_name, values) as scope:
        if not scope:
            raise ValueError("'' is not a valid node name")
        around = get_default_graph()._scope_around  # of a branch or a loop
        tag = (f"{around}/{scope}" if around else scope).rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope


def collect(value: Any, collections: Any, default_collections: Any = (GraphKeys.SUMMARIES,)) -> None:
    """Puts a summary in its collections.

    Args:
      value: The summary's tensor.
      collections: Names of collections; None stands for `default_collections`.
      default_collections: The usual ones.
    """
    graph = get_default_graph()
    for key in default_collections if collections is None else collections:
        graph.add_to_collection(key, value)
