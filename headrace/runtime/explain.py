"""Explaining plans: where a plan was cut and why, what is interpreted and why, what each cluster costs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from headrace.graph import Operation, stack
from headrace.opdef.functions import called_functions
from headrace.runtime.cluster import Cluster, can_lower
from headrace.runtime.kernel import is_plain
from headrace.runtime.plan import Plan
from headrace.runtime.program import Program

_MOST_ROWS = 20


def explain(what: Any = None, session: Any = None, file: Any = None) -> str:
    """Prints what became of plans, and returns the text. Programs call it as `headrace.explain`.

    Args:
      what: A plan, several, or fetches that a session has run: tensors, operations or names; if None, all that the
        session has run.
      session: The session, the default one if None.
      file: Where to print, standard output if None.

    Raises:
      ValueError: There is no session, or it has not run that.
    """
    if isinstance(what, Plan):
        plans = [what]
    elif isinstance(what, (list, tuple)) and what and all(isinstance(p, Plan) for p in what):
        plans = list(what)
    else:
        session = session or stack.sessions.get()
        if session is None:
            raise ValueError("There is no default session; pass explain(fetches, session=session).")
        plans = list(session._plans.values())
        if what is not None:
            plans = _that_give(plans, what, session.graph)
    text = "\n\n".join(describe(plan) for plan in plans) or "Nothing has been run yet."
    print(text, file=file or sys.stdout)
    return text


def _that_give(plans: list[Plan], what: Any, graph: Any) -> list[Plan]:
    asked = [graph.as_graph_element(w) for w in (what if isinstance(what, (list, tuple)) else [what])]
    found = [p for p in plans if all(w in p.fetches or w in p.targets for w in asked)]
    if not found:
        names = ", ".join(w.name for w in asked)
        raise ValueError(f"No step of this session has fetched {names} yet; run it, then explain it.")
    return found


def describe(plan: Plan) -> str:
    """Returns the text for one plan."""
    wanted = [t.name for t in plan.fetches] + [op.name for op in plan.targets]
    lines = [
        f"Step for {_listed(wanted)}"
        + (f", fed {_listed([t.name for t in plan.feeds])}" if plan.feeds else "")
    ]
    known = len(plan.ops) - len(plan._rest)
    lines.append(
        f"  {_number(len(plan.ops), 'node')}: {len(plan._rest)} to run, {known} known beforehand (constants, handles "
        f"of variables); {_number(plan.steps, 'step')} so far"
    )
    if plan.rewritten:
        lines.append(f"  rewritten: {_counted(plan.rewritten)}")
    why = why_interpreted(plan)
    if why:
        lines.append(f"  interpreted, node by node: {why}")
    if plan._stages is not None:
        lines += _stages(plan)
    elif plan._rest and why:
        counts = Counter(op.type for op in plan._rest)
        lines.append(f"    {_counted(counts)}")
    return "\n".join(lines)


def why_interpreted(plan: Plan) -> str:
    """Returns why a plan as a whole is interpreted, "" if it isn't."""
    if plan.tier == "interpret":
        return "the policy is tier=interpret"
    if plan.only_interpret:
        return f"compiling it failed ({plan.only_interpret})"
    if not plan.has_cluster_ops:
        return "none of its nodes is one for XLA"
    if plan._stages is None:
        if not plan.steps:
            return "it has not run yet"
        wait = plan.state.policies.compile_after
        when = f"after {wait:g} s of it" if wait else "when feeds of the same shapes come again"
        return f"it is not hot yet; it is compiled {when}"
    return ""


def _stages(plan: Plan) -> list[str]:
    stages = plan._stages or []
    lines = [f"  cut into {_number(len(stages), 'stage')}"]
    number = 0
    for stage in stages:
        if isinstance(stage, Cluster):
            lines += _cluster(stage, number, plan)
            number += 1
            continue
        lines.append(f"  on the host: {_number(len(stage), 'node')}")
        for ins in stage[:_MOST_ROWS]:
            lines.append(f"    {ins.op.name} ({ins.op.type}): {why_on_host(plan, ins.op)}")
        if len(stage) > _MOST_ROWS:
            lines.append(f"    and {len(stage) - _MOST_ROWS} more")
    for maker, consumer in sorted(plan._static_edges, key=lambda e: (e[0].name, e[1].name)):
        lines.append(
            f"  cut between {maker.name} and {consumer.name}: {consumer.type} can be compiled only for a value of it "
            "that is known"
        )
    return lines


