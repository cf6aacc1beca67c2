"""While and tf.while_loop: a body that is called on its own results as long as a condition holds."""

from __future__ import annotations

import numbers

import numpy as np

from headrace import dtypes, shapes
from headrace.graph import Tensor, get_default_graph, name_scope, numbering
from headrace.graph.functional import is_functional, numbered
from headrace.graph.structure import check_same, flatten, is_nested, pack_like
from headrace.graph.type_spec import TypeSpec
from headrace.opdef import GRADIENTS, convert_to_tensor, export, op, raw
from headrace.opdef.bodies import body_of, function_name, identities, loop_node
from headrace.ops.flow.condition_again import compute_again
from headrace.ops.flow.loop_gradient import loop_gradient
from headrace.ops.flow.way_out import close
from headrace.tensor_shape import TensorShape, to_tuple

_TEXT = """
    {name}(input: T) -> (output: T)
      T: list(type) >= 0
      cond: func
      body: func
      output_shapes: list(shape) = []
      parallel_iterations: int = 10
      {flag}

    Calls `body` on its own results as long as `cond` of them is true.
"""


def _shape(input, *, output_shapes):
    return list(output_shapes) if output_shapes else list(input)


def _while(input, *, cond, body, ctx):
    return ctx.loop(cond, body, input)


def _gradient(operation, *grads):
    if not operation.attrs.get("_back_prop", True):
        return [None] * len(operation.inputs)
    return loop_gradient(operation, grads)


def _declare(name, flag):
    declared = op(_TEXT.format(name=name, flag=flag), shape=_shape)
    declared.host(_while, untouched=True, calls=True)
    declared.lower(_while, untouched=True, calls=True)
    # TensorFlow declares this gradient once control flow v2 is switched on.
    GRADIENTS[name] = _gradient
    return declared


While = _declare("While", "stateful")
StatelessWhile = _declare("StatelessWhile", "")


@While.cases
def while_cases(case):
    @case.program
    def counts(step):
        n = raw.Placeholder(dtype="int32", shape=[])
        y = while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 2.0), (0, 1.0))
        step(list(y), feed={n: 0}, gives=(0, 1))
        step(list(y), feed={n: 5}, gives=(5, 32))


@StatelessWhile.cases
def stateless_while_cases(case):
    @case.program
    def counts(step):
        node = while_loop(lambda i: i < 7, lambda i: i + 2, [0]).op.inputs[0].op
        same = raw.StatelessWhile(list(node.inputs), cond=node.attrs["cond"], body=node.attrs["body"])
        step(same[2], gives=8)


_VARYING = (
    "To allow the shape to vary across iterations, use the `shape_invariants` argument of tf.while_loop to specify a "
    "less-specific shape."
)


@export("while_loop")
def while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
    maximum_iterations=None,
    return_same_structure=False,
):
    """Returns the loop variables as they are once `cond` of them is false.

    Args:
      cond: A function of the loop variables that returns a scalar boolean tensor.
      body: A function of the loop variables that returns their next values, in the same structure.
      loop_vars: What they start with: a list or tuple of tensors or nested structures of tensors.
      shape_invariants: For each loop variable a shape that it has in all iterations, by default that of its start.
      parallel_iterations: How many iterations TensorFlow may run at once; it has no effect on results.
      back_prop: Whether gradients go through the loop; if not, there are none.
      swap_memory: Not used.
      name: The scope's name.
      maximum_iterations: The most iterations to run, a number or a scalar tensor.
      return_same_structure: Returns a list of one element as such, not the element alone.

    Raises:
      TypeError: `cond` or `body` can't be called, or a type changes in the loop.
      ValueError: There are no loop variables, a structure or a shape changes in the loop.
    """
    if not loop_vars:
        raise ValueError("No loop variables provided")
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if not isinstance(parallel_iterations, numbers.Integral) and not is_functional(get_default_graph()):
        raise ValueError(f"`parallel_iterations` must be a positive integer: {parallel_iterations}")
    if not is_nested(loop_vars):
        loop_vars = [loop_vars]
    start = [convert_to_tensor(v) for v in flatten(loop_vars, composites=True)]
    with name_scope(name, "while", start) as scope:
        flat, returned = _loop(
            cond,
            body,
            loop_vars,
            start,
            shape_invariants,
            parallel_iterations,
            maximum_iterations,
            back_prop,
            not return_same_structure,
            scope,
        )
    result = pack_like(returned, flat, composites=True)
    if is_functional(get_default_graph()):
        # A loop made of single nodes has its results in the structure that the body gives them.
        result = pack_like(loop_vars, flatten(result))
    elif maximum_iterations is not None:
        # The counter is a variable like others there.
        return result[0] if len(loop_vars) == 1 and not return_same_structure else result
    if not return_same_structure and len(flatten(result)) == 1 and isinstance(result, (list, tuple)):
        return flatten(result)[0] if is_functional(get_default_graph()) else result[0]
    return result


