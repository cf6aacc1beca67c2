"""Session and InteractiveSession."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from headrace import errors
from headrace.export import export
from headrace.graph import Graph, Operation, Tensor, get_default_graph, hooks, stack
from headrace.resources.manager import ResourceManager
from headrace.runtime.context import Step
from headrace.runtime.plan import Plan
from headrace.runtime.policies import policies_of, use_threads
from headrace.runtime.state import SessionState
from headrace.session.fetches import Fetches, feed_pairs, feed_value
from headrace.session.handles import HANDLE_OPS
from headrace.session.partial import PartialRun
from headrace.session.placement import check_devices
from headrace.session.trace import fill_metadata

# What `tf.Session.reset` clears: the containers of the sessions of this process, by target.
_managers: list[Any] = []


class BaseSession:
    """What both kinds of session share: runs of a graph against one set of variables.

    Args:
      target: The execution engine; '' is this process.
      graph: The graph to run, the default graph if None.
      config: A ConfigProto.

    Raises:
      TypeError: An argument has a wrong type.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None):
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if isinstance(target, bytes):
            target = target.decode()
        if not isinstance(target, str):
            raise TypeError(f"target must be a string, but got {type(target)}")
        if target:
            raise errors.NotFoundError(
                None,
                None,
                f'No session factory registered for the given session options: {{target: "{target}"}}',
            )
        if config is not None and not hasattr(config, "allow_soft_placement"):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = graph if graph is not None else get_default_graph()
        self._config = config
        self._target = target
        self._soft_placement = bool(config is not None and config.allow_soft_placement)
        self._timeout_ms = config.operation_timeout_in_ms if config is not None else 0
        self._policies = policies_of(config)
        if config is not None:
            use_threads(config)
        self._state = SessionState(ResourceManager(), self._policies)
        _managers.append(self._state.resources)
        self._tier = self._policies.tier
        self._plans: dict[Any, Plan] = {}
        self._structure = self._graph._structure
        self._plan_lock = threading.Lock()
        self._closed = False
        self._partial: dict[str, PartialRun] = {}

    @property
    def graph(self) -> Graph:
        """The graph that this session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        return self._target

    def list_devices(self) -> list[Any]:
        """Returns the devices of this process, as `DeviceAttributes`."""
        from headrace.session.placement import device_attributes

        return device_attributes()

    # -- running -----------------------------------------------------------------------------------------------
    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Runs what the fetches need and returns their values.

        Args:
          fetches: A tensor, an operation, a name, or nested lists, tuples and dictionaries of those.
          feed_dict: Values for tensors, by tensor or name; any tensor may be fed.
          options: A RunOptions.
          run_metadata: A RunMetadata that is filled in.

        Returns:
          The values, in the structure of `fetches`: NumPy arrays, None for operations.

        Raises:
          RuntimeError: The session is closed, or the graph is empty.
          TypeError: A fetch or feed is of a wrong type.
          ValueError: A fetch or feed is not in the graph, or a value's shape is wrong.
          OpError: An operation failed; see `tf.errors`.
        """
        graph = self._graph
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not graph._ops:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )
        pairs = feed_pairs(graph, feed_dict) if feed_dict else []
        timeout = (options.timeout_in_ms if options is not None else 0) or self._timeout_ms
        if (
            type(fetches) is Tensor
            and fetches._op._graph is graph
            and not graph._unfetchable
            and fetches._op.type not in HANDLE_OPS
        ):
            plan = self._plan((fetches,), (), tuple([t for t, _ in pairs]), timeout > 0)
            rebuild: Callable[[list[Any]], Any] = _first
        else:
            mapped = Fetches(graph, fetches, self)
            feeds = tuple([t for t, _ in pairs])
            plan = self._plan(tuple(mapped.tensors), tuple(mapped.targets), feeds, timeout > 0)
            rebuild = mapped.rebuild
        values = [v for _, v in pairs]
        if options is None and run_metadata is None and not timeout:
            return rebuild(plan.run(values))
        return rebuild(self._run_with_options(plan, values, timeout, options, run_metadata))

    def _run_with_options(
        self, plan: Plan, values: list[Any], timeout: int, options: Any, run_metadata: Any
    ) -> list[Any]:
        step = Step(self._state)
        if timeout:
            step.deadline = time.monotonic() + timeout / 1000.0
        if run_metadata is None:
            return plan.run(values, step)
        return fill_metadata(plan, values, step, options, run_metadata)

    def _plan(
        self,
        fetches: tuple[Tensor, ...],
        targets: tuple[Operation, ...],
        feeds: tuple[Tensor, ...],
        stops: bool,
    ) -> Plan:
        """Returns the plan for some fetches; one of its own for steps that must stop in time, if it has loops."""
        if self._structure != self._graph._structure:
            with self._plan_lock:
                self._plans = {}
                self._structure = self._graph._structure
        key = (fetches, targets, feeds)
        found = self._plans.get(key) or self._made(key, False)
        if stops and found.has_calls:
            return self._plans.get((*key, stops)) or self._made(key, stops)
        return found

    def _made(self, key: tuple[Any, ...], stops: bool) -> Plan:
        place = (*key, stops) if stops else key
        with self._plan_lock:
            found = self._plans.get(place)
            if found is None:
                fetches, targets, feeds = map(list, key)
                made = Plan(self._state, fetches, targets, feeds, self._tier, stops)
                check_devices(made.ops, self._soft_placement)
                found = self._plans[place] = made
        return found

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Returns a function that runs `fetches`; it takes the values of `feed_list` in order.

        Args:
          fetches: What `run` takes.
          feed_list: The tensors to feed.
          accept_options: Whether the function also takes `options=` and `run_metadata=`.

        Raises:
          TypeError: `feed_list` is no list of tensors.
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        graph = self._graph
        feeds = [graph.as_graph_element(f, allow_tensor=True, allow_operation=False) for f in feed_list or ()]
        mapped = Fetches(graph, fetches)
        tensors, targets = tuple(mapped.tensors), tuple(mapped.targets)

        def call(*args: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(args) != len(feeds):
                raise TypeError(
                    f"The callable takes {len(feeds)} arguments, one a tensor of feed_list, but got {len(args)}"
                )
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            timeout = (options.timeout_in_ms if options is not None else 0) or self._timeout_ms
            plan = self._plan(tensors, targets, tuple(feeds), timeout > 0)
            values = [feed_value(graph, t, v) for t, v in zip(feeds, args, strict=True)]
            if options is None and run_metadata is None and not timeout:
                return mapped.rebuild(plan.run(values))
            return mapped.rebuild(self._run_with_options(plan, values, timeout, options, run_metadata))

        if accept_options:
            return call
        return lambda *args: call(*args)

    # -- partial runs ------------------------------------------------------------------------------------------
    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Prepares a run in parts and returns its handle; see `partial_run`.

        Args:
          fetches: All that will be fetched, in one structure.
          feeds: All tensors that will be fed.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        mapped = Fetches(self._graph, fetches)
        tensors = [
            self._graph.as_graph_element(f, allow_tensor=True, allow_operation=False) for f in feeds or ()
        ]
        handle = f"->{';'.join(t.name for t in mapped.tensors)}/{len(self._partial)}"
        self._partial[handle] = PartialRun(self._state, mapped, tensors)
        return handle

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Continues a run in parts: each node runs once over all parts, each feed is given once.

        Raises:
          ValueError: The handle is unknown.
          InvalidArgumentError: A fetch or feed was not announced, or was used before.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if handle not in self._partial:
            raise errors.InvalidArgumentError(None, None, "Must run 'setup' before performing partial runs!")
        mapped = Fetches(self._graph, fetches)
        pairs = feed_pairs(self._graph, feed_dict or {})
        run = self._partial[handle]
        values = run.proceed(mapped, pairs)
        if run.done:
            del self._partial[handle]
        return mapped.rebuild(values)

    # -- life --------------------------------------------------------------------------------------------------
    def close(self) -> None:
        """Frees the variables and refuses further runs."""
        if not self._closed:
            self._closed = True
            self._plans = {}
            self._state.closing.set()
            self._state.resources.clear()
            if self._state.resources in _managers:
                _managers.remove(self._state.resources)

    def as_default(self) -> Any:
        """Returns a block inside which this session is the default session."""
        return stack.sessions.entered(self)

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Clears the variables of the sessions of this process, all or those of some containers."""
        for manager in list(_managers):
            manager.clear(containers)


def _first(values: list[Any]) -> Any:
    return values[0]


@export("Session")
class Session(BaseSession):
    """Runs a graph; a `with` block makes it and its graph the defaults, and closes it.

    Args:
      target: The execution engine; '' is this process.
      graph: The graph to run, the default graph if None.
      config: A ConfigProto.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None):
        super().__init__(target, graph, config=config)
        self._entered: list[contextlib.ExitStack] = []

    def __enter__(self) -> Session:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        exits = contextlib.ExitStack()
        exits.enter_context(self._graph.as_default())
        exits.enter_context(self.as_default())
        self._entered.append(exits)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self._entered.pop().__exit__(kind, value, trace)
        self.close()


