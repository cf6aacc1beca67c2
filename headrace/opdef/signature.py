"""What an op's signature says: its inputs, outputs and attrs, as TensorFlow's OpDef does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.dtypes import DType

NO_DEFAULT: Any = type("NoDefault", (), {"__repr__": lambda self: "NO_DEFAULT"})()


@dataclass(frozen=True)
class Arg:
    """One input or output of an op.

    Its type is `dtype`, or what the attr `type_attr` says; it is a list of `number_attr` tensors of that type, or a
    list with the types in `type_list_attr`.
    """

    name: str
    dtype: DType | None = None
    type_attr: str | None = None
    number_attr: str | None = None
    type_list_attr: str | None = None
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        return self.number_attr is not None or self.type_list_attr is not None


@dataclass(frozen=True)
class Attr:
    """One attr of an op: its type in OpDef's words, its default, and what it may be."""

    name: str
    type: str
    default: Any = NO_DEFAULT
    allowed: tuple[Any, ...] | None = None
    minimum: int | None = None

    @property
    def has_default(self) -> bool:
        return self.default is not NO_DEFAULT


@dataclass(frozen=True)
class Signature:
    """An op's name, inputs, outputs, attrs (in order) and flags."""

    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: dict[str, Attr] = field(default_factory=dict)
    is_stateful: bool = False
    is_commutative: bool = False
    is_aggregate: bool = False
    allows_uninitialized_input: bool = False
    deprecated: int | None = None
    doc: str = ""
