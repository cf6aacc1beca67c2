"""The attrs of imported nodes: read, checked against the op, and filled up with defaults."""

from __future__ import annotations

from typing import Any

from headrace.graphdef.attr_values import DECODERS, FIELD_OF, KIND_OF, attr_from_proto
from headrace.opdef.signature import Attr

_INT_FIELDS = ("i", "f", "b")


class AttrReader:
    """Reads one attr of one op from AttrValue messages.

    Attributes:
      field: The field of AttrValue that must be set.
      decode: From that field's content to the plain value; None where the content is the plain value.
    """

    __slots__ = ("attr", "checked", "decode", "field", "inner")

    def __init__(self, attr: Attr):
        self.attr = attr
        self.inner = ""
        if attr.type.startswith("list("):
            self.field = "list"
            self.inner = FIELD_OF[attr.type[5:-1]]
            self.decode: Any = self._decode_list
        else:
            self.field = FIELD_OF[attr.type]
            self.decode = None if self.field in _INT_FIELDS else DECODERS[self.field]
        self.checked = attr.allowed is not None or attr.minimum is not None

    def _decode_list(self, message: Any) -> tuple[Any, ...]:
        items = getattr(message, self.inner)
        if self.inner in _INT_FIELDS:
            found = tuple(items)
        else:
            decode = DECODERS[self.inner]
            found = tuple([decode(item) for item in items])
        if not found:
            other = _filled(message)
            if other is not None:
                raise _WrongType(f"list({KIND_OF[other]})")
        return found

    def check(self, value: Any) -> None:
        """Refuses a value that is not among those allowed, or too small.

        Raises:
          ValueError: It is.
        """
        attr = self.attr
        if attr.minimum is not None:
            size = len(value) if self.inner else value
            if size < attr.minimum:
                what = "Length" if self.inner else "Value"
                raise ValueError(
                    f"{what} for attr '{attr.name}' of {size} must be at least minimum {attr.minimum}"
                )
        if attr.allowed is not None:
            for each in value if self.inner else (value,):
                if each not in attr.allowed:
                    raise ValueError(
                        f"Value for attr '{attr.name}' of {_spell(each)} is not in the list of allowed values: "
                        + ", ".join(_spell(a) for a in attr.allowed)
                    )


class _WrongType(Exception):
    """A list of another type; its text names that type."""


def _filled(message: Any) -> str | None:
    for field in KIND_OF:
        if getattr(message, field):
            return field
    return None


def _spell(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else getattr(value, "wire_name", str(value))


class OpReader:
    """Reads the attrs of nodes of one op."""

    def __init__(self, kind: Any):
        self.kind = kind
        self.attrs = {name: AttrReader(attr) for name, attr in kind.signature.attrs.items()}
        # Functions' ops do not declare the marks that their nodes carry.
        self.defaults = [(name, attr) for name, attr in kind.signature.attrs.items()]

    def read(self, node: Any, name: str, dropped: Any = None) -> dict[str, Any]:
        """Returns a node's attrs as plain values, complete and checked.

        Args:
          node: The NodeDef.
          name: The name it gets, for messages.
          dropped: The producer's attrs of this op that may be left out: name -> serialized default.

        Raises:
          ValueError: An attr is missing, unknown, of the wrong type or not allowed.
        """
        out: dict[str, Any] = {}
        readers = self.attrs
        messages = node.attr
        for key in messages:
            value = messages[key]
            reader = readers.get(key)
            if reader is None:
                if key[0:1] != "_":
                    if dropped and dropped.get(key) == value.SerializeToString(deterministic=True):
                        continue
                    raise ValueError(
                        f"NodeDef mentions attr '{key}' not in Op<name={self.kind.name}>; NodeDef: "
                        f"{{{{node {name}}}}}. (Check whether your GraphDef-interpreting binary is up to date with "
                        "your GraphDef-generating binary.)."
                    )
                out[key] = attr_from_proto(value)
                continue
            field = value.WhichOneof("value")
            if field != reader.field:
                raise ValueError(self._wrong_type(reader, field, value, name))
            content = getattr(value, field)
            if reader.decode is not None:
                try:
                    content = reader.decode(content)
                except _WrongType as e:
                    raise ValueError(self._mismatch(reader, str(e), name)) from None
                except ValueError as e:
                    raise ValueError(f"{e}\n\t for attr '{key}'\n\t; {self._where(name)}") from None
            if reader.checked:
                try:
                    reader.check(content)
                except ValueError as e:
                    raise ValueError(f"{e}\n\t; {self._where(name)}") from None
            out[key] = content
        if len(out) < len(readers) or not readers.keys() <= out.keys():
            for key, attr in self.defaults:
                if key not in out:
                    if not attr.has_default:
                        raise ValueError(
                            f"NodeDef missing attr '{key}' from Op<name={self.kind.name}>; NodeDef: {{{{node {name}}}}}"
                        )
                    out[key] = attr.default
        return out

    def _where(self, name: str) -> str:
        return f"NodeDef: {{{{node {name}}}}}; Op<name={self.kind.name}>"

    def _wrong_type(self, reader: AttrReader, field: str | None, value: Any, name: str) -> str:
        if field is None:
            return (
                f"AttrValue missing value with expected type '{reader.attr.type}'\n\t for attr "
                f"'{reader.attr.name}'\n\t; " + self._where(name)
            )
        if field == "placeholder":
            return f"AttrValue had value with unexpected type 'placeholder'; {self._where(name)}"
        if field == "list":
            filled = _filled(value.list)
            return self._mismatch(reader, f"list({KIND_OF[filled] if filled else 'any'})", name)
        return self._mismatch(reader, KIND_OF[field], name)

    def _mismatch(self, reader: AttrReader, got: str, name: str) -> str:
        return (
            f"AttrValue had value with type '{got}' when '{reader.attr.type}' expected\n\t for attr "
            f"'{reader.attr.name}'\n\t; {self._where(name)}"
        )


_readers: dict[Any, OpReader] = {}


def reader_for(kind: Any) -> OpReader:
    """Returns the reader for an op's nodes."""
    found = _readers.get(kind)
    if found is None:
        found = _readers[kind] = OpReader(kind)
    return found
