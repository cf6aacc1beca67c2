"""Programs: a cluster compiled for inputs of certain shapes, certain known values and certain variables.

Variables come in as arguments and those written go out as results, their memory donated, so that updates happen in
place. A step that finds a value which an op refuses must leave its variables as they were: where the checks hang on
little of the step they are computed first, otherwise nothing is donated.

A program is made in three parts: what it is for is noted from the inputs, which takes no time; then it is found on
disk or built, which may happen in another thread; then it runs, any number of times.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from headrace import errors, lazy
from headrace.graph import Tensor
from headrace.lazy import has_jax, jax, jnp
from headrace.native.memory import return_memory
from headrace.passes.targets import origin
from headrace.resources.stacked_list import StackedList
from headrace.resources.variable import VariableState
from headrace.runtime import compile_cache, host_checks, stopping
from headrace.runtime.checks import (
    cheap_checks,
    refuse_absurd_sizes,
    without_last_argument,
    without_last_result,
)
from headrace.runtime.computed_once import computed_once
from headrace.runtime.context import Step
from headrace.runtime.fingerprint import Indescribable, facts_of
from headrace.runtime.functions import NeedHost, NeedStatic
from headrace.runtime.reuse import aligned
from headrace.runtime.summed_products import in_nodes
from headrace.runtime.trace import STATIC_ELEMENTS, Trace

# Each node's result is rounded to its type: XLA would keep bfloat16 as float32 between nodes that it computes together.
_OPTIONS = {"xla_allow_excess_precision": False}

_LARGE = 4 << 20  # bytes; copying what is smaller takes no time
_COPIED = 1 << 20  # bytes; copying more than that takes longer than a step that nobody waits for saves


class CheckFailed(Exception):
    """A compiled step found a value that an op refuses."""


@dataclass
class Cost:
    """What a program took, in seconds.

    Attributes:
      source: "compiled", or "disk" if it was found there.
      trace: Calling the nodes' rules.
      lower: Turning the trace into what XLA takes.
      compile: XLA's own work.
      jax: Importing JAX, where that had not been done.
      load: Reading the program from disk.
      began: When it was begun, by `time.time()`.
      made: What making it took, in the process that did.
      runs: How many times it has run.
      run: How long those runs took; until the results were there if `measured` says so.
      measured: How many runs waited for their results.
      bytes_in: What goes in, variables included.
      bytes_out: What comes out, variables included.
    """

    source: str = "compiled"
    trace: float = 0.0
    lower: float = 0.0
    compile: float = 0.0
    jax: float = 0.0
    load: float = 0.0
    began: float = 0.0
    made: float = 0.0
    runs: int = 0
    run: float = 0.0
    measured: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class Program:
    """A cluster compiled for inputs of certain shapes, certain static values and certain variables.

    Args:
      cluster: The cluster.
      step: A step of the session.
      inputs: A value for each input.
    """

    # Whether runs wait for their results, so that the time they took can be told.
    measures = False

    def __init__(self, cluster: Any, step: Step, inputs: dict[Tensor, Any]):
        self.cluster = cluster
        self.cost = Cost(began=time.time())
        self.watched = False  # whether a profile has told what making it took
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
        self._lent = _lent(self.dynamic, cluster.fed)
        self._large = [i for i, t in enumerate(self.dynamic) if getattr(inputs[t], "nbytes", 0) >= _LARGE]
        self._fixed = fixed
        self.states = [s for s in states if s.value is not None]
        self._all_states = list(states)
        self._streams: list[Any] = [step.state.stream(op) for op in cluster.random_ops]
        self.has_checks = False  # whether the step's last result says what was refused
        self._checks: Any = None  # says it before the step
        self._host_checks: Any = None  # says it in its place
        self._checks_take: list[int] = []
        self.messages: list[tuple[str, Any, str]] = []
        self.skips: list[int | None] = []  # None where the program says how far
        self.donated: list[VariableState] = []
        self.kept: list[VariableState] = []
        self.written: list[VariableState] = []
        self._known: dict[int, Any] = {}
        self._places: list[int] = []
        self._forms: dict[int, Any] = {}  # lists among the results -> how they are put together
        self._is_endless = False
        self._n_results = self._n_written = 0
        self._function: Any = None
        # Shapes and types only: the values may be others, or gone, by the time the program is built.
        self._arguments: list[Any] = [inputs[t] for t in self.dynamic]
        self._variables: list[Any] = [_form(s.value) for s in self.states]
        if not cluster._variants:
            self._arguments = [_form(v) for v in self._arguments]

    # -- found on disk -----------------------------------------------------------------------------------------
    def key(self) -> str:
        """Returns the key under which the program may be kept on disk, '' if it can't be."""
        cluster = self.cluster
        fingerprint = cluster.fingerprint()
        if not fingerprint or cluster._variants:
            return ""
        place = {s: i for i, s in enumerate(self._all_states)}
        forms = dict(zip(self.dynamic, self._arguments, strict=True))
        forms_of_states = dict(zip(self.states, self._variables, strict=True))
        try:
            parts = [fingerprint, facts_of(cluster)]
        except Indescribable:
            return ""
        for t in cluster.inputs:
            v = self._fixed.get(t)
            if v is None:
                parts.append(f"{forms[t].shape}{forms[t].dtype}")
            elif isinstance(v, VariableState):
                form = forms_of_states.get(v)
                parts.append(f"v{place[v]} {None if form is None else (form.shape, str(form.dtype))}")
            else:
                parts.append(f"{v.dtype}{v.shape}{v.tobytes().hex() if v.dtype != object else v.tolist()}")
        return compile_cache.step_key("\n".join(parts))

    def load(self, store: Any, key: str) -> bool:
        """Takes the program from disk if it is there; returns whether it was.

        Raises:
          NeedStatic, NeedHost: Tracing is known to end so.
        """
        self._need_jax()
        start = time.monotonic()
        entry = compile_cache.load_step(store, key)
        if entry is None:
            return False
        found, programs = entry
        ops = self.cluster.ops
        need = found.get("need")
        if need is not None:
            kind, op, what = need
            if kind == "host":
                raise NeedHost(ops[op], what)
            if kind == "input":
                raise NeedStatic(self.cluster.inputs[what], ops[op])
            raise NeedStatic(ops[what[0]]._outputs[what[1]], ops[op])
        states = self._all_states
        self._known = {i: states[v] if kind == "state" else v for i, (kind, v) in found["known"].items()}
        self._places, self.skips, self.messages = found["places"], found["skips"], found["messages"]
        self.has_checks, self._is_endless = found["has_checks"], found["is_endless"]
        self._checks_take, self._host_checks = found["checks_take"], found["host_checks"]
        self.written = [states[i] for i in found["written"]]
        self._share([states[i] for i in found["donated"]])
        self._function = programs[0]
        self._checks = programs[1] if len(programs) > 1 else None
        self._measure_bytes(found["bytes_out"])
        self.cost.source = "disk"
        self.cost.made = found["made"]
        self.cost.load = time.monotonic() - start
        return True

    def _need_jax(self) -> None:
        """Imports JAX now, so that it is not counted as part of something else."""
        if not has_jax():
            start = time.monotonic()
            _ = jax.jit
            self.cost.jax = time.monotonic() - start

    def _save(self, store: Any, key: str, n_in: int, n_out: int, targets: set[str]) -> None:
        place = {s: i for i, s in enumerate(self._all_states)}
        if self._forms or not all(s in place for s in self.written):
            return
        known: dict[int, Any] = {}
        for i, v in self._known.items():
            if isinstance(v, VariableState):
                if v not in place:
                    return
                known[i] = ("state", place[v])
            else:
                known[i] = ("value", v)
        found = {
            "known": known,
            "places": self._places,
            "skips": self.skips,
            "messages": self.messages,
            "has_checks": self.has_checks,
            "is_endless": self._is_endless,
            "checks_take": self._checks_take,
            "host_checks": self._host_checks,
            "written": [place[s] for s in self.written],
            "donated": [place[s] for s in self.donated],
            "bytes_out": self.cost.bytes_out,
            "made": self.cost.made,
        }
        programs = [(self._function, n_in, n_out)]
        if self._checks is not None:
            programs.append((self._checks, len(self._checks_take), 1))
        step_s = self.cluster.step_s
        facts = {
            "nodes": len(self.cluster.ops),
            "took": round(self.cost.made, 3),
            "step": None if step_s is None else round(step_s, 4),
        }
        compile_cache.save_step(store, key, found, programs, targets, **facts)

    def _save_need(self, store: Any, key: str, need: NeedStatic | NeedHost) -> None:
        """Keeps that tracing ends early, so that the next process cuts its plan there without trying."""
        ops = {op: i for i, op in enumerate(self.cluster.ops)}
        found: tuple[str, int, Any]
        if isinstance(need, NeedHost):
            if need.op not in ops:
                return
            found = "host", ops[need.op], str(need).partition(": ")[2]
        else:
            t, consumer = need.tensor, need.consumer
            if consumer not in ops:
                return
            if t in self.cluster._by_name:
                found = "input", ops[consumer], self.cluster._by_name[t]
            elif t._op in ops:
                found = "made", ops[consumer], (ops[t._op], t.value_index)
            else:
                return
        compile_cache.save_step(store, key, {"need": found}, [], set())

    # -- built -------------------------------------------------------------------------------------------------
    def build(self, store: Any = None, key: str = "", stop: Callable[[], None] | None = None) -> None:
        """Traces and compiles the program.

        Args:
          store: Where to keep it.
          key: Under which key; '' for not at all.
          stop: Raises if the program is not wanted any more; called now and then.

        Raises:
          NeedStatic: An operand inside has to be computed first; the plan must be cut there.
          NeedHost: A node can't be part of a cluster.
        """
        try:
            self._build(store, key, stop)
        except (NeedStatic, NeedHost) as need:
            if key:
                self._save_need(store, key, need)
            raise
        finally:
            # Lists among the arguments are held as they came, for their structure, until then.
            self._arguments = [_form(v) if hasattr(v, "shape") else None for v in self._arguments]

    def _build(self, store: Any, key: str, stop: Callable[[], None] | None) -> None:
        cluster, dynamic = self.cluster, self.dynamic
        order = self.states
        self._need_jax()
        start = time.monotonic()

        def traced(flat_arrays: Any, variables: Any, counters: Any, switch: Any) -> Any:
            env = dict(self._fixed)
            arrays = flat_arrays if form is None else jax.tree.unflatten(form, flat_arrays)
            env.update(zip(dynamic, arrays, strict=True))
            incoming = dict(zip(order, variables, strict=True))
            trace = Trace(env, dict(incoming), counters, cluster._slots)
            trace.late = cluster.late
            trace.facts = {**cluster.facts(), "switch": switch}
            trace.stop = stop
            trace.sums, left_out = in_nodes(cluster.ops, cluster.outputs, cluster.late)
            trace.run([op for op in cluster.ops if op not in left_out], cluster.outputs)
            self._known = {}
            results: list[Any] = []
            places: list[int] = []
            forms: dict[int, Any] = {}
            given = {id(v) for v in variables} | {id(v) for v in flat_arrays}
            at_argument = {id(v): k for k, v in enumerate(flat_arrays)}
            for i, t in enumerate(cluster.outputs):
                v = trace.env[t]
                if isinstance(v, (np.ndarray, VariableState)):
                    self._known[i] = v
                else:
                    if isinstance(v, StackedList):
                        _refuse_flags(cluster, t, v)
                        # A list that only became shorter has the elements that it came with.
                        leaves, how = jax.tree.flatten(v)
                        forms[i] = how, [at_argument.get(id(v)) for v in leaves]
                        leaves = [v for v in leaves if id(v) not in at_argument]
                    else:
                        leaves = [v]
                    # A result that is an argument would share its memory with a variable.
                    results += [jnp.array(v, copy=True) if id(v) in given else v for v in leaves]
                    places += [i] * len(leaves)
            self._places, self._forms = places, forms
            # JAX gives each result the memory of the first donated argument of its shape and type that is left: in the
            # arguments' order, and ahead of other results, each new value takes the place of its variable's old one.
            at = {s: i for i, s in enumerate(order)}
            self.written = sorted(trace.written_states, key=lambda s: at.get(s, len(at)))
            self._is_endless = bool(trace.facts.get("endless"))
            new = [jnp.asarray(trace.values[s]) for s in self.written]
            new = [jnp.array(v, copy=True) if id(v) in given else v for v in new]
            self.messages = [(m, e, op.name) for _, m, e, op in trace.checks]
            oks = [jnp.all(ok) for ok, _, _, _ in trace.checks]
            consumed = [trace.consumed.get(op, 0) for op in cluster.random_ops]
            self.skips = [n if isinstance(n, int) else None for n in consumed]
            moved = [n for n in consumed if not isinstance(n, int)]
            return new, results, moved, jnp.stack(oks) if oks else None

        arrays = self._arguments
        form: Any = None
        if cluster._variants:
            leaves, form = jax.tree.flatten(arrays)
            arrays = [_form(v) for v in leaves]
        arrays = [v.aval() for v in arrays]
        variables = [v.aval() for v in self._variables]
        counters = [_form(s).aval() for s in self._counters()]
        # One trace says which variables are written; the program proper is the traced one with those donated.
        switch = jax.ShapeDtypeStruct((), np.int64)
        closed = jax.make_jaxpr(traced)(arrays, variables, counters, switch)
        if not self._is_endless:
            closed = without_last_argument(closed)
        refuse_absurd_sizes(closed.jaxpr)
        # Memory can be reused only by a value of the same size.
        new = closed.out_avals[: len(self.written)]
        shapes = dict(zip(order, [v.shape for v in self._variables], strict=True))
        written = {s for s, v in zip(self.written, new, strict=True) if s in shapes and v.shape == shapes[s]}
        self.has_checks = bool(self.messages)
        first = cheap_checks(closed) if self.has_checks and written and not self._is_endless else None
        if first is not None:
            self.has_checks = False
            closed = without_last_result(closed)
        self._share([] if self.has_checks or self._is_endless else [s for s in order if s in written])
        avals = [*arrays, *variables, *counters, *([switch] if self._is_endless else [])]
        self._measure_bytes(sum(v.size * v.dtype.itemsize for v in closed.out_avals))
        donated = set(self.donated)
        donate = tuple(len(arrays) + i for i, s in enumerate(order) if s in donated)
        self.cost.trace = time.monotonic() - start
        keeps = bool(key) and store is not None and not self._forms
        self._function = self._compiled(closed, avals, donate, keeps)
        if first is not None:
            self._checks_take = first[1]
            # A variable's value may lie elsewhere, and must not be held while the step runs.
            if all(i < len(arrays) for i in first[1]):
                self._host_checks = host_checks.on_host(first[0])
            if self._host_checks is None:
                self._checks = self._compiled(first[0], [avals[i] for i in first[1]], (), keeps)
        self.cost.made = time.monotonic() - start
        if keeps:
            targets = compile_cache.custom_calls(closed.jaxpr)
            self._save(store, key, len(avals), len(closed.out_avals), targets)

    def _compiled(self, closed: Any, avals: list[Any], donate: tuple[int, ...], keeps: bool) -> Any:
        start = time.monotonic()
        step = computed_once(closed)

        def headrace_step(*arguments: Any) -> Any:
            return step(*arguments)

        lowered = jax.jit(headrace_step, donate_argnums=donate).lower(*avals)
        middle = time.monotonic()
        with compile_cache.not_by_jax() if keeps else contextlib.nullcontext():
            compiled = lowered.compile(compiler_options=_OPTIONS)
        return_memory()
        self.cost.lower += middle - start
        self.cost.compile += time.monotonic() - middle
        return compiled

    def _share(self, donated: list[VariableState]) -> None:
        """Notes which variables' memory the program may reuse."""
        self.donated = donated
        self.kept = [s for s in self.states if s not in set(donated)]
        self._n_results = len(self._places)
        self._n_written = len(self.written)

    def _measure_bytes(self, out: int) -> None:
        self.cost.bytes_in = sum(v.nbytes for v in (*self._arguments, *self._variables) if type(v) is _Form)
        self.cost.bytes_out = out

    def _counters(self) -> list[Any]:
        return [s.state() for s in self._streams]

    # -- running -----------------------------------------------------------------------------------------------
    def run(self, step: Step, inputs: dict[Tensor, Any]) -> dict[Tensor, Any]:
        """Runs the program; see `Cluster.run`."""
        if lazy.lost_threads:
            raise errors.FailedPreconditionError(
                None,
                None,
                "This process was forked from one that had run compiled steps, and XLA's threads stayed there. Start "
                'it with multiprocessing\'s "spawn" method, or before the first step.',
            )
        state = step.state
        arrays = [inputs[t] for t in self.dynamic]
        for i in self._large:
            arrays[i] = aligned(arrays[i])
        # XLA reads arrays after the call has come back; their owners may write to them when the step has.
        is_lent = False
        for i in self._lent:
            v = arrays[i]
            if type(v) is np.ndarray and v is inputs[self.dynamic[i]]:
                if v.nbytes <= _COPIED:
                    arrays[i] = v.copy()
                else:
                    is_lent = True
        if self.cluster._variants:
            arrays = jax.tree.leaves(arrays)
        start = time.perf_counter()
        with state.lock:
            variables = self._values()
            # Two variables may share memory, which can be given away only once.
            if self.donated and len({id(v) for v in variables}) < len(variables):
                given_away = set(self.donated)
                variables = [
                    jnp.array(v, copy=True) if s in given_away else v
                    for s, v in zip(self.states, variables, strict=True)
                ]
            counters = self._counters() if self._streams else ()
            if self._host_checks is not None:
                self._refuse(self._host_checks.run([arrays[i] for i in self._checks_take]))
            elif self._checks is not None:
                given = [*arrays, *variables, *counters]
                self._refuse(self._checks(*[given[i] for i in self._checks_take])[0])
            # What would be lost with a program that is given up, its variables' memory, keeps it from being so.
            if self._is_endless or (step.deadline is not None and not self.donated):
                out = stopping.run(self._function, step, [*arrays, *variables, *counters], self._is_endless)
            else:
                out = self._function(*arrays, *variables, *counters)
            w = self._n_written
            n = w + self._n_results
            moved = iter(out[n:])
            if self.has_checks:
                self._refuse(out[-1])
            for stream, blocks in zip(self._streams, self.skips, strict=True):
                stream.skip(int(next(moved)) if blocks is None else blocks)
            for s, v in zip(self.written, out[:w], strict=True):
                s.value = v
        if is_lent:
            jax.block_until_ready(out)
        cost = self.cost
        if Program.measures:
            jax.block_until_ready(out)
            cost.measured += 1
        cost.runs += 1
        cost.run += time.perf_counter() - start
        outputs = self.cluster.outputs
        values = {outputs[i]: v for i, v in self._known.items()}
        if not self._forms:
            for i, v in zip(self._places, out[w:n], strict=True):
                values[outputs[i]] = v
            return values
        leaves: dict[int, list[Any]] = {i: [] for i in self._forms}  # those that were computed
        for i, v in zip(self._places, out[w:n], strict=True):
            if i in leaves:
                leaves[i].append(v)
            else:
                values[outputs[i]] = v
        for i, (form, passed) in self._forms.items():
            made = iter(leaves[i])
            values[outputs[i]] = jax.tree.unflatten(
                form, [next(made) if k is None else arrays[k] for k in passed]
            )
        return values

    def _refuse(self, oks: Any) -> None:
        oks = np.asarray(oks)
        if not oks.all():
            message, _, name = self.messages[int(np.argmin(oks))]
            raise CheckFailed(f"{message} at {name}")

    def _values(self) -> list[Any]:
        values = []
        for s in self.states:
            v = s.value
            if type(v) is np.ndarray:
                # Kept as a JAX array from here on. One that is only read stays where it is if XLA takes it there; to
                # such memory XLA does not write, donated or not.
                if s not in self.donated:
                    v = s.value = jax.device_put(v)
                else:
                    v = s.value = jnp.array(v, copy=True)
                    if v.nbytes >= _LARGE:
                        v.block_until_ready()
                        return_memory()
            values.append(v)
        return values


