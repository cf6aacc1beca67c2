"""What a `.proto` file fixes about the wire and about Python, as plain dicts.

The recording script runs this on TensorFlow's descriptors under Python 3.7, the tests run it on headrace's
and on tensorboard's. Imports nothing but the standard library.
"""

TYPES = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    11: "message",
    12: "bytes",
    13: "uint32",
    14: "enum",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}


def file_facts(proto, package=None):
    """The messages and enums of one FileDescriptorProto.

    Args:
      proto: The FileDescriptorProto.
      package: The package to write for the file's own, when another one is to be compared with it.

    Returns:
      A dict from each message's full name to {field: fact}, and from each enum's to {value: number}.
    """
    package = package or proto.package
    facts = {}

    def type_name(name):
        inside = f".{proto.package}."
        return package + "." + name[len(inside) :] if name.startswith(inside) else name[1:]

    def add_enum(enum, scope):
        facts[f"{scope}.{enum.name}"] = {value.name: value.number for value in enum.value}

    def add_message(message, scope):
        name = f"{scope}.{message.name}"
        facts[name] = {field.name: field_fact(field, message) for field in message.field}
        for nested in message.nested_type:
            add_message(nested, name)
        for enum in message.enum_type:
            add_enum(enum, name)

    def field_fact(field, message):
        words = [str(field.number)]
        if field.label == 3:
            words.append("repeated")
        words.append(TYPES[field.type])
        if field.type_name:
            words.append(type_name(field.type_name))
        if field.HasField("oneof_index"):
            words.append("in " + message.oneof_decl[field.oneof_index].name)
        return " ".join(words)

    for message in proto.message_type:
        add_message(message, package)
    for enum in proto.enum_type:
        add_enum(enum, package)
    return facts
