"""tf.GradientTape: derivatives along the nodes that were made while it recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from headrace.autodiff.gradients import UnconnectedGradients, gradients_between, zeros_like_outside
from headrace.autodiff.paths import is_trainable
from headrace.export import NAMES, export
from headrace.graph import GraphKeys, Operation, Tensor, get_default_graph
from headrace.graph.structure import flatten, pack_like
from headrace.opdef import convert_to_tensor, nodes, raw


@export("GradientTape")
class GradientTape:
    """Remembers which nodes are made within it, for derivatives along these alone.

    Derivatives are taken with respect to what is watched: trainable variables that are read, and what `watch` is told.
    They go through branches and loops, too.

    Args:
      persistent: Whether derivatives may be asked for more than once.
      watch_accessed_variables: Whether trainable variables are watched once they are read.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._persistent = persistent
        self._watches_variables = watch_accessed_variables
        self._recording = False
        self._has_tape = False
        # (graph, number of the first node that was recorded, number after the last one or None)
        self._spans: list[tuple[Any, int, int | None]] = []
        self._watched: dict[int, Any] = {}  # by identity: tensors, and variables that `watch` was told

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        graph = get_default_graph()
        self._spans.append((graph, len(graph._ops), None))
        self._recording = self._has_tape = True

    def _stop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        graph, first, _ = self._spans[-1]
        self._spans[-1] = graph, first, len(graph._ops)
        self._recording = False

    def _records(self, op: Operation) -> bool:
        return any(
            op._graph is graph and first <= op._id and (last is None or op._id < last)
            for graph, first, last in self._spans
        )

    def watch(self, tensor: Any) -> None:
        """Has derivatives taken with respect to a tensor or variable, or to all in a structure.

        Raises:
          ValueError: One is neither.
        """
        for each in flatten(tensor):
            if not (isinstance(each, Tensor) or isinstance(getattr(each, "handle", None), Tensor)):
                raise ValueError(f"Passed in object of type {type(each)}, not tf.Tensor")
            self._watched[id(each)] = each

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Leaves out the nodes that are made within a block.

        Raises:
          ValueError: It isn't recording.
        """
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forgets all that was recorded and watched, and records on.

        Raises:
          ValueError: It isn't recording.
        """
        self._stop()
        self._spans.clear()
        self._watched.clear()
        self._start()

    def watched_variables(self) -> tuple[Any, ...]:
        """Returns the variables that are watched, in the order of their making."""
        told = [v for v in self._watched.values() if not isinstance(v, Tensor)]
        graph = self._spans[-1][0] if self._spans else get_default_graph()
        known = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        read = [v for v in known if self._watches(v)]
        return tuple({id(v): v for v in [*read, *told]}.values())

    def _watches(self, x: Any) -> bool:
        """Whether a tensor or variable is watched for its own sake."""
        if id(x) in self._watched:
            return True
        if isinstance(x, Tensor) or not self._watches_variables or not getattr(x, "trainable", False):
            return False
        handle = _tensor_of(x)
        while True:
            if any(self._records(op) for op in handle._consumers):
                return True
            # A function's body sees the variable through a placeholder.
            inner = [
                dict(graph.captures).get(handle) for graph, _, _ in self._spans if graph.building_function
            ]
            found = next((t for t in inner if t is not None and t is not handle), None)
            if found is None:
                return False
            handle = found

    def _leads_from_watched(self, x: Tensor) -> bool:
        """Whether a recorded tensor depends on a watched one."""
        variables = {_tensor_of(v) for v in self.watched_variables()}
        todo, seen = [x], set()
        while todo:
            t = todo.pop()
            if id(t) in self._watched or t in variables:
                return True
            if t._op not in seen and self._records(t._op):
                seen.add(t._op)
                todo.extend(t._op._inputs)
        return False

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """Returns the derivatives of the sum of `target` with respect to each of `sources`.

        Args:
          target: A tensor, or a structure of tensors.
          sources: A tensor or variable that is watched or depends on what is, or a structure of such.
          output_gradients: The gradients that the targets have already, in the same structure; ones if None.
          unconnected_gradients: What stands for a source that the targets don't depend on: None or zeros.

        Returns:
          A structure like `sources`.

        Raises:
          RuntimeError: It isn't persistent and was asked before.
          ValueError: `unconnected_gradients` is neither.
        """
        self._check_open("gradient")
        if self._recording and not self._persistent:
            self._stop()
        targets = [convert_to_tensor(y) for y in flatten(target)]
        given = [None] * len(targets) if output_gradients is None else flatten(output_gradients)
        found = self._gradients(targets, flatten(sources), given, UnconnectedGradients(unconnected_gradients))
        self._has_tape = self._persistent
        return pack_like(sources, found)

    def _check_open(self, method: str) -> None:
        if not self._has_tape:
            raise RuntimeError(f"GradientTape.{method} can only be called once on non-persistent tapes.")

    def _gradients(
        self, targets: list[Tensor], sources: list[Any], given: list[Any], unconnected: UnconnectedGradients
    ) -> list[Any]:
        pairs = [(y, g) for y, g in zip(targets, given, strict=True) if is_trainable(y)]
        found: list[Any] = [None] * len(sources)
        tensors = [x if isinstance(x, Tensor) else _tensor_of(x) for x in sources]
        ys = [y for y, _ in pairs]
        live = [
            i
            for i, (x, t) in enumerate(zip(sources, tensors, strict=True))
            if is_trainable(t) and (t in ys or self._watches(x) or self._leads_from_watched(t))
        ]
        if pairs and live:
            xs, given = [sources[i] for i in live], [g for _, g in pairs]
            results = gradients_between(ys, xs, given, stop_gradients=self._border(ys), flat=True)
            for i, g in zip(live, results, strict=True):
                found[i] = g
        if unconnected is UnconnectedGradients.ZERO:
            found = [zeros_like_outside(t) if g is None else g for t, g in zip(tensors, found, strict=True)]
        return found

    def _border(self, ys: list[Tensor]) -> list[Tensor]:
        """Returns a tensor of each node that was not recorded but is used by some that were."""
        border: dict[Operation, Tensor] = {}
        todo, seen = list(ys), set()
        while todo:
            t = todo.pop()
            op = t._op
            if op in seen:
                continue
            seen.add(op)
            if self._records(op):
                todo.extend(op._inputs)
            else:
                border[op] = t
        return list(border.values())

    # -- jacobians -------------------------------------------------------------------------------------------
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns the derivatives of each element of `target` with respect to each of `sources`.

        Args:
          target: A tensor.
          sources: As for `gradient`.
          unconnected_gradients: As for `gradient`.
          parallel_iterations: It has no effect on results.
          experimental_use_pfor: Not used: the elements go through a loop.

        Returns:
          A structure like `sources` of tensors with the dimensions of `target` and then those of the source.

        Raises:
          RuntimeError: It isn't persistent and was asked before.
        """
        del parallel_iterations, experimental_use_pfor
        self._check_open("jacobian")
        if self._recording and not self._persistent:
            self._stop()
        target = convert_to_tensor(target)
        shape = nodes.shape_of(target)

        def ones_at(i: Any, n: Any) -> Any:
            return raw.Reshape(NAMES["one_hot"](i, n, dtype=target.dtype), shape)

        rows = self._rows(target, flatten(sources), nodes.size_of(target), ones_at)
        out = []
        for x, row in zip(flatten(sources), rows, strict=True):
            if row is not None:
                row = raw.Reshape(row, NAMES["concat"]((shape, nodes.shape_of(convert_to_tensor(x))), 0))
            elif UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO:
                dims = NAMES["concat"]((shape, nodes.shape_of(convert_to_tensor(x))), 0)
                row = nodes.zeros(dims, target.dtype)
            out.append(row)
        self._has_tape = self._persistent
        return pack_like(sources, out)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns for each row of `target` the derivatives with respect to the same row of `source`.

        Args:
          target: A tensor whose rows depend on the same rows of `source` alone.
          source: A tensor with as many rows.
          unconnected_gradients, parallel_iterations, experimental_use_pfor: As for `jacobian`.

        Returns:
          A tensor of the number of rows, the dimensions of a row of `target`, then those of a row of `source`.

        Raises:
          RuntimeError: It isn't persistent and was asked before.
          ValueError: The numbers of rows differ, or there are no rows.
        """
        del parallel_iterations, experimental_use_pfor
        self._check_open("batch_jacobian")
        target_dims, source_dims = target._dims, source._dims
        if not target_dims or not source_dims:
            raise ValueError(
                "target and source have at least two dimensions, the first of which is that of rows"
            )
        if None not in (target_dims[0], source_dims[0]) and target_dims[0] != source_dims[0]:
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match."
            )
        if self._recording and not self._persistent:
            self._stop()
        shape = nodes.shape_of(target)
        count = NAMES["gather"](shape, 0)
        columns = nodes.size_of(target) // NAMES["maximum"](count, 1)

        def ones_at(i: Any, n: Any) -> Any:
            row = NAMES["one_hot"](i, n, dtype=target.dtype)
            return raw.Reshape(NAMES["tile"](row[None], [count, 1]), shape)

        (rows,) = self._rows(target, [source], columns, ones_at)
        self._has_tape = self._persistent
        inside = NAMES["slice"](nodes.shape_of(source), [1], [-1])
        dims = NAMES["concat"]((shape, inside), 0)
        if rows is None:
            zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
            return nodes.zeros(dims, target.dtype) if zero else None
        rows = raw.Reshape(rows, NAMES["stack"]([columns, count, -1]))
        return raw.Reshape(NAMES["transpose"](rows, [1, 0, 2]), dims)

    def _rows(
        self, target: Tensor, sources: list[Any], n: Any, ones_at: Callable[[Any, Any], Any]
    ) -> list[Any]:
        """Returns for each source its gradients for `n` given gradients of the target, None if it has none."""
        none = UnconnectedGradients.NONE
        known = self._gradients([target], sources, [None], none)
        places = [i for i, g in enumerate(known) if g is not None]
        out: list[Any] = [None] * len(sources)
        if not places:
            return out
        inside = [sources[i] for i in places]

        def row(i: Any) -> list[Any]:
            return [convert_to_tensor(g) for g in self._gradients([target], inside, [ones_at(i, n)], none)]

        kinds = [known[i].dtype for i in places]
        rows = NAMES["map_fn"](row, NAMES["range"](n), dtype=kinds)
        for i, each in zip(places, rows, strict=True):
            out[i] = each
        return out


def _tensor_of(x: Any) -> Tensor:
    """Returns a tensor, or the handle or reference of a variable."""
    if isinstance(x, Tensor):
        return x
    handle = getattr(x, "handle", None)
    return handle if isinstance(handle, Tensor) else x._ref()
