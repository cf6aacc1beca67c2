"""Which tables of patterns a session's plans are rewritten by: what the environment and a ConfigProto say.

TensorFlow has two optimizers of graphs. The older one folds constants and merges common subexpressions unless
`opt_level` is L0; the other one, grappler, has an option for each of its passes. A table is in use if either wants it.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from headrace.passes.patterns import TABLES
from headrace.passes.rewrite import Rules

ALL = frozenset(TABLES)
_MOST_BYTES = 10 << 20
_OFF = 2

# The tables that a pass of grappler's stands for, by its name among the `optimizers` and by that of its option.
_PASSES = {
    "constfold": ("constant_folding", {"constant_folding"}),
    "arithmetic": ("arithmetic_optimization", {"arithmetic_optimization", "common_subgraph_elimination"}),
    "dependency": ("dependency_optimization", {"dependency_optimization"}),
    "remap": ("remapping", {"remapping"}),
}


@dataclass(frozen=True)
class Rewrites:
    """The tables in use.

    Attributes:
      always: Those in use for every plan.
      for_large: Those in use for plans of at least `least_nodes`.
      least_nodes: See there.
      most_bytes: The size of the largest constant that may be made.
    """

    always: frozenset[str] = ALL
    for_large: frozenset[str] = frozenset()
    least_nodes: int = 0
    most_bytes: int = _MOST_BYTES

    def rules(self, nodes: int) -> Rules | None:
        """Returns the rules of the tables in use for a plan of so many nodes, None if there are none."""
        return _rules(self.always | self.for_large if nodes >= self.least_nodes else self.always)


@functools.cache
def _rules(names: frozenset[str]) -> Rules | None:
    return Rules([table for name, table in TABLES.items() if name in names]) if names else None


def rewrites_of(config: Any = None, asked: str | None = None) -> Rewrites:
    """Returns the tables that a ConfigProto asks for, or those that text names, which overrides it.

    Args:
      config: The ConfigProto.
      asked: "on", "off", or names of tables separated by commas.

    Raises:
      ValueError: There is no such table.
    """
    found = Rewrites() if config is None else _asked_by(config.graph_options)
    if asked is not None:
        found = Rewrites(_named(asked), most_bytes=found.most_bytes)
    return found


def _named(text: str) -> frozenset[str]:
    if text in ("on", "off"):
        return ALL if text == "on" else frozenset()
    names = frozenset(name.strip() for name in text.split(","))
    if not names <= ALL:
        raise ValueError(f"HEADRACE_OPTIMIZE is on, off, or some of {', '.join(sorted(ALL))}, not {text!r}")
    return names


def _asked_by(options: Any) -> Rewrites:
    older, grappler = options.optimizer_options, options.rewrite_options
    always: set[str] = set()
    if older.opt_level >= 0 or older.do_constant_folding:
        always.add("constant_folding")
    if older.opt_level >= 0 or older.do_common_subexpression_elimination:
        always.add("common_subgraph_elimination")
    for_large: set[str] = set()
    if not grappler.disable_meta_optimizer:
        listed: Collection[str] = tuple(grappler.optimizers)
        for name, (option, tables) in _PASSES.items():
            if name in listed or (not listed and getattr(grappler, option) != _OFF):
                for_large |= tables
    most = older.max_folded_constant_in_bytes or _MOST_BYTES
    if grappler.min_graph_nodes <= 0:
        return Rewrites(frozenset(always | for_large), most_bytes=most)
    return Rewrites(frozenset(always), frozenset(for_large), grappler.min_graph_nodes, most)
