"""MetaGraphDefs: a graph with its collections and its saver, as `.meta` files hold them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export
from headrace.graph import Graph, GraphKeys, Operation, Tensor, get_default_graph
from headrace.graph.default import prepend_name_scope, strip_name_scope
from headrace.opdef import OPS
from headrace.passes.imported_loops import ImportedLoops
from headrace.platform import tf_logging as logging
from headrace.platform.file_io import files_of

_VARIABLE_KEYS = frozenset(GraphKeys._VARIABLE_COLLECTIONS)


def build(
    graph: Graph,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """Returns the MetaGraphDef of a graph."""
    from headrace.proto import MetaGraphDef

    meta = MetaGraphDef()
    if graph_def is None:
        graph_def = graph.as_graph_def(add_shapes=True)
    meta.graph_def.CopyFrom(graph_def)
    if export_scope:
        _keep_scope(meta.graph_def, export_scope)
    for node in meta.graph_def.node:
        if clear_devices:
            node.device = ""
        if strip_default_attrs:
            _strip_defaults(node)
    used = sorted({node.op for node in meta.graph_def.node})
    for name in used:
        if OPS.find(name) is not None:
            meta.meta_info_def.stripped_op_list.op.add().CopyFrom(OPS[name].op_def)
    meta.meta_info_def.tensorflow_version = NAMES.get("VERSION", "1.15.5")
    meta.meta_info_def.tensorflow_git_version = NAMES.get("GIT_VERSION", "")
    meta.meta_info_def.stripped_default_attrs = strip_default_attrs
    if saver_def is not None:
        meta.saver_def.CopyFrom(saver_def)
    for key in collection_list or graph.get_all_collection_keys():
        add_collection(meta, key, _items_of(graph, key), export_scope)
    return meta


def _keep_scope(graph_def: Any, scope: str) -> None:
    prefix = scope.rstrip("/") + "/"
    kept = [node for node in graph_def.node if node.name.startswith(prefix)]
    copies = []
    for node in kept:
        copy = type(node)()
        copy.CopyFrom(node)
        copy.name = strip_name_scope(copy.name, scope)
        copy.input[:] = [strip_name_scope(i, scope) for i in copy.input]
        if "_class" in copy.attr:
            groups = [strip_name_scope(s.decode(), scope).encode() for s in copy.attr["_class"].list.s]
            copy.attr["_class"].list.s[:] = groups
        copies.append(copy)
    del graph_def.node[:]
    graph_def.node.extend(copies)


def _strip_defaults(node: Any) -> None:
    kind = OPS.find(node.op)
    if kind is None:
        return
    for attr in kind.op_def.attr:
        if (
            attr.HasField("default_value")
            and attr.name in node.attr
            and node.attr[attr.name] == attr.default_value
        ):
            del node.attr[attr.name]


def _items_of(graph: Graph, key: str) -> list[Any]:
    """Returns a collection without nodes and tensors of branches and loops, which no name of the graph leads to."""
    items = graph.get_collection(key)
    kept = [i for i in items if not isinstance(i, (Tensor, Operation)) or i.graph is graph]
    if len(kept) < len(items):
        logging.warning("Nodes of branches and loops in collection %s can't be saved.", key)
    return kept


def add_collection(meta: Any, key: str, items: list[Any], export_scope: str | None = None) -> None:
    """Adds a collection to a MetaGraphDef; one that has no wire form is left out with a warning."""
    entry = type(meta)().collection_def[key]
    try:
        for item in items:
            _add_item(entry, key, item, export_scope)
    except TypeError as e:
        logging.warning("Issue encountered when serializing %s. %s", key, e)
        return
    if items:
        meta.collection_def[key].CopyFrom(entry)


def _add_item(entry: Any, key: str, item: Any, export_scope: str | None) -> None:
    to_proto = getattr(item, "to_proto", None)
    if to_proto is not None:
        proto = to_proto(export_scope=export_scope) if export_scope else to_proto()
        if proto is not None:
            entry.bytes_list.value.append(proto.SerializeToString())
    elif isinstance(item, (Tensor, Operation)):
        entry.node_list.value.append(strip_name_scope(item.name, export_scope))
    elif isinstance(item, bool) or item is None:
        raise TypeError(f"a {type(item).__name__} in collection {key} can't be saved")
    elif isinstance(item, int):
        entry.int64_list.value.append(item)
    elif isinstance(item, float):
        entry.float_list.value.append(item)
    elif isinstance(item, (str, bytes)):
        entry.bytes_list.value.append(item.encode() if isinstance(item, str) else item)
    elif hasattr(item, "SerializeToString"):
        entry.bytes_list.value.append(item.SerializeToString())
    else:
        raise TypeError(f"a {type(item).__name__} in collection {key} can't be saved")


def read(path: str) -> Any:
    """Returns the MetaGraphDef in a file, binary or text.

    Raises:
      OSError: There is no such file.
    """
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    from headrace.proto import MetaGraphDef

    files, local = files_of(path)
    if not files.exists(local):
        raise OSError(f"File {path} does not exist.")
    with files.open(local, "rb") as f:
        data = f.read()
    try:
        return MetaGraphDef.FromString(data)
    except DecodeError:
        pass
    try:
        return text_format.Parse(data.decode(), MetaGraphDef())
    except (text_format.ParseError, UnicodeDecodeError) as e:
        raise OSError(f"Cannot parse file {path}: {e}.") from None


def load(
    meta: Any, clear_devices: bool = False, import_scope: str | None = None, input_map: Any = None
) -> str:
    """Adds a MetaGraphDef's graph and collections to the default graph; returns the scope it went into."""
    graph = get_default_graph()
    graph_def = meta.graph_def
    if clear_devices:
        copy = type(graph_def)()
        copy.CopyFrom(graph_def)
        for node in copy.node:
            node.device = ""
        graph_def = copy
    scope = graph.unique_name(import_scope, mark_as_used=False) if import_scope else ""
    producer = (
        meta.meta_info_def.stripped_op_list if meta.meta_info_def.HasField("stripped_op_list") else None
    )
    NAMES["import_graph_def"](graph_def, name=scope, input_map=input_map, producer_op_list=producer)
    for key in sorted(meta.collection_def):
        _load_collection(graph, key, meta.collection_def[key], scope)
    return scope


