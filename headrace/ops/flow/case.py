"""tf.case and tf.switch_case: one of several branches, by predicates or by a number."""

from __future__ import annotations

import functools

from headrace import dtypes
from headrace.export import NAMES
from headrace.graph import Tensor, control_dependencies, get_default_graph, name_scope
from headrace.graph.structure import check_same, flatten, pack_like
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.bodies import body_of, branches_node, common_shapes, function_name, identities
from headrace.ops.flow.branch_gradient import branch_gradient

Case = op("""
    Case(branch_index: int32, input: Tin) -> (output: Tout)
      Tin: list(type) >= 0
      Tout: list(type) >= 0
      branches: list(func) >= 1
      output_shapes: list(shape) = []
      stateful

    Calls the function that `branch_index` picks with the inputs, the last one where the index is out of range.
""")  # fmt: skip


@Case.shape
def case_shape(branch_index, input, *, Tout, output_shapes):
    return list(output_shapes) if output_shapes else [None] * len(Tout)


@Case.host(untouched=True, calls=True)
@Case.lower(untouched=True, calls=True)
def case_rule(branch_index, input, *, branches, ctx):
    return ctx.branch(branch_index, branches, input)


@Case.grad
def case_grad(op, *dys):
    return branch_gradient(op, dys)


@Case.cases
def case_cases(case):
    @case.program
    def picks_by_number(step):
        i = raw.Placeholder(dtype="int32", shape=[])
        x = raw.Placeholder(dtype="float32", shape=[])
        y = switch_case(i, [lambda: x, lambda: x * 2.0], default=lambda: -x)
        for number, value in ((0, 3), (1, 6), (2, -3), (-1, -3)):
            step(y, feed={i: number, x: 3}, gives=value)


# -- by predicates -------------------------------------------------------------------------------------------


def _checked_pairs(pairs):
    """Returns the predicates and the functions of `tf.case`.

    Raises:
      TypeError: They are something else.
    """
    if isinstance(pairs, dict):
        pairs = sorted(pairs.items(), key=lambda item: item[0].name)
    elif not isinstance(pairs, (list, tuple)):
        raise TypeError("fns must be a list, tuple, or dict")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        pred, function = pair
        if not isinstance(pred, Tensor) and not hasattr(pred, "_as_graph_element"):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if pred.dtype.base_dtype is not dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {pred.name}")
        if not callable(function):
            raise TypeError(f"fn for pred {pred.name} must be callable.")
    if not pairs:
        raise ValueError("not enough values to unpack (expected 2, got 0)")
    preds, functions = zip(*pairs, strict=True)
    return list(preds), list(functions)


def _assert_at_most(n, preds, message):
    """Returns an operation that fails if more than `n` predicates hold."""
    stacked = raw.Pack(list(preds), name="preds_c")
    count = NAMES["reduce_sum"](NAMES["cast"](stacked, dtypes.int32), name="num_true_conds")
    most = NAMES["constant"](n, name="n_true_conds")
    return NAMES["Assert"](
        raw.LessEqual(count, most), [message.format(_names(preds)), stacked], summarize=len(preds)
    )


def _names(preds):
    return ", ".join(p.name for p in preds)


def _guarded_last(preds, function):
    """Returns the last function as one that refuses to be called unless its predicate holds and no other does."""

    def default():
        stacked = raw.Pack(list(preds), name="preds_c")
        waits = []
        if len(preds) > 1:
            message = (
                f"Implementation error: selected default action #{len(preds) - 1} was called, but some of other "
                "predicates are True: ({})"
            )
            waits.append(_assert_at_most(0, preds[:-1], message))
        waits.append(
            NAMES["Assert"](preds[-1], ["Input error: None of conditions evaluated as True:", stacked])
        )
        with control_dependencies(waits):
            return function()

    return default


