"""The notation that ops are declared in, and its two directions: text to Signature and back.

    Name(input: T, sizes: int32, many: N * T, any: Tlist, var: Ref(T)) -> (output: T)
      T: {half, float, numbertype} = float        a type, of those named
      Tlist: list(type) >= 1                      a list of types, at least one
      N: int >= 2
      padding: {"SAME", "VALID"} = "SAME"         a string, of those named
      strides: list(int) = [1, 1, 1, 1]
      shape: shape = ?                            `?` is unknown rank, [2,?] a partial shape
      stateful, commutative                       flags, on a line of their own

    What the op computes, in a sentence or two.

Resource inputs and outputs make an op stateful without saying so; `stateless` says the opposite.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

import numpy as np

from headrace import shapes
from headrace.dtypes import GROUPS, DType, as_dtype
from headrace.opdef.signature import NO_DEFAULT, Arg, Attr, Signature

# One level of parentheses inside the arguments: Ref(T).
_HEAD = re.compile(
    r"\s*(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*->\s*\(((?:[^()]|\([^()]*\))*)\)\s*(?:\n|$)", re.S
)
_ATTR = re.compile(r"(\w+):\s*(.*)$", re.S)
_TYPES = ("type", "int", "float", "bool", "string", "shape", "tensor", "func")
_FLAGS = ("stateful", "stateless", "commutative", "aggregate", "allows_uninitialized_input")


def op_name(text: str) -> str:
    """Returns the name of the op that a declaration is of, without reading the rest."""
    return text[: text.index("(")].strip()


def parse(text: str) -> Signature:
    """Returns the Signature that a declaration in this notation means.

    Raises:
      ValueError: The text does not follow the notation.
    """
    text = textwrap.dedent(text).strip("\n")
    head, rest = _split_head(text)
    m = _HEAD.match(head + "\n")
    if m is None:
        raise ValueError(f"an op is declared `Name(input: T) -> (output: T)`, not {head!r}")
    name, ins, outs = m.groups()
    lines = rest.split("\n")
    attrs: dict[str, Attr] = {}
    flags: set[str] = set()
    deprecated = None
    n = 0
    for line in lines:
        stripped = line.strip()
        if stripped and not line.startswith(" "):
            break
        n += 1
        if not stripped:
            if attrs or flags or n > 1:
                break
            continue
        words = [w.strip() for w in stripped.split(",")]
        if all(w.split(" ")[0] in (*_FLAGS, "deprecated") for w in words):
            for w in words:
                if w.startswith("deprecated"):
                    deprecated = int(w.split()[1])
                else:
                    flags.add(w)
            continue
        attr = _parse_attr(name, stripped)
        attrs[attr.name] = attr
    doc = "\n".join(lines[n:]).strip()
    inputs = tuple(_parse_arg(name, a, attrs) for a in _split(ins))
    outputs = tuple(_parse_arg(name, a, attrs) for a in _split(outs))
    touches_resource = any(a.dtype is not None and a.dtype.name == "resource" for a in inputs + outputs)
    return Signature(
        name,
        inputs,
        outputs,
        attrs,
        is_stateful="stateful" in flags or (touches_resource and "stateless" not in flags),
        is_commutative="commutative" in flags,
        is_aggregate="aggregate" in flags,
        allows_uninitialized_input="allows_uninitialized_input" in flags,
        deprecated=deprecated,
        doc=doc,
    )


def _split_head(text: str) -> tuple[str, str]:
    """Splits off `Name(...) -> (...)`, which may take several lines."""
    arrow = text.find("->")
    close = text.find(")", arrow)
    if arrow < 0 or close < 0:
        raise ValueError(f"an op is declared `Name(input: T) -> (output: T)`, not {text[:60]!r}")
    # Ref(T) in the outputs nests one level.
    depth, i = 0, text.index("(", arrow)
    while True:
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            break
        i += 1
    head, rest = text[: i + 1], text[i + 1 :].lstrip(" ").removeprefix("\n")
    return head.replace("\n", " "), rest


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_arg(op: str, text: str, attrs: dict[str, Attr]) -> Arg:
    name, colon, kind = (part.strip() for part in text.partition(":"))
    if not colon:
        raise ValueError(f"{op}: an argument is written `name: type`, not {text!r}")
    number = None
    if "*" in kind:
        number, _, kind = (part.strip() for part in kind.partition("*"))
        if number not in attrs:
            raise ValueError(f"{op}: `{text}` counts by {number}, which is no attr")
    is_ref = kind.startswith("Ref(") and kind.endswith(")")
    if is_ref:
        kind = kind[4:-1].strip()
    if kind in attrs:
        if attrs[kind].type == "list(type)":
            return Arg(name, type_list_attr=kind, is_ref=is_ref)
        return Arg(name, type_attr=kind, number_attr=number, is_ref=is_ref)
    try:
        return Arg(name, dtype=as_dtype(kind), number_attr=number, is_ref=is_ref)
    except TypeError:
        raise ValueError(f"{op}: `{text}` names neither a type nor one of the attrs {list(attrs)}") from None


def _parse_attr(op: str, line: str) -> Attr:
    m = _ATTR.match(line)
    if m is None:
        raise ValueError(f"{op}: an attr is written `name: type`, not {line!r}")
    name, rest = m.groups()
    kind, default_text = _split_default(rest)
    minimum = None
    if ">=" in kind:
        kind, _, low = kind.partition(">=")
        minimum = int(low)
    kind = kind.strip()
    is_list = kind.startswith("list(") and kind.endswith(")")
    inner = kind[5:-1].strip() if is_list else kind
    allowed: tuple[Any, ...] | None = None
    if inner.startswith("{"):
        items = _split(inner.strip("{}"))
        if items[0][0] in "\"'":
            inner, allowed = "string", tuple(ast.literal_eval(i) for i in items)
        else:
            types: list[DType] = []
            for item in items:
                types.extend(GROUPS[item] if item in GROUPS else (as_dtype(item),))
            inner, allowed = "type", tuple(types)
    elif inner in GROUPS:
        inner, allowed = "type", GROUPS[inner]
    if inner not in _TYPES:
        raise ValueError(f"{op}: attr {name} has the unknown type {inner!r}")
    default = NO_DEFAULT if default_text is None else _parse_default(inner, is_list, default_text)
    return Attr(name, f"list({inner})" if is_list else inner, default, allowed, minimum)


def _split_default(text: str) -> tuple[str, str | None]:
    """Splits at the `=` that is neither in quotes nor part of `>=`."""
    quoted = ""
    for i, c in enumerate(text):
        if quoted:
            quoted = "" if c == quoted else quoted
        elif c in "\"'":
            quoted = c
        elif c == "=" and text[i - 1] != ">":
            return text[:i].strip(), text[i + 1 :].strip()
    return text.strip(), None


def _parse_default(kind: str, is_list: bool, text: str) -> Any:
    if is_list:
        inside = text[1:-1].strip()
        if kind in ("type", "shape"):
            pattern = r"\[[^\]]*\]|\?" if kind == "shape" else r"[^,\s]+"
            return tuple(_parse_default(kind, False, item) for item in re.findall(pattern, inside))
        return tuple(_as(kind, item) for item in ast.literal_eval(text))
    if kind == "type":
        return as_dtype(text.removeprefix("DT_").lower() if text.startswith("DT_") else text)
    if kind == "shape":
        return shapes.from_text(text)
    if kind == "tensor":
        dtype, _, values = text.partition("(")
        return np.array(ast.literal_eval(values.rstrip(")")), as_dtype(dtype.strip()).storage)
    if kind == "bool":
        return {"true": True, "false": False}[text.lower()]
    if kind == "func":
        return None if text == "none" else text
    return _as(kind, ast.literal_eval(text) if kind != "float" or "inf" not in text else float(text))


def _as(kind: str, value: Any) -> Any:
    return float(np.float32(value)) if kind == "float" else value


# -- back to text ------------------------------------------------------------------------------------------


def to_text(signature: Signature) -> str:
    """Returns the declaration that `parse` reads as this signature."""
    out = [f"{signature.name}({_args(signature.inputs)}) -> ({_args(signature.outputs)})"]
    for attr in signature.attrs.values():
        out.append(f"  {attr.name}: {_attr_type(attr)}" + _default(attr))
    flags = []
    resource = any(
        a.dtype is not None and a.dtype.name == "resource" for a in signature.inputs + signature.outputs
    )
    if signature.is_stateful and not resource:
        flags.append("stateful")
    if resource and not signature.is_stateful:
        flags.append("stateless")
    flags += [f for f in ("commutative", "aggregate") if getattr(signature, "is_" + f)]
    if signature.allows_uninitialized_input:
        flags.append("allows_uninitialized_input")
    if signature.deprecated is not None:
        flags.append(f"deprecated {signature.deprecated}")
    if flags:
        out.append("  " + ", ".join(flags))
    if signature.doc:
        out += ["", signature.doc]
    return "\n".join(out)


def _args(args: tuple[Arg, ...]) -> str:
    return ", ".join(f"{a.name}: {_arg_type(a)}" for a in args)


def _arg_type(a: Arg) -> str:
    kind = a.type_list_attr or a.type_attr or (a.dtype.wire_name if a.dtype is not None else "?")
    if a.is_ref:
        kind = f"Ref({kind})"
    return f"{a.number_attr} * {kind}" if a.number_attr else kind


def _attr_type(attr: Attr) -> str:
    kind = attr.type
    inner = kind[5:-1] if kind.startswith("list(") else kind
    text = inner
    if attr.allowed is not None:
        if inner == "type":
            text = _type_set(attr.allowed)
        else:
            text = "{" + ", ".join(f'"{v}"' for v in attr.allowed) + "}"
    if kind.startswith("list("):
        text = f"list({text})"
    return text if attr.minimum is None else f"{text} >= {attr.minimum}"


def _type_set(allowed: tuple[DType, ...]) -> str:
    names: list[str] = []
    i = 0
    while i < len(allowed):
        for group in ("numbertype", "realnumbertype", "quantizedtype"):
            members = GROUPS[group]
            if allowed[i : i + len(members)] == members:
                names.append(group)
                i += len(members)
                break
        else:
            names.append(allowed[i].wire_name)
            i += 1
    return "{" + ", ".join(names) + "}"


def _default(attr: Attr) -> str:
    if not attr.has_default:
        return ""
    kind, value = attr.type, attr.default
    if kind.startswith("list("):
        inner = kind[5:-1]
        return " = [" + ", ".join(_value(inner, v) for v in value) + "]"
    return " = " + _value(kind, value)


def _value(kind: str, value: Any) -> str:
    if kind == "type":
        return value.wire_name  # type: ignore[no-any-return]
    if kind == "shape":
        return "?" if value is None else shapes.to_text(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind == "tensor":
        return f"{as_dtype(value.dtype).wire_name}({value.tolist()})"
    if kind == "func":
        return "none" if value is None else str(value)
    if kind == "string":
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'  # type: ignore[no-any-return]
    return repr(value)
