"""What the battery builds: the nodes of an op's recorded cases, with any operand a constant or a placeholder."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

import headrace as tf
from headrace.dtypes import DType, as_dtype
from headrace.opdef import OPS, raw
from headrace.opdef.case import Recorder
from headrace.opdef.infer import group_operands


@functools.cache
def recorded(name: str) -> Recorder:
    """Returns what an op's `cases` rule records; an empty Recorder if it has none."""
    recorder = Recorder()
    rule = OPS[name].rule("cases")
    if rule is not None:
        rule.function(recorder)
    return recorder


@dataclass
class Call:
    """One case with its operands converted: what the op itself made of lists and numbers.

    Attributes:
      kind: The op.
      types: The dtype of each flat operand.
      values: The value of each flat operand.
      attrs: All attrs of the node.
      case: What was recorded.
      label: Which case it is, for messages.
    """

    kind: Any
    types: list[DType]
    values: list[Any]
    attrs: dict[str, Any]
    case: Any
    label: str

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [np.shape(v) for v in self.values]

    def given_attrs(self) -> dict[str, Any]:
        """The attrs that no operand determines."""
        return {k: v for k, v in self.attrs.items() if k not in self.kind.plan.inferred}

    def node(
        self, known: Any = (), shapes: Any = None, name: str | None = None
    ) -> tuple[Any, dict[Any, Any]]:
        """Adds the case's node to the default graph.

        Args:
          known: Which flat operands are constants; the others are placeholders.
          shapes: The static shapes of the placeholders; by default those of the values.
          name: The node's name.

        Returns:
          The operation, and what to feed: placeholder -> value.
        """
        shapes = self.shapes if shapes is None else shapes
        flat, feeds = [], {}
        for i, (dtype, value) in enumerate(zip(self.types, self.values, strict=True)):
            if i in known:
                flat.append(raw.Const(value=value, dtype=dtype))
            else:
                tensor = raw.Placeholder(dtype=dtype, shape=shapes[i])
                feeds[tensor] = value
                flat.append(tensor)
        grouped = group_operands(self.kind, self.attrs, flat)
        return self.kind.node(*grouped, name=name, **self.given_attrs()), feeds


def typed(operands: Any) -> list[Any]:
    """Returns operands with arrays as constants of their own type; ops cast bare ones to a type they prefer."""
    out = []
    for operand in operands:
        if isinstance(operand, tuple):
            operand = tuple(typed(operand))
        elif isinstance(operand, (np.ndarray, np.generic)):
            operand = tf.constant(operand)
        out.append(operand)
    return out


def call_of(name: str, case: Any, label: str) -> Call:
    """Converts a recorded case's operands by building its node once, in a graph of its own."""
    with tf.Graph().as_default():
        node = OPS[name].node(*typed(case.operands), **case.attrs)
    return _converted(node, case, label)


def refused_call(name: str, failure: Any) -> Call:
    """Converts the operands of a call that must be refused, and perhaps is as soon as a node is added."""
    kind = OPS[name]
    rules = kind.rules
    kind.rules = {slot: rule for slot, rule in rules.items() if slot != "shape"}
    try:
        with tf.Graph().as_default():
            node = kind.node(*typed(failure.inputs), **failure.attrs)
    finally:
        kind.rules = rules
    return _converted(node, failure, name)


def _converted(node: Any, case: Any, label: str) -> Call:
    values = []
    for tensor in node._inputs:
        assert tensor.op.type == "Const", f"{label}: operands are values, not {tensor.op.type} nodes"
        values.append(tensor.op.attrs["value"])
    types = [t.dtype.base_dtype for t in node._inputs]
    return Call(node.kind, types, values, dict(node.attrs), case, label)


@functools.cache
def calls(name: str) -> list[Call]:
    """Returns the op's cases, converted."""
    return [call_of(name, case, f"{name} case {i}") for i, case in enumerate(recorded(name).calls)]


def static_operands(call: Call) -> set[int]:
    """Returns the flat operands whose value the lower rule must know."""
    rule = call.kind.rule("lower")
    names = []
    plan = call.kind.plan
    for arg, n in zip(plan.signature.inputs, plan.sizes(plan.signature.inputs, call.attrs), strict=True):
        names += [arg.name] * (1 if n is None else n)
    return {i for i, name in enumerate(names) if rule is not None and name in rule.static}


def operand_slots(kind: Any, attrs: dict[str, Any], count: int) -> list[Any]:
    """Returns the signature's input for each of `count` flat operands; one list takes what the others leave."""
    inputs = kind.signature.inputs
    slots = []
    for arg in inputs:
        n = 1
        if arg.is_list:
            wanted = attrs.get(arg.number_attr or arg.type_list_attr)
            if isinstance(wanted, int):
                n = wanted
            elif isinstance(wanted, (list, tuple)):
                n = len(wanted)
            else:
                lists = [a for a in inputs if a.is_list]
                n = (count - (len(inputs) - len(lists))) // len(lists)
        slots += [arg] * n
    return slots


