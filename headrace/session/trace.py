"""RunMetadata: what ran where and for how long."""

from __future__ import annotations

import copy
from typing import Any

from headrace.runtime.context import Step
from headrace.runtime.plan import Plan
from headrace.runtime.watch import Row, Watch

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
# What made the programs has rows of its own in a timeline.
_COMPILER = _DEVICE + "/compiler"


def fill_metadata(plan: Plan, values: list[Any], step: Step, options: Any, run_metadata: Any) -> list[Any]:
    """Runs a plan and fills in a RunMetadata.

    With `trace_level` at SOFTWARE_TRACE the step goes through the interpreter node by node, so that every node of the
    graph has a time of its own. With more it goes as it would have gone: nodes on the host and clusters have times,
    and so has what tracing and compiling took. Without, nothing is recorded.
    """
    run_metadata.Clear()
    level = options.trace_level if options is not None else 0
    if level == 0:
        return plan.run(values, step)
    # A plan of its own: other threads may be running this one.
    by_node = level == options.SOFTWARE_TRACE
    traced = copy.copy(plan.unchanged() if by_node else plan)
    watch = traced.watch = Watch()
    if by_node:
        traced.tier = "interpret"
    result = traced.run(values, step)
    if plan._stages is None and not by_node:
        plan._stages, plan._interpreted = traced._stages, traced._interpreted
    write(watch.rows, run_metadata.step_stats)
    if options.output_partition_graphs:
        run_metadata.partition_graphs.add().CopyFrom(_partition(plan.unchanged()))
    return result


def _partition(plan: Plan) -> Any:
    from headrace.proto import GraphDef

    graph_def = GraphDef()
    for op in plan.ops:
        graph_def.node.add().CopyFrom(op.node_def)
    return graph_def


def write(rows: list[Row], step_stats: Any) -> None:
    """Adds rows to a StepStats: nodes and clusters as one device, what made the clusters' programs as another."""
    device = step_stats.dev_stats.add(device=_DEVICE)
    compiler = None
    for row in sorted(rows, key=lambda row: row.start):
        if row.kind in ("host", "cluster"):
            name, label = _node(row) if row.kind == "host" else _cluster(row)
            on = device
        else:
            name = f"{row.what.label}:{row.kind}"
            label = f"{name} = {row.kind.capitalize()}({row.what.label})"
            if compiler is None:
                compiler = step_stats.dev_stats.add(device=_COMPILER)
            on = compiler
        micros = int(row.start * 1e6)
        took = max(1, int((row.end - row.start) * 1e6))
        node = on.node_stats.add(
            node_name=name,
            all_start_micros=micros,
            op_start_rel_micros=0,
            op_end_rel_micros=took,
            all_end_rel_micros=took,
            timeline_label=label,
            scheduled_micros=micros,
        )
        for i, (tensor, value) in enumerate(row.outputs.items()):
            if not hasattr(value, "nbytes"):
                continue
            output = node.output.add(slot=tensor.value_index if row.kind == "host" else i)
            described = output.tensor_description
            described.dtype = tensor.dtype.base_dtype.as_datatype_enum
            for d in value.shape:
                described.shape.dim.add(size=d)
            described.allocation_description.requested_bytes = value.nbytes
            described.allocation_description.allocated_bytes = value.nbytes
            described.allocation_description.allocator_name = "cpu"


def _node(row: Row) -> tuple[str, str]:
    op = row.what
    return op.name, f"{op.name} = {op.type}({', '.join(t.op.name for t in op.inputs)})"


def _cluster(row: Row) -> tuple[str, str]:
    cluster = row.what
    makers = dict.fromkeys(t.op.name for t in cluster.inputs)
    return cluster.label, f"{cluster.label} = Cluster({', '.join(makers)})"
