"""tf.gradients: adds the nodes that compute derivatives, equal to TensorFlow's node for node."""

from __future__ import annotations

import contextlib
import enum
from collections import deque
from typing import Any

from headrace import dtypes
from headrace.autodiff.aggregation import aggregate, check_method
from headrace.autodiff.paths import Paths, is_trainable
from headrace.autodiff.registry import gradient_function
from headrace.export import NAMES, export
from headrace.graph import IndexedSlices, Operation, Tensor, get_default_graph, name_scope
from headrace.graph.functional import is_functional
from headrace.graph.leaving import is_left_behind
from headrace.graphdef.collector import held_back
from headrace.opdef import constant_node, convert_to_tensor, convert_to_tensor_or_indexed_slices, nodes, raw
from headrace.shapes import merge

# Single nodes here, but not in TensorFlow 1: no gradient goes back from the results that nothing depends on.
_CONTROL_FLOW = ("If", "StatelessIf", "While", "StatelessWhile")


@export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """What the gradient of `ys` with respect to an `x` is that they do not depend on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


@export("gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Adds nodes that compute the derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: A tensor, or a list of tensors.
      xs: A tensor or variable, or a list of them.
      grad_ys: The gradients that `ys` have already: a list with a tensor or None for each; None stands for ones.
      name: The name scope of the new nodes.
      colocate_gradients_with_ops: Places the gradient of an operation where the operation is.
      gate_gradients: Uses an operation's gradients only once all of them are computed.
      aggregation_method: How to add up gradients; one of AggregationMethod's.
      stop_gradients: Tensors to take as constants.
      unconnected_gradients: What to return for an `x` that `ys` do not depend on.

    Returns:
      For each `x` its derivative: a Tensor, IndexedSlices, or None.

    Raises:
      LookupError: An operation on the way has no gradient.
      ValueError: Arguments do not fit each other, or an operation's gradient is of the wrong number or shape.
      TypeError: `grad_ys` is missing or of a wrong type for a `y`.
    """
    return gradients_between(
        ys, xs, grad_ys, name, colocate_gradients_with_ops, gate_gradients, aggregation_method, stop_gradients,
        unconnected_gradients,
    )  # fmt: skip


def gradients_between(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate: bool = False,
    gate: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
    source: Any = None,
    flat: bool = False,
) -> list[Any]:
    """Is `gradients`, with more to say where its nodes go.

    Args:
      ys, xs, grad_ys, name, colocate, gate, aggregation_method, stop_gradients, unconnected_gradients: As there.
      source: The graph that `ys` and `xs` are of, where new nodes go to another (a loop body's).
      flat: Puts nodes into no scopes, and takes `grad_ys` as they are: what a GradientTape does.
    """
    outside = source is None
    if source is None:
        source = get_default_graph()
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}") from None
    ys, xs = _as_list(ys), [_handle(x) for x in _as_list(xs)]
    stops = [] if stop_gradients is None else _as_list(stop_gradients)
    grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    scopes = (
        contextlib.nullcontext("") if flat else name_scope(name, "gradients", [*ys, *xs, *stops, *grad_ys])
    )
    with scopes as scope:
        ys = _convert(ys, "y")
        xs = _convert(xs, "x", as_ref=True)
        found: list[Any] = [None] * len(xs)
        for i, x in enumerate(xs if outside else ()):
            if is_left_behind(x, source):
                xs[i], found[i] = x.graph._way_out.watched(x, source)
        stops = _convert(stops, None)
        if flat:
            grad_ys = [
                _ones_like(y) if g is None else g for g, y in zip(_convert(grad_ys, None), ys, strict=True)
            ]
        else:
            grad_ys = _default_gradients(grad_ys, ys, colocate)
        method = check_method(aggregation_method)
        if source._before_gradients is not None:
            source._before_gradients(source, ys, xs)
        pass_ = _BackwardPass(ys, xs, stops, source, scope, colocate, gate, method, flat)
        with held_back():
            pass_.run(ys, grad_ys)
    results = [pass_.result(x, unconnected) for x in xs]
    return [g if g is None or out is None else out(g) for g, out in zip(results, found, strict=True)]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _handle(x: Any) -> Any:
    """Returns the handle of a resource variable, anything else as it is."""
    handle = getattr(x, "handle", None)
    return handle if isinstance(handle, Tensor) and handle._dtype is dtypes.resource else x


def _convert(values: list[Any], name: str | None, as_ref: bool = False) -> list[Any]:
    out = []
    for i, v in enumerate(values):
        if v is not None and type(v) is not Tensor:
            each_name = None if name is None else f"{name}_{i}"
            if isinstance(v, IndexedSlices) or hasattr(v, "dense_shape"):
                v = convert_to_tensor_or_indexed_slices(v, name=each_name)
            else:
                v = convert_to_tensor(v, name=each_name, as_ref=as_ref)
        out.append(v)
    return out