@export("InteractiveSession")
class InteractiveSession(BaseSession):
    """A session that is the default one from its making on, for shells and notebooks."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None):
        super().__init__(target, graph, config)
        stack.sessions.enforce_nesting = False
        stack.graphs.enforce_nesting = False
        stack.sessions.items.append(self)
        self._entered_graph = graph is not None
        if graph is not None:
            stack.graphs.items.append(graph)

    def close(self) -> None:
        """Frees the variables and stops being the default session."""
        super().close()
        if self in stack.sessions.items:
            stack.sessions.items.remove(self)
        if self._entered_graph and self._graph in stack.graphs.items:
            stack.graphs.items.remove(self._graph)
            self._entered_graph = False


def _eval(fetch: Any, feed_dict: Any, session: Any) -> Any:
    if isinstance(fetch, Operation):
        what, verb, method = "operation", "execute", "run"
    else:
        what, verb, method = "tensor", "evaluate", "eval"
    given = session is not None
    if not given:
        session = stack.sessions.get()
        if session is None:
            raise ValueError(
                f"Cannot {verb} {what} using `{method}()`: No default session is registered. Use "
                f"`with sess.as_default()` or pass an explicit session to `{method}(session=sess)`"
            )
    if session.graph is not fetch.graph:
        which = "given" if given else "default"
        hint = "" if given else f" Pass an explicit session to `{method}(session=sess)`."
        raise ValueError(
            f"Cannot use the {which} session to {verb} {what}: the {what}'s graph is different from the session's "
            f"graph.{hint}"
        )
    return session.run(fetch, feed_dict)


hooks.session_eval = _eval
