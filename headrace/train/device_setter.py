"""Device functions for training with parameter servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import export
from headrace.graph import DeviceSpec

# The ops whose state belongs on the parameter servers.
STATEFUL = (
    "Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
    "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2",
    "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator", "DecisionTreeResource",
)  # fmt: skip


class RoundRobin:
    """Gives each node the next parameter server in turn."""

    def __init__(self, num_tasks: int):
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op: Any) -> int:
        task = self._next
        self._next = (self._next + 1) % self._num_tasks
        return task


@export("train.replica_device_setter")
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Any = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Returns a device function that spreads variables over parameter servers; None if there are none.

    Args:
      ps_tasks: How many parameter servers there are; ignored if `cluster` is given.
      ps_device: The device of their job.
      worker_device: The device of everything else.
      merge_devices: Keeps the parts of devices that are set already.
      cluster: A ClusterDef, ClusterSpec or dictionary to count the servers in.
      ps_ops: The types of ops that go to parameter servers, variables by default.
      ps_strategy: A function from a node to a server's number; round robin by default.

    Raises:
      TypeError: `cluster` or `ps_strategy` is of a wrong type.
    """
    if cluster is not None:
        jobs = cluster.as_dict() if hasattr(cluster, "as_dict") else cluster
        if not isinstance(jobs, dict):
            jobs = {job.name: dict(job.tasks) for job in cluster.job}
        name = DeviceSpec.from_string(ps_device).job
        if name not in jobs or not jobs[name]:
            return None
        ps_tasks = len(jobs[name])
    if ps_tasks == 0:
        return None
    strategy = RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")
    stateful = tuple(ps_ops) if ps_ops is not None else STATEFUL

    def choose(op: Any) -> str:
        current = DeviceSpec.from_string(op.device or "")
        if not merge_devices and op.device:
            return op.device  # type: ignore[no-any-return]
        if ps_device and op.type in stateful:
            chosen = DeviceSpec.from_string(ps_device)
            if current.job is None or current.job == chosen.job:
                chosen.task = strategy(op)
            chosen.merge_from(current)
            return chosen.to_string()
        chosen = DeviceSpec.from_string(worker_device or "")
        chosen.merge_from(current)
        return chosen.to_string()

    return choose