def _colocated(op: Operation, when: bool) -> Any:
    return op._graph._colocate_with_for_gradient(op, None) if when else contextlib.nullcontext()


# -- where the gradient starts ---------------------------------------------------------------------------------


def _default_gradients(grad_ys: list[Any], ys: list[Tensor], colocate: bool) -> list[Any]:
    """Returns a gradient for each `y`, ones where none was given.

    Raises:
      ValueError: There are more or fewer than `ys`.
      TypeError: One does not fit its `y`'s type.
    """
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    grad_ys = _convert(grad_ys, "grad_y")
    out: list[Any] = []
    for i, (grad, y) in enumerate(zip(grad_ys, ys, strict=True)):
        with _colocated(y.op, colocate):
            if grad is None:
                if y.dtype.is_complex:
                    raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})")
                shape = nodes.shape_of(y)
                out.append(raw.Fill(shape, constant_node(1, y.dtype, name=f"grad_ys_{i}"), name="Fill"))
                continue
            _check_given(grad, y)
            if isinstance(grad, IndexedSlices):
                shape = grad.dense_shape
                out.append(
                    IndexedSlices(
                        indices=raw.Identity(grad.indices, name=f"grad_ys_{i}_indices"),
                        values=raw.Identity(grad.values, name=f"grad_ys_{i}_values"),
                        dense_shape=None if shape is None else raw.Identity(shape, name=f"grad_ys_{i}_shape"),
                    )
                )
            else:
                out.append(raw.Identity(grad, name=f"grad_ys_{i}"))
    return out


def _ones_like(y: Tensor) -> Tensor:
    dims = y._dims
    known = dims is not None and None not in dims
    return NAMES["ones"](list(dims) if known and dims is not None else nodes.shape_of(y), y.dtype.base_dtype)  # type: ignore[no-any-return]


def _check_given(grad: Any, y: Tensor) -> None:
    mine, its = grad.dtype.base_dtype, y.dtype.base_dtype
    if its.is_floating or its.is_integer:
        if not (mine.is_floating or mine.is_integer):
            raise TypeError(
                f"Gradient type {mine.name} generated for real or integer-valued tensor {y} with type {y.dtype.name} "
                "must be real or integer"
            )
    elif its.is_complex:
        if not mine.is_complex:
            raise TypeError(
                f"Gradient type {mine.name} generated for complex-valued tensor {y} with type {y.dtype.name} must "
                "be real"
            )
    elif its is dtypes.variant:
        if mine is not dtypes.variant:
            raise TypeError(
                f"Gradient type {mine.name} generated for variant tensor {y} with type {y.dtype.name} must be variant"
            )
    elif its is dtypes.resource:
        if mine is dtypes.resource:
            raise TypeError(f"Input gradient {grad} for resource tensor {y} should not be a resource")
    else:
        raise TypeError(f"Tensor {y} with type {y.dtype.name} must be numeric to obtain a default gradient")


# -- the way back ----------------------------------------------------------------------------------------------


