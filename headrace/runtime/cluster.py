"""Clusters: the nodes of one stage as one XLA program.

Tracing a cluster calls each node's lower rule. Values that follow from constants, shapes and static inputs stay NumPy
arrays (static); all others are JAX tracers. Variables come in as arguments and those written go out as results, their
memory donated, so that updates happen in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from headrace import dtypes, errors
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function
from headrace.lazy import jax, jax_core, jnp
from headrace.opdef.functions import called_functions
from headrace.opdef.infer import group_operands
from headrace.passes.access import Late
from headrace.resources.random import advanced
from headrace.resources.stacked_list import StackedList
from headrace.resources.variable import VariableState
from headrace.runtime.context import Step, TraceContext
from headrace.runtime.functions import NeedHost, can_lower_calls
from headrace.runtime.kernel import is_plain

# A value no larger than this stays static while tracing; larger ones become arguments or computed values.
STATIC_ELEMENTS = 4096
_SHAPES_REMEMBERED = 1000


class NeedStatic(Exception):
    """A rule needs an operand's value before its cluster can be compiled."""

    def __init__(self, tensor: Tensor, consumer: Operation):
        super().__init__(tensor.name)
        self.tensor = tensor
        self.consumer = consumer


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
        self.written: dict[VariableState, None] = {}
        self.checks: list[tuple[Any, str, Any, Operation]] = []
        # How many blocks of its stream each random node has taken: a number, or a tracer where that depends on data.
        self.consumed: dict[Operation, Any] = {}
        self._counters = counters
        self._slots = slots
        self.late: Late = {}
        self.streams: Callable[[Operation], Any] = lambda op: None

    def random(self, op: Operation, blocks: int) -> tuple[Any, Any]:
        before = self.consumed.get(op, 0)
        self.consumed[op] = before + blocks
        lanes = self._counters[self._slots[op]]
        if type(before) is not int or before:
            lanes = advanced(lanes, before)
        return self.streams(op).key, lanes

    def sub(self, values: dict[VariableState, Any], consumed: dict[Operation, Any]) -> Trace:
        """Returns a trace of a body, with variables and streams of its own."""
        sub = Trace(self.env, values, self._counters, self._slots)
        sub.consumed = consumed
        sub.streams = self.streams
        return sub

    def random_ops_of(self, function: Function) -> list[Operation]:
        """Returns the nodes of a body, and of what it calls, that take random numbers."""
        return random_ops(function.body)

    def run(self, ops: list[Operation]) -> None:
        """Traces the nodes in order.

        Raises:
          NeedStatic: A static operand turned out to be a tracer.
        """
        for op in ops:
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
        inputs = self.late.get(op, op._inputs)
        for arg, n in zip(plan.signature.inputs, plan.sizes(plan.signature.inputs, op.attrs), strict=True):
            static = arg.name in rule.static
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
                        if static:
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
        try:
            result = rule.function(*group_operands(kind, op.attrs, values), **keywords)
        except NotImplementedError as e:
            if "lists" not in rule.options:
                raise
            raise NeedHost(op, str(e)) from None
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

    @staticmethod
    def one_op(op: Operation) -> Callable[[Step, list[Any]], Any]:
        """Returns a function that runs one node (whose lower rule takes a ctx) as a cluster of its own."""
        compiled: dict[Any, Any] = {}

        def run(step: Step, operands: list[Any]) -> Any:
            key = id(step.state)
            cluster = compiled.get(key)
            if cluster is None:
                ins = list(dict.fromkeys(op._inputs))
                # Whether a constant among them is fed is not known here; it counts as fed.
                cluster = compiled[key] = Cluster([op], ins, list(op._outputs), frozenset(ins))
                cluster.always_static = True
            inputs: dict[Tensor, Any] = {}
            for t, v in zip(op._inputs, operands, strict=True):
                inputs[t] = v
            values = cluster.run(step, inputs)
            out = [values[t] for t in op._outputs]
            single = len(out) == 1 and not op.kind.plan.signature.outputs[0].is_list
            return out[0] if single else out

        return run


