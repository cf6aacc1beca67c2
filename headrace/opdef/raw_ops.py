"""tf.raw_ops: every op as a function that takes its operands and attrs by name only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.export import export_computed
from headrace.graph import get_default_graph
from headrace.opdef.advice import advice
from headrace.opdef.op import Op
from headrace.opdef.registry import OPS
from headrace.opdef.signature import NO_DEFAULT

# TensorFlow has no public function for these.
_HIDDEN = frozenset(
    "Copy CopyHost DebugIdentity DebugNanCount DebugNumericSummary HostConst KMC2ChainInitialization "
    "KmeansPlusPlusInitialization NearestNeighbors NegTrain Skipgram".split()
)

_RENAMED = {
    "ExpandDims": {"dim": "axis"},
    "Select": {"t": "x", "e": "y"},
    "Split": {"split_dim": "axis"},
    "SplitV": {"split_dim": "axis"},
    "Squeeze": {"squeeze_dims": "axis"},
    "Where": {"input": "condition"},
} | {key: {"reduction_indices": "axis"} for key in "All Any EuclideanNorm Max Mean Min Prod Sum".split()}
"""Operands and attrs that the functions call otherwise than the ops do: op -> op's name -> function's name."""


class RawOps(Mapping[str, Any]):
    """The functions by the names of their ops, each made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        made = self._made.get(name)
        if made is None:
            if not _is_public(name):
                raise KeyError(name)
            made = self._made[name] = keyword_function(OPS[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return (name for name in OPS if _is_public(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name not in _HIDDEN


def parameters(op: Op) -> dict[str, Any]:
    """Returns what an op's function takes, in order: name -> default or NO_DEFAULT.

    Operands come first, then attrs without a default, then the others; what operands say of attrs is left out.
    """
    signature = op.signature
    attrs = [(n, a.default) for n, a in signature.attrs.items() if n not in op.plan.inferred]
    order = [(a.name, NO_DEFAULT) for a in signature.inputs]
    order += [(n, d) for n, d in attrs if d is NO_DEFAULT] + [(n, d) for n, d in attrs if d is not NO_DEFAULT]
    renamed = _RENAMED.get(op.name, {})
    return {renamed.get(n, n): d for n, d in order} | {"name": None}


def keyword_function(op: Op) -> Callable[..., Any]:
    """Makes the function `tf.raw_ops` has for an op."""
    taken = parameters(op)
    own_names = {new: old for old, new in _RENAMED.get(op.name, {}).items()}

    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(
                f"{op.name} only takes keyword args (possible keys: {list(taken)}). Please pass these args as kwargs "
                "instead."
            )
        for key in kwargs:
            if key not in taken:
                raise TypeError(f"{op.name}() got an unexpected keyword argument '{key}'")
        missing = [key for key, default in taken.items() if default is NO_DEFAULT and key not in kwargs]
        if missing:
            raise TypeError(_missing_message(op.name, missing))
        _check_available(op)
        return op(**{own_names.get(key, key): value for key, value in kwargs.items()})

    call.__name__ = call.__qualname__ = op.name
    call.__module__ = op.module
    call.__doc__ = _text(op, taken)
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                key,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is NO_DEFAULT else default,
            )
            for key, default in taken.items()
        ]
    )
    return call


def _missing_message(name: str, missing: list[str]) -> str:
    # What Python says of a call that leaves out positional arguments: TensorFlow's functions have those inside.
    quoted = [repr(key) for key in missing]
    if len(quoted) > 2:
        listed = ", ".join(quoted[:-1]) + ", and " + quoted[-1]
    else:
        listed = " and ".join(quoted)
    plural = "s" if len(quoted) > 1 else ""
    return f"{name}() missing {len(quoted)} required positional argument{plural}: {listed}"


def _check_available(op: Op) -> None:
    removed = op.signature.deprecated
    producer = get_default_graph()._producer
    if removed is not None and producer >= removed:
        raise NotImplementedError(
            f"Op {op.name} is not available in GraphDef version {producer}. It has been removed in version {removed}. "
            f"{advice(op.name)}."
        )


def _text(op: Op, taken: dict[str, Any]) -> str:
    sentence = (
        op.text.strip().split("\n\n", 1)[-1].strip() if "\n\n" in op.text else f"Adds one {op.name} node."
    )
    lines = [" ".join(sentence.split()), "", "Args:"]
    for key, default in taken.items():
        if key == "name":
            lines.append("  name: The node's name.")
        else:
            lines.append(
                f"  {key}: " + ("Required." if default is NO_DEFAULT else f"{default!r} if not given.")
            )
    outputs = ", ".join(a.name for a in op.signature.outputs)
    lines += ["", "Returns:", f"  {outputs}." if outputs else "  The Operation."]
    return "\n".join(lines)


export_computed("raw_ops", RawOps())
