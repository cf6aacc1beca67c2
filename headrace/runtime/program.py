"""Programs: a cluster compiled for inputs of certain shapes, certain known values and certain variables.

Variables come in as arguments and those written go out as results, their memory donated, so that updates happen in
place. A step that finds a value which an op refuses must leave its variables as they were: where the checks hang on
little of the step they are computed first, otherwise nothing is donated.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from headrace import errors
from headrace.graph import Operation, Tensor
from headrace.lazy import jax, jax_core, jnp
from headrace.resources.stacked_list import StackedList
from headrace.resources.variable import VariableState
from headrace.runtime.checks import cheap_checks, refuse_absurd_sizes, without_last_result
from headrace.runtime.context import Step
from headrace.runtime.summed_products import in_nodes
from headrace.runtime.trace import STATIC_ELEMENTS, Trace


class CheckFailed(Exception):
    """A compiled step found a value that an op refuses."""


class Program:
    """A cluster compiled for inputs of certain shapes, certain static values and certain variables."""

    def __init__(self, cluster: Any, step: Step, inputs: dict[Tensor, Any]):
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
        self.has_checks = False  # whether the step's last result says what was refused
        self._checks: Any = None  # says it before the step
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
            trace.facts = cluster.facts()
            trace.streams = step.state.stream
            trace.sums, left_out = in_nodes(cluster.ops, cluster.outputs)
            trace.run([op for op in cluster.ops if op not in left_out])
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
            self._is_endless = bool(trace.facts.get("endless"))
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
        refuse_absurd_sizes(closed.jaxpr)
        # Memory can be reused only by a value of the same size.
        new = closed.out_avals[len(self._places) : len(self._places) + len(self.written)]
        written = {
            s for s, v in zip(self.written, new, strict=True) if s in order and v.shape == s.value.shape
        }
        self.has_checks = bool(self.messages)
        self._checks = cheap_checks(closed) if self.has_checks and written else None
        if self._checks is not None:
            self.has_checks = False
            closed = without_last_result(closed)
        flat_function = jax_core.jaxpr_as_fun(closed)
        self.donated = [] if self.has_checks or self._is_endless else [s for s in order if s in written]
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
            counters = self._counters() if self._streams else ()
            if self._checks is not None:
                self._refuse(self._checks([*arrays, *self._values(self.states), *counters]))
            if self._is_endless:
                out = self._interruptible(step, donated, kept, *arrays, *counters)
            else:
                out = self._function(donated, kept, *arrays, *counters)
            n, w = self._n_results, self._n_written
            moved = iter(out[n + w :])
            if self.has_checks:
                self._refuse(out[-1])
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

    def _interruptible(self, step: Step, *arguments: Any) -> Any:
        """Runs the program so that the step can be given up: XLA itself does not listen while a loop runs on."""
        result: list[Any] = []
        failure: list[BaseException] = []
        done = threading.Event()

        def work() -> None:
            try:
                result.append(jax.block_until_ready(self._function(*arguments)))
            except BaseException as e:
                failure.append(e)
            done.set()

        threading.Thread(target=work, daemon=True, name="headrace-loop").start()
        while not done.wait(0.05):
            if step.closing.is_set:
                raise errors.CancelledError(None, None, "Loop execution was cancelled.")
            if step.deadline is not None and time.monotonic() > step.deadline:
                raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
        if failure:
            raise failure[0]
        return result[0]

    def _refuse(self, oks: Any) -> None:
        oks = np.asarray(oks)
        if not oks.all():
            message, _, op = self.messages[int(np.argmin(oks))]
            raise CheckFailed(f"{message} at {op.name}")

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