def placeholder_type(name: str, arg: Any, i: int, attrs: dict[str, Any], slots: list[Any]) -> DType:
    """Returns a type for the flat operand `i` of a node of which only shapes are said."""
    kind = OPS[name]
    if arg.dtype is not None:
        return arg.dtype
    if arg.type_attr is not None and arg.type_attr in attrs:
        return as_dtype(attrs[arg.type_attr])
    if arg.type_list_attr is not None and arg.type_list_attr in attrs:
        return as_dtype(attrs[arg.type_list_attr][i - slots.index(arg)])
    first = calls(name)[0] if recorded(name).calls else None
    if first is not None and arg.type_attr is not None:
        return first.attrs[arg.type_attr]
    allowed = kind.signature.attrs[arg.type_attr].allowed if arg.type_attr is not None else None
    return tf.float32 if allowed is None or tf.float32 in allowed else allowed[0]


def node_of_shapes(name: str, inputs: list[Any], attrs: dict[str, Any], values: dict[str, Any]) -> Any:
    """Adds a node whose operands are placeholders of some shapes; `values` are operands that are constants."""
    kind = OPS[name]
    slots = operand_slots(kind, attrs, len(inputs))
    assert len(slots) == len(inputs), (
        f"{name} takes {len(slots)} operands, and {len(inputs)} shapes were given"
    )
    seen: set[str] = set()
    flat: list[Any] = []
    for i, (shape, arg) in enumerate(zip(inputs, slots, strict=True)):
        dtype = placeholder_type(name, arg, i, attrs, slots)
        if arg.name in values and not arg.is_list:
            seen.add(arg.name)
            flat.append(tf.constant(values[arg.name], dtype=dtype))
        elif dtype is tf.resource or arg.is_ref:
            flat.append(_variable(dtype, arg, attrs, shape))
        else:
            flat.append(raw.Placeholder(dtype=dtype, shape=shape))
    assert seen == set(values), f"{name} has no operands {sorted(set(values) - seen)}"
    grouped, i = [], 0
    for arg in kind.signature.inputs:
        n = slots.count(arg)
        grouped.append(tuple(flat[i : i + n]) if arg.is_list else flat[i])
        i += n
    return kind.node(*grouped, **attrs)


def _variable(dtype: DType, arg: Any, attrs: dict[str, Any], shape: Any) -> Any:
    if arg.is_ref:
        return raw.VariableV2(shape=shape, dtype=dtype)
    held = attrs.get("dtype", attrs.get("T", tf.float32))
    return raw.VarHandleOp(shape=shape, dtype=held)


def cast_value(value: Any, dtype: DType) -> Any:
    """Returns an operand's value as another type, changed as little as that type needs."""
    value = np.asarray(value)
    storage = dtype.storage
    if dtype is tf.string:
        out = np.empty(value.shape, object)
        flat = out.reshape(-1)
        for i, v in enumerate(value.reshape(-1).tolist()):
            flat[i] = v if isinstance(v, bytes) else str(v).encode()
        return out
    if value.dtype == object:
        lengths = [len(v) for v in value.reshape(-1).tolist()]
        value = np.array(lengths, np.int64).reshape(value.shape)
    if dtype.is_bool:
        return value != 0
    if value.dtype.kind == "c" and not dtype.is_complex:
        value = value.real
    if dtype.is_integer or dtype.is_quantized:
        if value.dtype.kind not in "iub":
            value = np.nan_to_num(value.astype(np.float64), nan=0.0, posinf=100.0, neginf=-100.0)
            value = np.clip(np.trunc(value), -100, 100)
        if np.dtype(storage).kind == "u":
            value = np.abs(value)
    with np.errstate(all="ignore"):
        return value.astype(storage)


def with_types(call: Call, changes: dict[str, Any], label: str) -> Call:
    """Returns a case with other types: type attr -> dtype, or a tuple of dtypes for a list of types."""
    kind = call.kind
    attrs = dict(call.attrs)
    attrs.update(changes)
    types, values = [], []
    i = 0
    plan = kind.plan
    for arg, n in zip(plan.signature.inputs, plan.sizes(plan.signature.inputs, call.attrs), strict=True):
        for j in range(1 if n is None else n):
            if arg.type_attr is not None:
                dtype = attrs[arg.type_attr]
            elif arg.type_list_attr is not None:
                dtype = attrs[arg.type_list_attr][j]
            else:
                dtype = arg.dtype
            value = call.values[i]
            types.append(dtype)
            values.append(value if dtype is call.types[i] else cast_value(value, dtype))
            i += 1
    for key, attr in kind.signature.attrs.items():
        # A tensor among the attrs has the type that the attr beside it says.
        if attr.type == "tensor" and "dtype" in changes:
            attrs[key] = cast_value(attrs[key], changes["dtype"])
    return Call(kind, types, values, attrs, call.case, label)