@export("case")
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """Returns what the function of the first true predicate gives, or `default()` if none is true.

    Args:
      pred_fn_pairs: Pairs of a scalar boolean tensor and a function without arguments, or a dictionary from tensors
        to functions.
      default: The function to call if no predicate is true; without one that is an error.
      exclusive: Whether more than one true predicate is an error.
      strict: Keeps a list with one element a list.
      name: The scope's name.

    Raises:
      TypeError: The pairs are something else, or a function can't be called.
    """
    preds, functions = _checked_pairs(pred_fn_pairs)
    with name_scope(name, "case", [preds]):
        if default is None:
            default = _guarded_last(preds, functions[-1])
            preds, functions = preds[:-1], functions[:-1]
        choose = default
        for pred, function in list(zip(preds, functions, strict=True))[::-1]:
            choose = functools.partial(
                NAMES["cond"], pred, true_fn=function, false_fn=choose, strict=strict, name="cond"
            )
        if exclusive and preds:
            message = "Input error: exclusive=True: more than 1 conditions ({}) evaluated as True:"
            with control_dependencies([_assert_at_most(1, preds, message)]):
                return choose()
        return choose()


# -- by a number ---------------------------------------------------------------------------------------------


def _checked_branches(branch_index, branch_fns, default):
    """Returns the functions of `tf.switch_case` in order, the default last.

    Raises:
      TypeError: An argument is of a wrong type.
      ValueError: There are no functions, or their numbers leave gaps.
    """
    if not isinstance(branch_index, Tensor) and not hasattr(branch_index, "_as_graph_element"):
        raise TypeError(f"branch_index must a Tensor, got {type(branch_index)}")
    if isinstance(branch_index, Tensor) and not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must an integer Tensor, got {branch_index.dtype}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in branch_fns")
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    elif all(callable(f) for f in branch_fns):
        pairs = list(enumerate(branch_fns))
    else:
        pairs = list(branch_fns)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        key, function = pair
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {type(key)}")
        if not callable(function):
            raise TypeError(f"fn for key {key} must be callable.")
    keys = [key for key, _ in pairs]
    if sorted(keys) != list(range(len(keys))):
        listed = ",".join(map(str, sorted(keys)))
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found {{{listed}}}"
        )
    functions = [f for _, f in sorted(pairs, key=lambda pair: pair[0])]
    return functions if default is None else [*functions, default]


@export("switch_case")
def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """Returns what the function numbered `branch_index` gives.

    Args:
      branch_index: A scalar int32 tensor.
      branch_fns: A list of functions without arguments, or a dictionary or pairs from 0, 1, ... to functions.
      default: The function for any other number, by default that with the highest number.
      name: The scope's name.

    Raises:
      TypeError: An argument is of a wrong type, or the functions return different structures or types.
      ValueError: There are no functions, or their numbers leave gaps.
    """
    functions = _checked_branches(branch_index, branch_fns, default)
    with name_scope(name, "switch_case"), name_scope("indexed_case") as scope:
        graph = get_default_graph()
        index = convert_to_tensor(branch_index)
        if index.dtype.base_dtype is not dtypes.int32:
            raise TypeError(
                f"Input 'branch_index' of 'Case' Op has type {index.dtype.base_dtype.name} that does not match "
                "expected type of int32."
            )
        names = [function_name(graph, scope, f"branch{i}") for i in range(len(functions))]
        bodies = [body_of(n, f) for n, f in zip(names, functions, strict=True)]
        _check_alike(bodies)

        def make(stateful, inputs, branches):
            return raw.Case.node(
                index,
                inputs,
                Tout=[t.dtype.base_dtype for t in bodies[0].outputs],
                branches=branches,
                output_shapes=common_shapes(bodies),
                _lower_using_switch_merge=True,
                name=scope,
            )

        flat = identities(branches_node(bodies, scope, make))
        return pack_like(bodies[0].structured_outputs, flat, composites=True)


def _check_alike(bodies):
    first = bodies[0].structured_outputs
    for i, body in enumerate(bodies[1:], 1):
        other = body.structured_outputs
        trouble = None
        try:
            check_same(first, other)
        except (ValueError, TypeError) as e:
            trouble = str(e)
        else:
            for a, b in zip(flatten(first, composites=True), flatten(other, composites=True), strict=True):
                if a.dtype.base_dtype is not b.dtype.base_dtype:
                    trouble = f"{a} and {b} have different types"
                    break
        if trouble is not None:
            raise TypeError(
                f"branches[0] and branches[{i}] arguments to tf.switch_case must have the same number, type, and "
                f"overall structure of return values.\n\nbranches[0] output: {first}\nbranches[{i}] output: {other}"
                f"\n\nError details:\n{trouble}"
            )