def _loop(cond, body, loop_vars, start, invariants, parallel_iterations, maximum, back_prop, alone, scope):
    """Adds the loop; returns its results as a list of tensors, and what the body returned.

    The arguments are those of `while_loop`, but for `alone`: whether a loop variable that is the only one is returned
    as such, not in a list.
    """
    graph = get_default_graph()
    dims = _invariant_shapes(loop_vars, start, invariants, is_functional(graph))
    has_maximum = maximum is not None
    counts = _Counts(graph, start, has_maximum)
    limit = _limit(graph, maximum)
    if limit._dims:
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")
    if has_maximum:
        counts.takes(limit)
    counter = convert_to_tensor(0, dtypes.int32, name="loop_counter")
    names = [function_name(graph, scope, which) for which in ("cond", "body")]

    def arguments(inside):
        first = [inside.add_input(t, t.op.name) for t in (counter, limit)]
        rest = []
        for t, shape in zip(start, dims, strict=True):
            placeholder = inside.add_input(_value_like(t), "Placeholder", shape)
            # A list's elements may become another type or shape in the loop; what the body makes of it says which.
            placeholder._handle_data = None if t.dtype.base_dtype is dtypes.variant else t._handle_data
            rest.append(placeholder)
        return [first, pack_like(loop_vars, rest, composites=True)]

    def test(first, variables):
        counts.enter()
        result = cond(*_as_arguments(variables))
        if isinstance(result, bool):
            result = convert_to_tensor(result)
        result = convert_to_tensor(result)
        if result.dtype.base_dtype is not dtypes.bool:
            raise TypeError(
                f"Input 'input' of 'LoopCond' Op has type {result.dtype.base_dtype.name} that does not match expected "
                "type of bool."
            )
        if result._dims:
            raise ValueError(
                f"Shape must be rank 0 but is rank {len(result._dims)} for '{scope}LoopCond' (op: 'LoopCond') with "
                f"input shapes: {shapes.to_text(result._dims)}."
            )
        if not has_maximum:
            return result
        counts.left_out(1)  # the comparison with the maximum, which TensorFlow makes first
        return raw.LogicalAnd(raw.Less(*first), result)

    returned = []

    def work(first, variables):
        counts.go_round()
        result = body(*_as_arguments(variables))
        if any(v is None for v in flatten(result)):
            raise ValueError("None values not supported.")
        if has_maximum and counts.known is not None:
            result = _strictly_in_structure_of(result, loop_vars, alone)
        else:
            result = _in_structure_of(result, loop_vars)
        returned.append(result)
        leaves = [convert_to_tensor(v) for v in flatten(result, composites=True)]
        counts.left_out(2)  # the counter's next value and its constant
        return [first[0] + 1, first[1], *leaves]

    test_body = body_of(names[0], test, arguments, known=counts.known)
    counts.made()

    def work_arguments(inside):
        made = arguments(inside)
        # What the condition captures comes first, whether the body uses it or not.
        for t in test_body.external_captures:
            inside.capture(t)
        return made

    beside = None if counts.known is None else test_body
    if beside is not None:
        compute_again(test_body)
    work_body = body_of(names[1], work, work_arguments, known=counts.known, beside=beside)
    work_body.repeats = True
    counts.made()
    _check_results(start, dims, work_body.outputs[2:])
    node = loop_node([test_body, work_body], [counter, limit, *start], dims, parallel_iterations, scope)
    if not back_prop:
        # TensorFlow's functional loops forget it, and give gradients to programs that count on there being none.
        node.attrs["_back_prop"] = False
    for t, after in zip(node.outputs, work_body.outputs, strict=True):
        t._handle_data = after._handle_data
    if counts.known is not None:
        close(node, [test_body, work_body])
    flat = identities(node)
    results = flat[2 : 2 + len(start)]
    for i, t in enumerate([flat[0], *results] if has_maximum else results):
        graph._aliases[f"{scope}Exit_{i}" if i else f"{scope}Exit"] = t
    counts.leave()
    return results, returned[0]


class _Counts:
    """Has a loop count as the nodes that TensorFlow 1 makes of it; see `headrace.graph.numbering`.

    Attributes:
      known: What has come into the loop, None where nothing is counted.
    """

    def __init__(self, graph, start, has_maximum):
        self.graph = graph
        self.known = None
        self._extra = int(has_maximum)  # the counter is a variable then
        self._variables = len(start) + self._extra
        if numbered(graph):
            self.known = set()
            for t in start:
                numbering.passed_in(graph, t, t.graph)
            self.made()

    def takes(self, limit):
        """Says what the maximum is, which is compared with first."""
        if self.known is not None:
            numbering.passed_in(self.graph, limit, limit.graph)
            self.known.add(limit)
        self.made()

    def made(self):
        """Says that all nodes by now are those that TensorFlow would have, too."""
        if self.known is not None:
            self._number = numbering.number(self.graph)

    def _go_to(self, nodes):
        if self.known is not None:
            self._number += nodes
            numbering.set_number(self.graph, self._number)

    def enter(self):
        """Counts what comes before the condition: Enter and Merge; the counter, its comparison, what that takes."""
        self._go_to(2 * self._variables + 3 * self._extra)

    def go_round(self):
        """Counts what comes between condition and body: LoopCond, Switch and Identity, the counter's next value."""
        self._go_to(1 + 2 * self._variables + 2 * self._extra)

    def leave(self):
        """Counts what comes after the body: NextIteration and Exit."""
        self._go_to(2 * self._variables)

    def left_out(self, nodes):
        """Does not count some nodes that are about to be made."""
        if self.known is not None:
            numbering.shift(self.graph, -nodes)


