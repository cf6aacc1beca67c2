"""tf.train.write_graph: GraphDefs in files."""

from __future__ import annotations

import os
from typing import Any

from headrace.export import export
from headrace.platform.file_functions import atomic_write_string_to_file
from headrace.platform.gfile import makedirs


@export("train.write_graph", "io.write_graph")
def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph into a file and returns the file's path.

    Args:
      graph_or_graph_def: A Graph or a GraphDef.
      logdir: The folder, made if it is not there.
      name: The file's name.
      as_text: Writes protobuf's text format instead of bytes.
    """
    graph_def = (
        graph_or_graph_def.as_graph_def()
        if hasattr(graph_or_graph_def, "as_graph_def")
        else graph_or_graph_def
    )
    if as_text:
        from google.protobuf import text_format

        data: Any = text_format.MessageToString(graph_def)
    else:
        data = graph_def.SerializeToString()
    makedirs(logdir)
    path = os.path.join(logdir, name)
    # A reader of the folder sees the old file or the new one, never half of one.
    atomic_write_string_to_file(path, data)
    return path