def _load_collection(graph: Graph, key: str, entry: Any, scope: str) -> None:
    kind = entry.WhichOneof("kind")
    if kind is None:
        return
    values = getattr(entry, kind).value
    if kind == "node_list":
        for name in values:
            graph.add_to_collection(key, graph.as_graph_element(prepend_name_scope(name, scope)))
    elif kind == "bytes_list" and key in _VARIABLE_KEYS:
        from headrace.proto import VariableDef

        known = {v.name: v for k in _VARIABLE_KEYS for v in graph.get_collection(k) if hasattr(v, "name")}
        for data in values:
            proto = VariableDef.FromString(data)
            name = prepend_name_scope(proto.variable_name, scope)
            variable = known.get(name)
            if variable is None:
                variable = NAMES["Variable"].from_proto(proto, import_scope=scope)
                known[name] = variable
            graph.add_to_collection(key, variable)
    elif kind == "bytes_list":
        from_proto = _FROM_PROTO.get(key)
        for data in values:
            graph.add_to_collection(key, from_proto(data, scope) if from_proto else data)
    elif kind == "int64_list":
        for v in values:
            graph.add_to_collection(key, int(v))
    elif kind == "float_list":
        for v in values:
            graph.add_to_collection(key, float(v))


class ControlFlowContext:
    """What a MetaGraphDef says of a loop, or of a branch, of TensorFlow 1.

    Attributes:
      message: The WhileContextDef or CondContextDef, with names as they are in the graph.
      name: Its name.
    """

    def __init__(self, message: Any):
        self.message = message
        self.name: str = message.context_name

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the message, with names as they are within a scope; None for what is outside it."""
        if not export_scope:
            return self.message
        prefix = export_scope.rstrip("/") + "/"
        return (
            _renamed(self.message, lambda n: strip_name_scope(n, export_scope))
            if self.name.startswith(prefix)
            else None
        )


def _renamed(message: Any, rename: Callable[[str], str]) -> Any:
    """Returns a context's message with all names in it replaced."""
    copy = type(message)()
    copy.CopyFrom(message)
    for field in copy.DESCRIPTOR.fields:
        value = getattr(copy, field.name)
        if field.name in ("loop_enter_names", "loop_exit_names"):
            value[:] = [rename(n) for n in value]
        elif field.name.endswith("_name") and value:
            setattr(copy, field.name, rename(value))
    values = copy.values_def
    values.values[:] = [rename(n) for n in values.values]
    external = {rename(k): rename(v) for k, v in values.external_values.items()}
    values.external_values.clear()
    values.external_values.update(external)
    for each in copy.nested_contexts:
        inner = getattr(each, each.WhichOneof("ctxt"))
        inner.CopyFrom(_renamed(inner, rename))
    return copy


def _add_context(kind: str, data: bytes, scope: str) -> ControlFlowContext:
    from headrace import proto

    message = _renamed(getattr(proto, kind).FromString(data), lambda n: prepend_name_scope(n, scope))
    graph = get_default_graph()
    if graph._before_gradients is None:
        graph._before_gradients = ImportedLoops()
    loops: Any = graph._before_gradients
    loops.add(message)
    return ControlFlowContext(message)


# Collections of objects with a wire form of their own: key -> function (bytes, import scope) -> object.
_FROM_PROTO: dict[str, Callable[[bytes, str], Any]] = {
    GraphKeys.WHILE_CONTEXT: functools.partial(_add_context, "WhileContextDef"),
    GraphKeys.COND_CONTEXT: functools.partial(_add_context, "CondContextDef"),
}


@export("train.export_meta_graph")
def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """Returns the MetaGraphDef of a graph, and writes it to a file if one is named.

    Args:
      filename: A path to write to, or None.
      meta_info_def: A MetaInfoDef to put in.
      graph_def: The GraphDef, the graph's own if None.
      saver_def: The SaverDef of the saver that goes with it.
      collection_list: The collections to keep, all if None.
      as_text: Writes text instead of bytes.
      graph: The graph, the default one if None.
      export_scope: Keeps just the nodes under this scope, named without it.
      clear_devices: Leaves devices out.
      clear_extraneous_savers: Accepted; other savers' nodes stay.
      strip_default_attrs: Leaves out attrs that have their default.
      save_debug_info: Accepted; nothing more is written.
      **kwargs: Nothing else is taken.
    """
    if kwargs:
        raise TypeError(f"export_meta_graph got unexpected arguments {sorted(kwargs)}")
    meta = build(
        graph or get_default_graph(),
        graph_def,
        saver_def,
        collection_list,
        export_scope,
        clear_devices,
        strip_default_attrs,
    )
    if meta_info_def is not None:
        meta.meta_info_def.MergeFrom(meta_info_def)
    if filename:
        write(meta, filename, as_text)
    return meta


def write(meta: Any, path: str, as_text: bool = False) -> None:
    """Writes a MetaGraphDef."""
    files, local = files_of(path)
    data = meta.SerializeToString()
    if as_text:
        from google.protobuf import text_format

        data = text_format.MessageToString(meta).encode()
    folder = os.path.dirname(local)
    if folder:
        files.makedirs(folder, exist_ok=True)
    with files.open(local, "wb") as f:
        f.write(data)
