"""Fingerprints of clusters: equal where the same nodes, attrs and shapes would be traced into the same program.

Names do not count, since two runs of a program may number them differently; the bodies of called functions do. What
can't be described surely (an attr of an unknown kind, an op declared outside this package) has no fingerprint, and its
cluster is compiled in every process.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from headrace.dtypes import DType
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import Function, function_named
from headrace.opdef.attrs import FuncRef
from headrace.opdef.functions import CALLEES, called_functions
from headrace.passes.aliases import shared_inputs, sharing

# How far behind a cluster's inputs a rule may look for a value that is known.
_DEPTH = 3


class Indescribable(Exception):
    """Something has no description that would be the same in another process."""


def facts_of(cluster: Any) -> str:
    """Returns what a cluster's trace is told beforehand, as text.

    Raises:
      Indescribable: It has no such description.
    """
    place = {op: i for i, op in enumerate(cluster.ops)}
    out = []
    for key, value in cluster.facts().items():
        if not isinstance(value, (int, str, float, bool)):
            raise Indescribable(str(key))
        out.append(f"{place[key] if isinstance(key, Operation) else key}={value!r}")
    return ";".join(out)


class Describer:
    """Describes nodes as text; remembers the functions that it has met."""

    def __init__(self) -> None:
        self._functions: dict[Function, str] = {}

    def cluster(self, cluster: Any) -> str:
        """Returns the fingerprint of a cluster: its nodes, what they take and what is asked of them.

        Raises:
          Indescribable: It has none.
        """
        names: dict[Tensor, str] = {}
        parts: list[str] = []
        for i, t in enumerate(cluster.inputs):
            names[t] = f"i{i}"
            known = "fed" if t in cluster.fed else self._behind(t._op, _DEPTH)
            parts.append(f"{i}:{_tensor(t)}:{t.value_index}:{known}")
        self._nodes(cluster.ops, names, parts, cluster.late)
        parts.append(",".join([_name(names, t) for t in cluster.outputs]))
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=20).hexdigest()

    def _nodes(
        self, ops: Any, names: dict[Tensor, str], parts: list[str], late: Any, is_body: bool = False
    ) -> None:
        for i, op in enumerate(ops):
            for k, t in enumerate(op._outputs):
                names.setdefault(t, f"o{i}.{k}")
        for op in ops:
            if not (op.kind.module or "").startswith("headrace."):
                raise Indescribable(op.type)
            inputs = ",".join([_name(names, t) for t in late.get(op, op._inputs)])
            own = "" if op not in late else ",".join([_tensor(t) for t in op._inputs])
            outputs = ",".join([_tensor(t) for t in op._outputs])
            parts.append(f"{op.type}({inputs};{own})->{outputs} {self._attrs(op)}")

    def _attrs(self, op: Operation) -> str:
        out = [f"{key}={self._value(op, op.attrs[key])}" for key in sorted(op.attrs)]
        if op.type in CALLEES or getattr(op.kind, "callees", None) is not None:
            out += [self._function(f) for f in called_functions(op)]
        return ";".join(out)

    def _value(self, op: Operation, value: Any) -> str:
        kind = type(value)
        if value is None or kind in (bool, int, float, str, bytes):
            return repr(value)
        if isinstance(value, DType):
            return value.name
        if kind is np.ndarray:
            if value.dtype == object:
                return f"{value.shape}[{','.join([self._value(op, v) for v in value.ravel()])}]"
            digest = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()
            return f"{value.dtype.str}{value.shape}{digest if value.nbytes > 64 else value.tolist()!r}"
        if kind in (tuple, list):
            return f"[{','.join([self._value(op, v) for v in value])}]"
        if kind is FuncRef:
            inner = ",".join([f"{k}={self._value(op, value.attrs[k])}" for k in sorted(value.attrs)])
            return f"{self._function(function_named(op._graph, value.name))}<{inner}>"
        if isinstance(value, np.generic):
            return f"{value.dtype.str}{value!r}"
        raise Indescribable(f"{op.type}: an attr of {kind.__name__}")

    def _function(self, function: Function) -> str:
        found = self._functions.get(function)
        if found is None:
            # A function that calls itself is described by the one that calls it.
            self._functions[function] = f"recursive{len(self._functions)}"
            names = {t: f"i{i}" for i, t in enumerate(function.inputs)}
            parts = [_tensor(t) for t in function.inputs]
            late = sharing({}, function.body, shared_inputs(function))
            self._nodes(function.body, names, parts, late)
            parts.append(",".join([_name(names, t) for t in function.outputs]))
            text = "\n".join(parts).encode()
            found = self._functions[function] = hashlib.blake2b(text, digest_size=16).hexdigest()
        return found

    def _behind(self, op: Operation, depth: int) -> str:
        """Describes what makes an input, as far as a rule may look through it for constants."""
        if op.type == "Const":
            return "Const"  # its value counts where a program is specialised on it
        if not op._inputs or not depth:
            return op.type
        inner = ",".join([self._known(t._op, depth - 1) for t in op._inputs])
        return f"{op.type}({inner})"

    def _known(self, op: Operation, depth: int) -> str:
        return self._value(op, op.attrs["value"]) if op.type == "Const" else self._behind(op, depth)


def _tensor(t: Tensor) -> str:
    return f"{t._dtype.name}{t._dims}"


def _name(names: dict[Tensor, str], t: Tensor) -> str:
    found = names.get(t)
    if found is None:
        raise Indescribable(t.name)
    return found
