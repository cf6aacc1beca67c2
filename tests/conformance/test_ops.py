"""The battery: what is asked of every op of the registry, from the cases that its own file records.

`scripts/test -k Softmax` runs it on one op. docs/add_an_op.md says what each test asks.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import headrace as tf
from headrace import errors, proto, shapes
from headrace.checkpoint import meta_graph
from headrace.opdef import OPS
from headrace.opdef.case import parse_shapes
from tests.conformance import (
    battery_gradients,
    battery_nodes,
    battery_programs,
    battery_types,
    battery_values,
    battery_without,
)

NAMES = sorted(OPS)
WITH_CASES = [name for name in NAMES if OPS[name].rule("cases") is not None]


def having(what):
    """Names of the ops that record something: nothing is run of the others."""
    return [name for name in WITH_CASES if getattr(battery_nodes.recorded(name), what)]


def report(wrong):
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_has_cases(name):
    recorder = battery_nodes.recorded(name)
    has = bool(recorder.calls or recorder.programs)
    if name in battery_without.WITHOUT:
        assert not has, f"{name} has cases now: strike it from battery_without.py"
    elif name in battery_without.WITHIN:
        other = battery_without.WITHIN[name]
        assert not has, f"{name} has cases of its own now: strike it from battery_without.py"
        built = set()
        for program in battery_nodes.recorded(other).programs:
            built |= battery_programs.run(program, "auto", f"{other} {program.name}")
        assert name in built, f"the programs of {other} build no {name}"
    else:
        assert has, f"declare @{name}.cases in {OPS[name].module}"


@pytest.mark.parametrize("name", having("calls"))
def test_graph_def_round_trip(name):
    with tf.Graph().as_default() as graph:
        for i, call in enumerate(battery_nodes.calls(name)):
            call.node(name=f"case_{i}")
    whole = graph.as_graph_def()
    stripped = proto.GraphDef()
    stripped.CopyFrom(whole)
    for node in stripped.node:
        meta_graph._strip_defaults(node)
    for given in (whole, stripped, proto.GraphDef.FromString(whole.SerializeToString())):
        with tf.Graph().as_default() as again:
            if (OPS[name].signature.deprecated or 200) <= whole.versions.producer:
                with pytest.raises(errors.UnimplementedError, match=f"Op {name} is not available"):
                    tf.import_graph_def(given, name="")
                continue
            tf.import_graph_def(given, name="")
        assert again.as_graph_def() == whole
        for before, after in zip(graph.get_operations(), again.get_operations(), strict=True):
            assert [t.dtype for t in before._outputs] == [t.dtype for t in after._outputs]
            assert [t._dims for t in before._outputs] == [t._dims for t in after._outputs]


@pytest.mark.parametrize("name", having("calls"))
def test_gives(name):
    """What a case gives comes out on every tier, and the tiers agree."""
    wrong = []
    found = {}
    for tier in battery_values.TIERS:
        if tier == "compile" and OPS[name].rule("lower") is None:
            continue
        found[tier] = _values(name, tier, wrong)
    for call, *tiers in zip(battery_nodes.calls(name), *found.values(), strict=True):
        if len(tiers) < 2 or None in tiers:
            continue
        for i, (interpreted, compiled) in enumerate(zip(*tiers, strict=True)):
            tolerance = call.case.tol
            bad = battery_values.difference(
                compiled, interpreted, tolerance, battery_values.TIERS_TOLERANCE, exact=True
            )
            if bad:
                wrong.append(f"{call.label}, output {i}: the tiers differ, compiled: {bad}")
    report(wrong)


def _values(name, tier, wrong):
    """Runs all cases in one step; one by one if that fails, to tell which it is."""
    calls = battery_nodes.calls(name)
    with tf.Graph().as_default():
        nodes, feeds = [], {}
        for call in calls:
            known = battery_nodes.static_operands(call) if tier == "compile" else range(len(call.values))
            node, more = call.node(known)
            nodes.append(node)
            feeds.update(more)
        fetches = [battery_values.fetchable(node) for node in nodes]
        try:
            flat = battery_values.run([t for f in fetches for t in f], feeds, tier, nodes)
        except Exception:
            results = []
            for call, node, fetch in zip(calls, nodes, fetches, strict=True):
                mine = {t: v for t, v in feeds.items() if t in node._inputs}
                try:
                    results.append(battery_values.run(fetch, mine, tier, [node]))
                except Exception as error:
                    if not battery_types.is_limited(name, tier, call.attrs):
                        wrong.append(f"{call.label} ({tier}): {battery_values.reason(error)}")
                    results.append(None)
        else:
            results = []
            for fetch in fetches:
                results.append(flat[: len(fetch)])
                flat = flat[len(fetch) :]
    for call, node, fetch, values in zip(calls, nodes, fetches, results, strict=True):
        if values is None:
            continue
        for tensor, value in zip(fetch, values, strict=True):
            if not shapes.compatible(tensor._dims, np.shape(value)):
                wrong.append(
                    f"{call.label} ({tier}): {tensor.name} holds shape {list(np.shape(value))}, and its static shape "
                    f"is {shapes.to_text(tensor._dims)}"
                )
        if call.case.gives is None or len(fetch) != len(node._outputs):
            continue
        for i, want in enumerate(battery_values.expected(call.case.gives, len(values))):
            bad = "" if want is None else battery_values.difference(values[i], want, call.case.tol)
            if bad:
                wrong.append(f"{call.label} ({tier}), output {i}: {bad}")
    return results


@pytest.mark.parametrize("name", having("calls"))
def test_static_shapes_are_sound(name):
    """Whatever is not known of the operands, the static shape accepts the computed one."""
    wrong = []
    recorder = battery_nodes.recorded(name)
    needed = False
    for call in battery_nodes.calls(name):
        try:
            computed = _computed_shapes(call)
        except errors.OpError as error:
            if not battery_types.is_limited(name, "interpret", call.attrs):
                wrong.append(f"{call.label}: {battery_values.reason(error)}")
            continue
        for known, given, what in _erasures(call):
            try:
                with tf.Graph().as_default():
                    node, _ = call.node(known, given)
            except (ValueError, TypeError) as error:
                if recorder.needs and re.search("|".join(recorder.needs), str(error)):
                    needed = True
                    continue
                wrong.append(f"{call.label}, {what}: {battery_values.reason(error)}")
                continue
            for tensor, shape in zip(battery_values.fetchable(node), computed, strict=True):
                if not shapes.compatible(tensor._dims, shape):
                    wrong.append(
                        f"{call.label}, {what}: static shape {shapes.to_text(tensor._dims)}, computed {list(shape)}"
                    )
    if recorder.needs and not needed:
        wrong.append(f"{name} needs nothing of its operands' shapes: strike case.needs_known")
    report(wrong)


def _computed_shapes(call):
    with tf.Graph().as_default():
        node, feeds = call.node(range(len(call.values)))
        return [
            np.shape(v)
            for v in battery_values.run(battery_values.fetchable(node), feeds, "interpret", [node])
        ]


def _erasures(call):
    """What to hide of a case: (operands that stay constants, shapes of the others, in words)."""
    given = call.shapes
    every = range(len(given))
    yield every, given, "all known"
    yield (), given, "no values known"
    yield (), [None] * len(given), "nothing known"
    yield (), [(None,) * len(s) for s in given], "only ranks known"
    for i, shape in enumerate(given):
        others = [j for j in every if j != i]
        yield others, given, f"value {i} unknown"
        yield others, _but(given, i, None), f"rank {i} unknown"
        for axis in range(len(shape)):
            erased = _but(given, i, _but(shape, axis, None))
            yield others, erased, f"dimension {axis} of operand {i} unknown"
            yield (), erased, f"dimension {axis} of operand {i} and all values unknown"


def _but(values, i, value):
    return tuple(value if j == i else v for j, v in enumerate(values))


@pytest.mark.parametrize("name", having("shape_cases"))
def test_static_shapes(name):
    wrong = []
    for case in battery_nodes.recorded(name).shape_cases:
        label = f"{name} {case.inputs!r}"
        with tf.Graph().as_default():
            try:
                node = battery_nodes.node_of_shapes(name, parse_shapes(case.inputs), case.attrs, case.values)
            except (ValueError, TypeError) as error:
                wrong.append(f"{label}: {battery_values.reason(error)}")
                continue
        got = ";".join("?" if t._dims is None else shapes.to_text(t._dims) for t in node._outputs)
        want = ";".join("?" if s is None else shapes.to_text(s) for s in parse_shapes(case.outputs))
        if got != want:
            wrong.append(f"{label}: the shapes are {got}, not {want}")
    report(wrong)


GRADIENTS = [n for n in having("calls") if callable(OPS[n].gradient)]


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient(name):
    wrong = []
    wanted = compared = False
    for call in battery_nodes.calls(name):
        if not call.case.grad:
            continue
        try:
            found = battery_gradients.check(call)
        except (errors.OpError, ValueError, TypeError, LookupError, AttributeError) as error:
            found = battery_values.reason(error)
        compared |= found == battery_gradients.CLOSE
        wanted |= any(np.size(v) and np.asarray(v).dtype.kind in "fc" for v in call.values)
        if found not in (battery_gradients.CLOSE, battery_gradients.NOTHING):
            wrong.append(f"{call.label}: {found}")
    report(wrong)
    if wanted and not compared and name not in battery_without.NO_NUMERIC_GRADIENT:
        raise AssertionError(f"no case of {name} lets its gradient be compared")


@pytest.mark.parametrize("name", having("calls"))
def test_types(name):
    """Every type that the signature allows works on every tier, or a limit says why not; limits are strict."""
    if name in battery_without.NOT_EVERY_TYPE:
        return
    report(battery_types.check(name))


@pytest.mark.parametrize("name", having("failures"))
def test_fails(name):
    """What must be refused is refused, and the message names the op or the node."""
    wrong = []
    for failure in battery_nodes.recorded(name).failures:
        shapes_only = isinstance(failure.inputs, str)
        building = _refusal(name, failure, shapes_only)
        if building is None and shapes_only:
            building = "nothing was refused while building"
        if building and not shapes_only:
            # Perhaps only what is known of constants was refused; the run may say what is expected.
            running = _refused_while_running(name, failure)
            building = running and f"{building}; {running}"
        elif building is None:
            building = _refused_while_running(name, failure)
        if building:
            wrong.append(f"{name} refuses {failure.inputs!r}: {building}")
    report(wrong)


def _refusal(name, failure, shapes_only):
    """What is wrong with a refusal while building: "" if nothing, None if there was no refusal."""
    with tf.Graph().as_default():
        try:
            if shapes_only:
                battery_nodes.node_of_shapes(
                    name, parse_shapes(failure.inputs), failure.attrs, failure.values
                )
            else:
                OPS[name].node(*battery_nodes.typed(failure.inputs), **failure.attrs)
        except (ValueError, TypeError) as error:
            return _wording(error, failure.raises or (ValueError, TypeError), failure.match, name)
    return None


def _wording(error, wanted, match, named):
    if not isinstance(error, wanted):
        return f"it raises {battery_values.reason(error)}, and should raise {wanted}"
    if not re.search(match, str(error)):
        return f"the message does not match {match!r}: {battery_values.reason(error)}"
    if named not in str(error):
        return f"the message does not name {named}: {battery_values.reason(error)}"
    return ""


def _refused_while_running(name, failure):
    wanted = failure.raises or errors.InvalidArgumentError
    call = battery_nodes.refused_call(name, failure)
    for tier in battery_values.TIERS:
        with tf.Graph().as_default(), tf.Session() as session:
            session._tier = tier
            node, feeds = call.node(shapes=[None] * len(call.values), name="refused")
            try:
                session.run(node, feeds)
            except errors.OpError as error:
                wrong = _wording(error, wanted, failure.match, "[[node refused")
                if not wrong and error.op is not node:
                    wrong = f"the error is of {error.op}, not of the node"
                if wrong:
                    return f"{tier}: {wrong}"
            else:
                return f"{tier}: nothing was refused while running"
    return ""


@pytest.mark.parametrize("tier", battery_values.TIERS)
@pytest.mark.parametrize("name", having("programs"))
def test_programs(name, tier):
    for program in battery_nodes.recorded(name).programs:
        battery_programs.run(program, tier, f"{name} {program.name}")