class Cluster:
    """One stage's nodes, and the programs compiled for them so far.

    Args:
      ops: The nodes, in order.
      inputs: The tensors made outside that they take.
      outputs: The tensors that are asked for outside.
      fed: The tensors that the caller gives a value in each step; among them may be a constant's.
      late: What `headrace.passes.access.late_reads` says of the nodes.
    """

    def __init__(
        self,
        ops: list[Operation],
        inputs: list[Tensor],
        outputs: list[Tensor],
        fed: Set[Tensor] = frozenset(),
        late: Late | None = None,
    ):
        self.ops = ops
        self.inputs = inputs
        self.fed = fed
        self.late = late or {}
        self.outputs = outputs
        self.static: set[Tensor] = set()  # inputs whose value the program is specialised on
        self.random_ops = random_ops(ops)
        self._slots = {op: i for i, op in enumerate(self.random_ops)}
        self._programs: dict[Any, Program] = {}
        self._met: dict[Any, int] = {}  # how often inputs without a program came
        self._by_name = {t: i for i, t in enumerate(inputs)}
        self._variants = [t for t in inputs if t._dtype.name == "variant"]
        self.always_static = False

    def _refuse_host_lists(self, inputs: dict[Tensor, Any]) -> None:
        for t in self._variants:
            if type(inputs[t]) is not StackedList:
                for op in self.ops:
                    if t in self.late.get(op, op._inputs):
                        raise NeedHost(op, f"{t.name} comes from the host")

    def signature(self, inputs: dict[Tensor, Any]) -> Any:
        """Returns the key under which a program for these inputs is kept."""
        key: list[Any] = []
        for t in self.inputs:
            v = inputs[t]
            if isinstance(v, VariableState):
                key.append((id(v), v.value is not None and (v.value.shape)))
            elif type(v) is StackedList:
                size = v.size if v.has_known_size else None
                form = v.buffer is not None and (v.buffer.shape, str(v.buffer.dtype))
                key.append((form, size, v.element_shape, v.is_set is None, v.is_fixed))
            elif t in self.static:
                a = np.asarray(v)
                key.append((a.shape, a.tobytes()))
            else:
                key.append(getattr(v, "shape", None))
        return tuple(key)

    def worth_compiling(self, key: Any) -> bool:
        """Says whether inputs of a signature have a program or have come often enough to get one.

        The more programs there are, the oftener shapes must come: sizes that depend on data (how many different
        rows a batch names) may be others at each step, and compiling takes as long as many steps.
        """
        if key in self._programs:
            return True
        if len(self._met) > _SHAPES_REMEMBERED:
            self._met.clear()
        met = self._met[key] = self._met.get(key, 0) + 1
        return met > len(self._programs)

    def run(self, step: Step, inputs: dict[Tensor, Any], key: Any = None) -> dict[Tensor, Any]:
        """Runs the cluster, compiled first if these shapes are new.

        Args:
          step: The step.
          inputs: A value for each input.
          key: The inputs' signature, if it is known.

        Returns:
          Output tensor -> value: a JAX array, a NumPy array for what was known, or a variable's state.

        Raises:
          NeedStatic: An operand inside has to be computed first; the plan must be cut there.
          NeedHost: A node can't be part of a cluster; a list that a host rule made is among the inputs.
          CheckFailed: A check in the compiled step failed; variables are as before.
        """
        while True:
            if key is None:
                key = self.signature(inputs)
            program = self._programs.get(key)
            try:
                if self._variants:
                    self._refuse_host_lists(inputs)
                if program is None:
                    # Steps of other threads must not write what the trace looks at.
                    with step.state.lock:
                        program = Program(self, step, inputs)
                    values = program.run(step, inputs)
                    self._programs[key] = program
                    return values
                return program.run(step, inputs)
            except NeedStatic as need:
                if need.tensor in self._by_name and need.tensor not in self.static:
                    self.static.add(need.tensor)
                    key = None
                    continue
                raise


class CheckFailed(Exception):
    """A compiled step found a value that an op refuses."""


