"""tf.custom_gradient: a function whose derivative the program gives."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from headrace.autodiff.gradients import gradients_between
from headrace.autodiff.paths import is_trainable
from headrace.export import NAMES, export
from headrace.graph import GraphKeys, Operation, Tensor, control_dependencies, get_default_graph
from headrace.opdef import GRADIENTS, convert_to_tensor, raw

_numbers = itertools.count(1)
_VARIABLE_OPS = ("VariableV2", "VarHandleOp")


@export("custom_gradient")
def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function that says itself what its derivative is.

    Args:
      f: Takes tensors and returns `(results, grad_fn)`. `grad_fn` is called with the gradients of the results and
        returns those of the arguments. If `f` uses variables, `grad_fn` has a keyword argument `variables`, gets the
        list of them, and returns a pair: the gradients of the arguments, and of the variables.

    Returns:
      A function that returns the results alone.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when eager execution is "
                "enabled."
            )
        return _in_graph(f, [convert_to_tensor(a) for a in args])

    return decorated


def _in_graph(f: Callable[..., Any], args: list[Tensor]) -> Any:
    graph = get_default_graph()
    name = f"CustomGradient-{next(_numbers)}"
    before = set(map(id, graph.get_collection(GraphKeys.GLOBAL_VARIABLES)))
    result, grad_fn = f(*args)
    made = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if id(v) not in before]
    if not all(hasattr(v, "handle") for v in made):
        raise TypeError(
            "All variables used by a function wrapped with @custom_gradient must be `ResourceVariable`s. Ensure that "
            "no `variable_scope` is created with `use_resource=False`."
        )
    flat = [convert_to_tensor(t) for t in _flatten(result)]
    variables = _variables_between(args, [raw.Identity(t) for t in flat])
    _check_variables_argument(grad_fn, variables)

    def gradient(op: Operation, *grads: Any) -> list[Any]:
        given = grads[: len(flat)]
        if variables:
            of_args, of_variables = grad_fn(*given, variables=list(variables))
            if len(of_variables) != len(variables):
                raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        else:
            of_args, of_variables = grad_fn(*given), []
        return [None] * len(flat) + list(_flatten(of_args)) + list(of_variables)

    GRADIENTS[name] = gradient
    # The arguments and variables pass through the node so that it is what their gradients come from.
    everything = [*flat, *args, *variables]
    with graph.gradient_override_map({"IdentityN": name}):
        outputs = raw.IdentityN(everything, name="IdentityN")
    for through, t in zip(outputs, [convert_to_tensor(each) for each in everything], strict=True):
        through._handle_data = t._handle_data
    return _pack(result, iter(outputs))


def _check_variables_argument(grad_fn: Callable[..., Any], variables: list[Any]) -> None:
    spec = inspect.getfullargspec(grad_fn)
    takes = "variables" in spec.args or "variables" in spec.kwonlyargs or spec.varkw is not None
    if variables and not takes:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a keyword "
            "argument 'variables'."
        )
    if ("variables" in spec.args or "variables" in spec.kwonlyargs) and not variables:
        scope = NAMES["get_variable_scope"]()
        if not scope.use_resource:
            raise TypeError(
                "If using @custom_gradient with a function that uses variables, the enclosing variable scope must have "
                "use_resource=True."
            )


def _variables_between(args: list[Tensor], results: list[Tensor]) -> list[Any]:
    """Returns the variables that the results are computed from without passing through the arguments."""
    stop = {t._op for t in args}
    seen: set[Operation] = set()
    found: list[Operation] = []
    todo = [t._op for t in results]
    while todo:
        op = todo.pop()
        if op in seen or op in stop:
            continue
        seen.add(op)
        if op.type in _VARIABLE_OPS:
            found.append(op)
        todo.extend(t._op for t in op._inputs if is_trainable(t))
    by_op = {v.op.name: v for v in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)}
    return [by_op[op.name] for op in found if op.name in by_op]


def _flatten(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from _flatten(v)
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from _flatten(value[key])
    else:
        yield value


def _pack(like: Any, flat: Iterator[Any]) -> Any:
    """Returns a structure like another with other leaves."""
    if isinstance(like, dict):
        new = {key: _pack(like[key], flat) for key in sorted(like)}
        return type(like)((key, new[key]) for key in like)
    if isinstance(like, tuple) and hasattr(like, "_fields"):
        return type(like)(*[_pack(v, flat) for v in like])
    if isinstance(like, (list, tuple)):
        return type(like)([_pack(v, flat) for v in like])
    return next(flat)


@export("recompute_grad")
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function like `f` that is computed again for its gradient, so that nothing in it needs to be kept.

    Args:
      f: A function of tensors that returns a tensor or a list of them.
    """

    @custom_gradient
    def inner(*args: Any) -> Any:
        result = f(*args)

        def grad(*dys: Any, variables: Any = None) -> Any:
            with control_dependencies([dy for dy in dys if dy is not None]):
                again = f(*args)
            given = list(variables or ())
            grads = gradients_between(list(_flatten(again)), [*args, *given], list(dys), flat=True)
            return grads[: len(args)], grads[len(args) :]

        def grad_without(*dys: Any) -> Any:
            return grad(*dys)[0]

        has_variables = bool(_variables_between(list(args), [convert_to_tensor(t) for t in _flatten(result)]))
        return result, grad if has_variables else grad_without

    return functools.wraps(f)(inner)


@export("grad_pass_through")
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function like `f` whose gradient is that of the identity: gradients pass through unchanged.

    Args:
      f: A function of tensors that returns as many tensors of the same shapes.
    """

    @custom_gradient
    def inner(*args: Any, **kwargs: Any) -> Any:
        def grad(*dys: Any, **given: Any) -> Any:
            variables = given.get("variables")
            return dys if variables is None else (dys, [None] * len(variables))

        return f(*args, **kwargs), grad

    return functools.wraps(f)(inner)
