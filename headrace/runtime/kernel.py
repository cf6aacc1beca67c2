"""One node ready to run in the interpreter: its rule with operands, attrs and references sorted out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import dtypes, errors
from headrace.graph import Operation
from headrace.lazy import jax
from headrace.native import host_products
from headrace.opdef.infer import can_check, check_operands
from headrace.opdef.rules import Rule
from headrace.resources.stacked_list import StackedList
from headrace.runtime.context import HostContext, Step

_programs: dict[Any, Any] = {}

# What the native library is as quick at as XLA.
_CONVOLUTIONS = ("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput")

# How many distinct rows there are in a batch, say, comes again now and then.
_SHAPES_REMEMBERED = 256

# What a host rule raises that did not see something coming.
_STUMBLES = (LookupError, TypeError, ArithmeticError, AttributeError)


def attr_key(value: Any) -> Any:
    """Returns a hashable stand-in for an attr value."""
    if isinstance(value, np.ndarray):
        return (
            value.shape,
            value.dtype.str,
            value.tobytes() if value.dtype != object else tuple(value.ravel()),
        )
    return value


class Kernel:
    """Runs one node: `kernel(step, operands)` returns its outputs as a sequence.

    Attributes:
      op: The node.
      takes_reference: For each flat input whether the rule wants the reference itself.
      rule: The host rule, or the lower rule that is run as a compiled one-op program.
    """

    __slots__ = (
        "_anywhere",
        "_fallback",
        "_checked_shapes",
        "_groups",
        "_keywords",
        "_many",
        "_may_check",
        "_n",
        "_program",
        "_storage",
        "_untouched",
        "op",
        "rule",
        "takes_reference",
    )

    def __init__(self, op: Operation):
        kind = op.kind
        rule: Rule | None = kind.rules.get("host")
        self._program: Callable[..., Any] | None = None
        self._fallback: Callable[..., Any] | None = None
        if rule is None:
            rule = kind.rules.get("lower")
            if rule is None:
                raise errors.UnimplementedError(
                    lambda: op.node_def,
                    op,
                    f"{op.type} has no kernel: declare @{op.type}.lower or @{op.type}.host in {kind.module}",
                )
            self._program = _one_op_program(op, rule)
        self.op = op
        self.rule = rule
        self._may_check = can_check(op)
        self._checked_shapes: set[Any] = set()
        plan = kind.plan
        self._keywords = rule.keywords(op.attrs, plan.type_attrs)
        # What is handed on to a function is neither read nor brought to the host.
        self._untouched = bool(rule.options.get("untouched"))
        # Lists keep their elements wherever they are.
        self._anywhere = bool(rule.options.get("anywhere"))
        sizes = plan.sizes(plan.signature.inputs, op.attrs)
        self._groups = None if all(n is None for n in sizes) else sizes
        self._storage = [None if t._dtype.storage.hasobject else t._dtype.storage for t in op._outputs]
        self._n = len(op._outputs)
        self._many = self._n != 1 or plan.signature.outputs[0].is_list
        wants: list[bool] = []
        for arg, n in zip(plan.signature.inputs, sizes, strict=True):
            wants += [arg.is_ref or self._untouched] * (1 if n is None else n)
        self.takes_reference = wants

    @property
    def is_bare(self) -> bool:
        """Whether running the node is calling its host rule, which has no effect, for one result."""
        return (
            self._program is None
            and not self.rule.wants_ctx
            and self._groups is None
            and not self._many
            and not self._untouched
            and not self.op.kind.is_stateful
        )

    @property
    def ufunc(self) -> np.ufunc | None:
        """NumPy's function if running the node is calling it for two operands of its result's type."""
        op = self.op
        if op.type == "AddN":
            function: Any = None if self._may_check else np.add
        else:
            function = getattr(self.rule.function, "in_quiet", None)
        if type(function) is not np.ufunc or len(op._inputs) != 2 or self._program is not None:
            return None
        storage = self._storage[0]
        for t in op._inputs:
            if t._dtype.storage != storage:
                return None
        return function if op.type == "AddN" or self.is_bare else None

    def bare(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        """Returns the host rule and its keywords, for where NumPy's warnings are off and shapes fit."""
        function = self.rule.function
        return getattr(function, "in_quiet", function), self._keywords

    def __call__(self, step: Step, operands: list[Any]) -> Any:
        if self._program is not None:
            try:
                result = self._program(step, operands)
            except errors.OpError:
                raise
            except Exception:
                if self._may_check:
                    self._check(operands)
                raise
            if self._may_check:
                self._check(operands)
        else:
            if self._anywhere:
                operands = [v.on_host() if type(v) is StackedList else v for v in operands]
            elif not self._untouched:
                operands = [v if type(v) is np.ndarray else _on_host(v) for v in operands]
            flat = operands
            if self._groups is not None:
                operands = _grouped(operands, self._groups)
            try:
                if self.rule.wants_ctx:
                    result = self.rule.function(*operands, ctx=HostContext(step, self.op), **self._keywords)
                else:
                    result = self.rule.function(*operands, **self._keywords)
            except _STUMBLES:
                # Perhaps over operands that the shape rule would not have let pass.
                if self._may_check:
                    self._check(flat)
                raise
            # The rule comes first: it words refusals as TensorFlow's kernels do.
            if self._may_check:
                self._check(flat)
            if result is NotImplemented:
                result = self._compiled(step, operands)
        if not self._many:
            return (self._checked(result, 0),)
        if self._n == 0:
            return ()
        if len(result) != self._n:
            raise errors.InternalError(
                None, None, f"{self.op.type}'s rule gave {len(result)} outputs where {self._n} are declared"
            )
        return [self._checked(v, i) for i, v in enumerate(result)]

    def _check(self, operands: list[Any]) -> None:
        """Has the shape rule look at operands of shapes that are new."""
        key = tuple([v.shape for v in operands])
        if key not in self._checked_shapes:
            check_operands(self.op, operands)
            if len(self._checked_shapes) >= _SHAPES_REMEMBERED:
                self._checked_shapes.clear()
            self._checked_shapes.add(key)

    def _compiled(self, step: Step, operands: list[Any]) -> Any:
        """Runs the lower rule, where the host rule is for small operands only and these are not."""
        if self._fallback is None:
            rule = self.op.kind.rules.get("lower")
            if rule is None:
                raise errors.UnimplementedError(None, None, f"{self.op.type} has no rule for these operands")
            self._fallback = _one_op_program(self.op, rule)
        flat = operands if self._groups is None else _flat(operands, self._groups)
        return self._fallback(step, flat)

    def _checked(self, value: Any, i: int) -> Any:
        storage = self._storage[i]
        if type(value) is not np.ndarray:
            if storage is None:
                return np.array(value, object) if isinstance(value, (bytes, str)) else value
            if not hasattr(type(value), "addressable_shards"):
                if not isinstance(value, (np.generic, bool, int, float, complex, list, tuple)):
                    return value  # a handle
                value = np.asarray(value)
        if storage is not None and value.dtype != storage:
            raise errors.InternalError(
                None,
                None,
                f"{self.op.type}'s {'lower' if self._program else 'host'} rule gave {value.dtype} for output {i}, "
                f"which is declared {storage}",
            )
        return value


