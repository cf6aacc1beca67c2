"""If and tf.cond: one of two branches, each a function."""

from __future__ import annotations

import contextlib

import numpy as np

from headrace import shapes
from headrace.graph import Tensor, control_dependencies, get_default_graph, name_scope, numbering
from headrace.graph.functional import is_enabled, numbered
from headrace.graph.structure import check_same, flatten, pack_like
from headrace.opdef import constant_value, convert_to_tensor, export, op, raw
from headrace.opdef.bodies import body_of, branches_node, common_shapes, function_name, identities
from headrace.ops.flow.way_out import keep_in, let_out

_TEXT = """
    {name}(cond: Tcond, input: Tin) -> (output: Tout)
      Tcond: type
      Tin: list(type) >= 0
      Tout: list(type) >= 0
      then_branch: func
      else_branch: func
      output_shapes: list(shape) = []
      {flag}

    Calls one of two functions with the inputs.
"""


def _shape(cond, input, *, Tout, output_shapes):
    return list(output_shapes) if output_shapes else [None] * len(Tout)


def _if(cond, input, *, then_branch, else_branch, ctx):
    return ctx.branch(ctx.truth(cond), [else_branch, then_branch], input)


def _gradient(operation, *grads):
    from headrace.ops.flow.branch_gradient import branch_gradient

    return branch_gradient(operation, grads)


def _declare(name, flag):
    declared = op(_TEXT.format(name=name, flag=flag), shape=_shape, grad=_gradient)
    declared.host(_if, untouched=True, calls=True)
    declared.lower(_if, untouched=True, calls=True)
    return declared


If = _declare("If", "stateful")
StatelessIf = _declare("StatelessIf", "")

FakeParam = op("""
    FakeParam() -> (output: dtype)
      dtype: type
      shape: shape

    Stands for a result that a branch does not have; nothing may look at it.
""")  # fmt: skip


@FakeParam.shape
def fake_param_shape(*, shape):
    return shape


@FakeParam.host
def fake_param_host(*, dtype, shape):
    value = np.zeros([d or 0 for d in shape or ()], dtype.storage)
    return value.astype(object) if dtype.storage.hasobject else value


@StatelessIf.cases
def stateless_if_cases(case):
    @case.program
    def picks_a_branch(step):
        pred, x = raw.Placeholder(dtype="bool", shape=[]), raw.Placeholder(dtype="float32", shape=[2])
        y = cond(pred, lambda: x * 2.0, lambda: x + 1.0)
        step(y, feed={pred: True, x: [1, 2]}, gives=[2, 4])
        step(y, feed={pred: False, x: [1, 2]}, gives=[2, 3])
        step(y, feed={pred: True, x: [3, 2]}, gives=[6, 4])


@If.cases
def if_cases(case):
    @case.program
    def writes_only_where_taken(step):
        pred = raw.Placeholder(dtype="bool", shape=[])
        v = raw.VarHandleOp(dtype="float32", shape=[], shared_name="v")

        def add():
            with control_dependencies([raw.AssignAddVariableOp(v, 1.0)]):
                return raw.ReadVariableOp(v, dtype="float32")

        y = cond(pred, add, lambda: raw.ReadVariableOp(v, dtype="float32"))
        step(raw.AssignVariableOp(v, 5.0))
        step(y, feed={pred: False}, gives=5)
        step(y, feed={pred: True}, gives=6)
        step(y, feed={pred: False}, gives=6)


@FakeParam.cases
def fake_param_cases(case):
    case(dtype="float32", shape=[2], gives=[0.0, 0.0])


