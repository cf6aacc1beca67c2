"""RunMetadata: what ran where and for how long."""

from __future__ import annotations

import copy
import time
from typing import Any

from headrace.runtime.context import Step
from headrace.runtime.plan import Plan

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def fill_metadata(plan: Plan, values: list[Any], step: Step, options: Any, run_metadata: Any) -> list[Any]:
    """Runs a plan and fills in a RunMetadata.

    With `trace_level` at SOFTWARE_TRACE or above the step goes through the interpreter node by node, so that every
    node has a time of its own; otherwise nothing is recorded.
    """
    run_metadata.Clear()
    level = options.trace_level if options is not None else 0
    if level == 0:
        return plan.run(values, step)
    recorder = Recorder()
    # A plan of its own: other threads may be running this one.
    traced = copy.copy(plan)
    with recorder.watching(traced):
        result = traced.run(values, step)
    recorder.write(run_metadata)
    if options.output_partition_graphs:
        run_metadata.partition_graphs.add().CopyFrom(_partition(plan))
    return result


def _partition(plan: Plan) -> Any:
    from headrace.proto import GraphDef

    graph_def = GraphDef()
    for op in plan.ops:
        graph_def.node.add().CopyFrom(op.node_def)
    return graph_def


class Recorder:
    """Times each node of one interpreted step."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, float, float, Any]] = []

    def watching(self, plan: Plan) -> Any:
        """Returns a block inside which runs of `plan` are interpreted and timed."""
        return _Watch(plan, self._rows)

    def write(self, run_metadata: Any) -> None:
        """Adds the times to a RunMetadata's step_stats."""
        device = run_metadata.step_stats.dev_stats.add(device=_DEVICE)
        for op, start, end, outputs in self._rows:
            micros = int(start * 1e6)
            took = max(1, int((end - start) * 1e6))
            node = device.node_stats.add(
                node_name=op.name,
                all_start_micros=micros,
                op_start_rel_micros=0,
                op_end_rel_micros=took,
                all_end_rel_micros=took,
                timeline_label=f"{op.name} = {op.type}({', '.join(t.op.name for t in op.inputs)})",
                scheduled_micros=micros,
            )
            for i, value in enumerate(outputs):
                if not hasattr(value, "nbytes"):
                    continue
                output = node.output.add(slot=i)
                described = output.tensor_description
                described.dtype = op.outputs[i].dtype.base_dtype.as_datatype_enum
                for d in value.shape:
                    described.shape.dim.add(size=d)
                described.allocation_description.requested_bytes = value.nbytes
                described.allocation_description.allocated_bytes = value.nbytes
                described.allocation_description.allocator_name = "cpu"


class _Watch:
    def __init__(self, plan: Plan, rows: list[Any]):
        self._plan = plan
        self._rows = rows

    def __enter__(self) -> None:
        plan, rows = self._plan, self._rows
        self._tier = plan.tier
        plan.tier = "interpret"
        plan._instructions = plan._prepare(plan._rest)
        for ins in plan._instructions:
            ins.kernel = _timed(ins.kernel, ins.op, rows)

    def __exit__(self, *_: Any) -> None:
        self._plan.tier = self._tier
        self._plan._instructions = None


def _timed(kernel: Any, op: Any, rows: list[Any]) -> Any:
    def run(step: Step, operands: list[Any]) -> Any:
        start = time.time()
        out = kernel(step, operands)
        for v in out:
            if hasattr(v, "block_until_ready"):
                v.block_until_ready()
        rows.append((op, start, time.time(), out))
        return out

    return run
