"""Automatic control dependencies: nodes of a function that touch state run in the order in which they were made."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import resource as resource_type
from headrace.graph.operation import Operation
from headrace.graph.tensor import Tensor

# Random numbers are drawn in any order, and only where they are used.
_FREE = frozenset(
    "RandomUniform RandomUniformInt RandomStandardNormal ParameterizedTruncatedNormal TruncatedNormal RandomShuffle "
    "Multinomial RandomGamma RandomGammaGrad RandomPoisson RandomPoissonV2".split()
)


class AutomaticControl:
    """Orders the nodes that were added to a function's graph since it was made.

    Attributes:
      graph: The function's graph.
      must_run: Nodes that run with every call, whatever the results need; known once `finish` was called.
    """

    def __init__(self, graph: Any):
        self.graph = graph
        self.must_run: list[Operation] = []
        self._start = len(graph._ops)

    def finish(self, returned: list[Tensor]) -> None:
        """Adds the control edges.

        Args:
          returned: What the function returns; each is there only after all that must run has run.
        """
        last: dict[Any, Operation] = {}  # by resource; None stands for the state outside
        must_run: dict[Operation, None] = {}
        for op in self.graph._ops[self._start :]:
            is_stateful = op.kind.is_stateful and op.type not in _FREE
            if is_stateful:
                must_run[op] = None
            touched: list[Any] = [t for t in op._inputs if t._dtype is resource_type]
            if not touched and is_stateful:
                touched = [None]
            before = [last[key] for key in dict.fromkeys(touched) if key in last]
            for key in touched:
                last[key] = op
            waits = [c for c in dict.fromkeys(before) if c is not op]
            if waits:
                op._add_control_inputs(waits)
        self.must_run = list(must_run)
        for t in returned:
            op = t._op
            waits = [c for c in self.must_run if c is not op]
            if waits and op._graph is self.graph:
                op._add_control_inputs(waits)