def _on_host(value: Any) -> Any:
    """Returns what a host rule takes in the place of what a compiled step has made."""
    if hasattr(type(value), "addressable_shards"):
        return np.asarray(value)
    return value.on_host() if type(value) is StackedList else value


def _grouped(flat: list[Any], sizes: list[int | None]) -> list[Any]:
    out: list[Any] = []
    i = 0
    for n in sizes:
        if n is None:
            out.append(flat[i])
            i += 1
        else:
            out.append(tuple(flat[i : i + n]))
            i += n
    return out


def _flat(grouped: list[Any], sizes: list[int | None]) -> list[Any]:
    out: list[Any] = []
    for v, n in zip(grouped, sizes, strict=True):
        if n is None:
            out.append(v)
        else:
            out.extend(v)
    return out


def needs_program(op: Operation) -> bool:
    """Whether the interpreter has to compile a program for a node, or is likely to have to."""
    host = op.kind.rules.get("host")
    if op.kind.rules.get("lower") is None or (host is not None and not host.options.get("small")):
        return False
    if host is None:
        return True
    # The host rules that are for small operands are for plain numbers, channels last.
    layout = op.attrs.get("data_format", "")
    return layout.startswith("NC") or op._outputs[0]._dtype.base_dtype not in (dtypes.float32, dtypes.float64)


def is_slow_on_host(op: Operation) -> bool:
    """Whether a node is one of those that the interpreter is several times slower at than XLA."""
    host = op.kind.rules.get("host")
    if op.kind.rules.get("lower") is None:
        return False
    if host is None:
        return True
    return bool(host.options.get("small")) and not (
        op.type in _CONVOLUTIONS and op._outputs[0]._dtype is dtypes.float32 and host_products.is_there()
    )


def _one_op_program(op: Operation, rule: Rule) -> Callable[..., Any]:
    """Returns a function that runs one node's lower rule as a compiled program of its own."""
    from headrace.runtime.cluster import one_op

    kind = op.kind
    plan = kind.plan
    keywords = rule.keywords(op.attrs, plan.type_attrs)
    sizes = plan.sizes(plan.signature.inputs, op.attrs)
    static = {a.name for a in plan.signature.inputs} & set(rule.static)
    names: list[str] = []
    for arg, n in zip(plan.signature.inputs, sizes, strict=True):
        names += [arg.name] * (1 if n is None else n)
    fixed = [i for i, name in enumerate(names) if name in static]
    moving = [i for i in range(len(names)) if i not in fixed]
    attrs = tuple((k, attr_key(v)) for k, v in sorted(op.attrs.items()) if k[0] != "_")

    if rule.wants_ctx:
        return one_op(op)

    def run(step: Step, operands: list[Any]) -> Any:
        values = [np.asarray(operands[i]) for i in fixed]
        key = (op.type, attrs, tuple(attr_key(v) for v in values))
        program = _programs.get(key)
        if program is None:

            def function(*traced: Any) -> Any:
                flat: list[Any] = [None] * len(names)
                for i, v in zip(fixed, values, strict=True):
                    flat[i] = v
                for i, v in zip(moving, traced, strict=True):
                    flat[i] = v
                return rule.function(*_grouped(flat, sizes), **keywords)

            program = _programs[key] = jax.jit(function)
        return program(*[operands[i] for i in moving])

    return run


def is_plain(dtype: Any) -> bool:
    """Whether values of a type are arrays of numbers, which XLA can hold."""
    return dtype.base_dtype not in (dtypes.string, dtypes.resource, dtypes.variant)