def _as_arguments(variables):
    return variables if isinstance(variables, (list, tuple)) else [variables]


def _value_like(tensor):
    """Returns a stand-in with a tensor's type, which is never a reference: a loop variable is a value."""
    if not tensor.dtype.is_ref:
        return tensor
    return Tensor(tensor.op, tensor.value_index, tensor.dtype.base_dtype, tensor._dims)


def _in_structure_of(result, loop_vars):
    """Returns a body's result as a sequence like the loop variables.

    Raises:
      ValueError: The structures differ.
    """
    if not isinstance(result, (list, tuple)):
        result = [result]
    check_same(list(result), list(loop_vars))
    return result


def _strictly_in_structure_of(result, loop_vars, alone):
    """Returns a body's result as a sequence; it must be of the loop variables' types.

    TensorFlow 1 puts the variables of a loop with a maximum beside its counter, and compares them as one structure.

    Raises:
      TypeError: Sequences are of different types.
      ValueError: The structures differ.
    """
    if alone and len(loop_vars) == 1:
        check_same(loop_vars[0], result)
        return [result]
    check_same(loop_vars, result)
    return result


def _limit(graph, maximum):
    """Returns the maximum of iterations as a scalar int32 tensor, -1 for none."""
    if maximum is None or is_functional(graph):
        maximum = -1 if maximum is None else maximum
        return convert_to_tensor(maximum, dtypes.int32, name="maximum_iterations")
    # A counter counts in any type in TensorFlow 1.
    limit = convert_to_tensor(maximum, name="maximum_iterations")
    if limit.dtype.base_dtype is dtypes.string:
        raise TypeError("Expected string, got 0 of type 'int' instead.")
    if limit.dtype.base_dtype is dtypes.int32:
        return limit
    with numbering.counted_as(graph, 0):
        if limit.dtype.is_floating:
            limit = raw.Ceil(limit)
        most = dtypes.int32.max
        return raw.Cast(raw.Minimum(raw.Cast(limit, DstT=dtypes.int64), np.int64(most)), DstT=dtypes.int32)


def _invariant_shapes(loop_vars, start, invariants, trusted):
    """Returns for each flat loop variable the shape that it has in all iterations; it is checked unless it is trusted.

    Raises:
      TypeError: That of a sparse or ragged tensor is no shape.
      ValueError: One contradicts the shape that its variable starts with, or has a wrong rank.
    """
    variables = flatten(loop_vars)
    listed = [None] * len(variables) if invariants is None else flatten(invariants)
    if invariants is not None:
        check_same(loop_vars, invariants, composites=False)
    out, rest = [], iter(start)
    for variable, shape in zip(variables, listed, strict=True):
        if hasattr(variable, "_varying_spec"):
            found = _composite_shapes(variable, shape)
            out += found
            for _ in found:
                next(rest)
            continue
        t = next(rest)
        dims = t._dims if shape is None else to_tuple(shape)
        if not trusted and not _covers(dims, t._dims):
            raise ValueError(
                f"The shape invariant specified for {t.name} is not compatible with the initial shape of the loop "
                f"variable. It enters the loop with shape {t.shape}, but the specified shape invariant is "
                f"{TensorShape.of(dims)}."
            )
        out.append(dims)
    return out


def _composite_shapes(variable, invariant):
    """Returns the shapes of the tensors that make up a sparse or ragged loop variable: how many elements, may vary."""
    spec = invariant
    if invariant is None:
        spec = variable._type_spec
    elif isinstance(invariant, TensorShape):
        spec = variable._varying_spec(invariant)
    elif not isinstance(invariant, TypeSpec):
        raise TypeError(f"Expected shape to be a TypeSpec or TensorShape, got {invariant!r}")
    elif not invariant.is_compatible_with(variable):
        raise TypeError(f"TypeSpec {invariant!r} is not compatible with {variable!r}")
    return [to_tuple(part.shape) for part in flatten(spec._component_specs)]


def _covers(general, special):
    """Whether every tensor of one shape is also of another, more general one."""
    if general is None:
        return True
    if special is None or len(general) != len(special):
        return False
    return all(g is None or g == s for g, s in zip(general, special, strict=True))


def _check_results(start, dims, results):
    for t, shape, after in zip(start, dims, results, strict=True):
        if after.dtype.base_dtype is not t.dtype.base_dtype:
            raise TypeError(
                f"Input tensor '{t.name}' enters the loop with type {t.dtype.base_dtype.name}, but has type "
                f"{after.dtype.base_dtype.name} after one iteration."
            )
        if not _covers(shape, after._dims):
            raise ValueError(
                f"Input tensor '{t.name}' enters the loop with shape {TensorShape.of(shape)}, but has shape "
                f"{after.shape} after one iteration. {_VARYING}"
            )