class Program:
    """A cluster compiled for inputs of certain shapes, certain static values and certain variables."""

    def __init__(self, cluster: Cluster, step: Step, inputs: dict[Tensor, Any]):
        self.cluster = cluster
        self.dynamic: list[Tensor] = []
        fixed: dict[Tensor, Any] = {}
        states: dict[VariableState, None] = {}
        for t in cluster.inputs:
            v = inputs[t]
            if isinstance(v, VariableState):
                fixed[t] = v
                states[v] = None
            elif t in cluster.static or (
                t._op.type == "Const" and t not in cluster.fed and np.size(v) <= STATIC_ELEMENTS
            ):
                fixed[t] = np.asarray(v)
            else:
                self.dynamic.append(t)
        self._fixed = fixed
        self.states = [s for s in states if s.value is not None]
        self._all_states = list(states)
        self._fetched: list[Any] = []
        self._streams: list[Any] = [step.state.stream(op) for op in cluster.random_ops]
        self.has_checks = False
        self.messages: list[tuple[str, Any, Operation]] = []
        self.skips: list[int | None] = []  # None where the program says how far
        self.donated: list[VariableState] = []
        self.kept: list[VariableState] = []
        self.written: list[VariableState] = []
        self._known: dict[int, Any] = {}
        self._function: Any = None
        self._build(step, inputs)

    def _build(self, step: Step, inputs: dict[Tensor, Any]) -> None:
        cluster, dynamic = self.cluster, self.dynamic
        order = self.states

        def traced(flat_arrays: Any, variables: Any, counters: Any) -> Any:
            env = dict(self._fixed)
            arrays = flat_arrays if form is None else jax.tree.unflatten(form, flat_arrays)
            env.update(zip(dynamic, arrays, strict=True))
            incoming = dict(zip(order, variables, strict=True))
            trace = Trace(env, dict(incoming), counters, cluster._slots)
            trace.late = cluster.late
            trace.streams = step.state.stream
            trace.run(cluster.ops)
            self._known = {}
            results: list[Any] = []
            places: list[int] = []
            forms: dict[int, Any] = {}  # lists among the results -> how they are put together
            given = {id(v) for v in variables} | {id(v) for v in flat_arrays}
            for i, t in enumerate(cluster.outputs):
                v = trace.env[t]
                if isinstance(v, (np.ndarray, VariableState)):
                    self._known[i] = v
                else:
                    if isinstance(v, StackedList):
                        leaves, forms[i] = jax.tree.flatten(v)
                    else:
                        leaves = [v]
                    # A result that is an argument would share its memory with a variable.
                    results += [jnp.array(v, copy=True) if id(v) in given else v for v in leaves]
                    places += [i] * len(leaves)
            self._places, self._forms = places, forms
            self.written = list(trace.written)
            new = [jnp.asarray(trace.values[s]) for s in self.written]
            new = [jnp.array(v, copy=True) if id(v) in given else v for v in new]
            self.messages = [(m, e, op) for _, m, e, op in trace.checks]
            oks = [jnp.all(ok) for ok, _, _, _ in trace.checks]
            consumed = [trace.consumed.get(op, 0) for op in cluster.random_ops]
            self.skips = [n if isinstance(n, int) else None for n in consumed]
            moved = [n for n in consumed if not isinstance(n, int)]
            return results, new, moved, jnp.stack(oks) if oks else None

        arrays = [inputs[t] for t in dynamic]
        form: Any = None
        if cluster._variants:
            arrays, form = jax.tree.flatten(arrays)
        variables = [s.value for s in order]
        counters = self._counters()
        # One trace says which variables are written; the program proper is the traced one with those donated.
        closed = jax.make_jaxpr(traced)(arrays, variables, counters)
        # Memory can be reused only by a value of the same size.
        new = closed.out_avals[len(self._places) : len(self._places) + len(self.written)]
        written = {
            s for s, v in zip(self.written, new, strict=True) if s in order and v.shape == s.value.shape
        }
        self.has_checks = bool(self.messages)
        flat_function = jax_core.jaxpr_as_fun(closed)
        self.donated = [] if self.has_checks else [s for s in order if s in written]
        self.kept = [s for s in order if s not in set(self.donated)]
        n_arrays = len(arrays)
        position = {s: n_arrays + i for i, s in enumerate(order)}
        n_flat = n_arrays + len(order)

        def program(donated: Any, kept: Any, *rest: Any) -> Any:
            flat: list[Any] = [None] * n_flat
            flat[:n_arrays] = rest[:n_arrays]
            for s, v in zip(self.donated, donated, strict=True):
                flat[position[s]] = v
            for s, v in zip(self.kept, kept, strict=True):
                flat[position[s]] = v
            flat.extend(rest[n_arrays:])
            return flat_function(*flat)

        self._n_results = len(self._places)
        self._n_written = len(self.written)
        self._function = jax.jit(program, donate_argnums=(0,) if self.donated else ())

    def _counters(self) -> list[Any]:
        return [s.lanes() for s in self._streams]

    def run(self, step: Step, inputs: dict[Tensor, Any]) -> dict[Tensor, Any]:
        state = step.state
        arrays = [inputs[t] for t in self.dynamic]
        if self.cluster._variants:
            arrays = jax.tree.leaves(arrays)
        with state.lock:
            donated = self._values(self.donated)
            kept = self._values(self.kept)
            if donated and len({id(v) for v in donated} | {id(v) for v in kept}) < len(donated) + len(kept):
                donated = [jnp.array(v, copy=True) for v in donated]
            if self._streams:
                counters = self._counters()
                out = self._function(donated, kept, *arrays, *counters)
            else:
                out = self._function(donated, kept, *arrays)
            n, w = self._n_results, self._n_written
            moved = iter(out[n + w :])
            if self.has_checks:
                oks = np.asarray(out[-1])
                if not oks.all():
                    message, _, op = self.messages[int(np.argmin(oks))]
                    raise CheckFailed(f"{message} at {op.name}")
            for stream, blocks in zip(self._streams, self.skips, strict=True):
                stream.skip(int(next(moved)) if blocks is None else blocks)
            for s, v in zip(self.written, out[n : n + w], strict=True):
                s.value = v
        outputs = self.cluster.outputs
        values = {outputs[i]: v for i, v in self._known.items()}
        if not self._forms:
            for i, v in zip(self._places, out[:n], strict=True):
                values[outputs[i]] = v
            return values
        leaves: dict[int, list[Any]] = {i: [] for i in self._forms}
        for i, v in zip(self._places, out[:n], strict=True):
            if i in leaves:
                leaves[i].append(v)
            else:
                values[outputs[i]] = v
        for i, form in self._forms.items():
            values[outputs[i]] = jax.tree.unflatten(form, leaves[i])
        return values

    @staticmethod
    def _values(states: list[VariableState]) -> list[Any]:
        values = []
        for s in states:
            v = s.value
            if type(v) is np.ndarray:
                # Kept as a JAX array from here on; a variable that is only read is not copied again.
                v = s.value = jnp.array(v)
            values.append(v)
        return values
