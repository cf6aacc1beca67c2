"""What converted code calls in place of `if`, `while`, `for`, `and`, `or`, `not`, `assert` and conditional expressions.

Each operator builds nodes if what decides is a tensor; otherwise it does what Python does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from malt.operators.variables import Undefined, UndefinedReturnValue

from headrace import dtypes
from headrace.export import NAMES
from headrace.graph import Tensor
from headrace.graph.func_graph import FuncGraph
from headrace.graph.structure import flatten, is_composite, is_nested
from headrace.opdef import constant_node, constant_value, convert_to_tensor
from headrace.tensor_shape import TensorShape

__all__ = [
    "and_",
    "assert_stmt",
    "eq",
    "for_stmt",
    "if_exp",
    "if_stmt",
    "not_",
    "not_eq",
    "or_",
    "while_stmt",
]

State = tuple[Any, ...]


def is_tensor(value: Any) -> bool:
    """Whether a value is one that only a session knows."""
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def _is_undefined(value: Any) -> bool:
    return isinstance(value, (Undefined, UndefinedReturnValue))


# -- if ----------------------------------------------------------------------------------------------------------


def if_stmt(
    cond: Any,
    body: Callable[[], None],
    orelse: Callable[[], None],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    symbol_names: tuple[str, ...],
    nouts: int,
) -> None:
    """Runs one of two blocks, or builds both."""
    if not is_tensor(cond):
        (body if cond else orelse)()
        return
    before = get_state()
    found: dict[str, list[Any]] = {}
    kept: dict[str, set[int]] = {}

    def branch(which: str, block: Callable[[], None]) -> Callable[[], Any]:
        def run() -> Any:
            set_state(before)
            block()
            results = list(get_state()[:nouts])
            found[which] = results
            kept[which] = {i for i, v in enumerate(results) if not _becomes_tensors(v)}
            _check_defined(which, results, symbol_names)
            return [v for i, v in enumerate(results) if i not in kept[which]] or [constant_node(1)]

        return run

    try:
        other = _after_first(branch("else", orelse), found, symbol_names)
        results = NAMES["cond"](convert_to_tensor(cond), branch("if", body), other, strict=True)
    except (TypeError, ValueError) as e:
        _explain(e, found, symbol_names)
        raise
    finally:
        set_state(before)
    _check_kept(found, kept, symbol_names)
    new = iter(results)
    out = [found["if"][i] if i in kept["if"] else next(new) for i in range(nouts)]
    set_state((*out, *before[nouts:]))


def _after_first(
    run: Callable[[], Any], found: dict[str, list[Any]], names: tuple[str, ...]
) -> Callable[[], Any]:
    """Returns the second branch, which brings numbers to the types that the first one gave them."""

    def checked() -> Any:
        result = run()
        for name, a, b in zip(names, found["if"], found["else"], strict=False):
            if any(is_nested(v) or is_composite(v) or not _becomes_tensors(v) for v in (a, b)):
                continue
            if type(a).__name__ == "TensorArray" or type(b).__name__ == "TensorArray":
                continue
            # Like TensorFlow, which leaves the nodes of what it compares in the graph.
            one, other = _dtype_of(a), _dtype_of(b)
            if one is not other:
                raise TypeError(
                    f'"{name}" has dtype {one.name} in the TRUE branch, but dtype={other.name} in the FALSE branch. '
                    "TensorFlow control flow requires that they are the same."
                )
        return result

    return checked


def _dtype_of(value: Any) -> Any:
    return convert_to_tensor(value).dtype.base_dtype


def _becomes_tensors(value: Any) -> bool:
    """Whether a value can come out of a branch: tensors, numbers, and structures of those."""
    return all(
        is_tensor(v) or is_composite(v) or isinstance(v, (bool, int, float, complex, str, bytes)) or hasattr(v, "dtype")
        or type(v).__name__ == "TensorArray"
        for v in flatten(value)
    )  # fmt: skip


def _check_defined(which: str, results: list[Any], names: tuple[str, ...]) -> None:
    undefined = [names[i] for i, v in enumerate(results) if isinstance(v, Undefined)]
    if undefined and which in ("if", "else"):
        raise ValueError(
            f"The following symbols must also be initialized in the {which} branch: {tuple(undefined)}. Alternatively, "
            "you may initialize them before the if statement."
        )
    return


def _check_kept(found: dict[str, list[Any]], kept: dict[str, set[int]], names: tuple[str, ...]) -> None:
    """Checks that what is no tensor is the same in both branches.

    Raises:
      ValueError: A branch returns a value and the other does not.
      TypeError: A value is a tensor in one branch only.
    """
    for i in sorted(kept["if"] | kept["else"]):
        a, b = found["if"][i], found["else"][i]
        for which, value in (("if", a), ("else", b)):
            other = b if value is a else a
            if isinstance(value, UndefinedReturnValue) and not isinstance(other, UndefinedReturnValue):
                raise ValueError(
                    f"A value must also be returned from the {which} branch. If a value is returned from one branch of "
                    "a conditional a value must be returned from all branches."
                )
        if i in kept["if"] and i in kept["else"] and (a is b or _alike(a, b)):
            continue
        if a is None or b is None:
            raise ValueError("None values not supported.")
        raise TypeError(
            f"'{names[i]}' is {type(a).__name__} in the TRUE branch and {type(b).__name__} in the FALSE branch; a "
            "value that is no tensor must not depend on a tensor."
        )


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, UndefinedReturnValue):
        return isinstance(b, UndefinedReturnValue)
    return type(a) is type(b) and inspectable(a) == inspectable(b)


def inspectable(value: Any) -> Any:
    """Returns what tells whether two functions made by the same source are alike; the value itself otherwise."""
    return getattr(value, "__code__", value)


def _explain(e: Exception, found: dict[str, list[Any]], names: tuple[str, ...]) -> None:
    """Raises the error that says which symbol is at fault, where a branch did not return."""
    if "if" in found and "else" in found:
        for which in ("if", "else"):
            other = "else" if which == "if" else "if"
            for a, b in zip(found[which], found[other], strict=False):
                if isinstance(a, UndefinedReturnValue) and not isinstance(b, UndefinedReturnValue):
                    raise ValueError(
                        f"A value must also be returned from the {which} branch. If a value is returned from one "
                        "branch of a conditional a value must be returned from all branches."
                    ) from None
                if (a is None) != (b is None):
                    raise ValueError("None values not supported.") from None


def if_exp(cond: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], expr_repr: str = "") -> Any:
    """Is `a if cond else b`."""
    if is_tensor(cond):
        return NAMES["cond"](convert_to_tensor(cond), if_true, if_false)
    return if_true() if cond else if_false()


# -- loops -------------------------------------------------------------------------------------------------------


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    """Runs a loop, or builds one if its condition is a tensor."""
    before = get_state()
    # The condition is tried where it leaves no nodes behind.
    with FuncGraph("tmp").as_default():
        first = test()
    set_state(before)
    if not is_tensor(first):
        while test():
            body()
            if is_tensor(test()):
                raise NotImplementedError(
                    "The condition of while loop started as non-Tensor, then changed to Tensor. This may happen either "
                    "because variables changed type, or when a break or return statement inside the loop depends on a "
                    "Tensor condition. In both cases, changing to a TF loop should remove the error."
                )
        return
    _staged_loop(test, body, before, get_state, set_state, symbol_names, opts)


def _staged_loop(
    test: Callable[[], Any],
    body: Callable[[], None],
    before: State,
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    names: tuple[str, ...],
    opts: dict[str, Any],
    first: tuple[Any, ...] = (),
    step: Callable[[Any], Any] | None = None,
    main_test: Callable[[Any], Any] | None = None,
) -> None:
    """Builds a loop.

    Args:
      test: The user's condition.
      body: The user's block; called with the first variable if there is one.
      before: The state at its start.
      get_state: Returns the state.
      set_state: Sets the state.
      names: The names of the state's variables.
      opts: Options for `tf.while_loop`.
      first: What the loop's own variable starts with, if it has one.
      step: Returns the own variable's next value.
      main_test: The condition on the own variable.
    """
    _check_start(before, names)
    moving = [i for i, v in enumerate(before) if _becomes_tensors(v)]
    still = {i for i in range(len(before)) if i not in moving}
    n = len(first)
    # As in TensorFlow, what starts as a number is a tensor before the loop begins.
    start = [_as_tensors(before[i]) for i in moving]

    def full(values: Any) -> State:
        state = list(before)
        for i, v in zip(moving, values, strict=True):
            state[i] = v
        return tuple(state)

    def condition(*variables: Any) -> Any:
        set_state(full(variables[n:]))
        if main_test is None:
            return test()
        go_on = main_test(variables[0])
        if test is _always:
            return go_on
        return NAMES["cond"](go_on, test, lambda: False)

    def work(*variables: Any) -> Any:
        set_state(full(variables[n:]))
        if n:
            body(variables[0])  # type: ignore[call-arg]
        else:
            body()
        after = get_state()
        for i in still:
            if after[i] is not before[i] and not _alike(after[i], before[i]):
                if before[i] is None or after[i] is None:
                    raise ValueError("None values not supported.")
                raise TypeError(f"'{names[i]}' changes in a loop over tensors, but it is no tensor")
        new = [after[i] for i in moving]
        for i, a, b in zip(moving, start, new, strict=True):
            _check_unchanged(names[i], a, b)
        return (*[step(v) for v in variables[:n]], *new) if step is not None else tuple(new)

    try:
        results = NAMES["while_loop"](
            condition, work, [*first, *start], return_same_structure=True, **_loop_options(opts)
        )
    finally:
        set_state(before)
    set_state(full(results[n:]))


def _loop_options(opts: dict[str, Any]) -> dict[str, Any]:
    known = ("parallel_iterations", "swap_memory", "back_prop", "maximum_iterations", "shape_invariants")
    return {k: v for k, v in (opts or {}).items() if k in known}


def _as_tensors(value: Any) -> Any:
    if is_nested(value) or is_composite(value) or type(value).__name__ == "TensorArray":
        return value
    return convert_to_tensor(value)


def _check_start(before: State, names: tuple[str, ...]) -> None:
    """Checks that all variables of a loop have a value before it.

    Raises:
      ValueError: One has not.
    """
    if any(isinstance(v, UndefinedReturnValue) for v in before):
        raise ValueError("return statements are not supported within a TensorFlow loop.")
    undefined = tuple(name for name, v in zip(names, before, strict=True) if isinstance(v, Undefined))
    if any(name.startswith(("retval_", "do_return")) for name in undefined):
        raise ValueError("return statements are not supported within a TensorFlow loop.")
    if undefined:
        raise ValueError(
            f"TensorFlow requires that the following symbols must be defined before the loop: {undefined}"
        )


def _check_unchanged(name: str, before: Any, after: Any) -> None:
    if not isinstance(before, Tensor) or is_nested(after) or is_composite(after):
        return
    if _is_undefined(after) or after is None:
        raise ValueError("None values not supported.")
    found = after if isinstance(after, Tensor) else convert_to_tensor(after)
    old, new = before.dtype.base_dtype, found.dtype.base_dtype
    if old is not new:
        raise TypeError(
            f'"{name}" has dtype {old.name} before the loop, but dtype {new.name} after one iteration. TensorFlow '
            "control flow requires it stays the same."
        )
    a, b = before._dims, found._dims
    if a is not None and (
        b is None or len(a) != len(b) or any(m is not None and m != n for m, n in zip(a, b, strict=True))
    ):
        raise ValueError(
            f'"{name}" has shape {TensorShape.of(a)} before the loop, but shape {TensorShape.of(b)} after one '
            "iteration. TensorFlow control flow requires it stays the same or be more specific."
        )


def _always() -> bool:
    return True


def for_stmt(
    iter_: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    symbol_names: tuple[str, ...],
    opts: dict[str, Any],
) -> None:
    """Runs a loop over something, or builds one if that is a tensor or a dataset."""
    if hasattr(iter_, "_as_graph_element") and not isinstance(iter_, Tensor):
        iter_ = convert_to_tensor(iter_)
    rest = (get_state, set_state, symbol_names, opts)
    test = _always if extra_test is None else extra_test
    if isinstance(iter_, Tensor):
        if iter_.op.type == "Range":
            _over_range(iter_, test, body, *rest)
        else:
            _over_rows(iter_, test, body, *rest)
    elif hasattr(iter_, "reduce") and hasattr(iter_, "_variant_tensor"):
        _over_dataset(iter_, extra_test, body, *rest)
    else:
        _in_python(iter_, extra_test, body)


def _in_python(iter_: Any, extra_test: Callable[[], Any] | None, body: Callable[[Any], None]) -> None:
    if extra_test is None:
        for target in iter_:
            body(target)
        return
    if _decided(extra_test()):
        for target in iter_:
            body(target)
            if not _decided(extra_test()):
                break


def _decided(value: Any) -> bool:
    if is_tensor(value):
        raise NotImplementedError(
            "break and return statements which depend on a TF condition are not supported in Python for loops. Did you "
            "intend to make it a TF loop?"
        )
    return bool(value)


def _over_range(
    iter_: Tensor, test: Any, body: Any, get_state: Any, set_state: Any, names: Any, opts: Any
) -> None:
    start, limit, delta = iter_.op.inputs
    known = constant_value(delta)

    def main_test(i: Any) -> Any:
        if known is not None:
            return i < limit if known >= 0 else i > limit
        up = NAMES["logical_and"](delta >= 0, i < limit)
        return NAMES["logical_or"](up, NAMES["logical_and"](delta < 0, i > limit))

    _staged_loop(
        test, body, get_state(), get_state, set_state, names, opts, (start,), lambda i: i + delta, main_test
    )


def _over_rows(
    iter_: Tensor, test: Any, body: Any, get_state: Any, set_state: Any, names: Any, opts: Any
) -> None:
    if iter_._dims == ():
        raise TypeError("iterating over a scalar tensor")
    n: Any = iter_._dims[0] if iter_._dims else None
    if n is None:
        n = NAMES["shape"](iter_)[0]
    rows = NAMES["TensorArray"](iter_.dtype.base_dtype, size=n).unstack(iter_)
    _staged_loop(
        test, lambda i: body(rows.read(i)), get_state(), get_state, set_state, names, opts,
        (constant_node(0, dtypes.int32),), lambda i: i + 1, lambda i: i < n,
    )  # fmt: skip


def _over_dataset(
    iter_: Any, extra_test: Any, body: Any, get_state: Any, set_state: Any, names: Any, opts: Any
) -> None:
    before = get_state()
    _check_start(before, names)
    moving = [i for i, v in enumerate(before) if _becomes_tensors(v)]
    start = tuple(_as_tensors(before[i]) for i in moving)

    def full(values: Any) -> State:
        state = list(before)
        for i, v in zip(moving, values, strict=True):
            state[i] = v
        return tuple(state)

    def one(state: Any, element: Any) -> Any:
        set_state(full(state))

        def run() -> Any:
            body(element)
            after = get_state()
            return tuple(_as_tensors(after[i]) for i in moving)

        if extra_test is None:
            return run()
        return NAMES["cond"](convert_to_tensor(extra_test()), run, lambda: tuple(state))

    if not start:
        # A loop for its effects alone has something to count all the same.
        iter_.reduce(constant_node(0), lambda s, e: (one((), e), s)[1])
        set_state(before)
        return
    results = iter_.reduce(start, one)
    set_state(full(results))


# -- logic -------------------------------------------------------------------------------------------------------


def and_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """Is `a and b`."""
    value = a()
    if is_tensor(value):
        return NAMES["cond"](convert_to_tensor(value), b, lambda: value)
    return value and b()


def or_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """Is `a or b`."""
    value = a()
    if is_tensor(value):
        return NAMES["cond"](convert_to_tensor(value), lambda: value, b)
    return value or b()


def not_(a: Any) -> Any:
    """Is `not a`."""
    return NAMES["logical_not"](a) if is_tensor(a) else not a


def eq(a: Any, b: Any) -> Any:
    """Is `a == b`."""
    return NAMES["equal"](a, b) if is_tensor(a) or is_tensor(b) else a == b


def not_eq(a: Any, b: Any) -> Any:
    """Is `a != b`."""
    return not_(eq(a, b))


def assert_stmt(expression1: Any, expression2: Callable[[], Any]) -> Any:
    """Is `assert expression1, expression2()`."""
    if not is_tensor(expression1):
        assert expression1, expression2()
        return None
    message = expression2()
    return NAMES["Assert"](expression1, [message])


__all__ += ["Undefined", "UndefinedReturnValue"]