def _cluster(cluster: Cluster, number: int, plan: Plan) -> list[str]:
    counts = Counter(op.type for op in cluster.ops)
    lines = [f"  cluster {number}: {_number(len(cluster.ops), 'node')} ({_counted(counts)})"]
    if cluster.static:
        lines.append(f"    compiled anew for each value of {_listed(sorted(t.name for t in cluster.static))}")
    for program in cluster._programs.values():
        lines += [f"    {line}" for line in cost_of(program)]
    for job in cluster.jobs.values():
        lines.append("    a program is being made in the background" + (" (it is ready)" if job.done else ""))
    spent = sum(cluster._spent.values())
    if spent:
        shapes = _number(len(cluster._spent), "kind")
        lines.append(f"    {shapes} of input interpreted so far, for {_time(spent)} in all")
    elif not cluster._programs and not cluster.jobs:
        lines.append("    no program yet")
    return lines


def cost_of(program: Program) -> list[str]:
    """Returns what one program of a cluster took and takes."""
    cost = program.cost
    shapes = [
        f"{t.name}{list(program._arguments[i].shape)}"
        for i, t in enumerate(program.dynamic)
        if _has_shape(program, i)
    ]
    if cost.source == "disk":
        made = f"from disk in {_time(cost.load)} (made in {_time(cost.made)})"
    else:
        made = f"traced in {_time(cost.trace)}, lowered in {_time(cost.lower)}, compiled in {_time(cost.compile)}"
    mean = cost.run / cost.runs if cost.runs else 0.0
    # XLA runs on while Python goes on, unless somebody waits for it.
    unit = "a run" if cost.measured == cost.runs else "a run until Python goes on"
    lines = [f"program for {_listed(shapes) or 'no inputs'}: {made}"]
    lines.append(
        f"  {_number(cost.runs, 'run')}, {_time(mean)} {unit}; in {_bytes(cost.bytes_in)}, "
        f"out {_bytes(cost.bytes_out)}; {_number(len(program.states), 'variable')}, {len(program.donated)} updated "
        "in place"
    )
    if program.has_checks:
        lines.append("  variables are copied: whether its checks hold is known only at its end")
    return lines


def _has_shape(program: Program, i: int) -> bool:
    return hasattr(program._arguments[i], "shape")


def why_on_host(plan: Plan, op: Operation) -> str:
    """Returns why a node runs on the host."""
    if op in plan._forced:
        return plan._forced[op]
    if plan._fed.intersection(op._outputs):
        return "its value is fed"
    return why_not_lowered(op) or "a list that the caller handed in meets it"


def why_not_lowered(op: Operation) -> str:
    """Returns why a node can't be part of a cluster, "" if it can."""
    if can_lower(op):
        return ""
    rule = op.kind.rules.get("lower")
    if rule is None:
        return f"{op.type} has no rule for XLA"
    if rule.options.get("calls"):
        for function in called_functions(op):
            for inner in function.body:
                if inner.type in ("Const", "FakeParam"):
                    continue
                why = why_not_lowered(inner)
                if why:
                    return f"its body {function.name} holds {inner.name}: {why}"
    for verb, tensors in (("takes", op._inputs), ("gives", op._outputs)):
        odd = next((t for t in tensors if not is_plain(t._dtype)), None)
        if odd is not None:
            return f"it {verb} a {odd._dtype.base_dtype.name}, which XLA can't hold"
    return "XLA can't hold what it takes"


# -- words -------------------------------------------------------------------------------------------------------


def _number(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    shown = ", ".join(names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown


def _counted(counts: Counter[str]) -> str:
    shown = [f"{n} {kind}" for kind, n in counts.most_common(8)]
    left = len(counts) - 8
    return ", ".join(shown) + (f" and {left} other kinds" if left > 0 else "")


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _bytes(n: float) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:.0f} bytes"
