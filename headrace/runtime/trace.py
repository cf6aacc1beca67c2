"""Tracing: the nodes of a cluster as one function of JAX arrays.

Each node's lower rule is called in turn. Values that follow from constants, shapes and static inputs stay NumPy
arrays (static) and are computed at once; all others are JAX tracers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from headrace import dtypes, errors
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function
from headrace.lazy import jnp
from headrace.native import finish
from headrace.opdef.functions import called_functions
from headrace.opdef.infer import can_check, check_operands, group_operands
from headrace.passes.access import Late
from headrace.resources.random import advanced
from headrace.resources.stacked_list import ArrayFlags
from headrace.resources.variable import VariableState
from headrace.runtime.context import TraceContext
from headrace.runtime.functions import NeedHost, NeedStatic, can_lower_calls
from headrace.runtime.kernel import is_plain
from headrace.runtime.summed_products import of_factors

# A value no larger than this stays static while tracing; larger ones become arguments or computed values.
STATIC_ELEMENTS = 4096
# Operands that say where a rule's part of another begins, which in a loop may be elsewhere each time.
_PLACES = ("begin", "end")


def can_lower(op: Operation) -> bool:
    """Whether a node may enter a cluster: it has a lower rule and takes and gives what XLA can hold."""
    if op.kind.rules.get("lower") is None:
        return False
    options = op.kind.rules["lower"].options
    calls = options.get("calls")
    lists = calls or options.get("lists")
    for t in op._inputs:
        if (
            not is_plain(t._dtype)
            and t._dtype.name != "resource"
            and not (lists and t._dtype.name == "variant")
            # A text that only says what went wrong is known while tracing.
            and not (options.get("texts") and t._op.type == "Const" and t._dims == ())
        ):
            return False
    for t in op._outputs:
        # A loop hands on the handles that it captures.
        if not is_plain(t._dtype) and not (
            (calls and t._dtype.name == "resource") or (lists and t._dtype.name == "variant")
        ):
            return False
    if options.get("lists") and not is_plain(op.attrs.get("element_dtype", dtypes.float32)):
        return False
    return not calls or can_lower_calls(op)


def random_ops(ops: Sequence[Operation]) -> list[Operation]:
    """Returns the nodes that take random numbers of their own streams, those in called functions included."""
    found: dict[Operation, None] = {}
    for op in ops:
        if "seed2" in op.attrs and op.kind.is_stateful:
            found[op] = None
        elif op.kind.rules.get("lower") is not None and op.kind.rules["lower"].options.get("calls"):
            for function in called_functions(op):
                found.update(dict.fromkeys(random_ops(function.body)))
    return list(found)


class Trace:
    """The state of tracing one cluster: values of tensors and variables so far, checks, random streams."""

    def __init__(
        self,
        env: dict[Tensor, Any],
        values: dict[VariableState, Any],
        counters: Any,
        slots: dict[Operation, int],
    ):
        self.env = env
        self.values = values
        self.written: dict[Any, None] = {}  # variables, and ArrayFlags
        self.checks: list[tuple[Any, str, Any, Operation]] = []
        # How many blocks of its stream each random node has taken: a number, or a tracer where that depends on data.
        self.consumed: dict[Operation, Any] = {}
        self._counters = counters
        self._slots = slots
        self.late: Late = {}
        self.stop: Callable[[], None] | None = None  # raises if what is traced is not wanted any more
        # Shared with the traces of bodies. "endless": how long it runs isn't known, or very long; "switch": what tells
        # such a program to stop; "stops": whether all loops must listen to that; "room": how many elements lists of
        # unknown length get room for; a loop: the most iterations that it will be run for.
        self.facts: dict[Any, Any] = {}
        # Sums of products whose products are left out -> the factors.
        self.sums: dict[Operation, Any] = {}
        self._uses: Counter[Tensor] = Counter()
        self.is_loop = False  # whether it is the trace of what a loop does

    def random(self, op: Operation, blocks: int) -> tuple[Any, Any]:
        before = self.consumed.get(op, 0)
        self.consumed[op] = before + blocks
        # The key is an operand, too: a program with the seeds of one session in it would be of no use to another.
        state = self._counters[self._slots[op]]
        lanes = state[:4]
        if type(before) is not int or before:
            lanes = advanced(lanes, before)
        return state[4:], lanes

    @property
    def written_states(self) -> list[VariableState]:
        """The variables that were written."""
        return [s for s in self.written if not isinstance(s, ArrayFlags)]

    def sub(self, values: dict[VariableState, Any], consumed: dict[Operation, Any]) -> Trace:
        """Returns a trace of a body, with variables and streams of its own."""
        sub = Trace(self.env, values, self._counters, self._slots)
        sub.consumed = consumed
        sub.stop = self.stop
        sub.facts = self.facts
        sub.is_loop = self.is_loop
        return sub

    def random_ops_of(self, function: Function) -> list[Operation]:
        """Returns the nodes of a body, and of what it calls, that take random numbers."""
        return random_ops(function.body)

    def run(self, ops: list[Operation], outputs: Iterable[Tensor]) -> None:
        """Traces the nodes in order.

        Args:
          ops: The nodes.
          outputs: Their results that are asked for afterwards.

        Raises:
          NeedStatic: A static operand turned out to be a tracer.
        """
        before, self._uses = self._uses, self._counted(ops, outputs)
        try:
            self._run(ops)
        finally:
            self._uses = before

    def _counted(self, ops: list[Operation], outputs: Iterable[Tensor]) -> Counter[Tensor]:
        late = self.late
        uses = Counter(t for op in ops for t in late.get(op, op._inputs))
        uses.update(outputs)
        for factors in self.sums.values():
            for pair in factors:
                uses.update(pair)
        return uses

    def _run(self, ops: list[Operation]) -> None:
        sums = self.sums
        for op in ops:
            if self.stop is not None:
                self.stop()
            if op in sums:
                self.env[op._outputs[0]] = of_factors([(self.env[a], self.env[b]) for a, b in sums[op]])
            else:
                self._node(op)

    def _node(self, op: Operation) -> None:
        kind = op.kind
        rule = kind.rules["lower"]
        plan = kind.plan
        flat = []
        all_static = True
        i = 0
        env = self.env
        untouched = "untouched" in rule.options
        room = self.facts.get("room")
        inputs = self.late.get(op, op._inputs)
        for arg, n in zip(plan.signature.inputs, plan.sizes(plan.signature.inputs, op.attrs), strict=True):
            static = arg.name in rule.static
            bounded = room and arg.name == rule.options.get("bounded")
            moves = self.is_loop and static and "moves" in rule.options and rule.options["moves"](op)
            for t in inputs[i : i + (1 if n is None else n)]:
                v = env[t]
                if isinstance(v, VariableState) and t._dtype.is_ref and not arg.is_ref and not untouched:
                    v = self.values.get(v)
                    if v is None:
                        raise errors.FailedPreconditionError(
                            None, None, f"Attempting to use uninitialized value {t._op.name}"
                        )
                if type(v) is not np.ndarray:
                    if not isinstance(v, VariableState):
                        all_static = False
                        if static and not bounded and not (moves and arg.name in _PLACES):
                            raise NeedStatic(t, op)
                    else:
                        all_static = False
                elif not static and v.size > STATIC_ELEMENTS:
                    all_static = False
                flat.append((v, static))
            i += 1 if n is None else n
        makes_list = "lists" in rule.options and op._outputs[0]._dtype is dtypes.variant
        if all_static and not makes_list and self._fold(op, [v for v, _ in flat]):
            return
        # Rules see JAX arrays, except for what they asked to be static.
        values = [
            jnp.asarray(v) if type(v) is np.ndarray and not static and not untouched else v
            for v, static in flat
        ]
        keywords = rule.keywords(op.attrs, plan.type_attrs)
        if rule.wants_ctx:
            keywords["ctx"] = TraceContext(self, op)
        if can_check(op):
            check_operands(op, [v for v, _ in flat])
        try:
            result = rule.function(*group_operands(kind, op.attrs, values), **keywords)
        except NotImplementedError as e:
            if "lists" not in rule.options:
                raise
            raise NeedHost(op, str(e)) from None
        for v, _ in flat:
            if v is not result:
                finish.forget(v)  # it has been used
        outputs = op._outputs
        if not outputs:
            return
        if len(outputs) == 1 and not plan.signature.outputs[0].is_list:
            result = (result,)
        for t, v in zip(outputs, result, strict=True):
            storage = t._dtype.storage
            if not isinstance(v, VariableState) and getattr(v, "dtype", storage) != storage:
                raise errors.InternalError(
                    None,
                    None,
                    f"{op.type}'s lower rule gave {v.dtype} for {t.name}, which is declared {storage}",
                )
            env[t] = v
            if self._uses[t] != 1:
                finish.forget(v)

    def _fold(self, op: Operation, flat: list[Any]) -> bool:
        """Computes a node of known operands now, with its host rule; returns whether that was done."""
        rule = op.kind.rules.get("host")
        if rule is None or rule.wants_ctx or op.kind.is_stateful:
            return False
        for t in op._outputs:
            size = 1
            for d in t._dims or ():
                size *= d or 1
            if size > STATIC_ELEMENTS:
                return False
        with np.errstate(all="ignore"):
            result = rule.function(
                *group_operands(op.kind, op.attrs, flat), **rule.keywords(op.attrs, op.kind.plan.type_attrs)
            )
        if result is NotImplemented:
            return False
        if len(op._outputs) == 1 and not op.kind.plan.signature.outputs[0].is_list:
            result = (result,)
        result = [np.asarray(v) for v in result]
        if any(v.size > STATIC_ELEMENTS for v in result):
            return False
        for t, v in zip(op._outputs, result, strict=True):
            self.env[t] = v
        return True