def _lent(tensors: list[Tensor], fed: Set[Tensor]) -> list[int]:
    """Returns the places of tensors whose memory may be the caller's: fed ones, and perhaps views of those."""
    owned: set[Tensor] = set()

    def is_lent(tensor: Tensor) -> bool:
        seen, todo = {tensor}, [tensor]
        while todo:
            t = todo.pop()
            if t in fed:
                return True
            new = set(t._op._inputs) - seen - owned
            seen |= new
            todo += new
        owned.update(seen)
        return False

    return [i for i, t in enumerate(tensors) if is_lent(t)]


class _Form(NamedTuple):
    """The shape and type of a value, which is all that tracing looks at."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize  # type: ignore[no-any-return]

    def aval(self) -> Any:
        return jax.ShapeDtypeStruct(self.shape, self.dtype)


def _refuse_flags(cluster: Any, tensor: Tensor, value: StackedList) -> None:
    """Refuses to hand out a list of whose elements a step notes what was done to them, for the notes end here.

    Raises:
      NeedHost: It is one.
    """
    if value.flags is not None:
        maker = next((op for op in cluster.ops if origin(op) is value.flags.maker), tensor._op)
        raise NeedHost(maker, "its elements are read and written elsewhere, too")


def _form(value: Any) -> _Form:
    if not hasattr(value, "dtype"):
        value = np.asarray(value)
    return _Form(tuple(value.shape), value.dtype)