class _BackwardPass:
    """One walk from `ys` back to `xs`.

    Attributes:
      grads: Operation -> for each output the gradients that reached it: a list while they come in, then their sum.
    """

    def __init__(
        self,
        ys: list[Tensor],
        xs: list[Tensor],
        stops: list[Tensor],
        source: Any,
        scope: str,
        colocate: bool,
        gate: bool,
        method: int,
        flat: bool,
    ):
        self.scope, self.colocate, self.gate, self.method = scope, colocate, gate, method
        self.flat = flat
        self.to_ops = list(dict.fromkeys(y.op for y in ys))
        from_ops = [x.op for x in xs]
        self.paths = Paths([y.op for y in ys], from_ops, [t.op for t in stops], set(xs), source)
        self.grads: dict[Operation, list[Any]] = {}

    def run(self, ys: list[Tensor], grad_ys: list[Any]) -> None:
        for y, grad in zip(ys, grad_ys, strict=True):
            self._send(y, grad)
        paths = self.paths
        pending = paths.pending
        queue = deque(op for op in self.to_ops if pending.get(op, 0) == 0 and op in paths.reaches)
        while queue:
            op = queue.popleft()
            with _colocated(op, self.colocate):
                outs = self._arrived(op)
                inputs = paths.inputs(op)
                for t, grad in zip(inputs, self._backwards(op, outs), strict=True):
                    if grad is None:
                        continue
                    if type(grad) is Tensor and t._dtype is not dtypes.resource:
                        self._set_shape(op, t, grad)
                    self._send(t, grad)
            for t in inputs:
                before = t._op
                left = pending[before] = pending.get(before, 0) - 1
                if left == 0:
                    queue.append(before)

    def _send(self, tensor: Tensor, grad: Any) -> None:
        mine = self.grads.get(tensor._op)
        if mine is None:
            mine = self.grads[tensor._op] = [[] for _ in tensor._op._outputs]
        slot = mine[tensor._value_index]
        if type(slot) is list:
            slot.append(grad)

    def _arrived(self, op: Operation) -> list[Any]:
        """Returns the sum of the gradients of each output, None for those that got none."""
        mine = self.grads.get(op)
        if mine is None:
            return [None] * len(op._outputs)
        for i, got in enumerate(mine):
            if type(got) is list:
                if len(got) == 1 and type(got[0]) is Tensor:
                    mine[i] = got[0]
                else:
                    mine[i] = aggregate([g for g in got if g is not None], op._name, self.method)
        return list(mine)

    def _backwards(self, op: Operation, outs: list[Any]) -> list[Any]:
        """Returns the gradients of a node's inputs."""
        none = [None] * len(op._inputs)
        for g in outs:
            if g is not None:
                break
        else:
            return none
        if op in self.paths.stops:
            return none
        function = gradient_function(op)
        if function is None:
            return none
        graph = get_default_graph()
        if op.type not in _CONTROL_FLOW or is_functional(graph):
            for i, g in enumerate(outs):
                if g is None and is_trainable(op._outputs[i]):
                    outs[i] = zeros_outside_loop(op._outputs[i])
        old = graph._name_stack
        if not self.flat:
            graph._name_stack = graph._enter_name_scope(op._name + "_grad")
        try:
            result = function(op, *outs)
            grads = list(result) if isinstance(result, (list, tuple)) else [result]
            self._check(op, grads)
            if self.gate and sum(g is not None for g in grads) > 1:
                with graph.device(None), graph._colocate_with_for_gradient(None, None, ignore_existing=True):
                    grads = list(NAMES["tuple"](grads))
        finally:
            graph._name_stack = old
        return grads

    def _check(self, op: Operation, grads: list[Any]) -> None:
        # A loop's gradient may leave out what the loop captured.
        if len(grads) != len(op._inputs) and op.type not in ("While", "StatelessWhile"):
            raise ValueError(
                f"Num gradients {len(grads)} generated for op {op.node_def} do not match num inputs {len(op._inputs)}"
            )
        for g in grads:
            if g is not None and not isinstance(g, (Tensor, IndexedSlices)):
                raise AttributeError(
                    f"the gradient of '{op.name}' (op type: {op.type}) is {g!r}, not a tensor or None"
                )

    def _set_shape(self, op: Operation, t: Tensor, grad: Tensor) -> None:
        """Lets the gradient know the shape of what it is the gradient of."""
        if grad._dims == t._dims:
            return
        try:
            grad._dims = merge(grad._dims, t._dims)
        except ValueError:
            index = next(i for i, each in enumerate(op._inputs) if each is t or each._dims == t._dims)
            raise ValueError(
                "Incompatible shapes between op input and calculated input gradient.  Forward operation: "
                f"{op.name}.  Input index: {index}. Original input shape: {t.shape}.  Calculated input gradient shape: "
                f"{grad.shape}"
            ) from None

    def result(self, x: Tensor, unconnected: UnconnectedGradients) -> Any:
        """Returns what is known at the end of one `x`."""
        mine = self.grads.get(x._op)
        got = None if mine is None else mine[x._value_index]
        if type(got) is list:
            got = aggregate([g for g in got if g is not None], x._op._name, self.method) if got else None
        if got is None and unconnected is UnconnectedGradients.ZERO:
            return zeros_like_outside(x)
        return got


def zeros_outside_loop(tensor: Tensor) -> Tensor:
    """Returns zeros for an output that no gradient reached, computed when the graph runs."""
    if tensor._dtype is dtypes.resource:
        return zeros_like_outside(tensor)
    return raw.ZerosLike(tensor, name="zeros_like")  # type: ignore[no-any-return]


def zeros_like_outside(tensor: Tensor) -> Tensor:
    """Returns zeros of a tensor's shape, or of the shape of the variable that it is the handle of."""
    if tensor._dtype.base_dtype is not dtypes.resource:
        return nodes.zeros_like(tensor)
    handle = tensor._handle_data
    dtype, shape = handle[0] if handle else (dtypes.float32, None)
    # Behind a function's placeholder, or a loop, the variable's shape is asked for when the graph runs.
    if shape is not None and None not in shape and tensor._op.type == "VarHandleOp":
        return nodes.zeros(constant_node(list(shape), dtypes.int32), dtype)
    zeros = nodes.zeros(raw.VariableShape(tensor), dtype)
    # TensorFlow does not look into it for the zeros' shape.
    zeros._dims = None if zeros._dims is None else (None,) * len(zeros._dims)
    return zeros
