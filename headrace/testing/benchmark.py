"""Small things beside test cases: benchmarks and stubs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from headrace.export import export
from headrace.graph.default import get_default_session
from headrace.platform import tf_logging


@export("test.Benchmark")
class Benchmark:
    """A class of benchmarks: methods whose names begin with `benchmark`."""

    @classmethod
    def is_abstract(cls) -> bool:
        """Says whether the class has no benchmark of its own."""
        return not any(name.startswith("benchmark") for name in dir(cls))

    def evaluate(self, tensors: Any) -> Any:
        """Returns the values of tensors in the default session.

        Args:
          tensors: What `Session.run` takes.
        """
        return get_default_session().run(tensors)

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Any = None,
        name: str | None = None,
        metrics: Any = None,
    ) -> None:
        """Writes a result to the log.

        Args:
          iters: How often it ran.
          cpu_time: The CPU's seconds of one run.
          wall_time: The seconds of one run.
          throughput: Megabytes a second.
          extras: Further facts by name.
          name: The benchmark's name.
          metrics: Further measures.
        """
        facts = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput}
        facts.update(extras or {})
        shown = ", ".join(f"{key}: {value}" for key, value in facts.items() if value is not None)
        tf_logging.info("Benchmark [%s] %s", name or type(self).__name__, shown)

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Any = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Times runs of an operation and reports them.

        Args:
          sess: The session.
          op_or_tensor: What runs.
          feed_dict: Its feeds.
          burn_iters: How many runs go before.
          min_iters: How many runs are timed.
          store_trace: Accepted; no trace is kept.
          store_memory_usage: Accepted; memory is not measured.
          name: The benchmark's name.
          extras: Further facts by name.
          mbs: The megabytes of one run, for the throughput.

        Returns:
          What was reported, by name.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - start)
        middle = float(np.median(times)) if times else 0.0
        results: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": middle,
            "throughput": mbs / middle if middle else 0.0,
            "extras": {**(extras or {}), "wall_time_mean": float(np.mean(times)) if times else 0.0},
        }
        self.report_benchmark(name=name, **results)
        return {"name": name, **results}


@export("test.benchmark_config")
def benchmark_config() -> Any:
    """Returns a ConfigProto for benchmarks."""
    from headrace.proto import ConfigProto

    return ConfigProto()


@export("test.StubOutForTesting")
class StubOutForTesting:
    """Puts stand-ins in place of attributes, and takes them away again; a `with` block does so at its end."""

    def __init__(self) -> None:
        self._saved: list[tuple[Any, str, Any, bool]] = []

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replaces an attribute.

        Args:
          parent: What has the attribute.
          child_name: Its name.
          new_child: The stand-in.
        """
        own = vars(parent).get(child_name) if hasattr(parent, "__dict__") else None
        old = getattr(parent, child_name)
        # A static method comes back as one, and not as the function it hides.
        restored = own if isinstance(own, (staticmethod, classmethod)) else old
        self._saved.append(
            (parent, child_name, restored, child_name in getattr(parent, "__dict__", {child_name}))
        )
        setattr(parent, child_name, new_child)

    SmartSet = Set

    def UnsetAll(self) -> None:
        """Puts everything back."""
        for parent, name, old, own in reversed(self._saved):
            if own:
                setattr(parent, name, old)
            else:
                delattr(parent, name)
        self._saved.clear()

    SmartUnsetAll = CleanUp = UnsetAll

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *_: Any) -> None:
        self.UnsetAll()
