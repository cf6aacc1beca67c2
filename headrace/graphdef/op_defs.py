"""Signature -> OpDef, and the other way for ops that only a file describes."""

from __future__ import annotations

from typing import Any

from headrace import proto
from headrace.graph import hooks
from headrace.graphdef.attr_values import attr_into_proto
from headrace.opdef.signature import Arg, Attr, Signature


def op_def(signature: Signature) -> Any:
    """Returns a signature as an OpDef."""
    message = proto.OpDef(name=signature.name)
    for arg in signature.inputs:
        _arg_into_proto(arg, message.input_arg.add())
    for arg in signature.outputs:
        _arg_into_proto(arg, message.output_arg.add())
    for attr in signature.attrs.values():
        _attr_into_proto(attr, message.attr.add())
    message.is_stateful = signature.is_stateful
    message.is_commutative = signature.is_commutative
    message.is_aggregate = signature.is_aggregate
    message.allows_uninitialized_input = signature.allows_uninitialized_input
    if signature.deprecated is not None:
        message.deprecation.version = signature.deprecated
    return message


def _arg_into_proto(arg: Arg, message: Any) -> None:
    message.name = arg.name
    if arg.dtype is not None:
        message.type = arg.dtype.as_datatype_enum
    if arg.type_attr is not None:
        message.type_attr = arg.type_attr
    if arg.number_attr is not None:
        message.number_attr = arg.number_attr
    if arg.type_list_attr is not None:
        message.type_list_attr = arg.type_list_attr
    message.is_ref = arg.is_ref


def _attr_into_proto(attr: Attr, message: Any) -> None:
    message.name = attr.name
    message.type = attr.type
    if attr.has_default:
        attr_into_proto(attr.default, attr.type, message.default_value)
    if attr.minimum is not None:
        message.has_minimum = True
        message.minimum = attr.minimum
    if attr.allowed is not None:
        inner = attr.type[5:-1] if attr.type.startswith("list(") else attr.type
        attr_into_proto(attr.allowed, f"list({inner})", message.allowed_values)


def signature_from_op_def(message: Any) -> Signature:
    """Returns an OpDef as a signature, without defaults and allowed values (a function's own OpDef has none)."""
    from headrace.graphdef.attr_values import dtype_from_proto

    def arg(m: Any) -> Arg:
        return Arg(
            m.name,
            dtype_from_proto(m.type) if m.type else None,
            m.type_attr or None,
            m.number_attr or None,
            m.type_list_attr or None,
            m.is_ref,
        )

    return Signature(
        message.name,
        tuple(arg(m) for m in message.input_arg),
        tuple(arg(m) for m in message.output_arg),
        {a.name: Attr(a.name, a.type) for a in message.attr},
        is_stateful=message.is_stateful,
    )


hooks.op_def = op_def