@export("cond")
def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """Returns what `true_fn()` gives if `pred` is true when the graph runs, else what `false_fn()` gives.

    Only nodes made inside a function depend on the choice. What the functions take from outside is computed in any
    case.

    Args:
      pred: A scalar boolean tensor.
      true_fn: A function without arguments that returns tensors, operations, or nested structures of them.
      false_fn: The same; its results have the structure and types of those of `true_fn`.
      strict: Keeps a list with one element a list.
      name: The scope's name.
      fn1: The old name of `true_fn`.
      fn2: The old name of `false_fn`.

    Raises:
      TypeError: `pred` is a Python bool, a function can't be called, or is given twice.
      ValueError: The functions return different structures or types.
    """
    if fn1 is not None:
        if true_fn is not None:
            raise TypeError("cond(): true_fn and fn1 may not be set simultaneously.")
        true_fn = fn1
    elif true_fn is None:
        raise TypeError("cond(): true_fn argument required")
    if fn2 is not None:
        if false_fn is not None:
            raise TypeError("cond(): false_fn and fn2 may not be set simultaneously.")
        false_fn = fn2
    elif false_fn is None:
        raise TypeError("cond(): false_fn argument required")
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    with name_scope(name, "cond") as scope:
        graph = get_default_graph()
        pred = convert_to_tensor(pred, name="pred")
        if pred.dtype.base_dtype.name != "bool":
            raise TypeError(
                f"Input 'pred' of 'Switch' Op has type {pred.dtype.base_dtype.name} that does not match expected type "
                "of bool."
            )
        if pred._dims:
            raise ValueError(
                f"Shape must be rank 0 but is rank {len(pred._dims)} for '{scope}Switch' (op: 'Switch') with input "
                f"shapes: {shapes.to_text(pred._dims)}, {shapes.to_text(pred._dims)}."
            )
        names = [function_name(graph, scope, which) for which in ("true", "false")]
        bodies = []
        counts = numbered(graph)
        if counts:
            numbering.passed_in(graph, pred, pred.graph)
            numbering.shift(
                graph, 4
            )  # a Switch and an Identity for the predicate, one for each branch's pivot
        for function, each in ((true_fn, names[0]), (false_fn, names[1])):
            which = "false_fn" if bodies else "true_fn"
            choice = (pred, not bodies) if counts else None
            known = set() if counts else None
            beside = bodies[0] if bodies and counts else None
            body = body_of(each, function, pred=pred, known=known, choice=choice, beside=beside)
            if counts:
                keep_in(body)
            if body.structured_outputs is None:
                raise ValueError(f"{which} must have a return value.")
            if any(v is None for v in flatten(body.structured_outputs)):
                raise ValueError("None values not supported.")
            bodies.append(body)
        check_branches(bodies, strict)

        def make(stateful, inputs, branches):
            return (raw.If if stateful else raw.StatelessIf).node(
                pred,
                inputs,
                Tout=[t.dtype.base_dtype for t in bodies[0].outputs],
                then_branch=branches[0],
                else_branch=branches[1],
                output_shapes=common_shapes(bodies),
                _lower_using_switch_merge=True,
                name=scope,
            )

        merges = len(bodies[0].outputs)
        with numbering.counted_as(graph, merges) if counts else contextlib.nullcontext():
            node = branches_node(bodies, scope, make)
            flat = identities(node)
        if counts:
            let_out(node, bodies)
        for i, t in enumerate(flat):
            graph._aliases[f"{scope}Merge_{i}" if i else f"{scope}Merge"] = t
        result = pack_like(bodies[0].structured_outputs, flat, composites=True)
    if not strict and not is_enabled() and type(result) in (list, tuple) and len(result) == 1:
        result = result[0]
    return result


def check_branches(bodies, strict=False):
    """Checks that two branches return the same structure of the same types.

    Raises:
      ValueError: They don't.
      TypeError: Their sequences are of different types.
    """
    first, second = (body.structured_outputs for body in bodies)
    if is_enabled():
        return _check_strictly(bodies)
    # A list of one is as good as its element.
    if not strict:
        for body in bodies:
            if type(body.structured_outputs) in (list, tuple) and len(body.structured_outputs) == 1:
                body.structured_outputs, body.returned = body.structured_outputs[0], body.returned[0]
        first, second = (body.structured_outputs for body in bodies)
    if not flatten(first, composites=True) and not isinstance(first, dict):
        raise ValueError("true_fn and false_fn must return at least one result.")
    check_same(*(body.returned for body in bodies))  # messages show what was returned
    check_same(first, second)
    for a, b in zip(bodies[0].outputs, bodies[1].outputs, strict=True):
        if a.dtype.base_dtype is not b.dtype.base_dtype:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {a.dtype.name}, {b.dtype.name}"
            )


def _check_strictly(bodies):
    """Checks the same of functional branches, where a list of one is a list."""
    first, second = (body.structured_outputs for body in bodies)
    if not flatten(first, composites=True):
        raise ValueError("true_fn and false_fn must return at least one result.")
    try:
        check_same(first, second)
        trouble = next(
            (
                f"{a} and {b} have different types"
                for a, b in zip(bodies[0].outputs, bodies[1].outputs, strict=True)
                if a.dtype.base_dtype is not b.dtype.base_dtype
            ),
            None,
        )
    except (ValueError, TypeError) as e:
        trouble = str(e)
    if trouble is not None:
        raise TypeError(
            "true_fn and false_fn arguments to tf.cond must have the same number, type, and overall structure of "
            f"return values.\n\ntrue_fn output:  {first}\nfalse_fn output: {second}\n\nError details:\n{trouble}"
        )


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """Returns the result of one function where `pred` is known while the graph is built, else `tf.cond`.

    Raises:
      TypeError: `pred` is none of a bool, 0, 1 or a tensor.
    """
    known = smart_constant_value(pred)
    if known is None:
        return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return true_fn() if known else false_fn()


def smart_constant_value(pred):
    """Returns a predicate's value where it is known while the graph is built, else None."""
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        return None if value is None else bool(value)
    if isinstance(pred, bool) or (isinstance(pred, int) and pred in (0, 1)):
        return bool(pred)
    if hasattr(pred, "_as_graph_element"):
        return None
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")
