"""Random seeds: how a graph-level and an op-level seed become the two seeds of a random op."""

from __future__ import annotations

from headrace.export import export
from headrace.graph.default import get_default_graph

DEFAULT_GRAPH_SEED = 87654321
_MAX_INT32 = 2**31 - 1


@export("random.set_random_seed", "set_random_seed", "random.set_seed", "compat.v1.random.set_random_seed")
def set_random_seed(seed: int | None) -> None:
    """Sets the graph-level seed of the default graph; random ops made afterwards depend on it."""
    get_default_graph().seed = seed


@export("random.get_seed", "get_seed")
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Returns the two seeds that a random op gets.

    A graph-level seed alone gives every op a different but fixed seed: the number of nodes made before it. An op-level
    seed alone goes with a fixed graph seed. Neither gives (None, None): different numbers in every session.

    Args:
      op_seed: The op-level seed, or None.
    """
    graph = get_default_graph()
    graph_seed = graph.seed
    if graph_seed is not None:
        seeds = (graph_seed, graph._last_id if op_seed is None else op_seed)
    elif op_seed is not None:
        seeds = (DEFAULT_GRAPH_SEED, op_seed)
    else:
        return None, None
    first, second = seeds[0] % _MAX_INT32, seeds[1] % _MAX_INT32
    if first == 0 and second == 0:
        # (0, 0) would mean "no seed" to the op.
        return 0, _MAX_INT32
    return first, second
